//! `shell`: real processes, and that nothing of them is left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{RecordedProgress, World, context, context_with, dies, passes};
use serde_json::json;
use windlass_core::{ObservationStatus, result_text};
use windlass_localfs::LocalFsConfig;
use windlass_ports::CancelSource;

#[tokio::test]
async fn output_comes_in_the_order_of_writing() {
    let world = World::new();
    let command = "echo a; echo b >&2; echo c; pwd";
    let said = world.done("shell", json!({"command": command})).await;
    let here = world.path("").canonicalize().unwrap();
    assert_eq!(said, format!("a\nb\nc\n{}\n", here.display()));
    for silent in ["true", "cat"] {
        let seen = world.call("shell", json!({"command": silent})).await;
        assert_eq!(result_text(&seen, None), "[exit code 0, no output]");
    }
}

#[tokio::test]
async fn a_failure_says_its_exit_code() {
    let world = World::new();
    let seen = world.call("shell", json!({"command": "echo so far; exit 3"})).await;
    assert_eq!((seen.status, seen.exit_code), (ObservationStatus::Failed, Some(3)));
    assert_eq!(result_text(&seen, None), "[exit code 3]\nso far\n");
    let said = world.failed("shell", json!({"command": "echo so far; kill -9 $$"})).await;
    assert_eq!(said, "[killed by signal 9]\nso far\n");
    let seen = world.call("shell", json!({"command": "no-such-program"})).await;
    assert!(seen.output.contains("not found") && seen.exit_code == Some(127), "{seen:?}");
    let said = world.failed("shell", json!({"command": "x".repeat(200_000)})).await;
    assert!(said.contains("write a script with write_file"), "{said}");
    let said = world.failed("shell", json!({"command": "a\0b"})).await;
    assert!(said.contains("zero bytes"), "{said}");
}

#[tokio::test]
async fn a_flood_is_bounded_and_measured() {
    let world = World::new();
    let flood = "echo first; yes | head -c 200000000; echo last";
    let seen = world.call("shell", json!({"command": flood})).await;
    assert_eq!(seen.status, ObservationStatus::Done, "{}", seen.output);
    assert_eq!(seen.output_bytes, 200_000_011);
    assert!(seen.output.len() <= 32 * 1024, "{}", seen.output.len());
    assert!(seen.output.starts_with("first\n") && seen.output.ends_with("last\n"));
    let marker = format!("[... {} bytes omitted ...]", seen.omitted_bytes);
    assert!(seen.output.contains(&marker));
    let more = json!({"command": flood, "output_bytes": 50_000});
    let more = world.call("shell", more).await.output.len();
    assert!((45_000..=50_000).contains(&more), "{more}");
    let most = json!({"command": flood, "output_bytes": 1_000_000});
    assert!(world.call("shell", most).await.output.len() <= 64 * 1024);
    let peak = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kb: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak_kb < 100_000, "{peak_kb} kB");
}

#[tokio::test]
async fn output_that_is_no_text_is_said() {
    let world = World::new();
    let said = world.done("shell", json!({"command": "printf 'a\\377b\\n'"})).await;
    assert!(said.starts_with("a\u{fffd}b\n[1 bytes were not UTF-8"), "{said}");
}

/// The test runs itself once more with a key in its environment.
#[test]
fn no_key_reaches_the_shell() {
    if std::env::var_os("OPENAI_API_KEY").is_none() {
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "shell::no_key_reaches_the_shell"])
            .env("OPENAI_API_KEY", "sk-SECRET")
            .env("MY_TOKEN", "SECRET")
            .env("WANTED", "wanted")
            .output()
            .unwrap();
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let world = World::with(LocalFsConfig {
            env: vec![String::from("WANTED")],
            ..LocalFsConfig::default()
        });
        let env = world.done("shell", json!({"command": "env"})).await;
        assert!(!env.contains("SECRET") && !env.contains("OPENAI"), "{env}");
        assert!(env.contains("\nPATH=") || env.starts_with("PATH="), "{env}");
        assert!(env.contains("WANTED=wanted"), "{env}");
    });
}

/// A leader, a child and a grandchild that all wait, one of them deaf to SIGTERM.
const FAMILY: &str = "(trap '' TERM; sh -c 'echo $$ >> pids; while :; do sleep 60; done') & \
                      echo $$ >> pids; sleep 60 & echo $! >> pids; \
                      while [ $(wc -l < pids) -lt 3 ]; do :; done; echo grown; wait";

fn assert_dead(world: &World) {
    let pids = world.text("pids");
    assert!(pids.lines().count() >= 3, "{pids}");
    pids.lines().for_each(dies);
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_ends_the_whole_family() {
    let world = World::new();
    let arguments = json!({"command": FAMILY, "timeout_ms": 2_000});
    let grown = Arc::new(RecordedProgress::default());
    let context = context_with(&CancelSource::new(), 60_000, grown.clone());
    let (seen, ()) = tokio::join!(
        world.call_in("shell", arguments, context),
        passes(grown.wait_for("grown"), Duration::from_secs(2))
    );
    assert_eq!(seen.status, ObservationStatus::Failed);
    let note = "[stopped at its time limit of 2000 ms, with every process it had started; it may \
                have waited for input, and there is none: do less at once, or allow more with \
                timeout_ms, up to 60000]\n";
    assert!(seen.output.starts_with(&format!("{note}grown\n")), "{seen:?}");
    assert_dead(&world);
}

#[tokio::test]
async fn the_contexts_limit_holds_over_the_calls_own() {
    let world = World::new();
    let context = context_with(&CancelSource::new(), 300, Arc::new(RecordedProgress::default()));
    let arguments = json!({"command": "sleep 60", "timeout_ms": 60_000});
    let seen = world.call_in("shell", arguments, context).await;
    let note = "[stopped at its time limit of 300 ms";
    assert!(seen.output.starts_with(note) && !seen.output.contains("timeout_ms"), "{seen:?}");
}

#[tokio::test]
async fn limits_beyond_all_measure_do_no_harm() {
    let world = World::with(LocalFsConfig {
        grace_ms: u64::MAX,
        output_bytes: 0,
        ..LocalFsConfig::default()
    });
    let context =
        context_with(&CancelSource::new(), u64::MAX, Arc::new(RecordedProgress::default()));
    let arguments = json!({"command": "echo fine", "timeout_ms": u64::MAX});
    let seen = world.call_in("shell", arguments, context).await;
    assert_eq!(seen.output, "fine\n");
}

#[tokio::test]
async fn a_cancelled_command_ends_the_whole_family() {
    let world = World::new();
    let cancel = CancelSource::new();
    let seen = Arc::new(RecordedProgress::default());
    let context = context_with(&cancel, 60_000, seen.clone());
    let arguments = json!({"command": FAMILY});
    let (observed, ()) = tokio::join!(world.call_in("shell", arguments, context), async {
        seen.wait_for("grown").await;
        cancel.cancel();
    });
    assert_eq!(observed.status, ObservationStatus::Aborted);
    assert!(observed.output.starts_with("[stopped because it was asked to"), "{observed:?}");
    assert_dead(&world);
}

/// A workspace whose shell has the time that a busy machine takes.
fn patient() -> World {
    World::with(LocalFsConfig { grace_ms: 20_000, ..LocalFsConfig::default() })
}

#[tokio::test]
async fn a_cancelled_command_may_clean_up() {
    let world = patient();
    let (cancel, seen) = (CancelSource::new(), Arc::new(RecordedProgress::default()));
    let context = context_with(&cancel, 60_000, seen.clone());
    let command = "trap 'echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let (observed, ()) =
        tokio::join!(world.call_in("shell", json!({"command": command}), context), async {
            seen.wait_for("ready").await;
            cancel.cancel();
        });
    assert_eq!(observed.status, ObservationStatus::Aborted);
    let cleaned = observed.output.contains("]\nready\n") && observed.output.ends_with("cleaned\n");
    assert!(cleaned, "{}", observed.output);
}

/// The shell dies of the signal at once; its child, which does not, has the grace all the same.
#[tokio::test]
async fn a_child_may_clean_up_after_the_shell_has_gone() {
    let world = patient();
    let (cancel, seen) = (CancelSource::new(), Arc::new(RecordedProgress::default()));
    let context = context_with(&cancel, 60_000, seen.clone());
    world.put(
        "child",
        "trap 'sleep 0.1; echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
    );
    let command = "sh child; echo never";
    let (observed, ()) =
        tokio::join!(world.call_in("shell", json!({"command": command}), context), async {
            seen.wait_for("ready").await;
            cancel.cancel();
        });
    assert_eq!(observed.status, ObservationStatus::Aborted);
    assert!(observed.output.ends_with("cleaned\n"), "{}", observed.output);
    assert!(!observed.output.contains("never"), "{}", observed.output);
}

#[tokio::test]
async fn a_dropped_call_ends_the_whole_family() {
    let world = World::new();
    let seen = Arc::new(RecordedProgress::default());
    let context = context_with(&CancelSource::new(), 60_000, seen.clone());
    let tools = world.tools.clone();
    let running = tokio::spawn(async move {
        crate::common::run(&*tools, "shell", json!({"command": FAMILY}), context).await
    });
    seen.wait_for("grown").await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    assert_dead(&world);
}

#[tokio::test]
async fn what_is_left_in_the_background_dies_with_its_command() {
    let world = World::new();
    let command = "sleep 60 & echo $! > pid; echo done";
    let said = world.done("shell", json!({"command": command})).await;
    assert!(said.starts_with("done\n"), "{said}");
    dies(&world.text("pid"));
}

/// Waits until the process in the file is what it is called.
#[cfg(target_os = "linux")]
const ASLEEP: &str = "while [ \"$(cat /proc/$(cat pid)/comm)\" != sleep ]; do :; done";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_is_left_in_the_background_neither_hangs_nor_lives() {
    let world = World::new();
    let command = format!("sleep 60 & echo $! > pid; {ASLEEP}; echo done");
    let said = world.done("shell", json!({"command": command})).await;
    assert_eq!(said, "done\n[killed 1 process that the command left running: `sleep 60`]");
    dies(&world.text("pid"));
}

/// A process in a session of its own is found by its environment, also below another one.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_leaves_the_group_is_named_and_killed() {
    let world = World::new();
    world.put("daemon", "echo $$ > pid; exec sleep 600");
    let command =
        format!("setsid setsid sh daemon & while [ ! -s pid ]; do :; done; {ASLEEP}; echo ok");
    let said = world.done("shell", json!({"command": command})).await;
    assert_eq!(said, "ok\n[killed 1 process that the command left running: `sleep 600`]");
    dies(&world.text("pid"));
    let (cancel, seen) = (CancelSource::new(), Arc::new(RecordedProgress::default()));
    let context = context_with(&cancel, 60_000, seen.clone());
    let stopped = json!({"command": format!("rm pid; {command}; sleep 60")});
    let (_, ()) = tokio::join!(world.call_in("shell", stopped, context), async {
        seen.wait_for("ok").await;
        cancel.cancel();
    });
    dies(&world.text("pid"));
}

/// Without the mark in its environment it is out of reach; the call ends all the same and says so.
#[tokio::test]
async fn what_hides_does_not_hang_the_call() {
    let world = World::new();
    let command = "setsid env -i /bin/sh -c 'echo $$ > pid; exec /bin/sleep 600' & \
                   while [ ! -s pid ]; do :; done; echo ok";
    // Whoever waited for it would be out of time.
    let said = world.done("shell", json!({"command": command})).await;
    assert!(said.starts_with("ok\n[a background process that cannot be found"), "{said}");
    let pid: i32 = world.text("pid").trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process_group(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn each_call_is_a_new_shell() {
    let world = World::new();
    world.done("shell", json!({"command": "mkdir sub; cd sub; X=1; export X"})).await;
    let said = world.done("shell", json!({"command": "basename $(pwd); echo [$X]"})).await;
    assert_eq!(said, "ws\n[]\n");
}

#[tokio::test]
async fn a_long_line_is_cut() {
    let world = World::new();
    let command = "head -c 5000 /dev/zero | tr '\\0' x; echo; echo end";
    let seen = world.call("shell", json!({"command": command})).await;
    let text = format!("{}[... 3000 more bytes of this line]\nend\n", "x".repeat(2_000));
    assert_eq!((seen.output, seen.omitted_bytes), (text, 3_000));
}

#[tokio::test]
async fn closed_pipes_do_not_end_a_command() {
    let world = World::new();
    let command = "exec 1>&- 2>&-; echo lost; echo kept > file";
    assert_eq!(world.done("shell", json!({"command": command})).await, "");
    assert_eq!(world.text("file"), "kept\n");
}

#[tokio::test]
async fn progress_is_bounded() {
    let world = World::new();
    let seen = Arc::new(RecordedProgress::default());
    let context = context_with(&CancelSource::new(), 60_000, seen.clone());
    let flood = json!({"command": "yes | head -c 20000000"});
    let start = Instant::now();
    world.call_in("shell", flood, context).await;
    // One at first and then ten a second, however long the machine takes.
    let most = 2 + start.elapsed().as_millis() / 100;
    let lines = seen.lines.lock().unwrap();
    let count = lines.len() as u128;
    assert!((1..=most).contains(&count), "{count} of {most}");
    assert!(lines.iter().all(|line| line.len() <= 1_024));
}

#[tokio::test]
async fn a_workspace_that_is_gone_is_no_observation() {
    let world = World::new();
    std::fs::remove_dir(world.path("")).unwrap();
    let ran =
        crate::common::run(&*world.tools, "shell", json!({"command": "true"}), context()).await;
    let error = ran.unwrap_err();
    assert!(!error.started() && error.context.contains("cannot run /bin/sh in"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_leave_no_zombie() {
    let world = World::new();
    let mut running = Vec::new();
    for n in 0..40 {
        let tools = world.tools.clone();
        running.push(tokio::spawn(async move {
            let command = json!({"command": format!("echo {n}; echo $$")});
            crate::common::run(&*tools, "shell", command, context()).await.unwrap()
        }));
    }
    for (n, call) in running.into_iter().enumerate() {
        let seen = tokio::time::timeout(Duration::from_secs(300), call).await.unwrap().unwrap();
        let (first, pid) = seen.output.split_once('\n').unwrap();
        assert_eq!(first, n.to_string());
        assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists());
    }
}
