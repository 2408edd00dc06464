//! The user's own commands: the tools file, and real runs.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use crate::bench::{Bench, entry};
use crate::common::{RecordedProgress, context, context_with, dies, passes, run};
use serde_json::{Value, json};
use windlass_core::{Concurrency, EffectClass, ObservationStatus, ParentEndPolicy};
use windlass_localfs::CommandTools;
use windlass_ports::{CancelSource, ToolExecutor};

#[tokio::test]
async fn arguments_come_on_stdin_and_the_result_is_stdout() {
    let bench = Bench::new();
    let tools = bench.tool("cat; echo noise >&2; pwd", json!({}));
    let seen = run(&tools, "t", json!({"a": [1, "ä"]}), context()).await.unwrap();
    assert_eq!(seen.status, ObservationStatus::Done);
    let here = bench.workspace().canonicalize().unwrap();
    assert_eq!(seen.output, format!("{{\"a\":[1,\"ä\"]}}{}\n", here.display()));
}

#[tokio::test]
async fn the_call_is_known_to_the_command_and_no_key_is() {
    let bench = Bench::new();
    let tools = bench.tool("env", json!({"env": ["CARGO_PKG_NAME"]}));
    let mut context = context();
    context.attempt = 3;
    let seen = run(&tools, "t", json!({}), context).await.unwrap();
    let lines: Vec<&str> = seen.output.lines().collect();
    for expected in [
        "WINDLASS_IDEMPOTENCY_KEY=s-1/7",
        "WINDLASS_SESSION=s-1",
        "WINDLASS_CALL=7",
        "WINDLASS_ATTEMPT=3",
        "CARGO_PKG_NAME=windlass-localfs",
    ] {
        assert!(lines.contains(&expected), "{expected}: {}", seen.output);
    }
    // Cargo sets this for the test; it stands for any variable that nobody named.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!seen.output.contains("CARGO_MANIFEST_DIR"), "{}", seen.output);
}

#[tokio::test]
async fn a_failure_shows_the_exit_code_and_the_end_of_stderr() {
    let bench = Bench::new();
    let tools =
        bench.tool("echo part; yes noise | head -n 9999 >&2; echo why >&2; exit 4", json!({}));
    let seen = run(&tools, "t", json!({}), context()).await.unwrap();
    assert_eq!(seen.status, ObservationStatus::Failed);
    assert!(seen.output.starts_with("part\n[exit code 4]\n[stderr]\n"), "{}", seen.output);
    assert!(seen.output.ends_with("why\n"), "{}", seen.output);
    assert_eq!(seen.output_bytes, 5 + 9_999 * 6 + 4);
    assert!(seen.output.len() < 9_000 && seen.omitted_bytes > 50_000);
}

#[tokio::test]
async fn a_command_need_not_read_its_arguments() {
    let bench = Bench::new();
    let tools = bench.tool("exec <&-; echo done", json!({}));
    let large = json!({"text": "x".repeat(4_000_000)});
    let seen = run(&tools, "t", large.clone(), context()).await.unwrap();
    assert_eq!((seen.status, seen.output.as_str()), (ObservationStatus::Done, "done\n"));
    let tools = bench.tool("wc -c", json!({}));
    let seen = run(&tools, "t", large, context()).await.unwrap();
    assert_eq!(seen.output.trim(), "4000011");
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_of_its_own_ends_it_with_its_children() {
    let bench = Bench::new();
    let tools =
        bench.tool("sleep 60 & echo $! > pid; echo begun; wait", json!({"timeout_ms": 2_000}));
    let begun = Arc::new(RecordedProgress::default());
    let context = context_with(&CancelSource::new(), 60_000, begun.clone());
    let (seen, ()) = tokio::join!(
        run(&tools, "t", json!({}), context),
        passes(begun.wait_for("begun"), Duration::from_secs(2))
    );
    let seen = seen.unwrap();
    assert_eq!(seen.status, ObservationStatus::Failed);
    assert!(seen.output.starts_with("begun\n[stopped at its time limit of 2000 ms"), "{seen:?}");
    dies(&fs::read_to_string(bench.workspace().join("pid")).unwrap());
}

#[tokio::test]
async fn a_cancelled_command_is_aborted() {
    let bench = Bench::new();
    let tools = bench.tool("echo begun; sleep 60", json!({}));
    let (cancel, seen) = (CancelSource::new(), Arc::new(RecordedProgress::default()));
    let context = context_with(&cancel, 60_000, seen.clone());
    let (ran, ()) = tokio::join!(run(&tools, "t", json!({}), context), async {
        seen.wait_for("begun").await;
        cancel.cancel();
    });
    let ran = ran.unwrap();
    assert_eq!(ran.status, ObservationStatus::Aborted);
    assert!(ran.output.starts_with("begun\n["), "{}", ran.output);
}

#[tokio::test]
async fn a_program_is_looked_for_beside_the_file_and_never_in_the_workspace() {
    let bench = Bench::new();
    bench.script("mine.sh", "#!/bin/sh\necho mine\n");
    let file =
        |program: &str| json!({"tools": [entry("", json!({"command": [program]}))]}).to_string();
    let tools = bench.load(&file("./mine.sh")).unwrap();
    let seen = run(&tools, "t", json!({}), context()).await.unwrap();
    assert_eq!(seen.output, "mine\n");
    fs::copy(bench.dir.path().join("config/mine.sh"), bench.workspace().join("theirs")).unwrap();
    for missing in ["theirs", "./theirs", "no-such-program"] {
        assert!(bench.load(&file(missing)).is_err(), "{missing}");
    }
    fs::remove_file(bench.dir.path().join("config/mine.sh")).unwrap();
    let gone = run(&tools, "t", json!({}), context()).await.unwrap_err();
    assert!(!gone.started() && gone.context.contains("check the tools file"), "{gone}");
}

#[test]
fn a_tools_file_says_all_that_the_engine_needs() {
    let bench = Bench::new();
    let one = json!({"effect": "read_only", "concurrency": "parallel", "timeout_ms": 5});
    let two = json!({"name": "u_2-B", "effect": "idempotent"});
    let three = json!({"name": "v", "reconcile": ["true"]});
    let entries = [entry("", one), entry("", two), entry("", three)];
    let specs = bench.load(&json!({"tools": entries}).to_string()).unwrap().tools();
    let found: Vec<_> =
        specs.iter().map(|s| (s.name.as_str(), s.effect, s.concurrency, s.timeout_ms)).collect();
    assert_eq!(
        found,
        [
            ("t", EffectClass::ReadOnly, Concurrency::Parallel, Some(5)),
            ("u_2-B", EffectClass::Idempotent, Concurrency::Exclusive, None),
            ("v", EffectClass::Effectful, Concurrency::Exclusive, None),
        ]
    );
    let reconciles: Vec<bool> = specs.iter().map(|s| s.reconciles).collect();
    assert_eq!(reconciles, [false, false, true]);
    assert_eq!(specs[0].parameters, r#"{"type":"object"}"#);
    assert!(bench.load(r#"{"tools": []}"#).unwrap().tools().is_empty());
}

#[test]
fn an_agent_is_declared_without_a_command() {
    let bench = Bench::new();
    let agent = json!({"instructions": "Look.", "tools": ["read_file"], "samples": 5});
    let least = json!({"name": "scout", "description": "Looks around.", "agent": agent});
    let mut whole = least.clone();
    whole["name"] = json!("scout2");
    whole["effect"] = json!("read_only");
    whole["concurrency"] = json!("exclusive");
    whole["timeout_ms"] = json!(9);
    whole["agent"]["tokens"] = json!(7);
    whole["agent"]["cost_micros"] = json!(8);
    whole["agent"]["when_parent_ends"] = json!("detach");
    let file = json!({"tools": [least, entry("", json!({})), whole]}).to_string();
    let specs = bench.load(&file).unwrap().tools();
    let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["t", "scout", "scout2"]);
    let found = specs[1].agent.as_ref().unwrap();
    assert_eq!((found.samples, found.tokens, found.cost_micros), (5, 0, 0));
    assert_eq!(found.when_parent_ends, ParentEndPolicy::Stop);
    assert_eq!(specs[1].effect, EffectClass::Idempotent);
    assert_eq!(specs[1].concurrency, Concurrency::Parallel);
    assert!(specs[1].parameters.contains("prompt"));
    let found = specs[2].agent.as_ref().unwrap();
    assert_eq!((found.samples, found.tokens, found.cost_micros), (5, 7, 8));
    assert_eq!(found.when_parent_ends, ParentEndPolicy::Detach);
    assert_eq!(specs[2].effect, EffectClass::ReadOnly);
    assert_eq!(specs[2].timeout_ms, Some(9));
}

#[test]
fn a_bad_tools_file_says_where_and_what() {
    let bench = Bench::new();
    let with = |more: Value| json!({"tools": [entry("", more)]}).to_string();
    let twice = json!({"tools": [entry("", json!({})), entry("", json!({}))]}).to_string();
    let cases = [
        (String::from("{\n  \"tools\": [,]\n}"), "line 2 column 13"),
        (String::from("{}"), "missing field `tools`"),
        (with(json!({"comand": []})), "unknown field `comand`"),
        (with(json!({"effect": "harmless"})), "unknown variant `harmless`"),
        (with(json!({"name": "a b"})), "tool 1 (`a b`): a name has 1 to 64"),
        (with(json!({"name": "x".repeat(65)})), "a name has 1 to 64"),
        (with(json!({"description": " "})), "`description` is empty"),
        (with(json!({"parameters": {}})), "\"type\": \"object\""),
        (with(json!({"command": []})), "`command` is empty"),
        (
            with(json!({"agent": {"instructions": "", "samples": 1}})),
            "an agent is run by the engine: leave out `command`",
        ),
        (with(json!({"agent": {"instructions": "", "sample": 1}})), "unknown field `sample`"),
        (with(json!({"command": [""]})), "`command` is empty"),
        (with(json!({"command": ["a\0"]})), "zero byte"),
        (with(json!({"timeout_ms": 0})), "`timeout_ms` is at least 1"),
        (with(json!({"env": ["A=B"]})), "`A=B` is none that can be passed"),
        (with(json!({"env": ["WINDLASS_CALL"]})), "`WINDLASS_CALL` is none"),
        (
            with(json!({"reconcile": ["true"], "effect": "read_only"})),
            "`reconcile` is for tools that change something",
        ),
        (with(json!({"reconcile": []})), "`reconcile` is empty"),
        (with(json!({"reconcile": ["sh", "a\0"]})), "`reconcile` has a zero byte"),
        (with(json!({"reconcile": ["no-such-program"]})), "no program `no-such-program`"),
        (with(json!({"reconcile": "sh"})), "expected a sequence"),
        (twice, "tool 2 (`t`): the name is taken"),
    ];
    for (text, expected) in cases {
        let error = bench.load(&text).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("tools.json"), "{error}");
    }
    let missing = CommandTools::load(&bench.dir.path().join("none"), &bench.workspace());
    assert!(missing.unwrap_err().to_string().contains("cannot read the tools file"));
    let folder = CommandTools::load(&bench.dir.path().join("config"), &bench.workspace());
    assert!(folder.unwrap_err().to_string().contains("must be a regular file"));
    let nowhere = CommandTools::load(&bench.dir.path().join("none"), &bench.dir.path().join("no"));
    assert!(nowhere.unwrap_err().to_string().contains("cannot open the workspace"));
}

#[tokio::test]
async fn an_unknown_tool_never_begins() {
    let bench = Bench::new();
    let tools = bench.tool("true", json!({}));
    let error = run(&tools, "other", json!({}), context()).await.unwrap_err();
    assert!(!error.started(), "{error}");
}
