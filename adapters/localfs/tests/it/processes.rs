//! Processes that outlive their calls: real ones, and that nothing of them is left.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::{CallId, Observation, ObservationStatus, result_text};
use windlass_localfs::{LocalFs, LocalFsConfig, RunLocks};
use windlass_ports::{CancelSource, ToolContext, ToolExecutor, ToolProcessState};

use crate::common::{RecordedProgress, World, context_of, context_with, dies, session};

/// Starts a process as call 7 that says its process id and that of a child.
const FAMILY: &str = "sleep 60 & echo $$ $!; wait";

async fn call(world: &World, call: u64, name: &str, arguments: Value) -> Observation {
    world.call_in(name, arguments, context_of(call)).await
}

/// Waits for text in the answers to polls, each of which has an own id, after what was answered already.
async fn polled(world: &World, process: u64, before: String, text: &str) -> String {
    let mut all = before;
    if all.contains(text) {
        return all;
    }
    for id in 100..1_000 {
        let seen =
            call(world, id, "write_stdin", json!({"id": process, "yield_time_ms": 20})).await;
        all.push_str(&seen.output);
        if all.contains(text) {
            return all;
        }
    }
    panic!("{all}");
}

#[tokio::test]
async fn a_short_command_ends_within_its_call() {
    let world = World::new();
    world.put("sub/file", "");
    let arguments = json!({"cmd": "pwd; ls; exit 3", "workdir": "sub"});
    let seen = call(&world, 7, "exec_command", arguments).await;
    assert_eq!((seen.status, seen.exit_code), (ObservationStatus::Failed, Some(3)));
    let here = world.path("sub").canonicalize().unwrap();
    assert_eq!(result_text(&seen, None), format!("[exit code 3]\n{}\nfile\n", here.display()));
    let seen = call(&world, 8, "list_processes", json!({})).await;
    assert!(seen.output.starts_with("[no process runs"), "{seen:?}");
    for (arguments, why) in [
        (json!({"cmd": "true", "workdir": "../outside"}), "outside the workspace"),
        (json!({"cmd": "true", "workdir": "sub/file"}), "no folder"),
        (json!({"cmd": "a\0b"}), "zero bytes"),
        (json!({"cmd": "true", "outside_sandbox": true}), "nothing runs outside of the sandbox"),
    ] {
        let said = world.failed("exec_command", arguments).await;
        assert!(said.contains(why), "{said}");
    }
}

#[tokio::test]
async fn a_process_outlives_its_call_is_fed_and_ends() {
    let world = World::new();
    let script = "echo ready; while read line; do echo \"got $line\"; done; echo over; exit 4";
    let started = json!({"cmd": script, "yield_time_ms": 0});
    let seen = call(&world, 7, "exec_command", started).await;
    assert_eq!((seen.status, seen.exit_code), (ObservationStatus::Done, None));
    let goes_on =
        "s so far: write_stdin with id 7 waits for it or writes to it, stop_process stops it]";
    let runs = seen.output.contains("[process 7 runs, ") && seen.output.ends_with(goes_on);
    assert!(runs, "{}", seen.output);
    let held = world.tools.processes(&session());
    assert_eq!((held.len(), held[0].id, held[0].state), (1, CallId(7), ToolProcessState::Running));
    let write = json!({"id": 7, "chars": "one\ntwo\n", "yield_time_ms": 0});
    let first = call(&world, 8, "write_stdin", write).await.output;
    polled(&world, 7, first, "got two").await;
    let last = json!({"id": 7, "chars": "three\n\u{4}", "yield_time_ms": 60_000});
    let seen = call(&world, 9, "write_stdin", last).await;
    assert_eq!((seen.status, seen.exit_code), (ObservationStatus::Failed, Some(4)));
    assert_eq!(seen.output, "got three\nover\n", "each answer has what is new");
    let again = call(&world, 10, "write_stdin", json!({"id": 7})).await;
    assert_eq!(again.status, ObservationStatus::Failed);
    assert!(again.output.contains("its end was returned before"), "{}", again.output);
    assert!(world.tools.processes(&session()).is_empty());
}

#[tokio::test]
async fn a_terminal_is_one() {
    let world = World::new();
    let script = "test -t 0 && test -t 1 && stty size; trap 'echo int; exit 5' INT; echo set; \
                  while :; do sleep 0.01; done";
    let started = json!({"cmd": script, "tty": true, "yield_time_ms": 0});
    let first = call(&world, 7, "exec_command", started).await.output;
    let said = polled(&world, 7, first, "runs").await;
    let said = polled(&world, 7, said, "set").await;
    assert!(said.contains("24 80"), "{said}");
    let interrupt = json!({"id": 7, "chars": "\u{3}", "yield_time_ms": 60_000});
    let seen = call(&world, 8, "write_stdin", interrupt).await;
    assert_eq!(seen.exit_code, Some(5), "{}", seen.output);
}

/// The ids that a family said.
async fn family(world: &World, arguments: Value) -> Vec<String> {
    let first = call(world, 7, "exec_command", arguments).await.output;
    let said = match first.starts_with('[') {
        true => polled(world, 7, String::new(), " ").await,
        false => first,
    };
    let ids = said.lines().next().unwrap();
    ids.split(' ').map(str::to_owned).collect()
}

#[tokio::test]
async fn stopping_and_releasing_end_the_whole_family() {
    let world = World::new();
    let start = json!({"cmd": FAMILY, "yield_time_ms": 500});
    let ids = family(&world, start.clone()).await;
    let seen = call(&world, 8, "stop_process", json!({"id": 7})).await;
    assert_eq!(seen.status, ObservationStatus::Done);
    assert!(seen.output.starts_with("[stopped, with every process"), "{}", seen.output);
    ids.iter().for_each(|id| dies(id));
    let again = call(&world, 9, "stop_process", json!({"id": 7})).await;
    assert_eq!(again.status, ObservationStatus::Done, "stopping is idempotent");

    let ids = family(&world, start.clone()).await;
    assert!(world.tools.stop_process(&session(), CallId(7)).await.unwrap());
    assert!(!world.tools.stop_process(&session(), CallId(7)).await.unwrap());
    ids.iter().for_each(|id| dies(id));
    let seen = call(&world, 9, "write_stdin", json!({"id": 7})).await;
    assert!(seen.output.starts_with("[stopped by a user"), "{}", seen.output);

    let ids = family(&world, start).await;
    world.tools.release(&session()).await;
    ids.iter().for_each(|id| dies(id));
    world.tools.wait_processes(&session()).await;
    let seen = call(&world, 9, "list_processes", json!({})).await;
    assert!(seen.output.contains("stopped when its session was released"), "{}", seen.output);
    let seen = call(&world, 10, "write_stdin", json!({"id": 7})).await;
    assert!(seen.output.starts_with("[stopped when its session"), "{}", seen.output);
}

#[tokio::test]
async fn an_interrupted_start_leaves_nothing_and_an_interrupted_wait_leaves_the_process() {
    let world = World::new();
    let (cancel, seen) = (CancelSource::new(), Arc::new(RecordedProgress::default()));
    let context = context_with(&cancel, 60_000, seen.clone());
    let starting = world.call_in("exec_command", json!({"cmd": FAMILY}), context);
    let (observed, ()) = tokio::join!(starting, async {
        seen.wait_for(" ").await;
        cancel.cancel();
    });
    assert_eq!(observed.status, ObservationStatus::Aborted);
    let ids = observed.output.lines().nth(1).unwrap();
    ids.split(' ').for_each(dies);
    assert!(world.tools.processes(&session()).is_empty());

    call(&world, 7, "exec_command", json!({"cmd": "sleep 60", "yield_time_ms": 0})).await;
    let cancel = CancelSource::new();
    let waiting = ToolContext {
        call: CallId(8),
        ..context_with(&cancel, 60_000, Arc::new(RecordedProgress::default()))
    };
    let waits = world.call_in("write_stdin", json!({"id": 7, "yield_time_ms": 50_000}), waiting);
    let (observed, ()) = tokio::join!(waits, async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert_eq!(observed.status, ObservationStatus::Aborted);
    assert_eq!(world.tools.processes(&session()).len(), 1);
}

#[tokio::test]
async fn a_dropped_start_and_dropped_tools_leave_nothing() {
    let world = World::new();
    let seen = Arc::new(RecordedProgress::default());
    let context = context_with(&CancelSource::new(), 60_000, seen.clone());
    let tools = world.tools.clone();
    let running = tokio::spawn(async move {
        crate::common::run(&*tools, "exec_command", json!({"cmd": FAMILY}), context).await
    });
    seen.wait_for(" ").await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    let first = seen.lines.lock().unwrap()[0].clone();
    tokio::task::spawn_blocking(move || first.split(' ').for_each(dies)).await.unwrap();

    let ids = family(&world, json!({"cmd": FAMILY, "yield_time_ms": 500})).await;
    drop(world);
    tokio::task::spawn_blocking(move || ids.iter().for_each(|id| dies(id))).await.unwrap();
}

#[tokio::test]
async fn number_output_and_life_are_bounded() {
    let world = World::with(LocalFsConfig {
        processes: 1,
        process_output_bytes: 1_000,
        process_timeout_ms: 1_000,
        ..LocalFsConfig::default()
    });
    let flood = "yes | head -c 100000; echo last; sleep 60";
    call(&world, 7, "exec_command", json!({"cmd": flood, "yield_time_ms": 0})).await;
    let more = call(&world, 8, "exec_command", json!({"cmd": "sleep 60"})).await;
    assert_eq!(more.status, ObservationStatus::Failed);
    assert!(more.output.contains("stop one with stop_process first"), "{}", more.output);
    world.tools.wait_processes(&session()).await;
    let seen = call(&world, 9, "write_stdin", json!({"id": 7})).await;
    let bounded =
        seen.output.starts_with("[stopped at the longest life of a process, which is 1000");
    assert!(bounded && seen.output.ends_with("last\n"), "{}", seen.output);
    assert!(seen.output.len() < 2_000, "{}", seen.output.len());
    assert!(seen.output.contains("bytes before this were dropped"), "{}", seen.output);
}

/// A process that was killed with its starter is on record until the model has learnt that.
#[tokio::test]
async fn a_process_on_record_that_does_not_run_is_lost() {
    let with_locks = |tools: LocalFs, folder: &std::path::Path| {
        tools.with_run_locks(RunLocks::new(folder.join("locks")))
    };
    let world = World::made(LocalFsConfig::default(), with_locks);
    let locks = RunLocks::new(world.dir.path().join("locks"));
    call(&world, 7, "exec_command", json!({"cmd": "sleep 61", "yield_time_ms": 0})).await;
    let recorded = locks.recorded(&session()).unwrap();
    assert!(recorded.len() == 1 && recorded[0].running, "{recorded:?}");
    // Other tools, as those of a process that was started again.
    let tools = LocalFs::open(&world.path(""), LocalFsConfig::default()).unwrap();
    let next = tools.with_run_locks(locks.clone());
    next.end_runs(&session()).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), world.tools.wait_processes(&session()))
        .await
        .unwrap();
    let ask = |name: &'static str, arguments: Value| {
        crate::common::run(&next, name, arguments, context_of(20))
    };
    for _ in 0..2 {
        let seen = ask("list_processes", json!({})).await.unwrap();
        assert!(seen.output.starts_with("7  Lost: process 7 ended"), "{}", seen.output);
    }
    let seen = ask("write_stdin", json!({"id": 7, "chars": "x"})).await.unwrap();
    assert_eq!(seen.status, ObservationStatus::Failed);
    assert!(seen.output.starts_with("Lost: process 7"), "{}", seen.output);
    assert_eq!(locks.recorded(&session()).unwrap(), []);
    let seen = ask("stop_process", json!({"id": 7})).await.unwrap();
    assert_eq!(seen.status, ObservationStatus::Done, "{}", seen.output);
}
