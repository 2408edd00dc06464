//! Commands that are asked what became of a call: what they are given, and what their exit codes
//! mean.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::{Observation, ObservationStatus};
use windlass_localfs::CommandTools;
use windlass_ports::{CancelSource, ToolCall, ToolContext, ToolError, ToolErrorKind, ToolExecutor};

use crate::bench::Bench;
use crate::common::{RecordedProgress, context, context_with, dies, passes};

impl Bench {
    /// A tool that is never run here, with this to be asked what became of it.
    fn reconciled_by(&self, script: &str, mut more: Value) -> CommandTools {
        more["reconcile"] = json!(["sh", "-c", script]);
        self.tool("echo ran >> ran; exit 9", more)
    }
}

async fn ask(tools: &CommandTools, context: ToolContext) -> Result<Option<Observation>, ToolError> {
    let call = ToolCall { name: String::from("t"), arguments: String::from(r#"{"n":1}"#) };
    tools.reconcile(call, context).await
}

async fn answer(script: &str) -> Option<Observation> {
    let bench = Bench::new();
    let tools = bench.reconciled_by(script, json!({}));
    let answer = ask(&tools, context()).await.unwrap();
    assert!(!bench.workspace().join("ran").exists(), "it ran the tool");
    answer
}

#[tokio::test]
async fn it_is_given_what_the_tool_was_given() {
    let bench = Bench::new();
    let script = "cat; pwd; env; ps -o pgid= -p $$ | tr -d ' '; echo $$";
    let tools = bench.reconciled_by(script, json!({"env": ["CARGO_PKG_NAME"]}));
    let mut context = context();
    context.attempt = 2;
    let seen = ask(&tools, context).await.unwrap().unwrap();
    assert_eq!(seen.status, ObservationStatus::Done);
    let here = bench.workspace().canonicalize().unwrap();
    let begin = format!("{{\"n\":1}}{}\n", here.display());
    assert!(seen.output.starts_with(&begin), "{}", seen.output);
    let lines: Vec<&str> = seen.output.lines().collect();
    for expected in [
        "WINDLASS_IDEMPOTENCY_KEY=s-1/7",
        "WINDLASS_SESSION=s-1",
        "WINDLASS_CALL=7",
        "WINDLASS_ATTEMPT=2",
        "CARGO_PKG_NAME=windlass-localfs",
    ] {
        assert!(lines.contains(&expected), "{expected}: {}", seen.output);
    }
    assert!(!seen.output.contains("CARGO_MANIFEST_DIR"));
    let [.., group, leader] = lines.as_slice() else {
        panic!("{}", seen.output);
    };
    assert_eq!(group, leader, "it leads a process group of its own");
}

#[tokio::test]
async fn exit_code_0_is_done_and_its_stdout_is_the_result() {
    let seen = answer("echo noise >&2; echo deployed").await.unwrap();
    assert_eq!(seen, Observation::new(ObservationStatus::Done, "deployed\n"));
}

#[tokio::test]
async fn exit_code_3_is_a_failure_that_took_no_effect() {
    let seen = answer("echo not in the ledger; exit 3").await.unwrap();
    assert_eq!(seen.status, ObservationStatus::Failed);
    let begin = "not in the ledger\n[";
    assert!(seen.output.starts_with(begin), "{}", seen.output);
    let words = "did not take effect, so it may be repeated]";
    assert!(seen.output.ends_with(words), "{}", seen.output);
}

#[tokio::test]
async fn every_other_end_says_nothing() {
    for script in [
        "echo deployed; exit 2",
        "exit 1",
        "exit 127",
        "exit 255",
        "echo deployed; kill -KILL $$",
        "kill -TERM $$",
    ] {
        assert_eq!(answer(script).await, None, "{script}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_takes_too_long_says_nothing_and_leaves_nothing() {
    let bench = Bench::new();
    let script = "sleep 60 & echo $! > pid; echo deployed; wait";
    let tools = bench.reconciled_by(script, json!({"timeout_ms": 2_000}));
    let begun = Arc::new(RecordedProgress::default());
    let context = context_with(&CancelSource::new(), 60_000, begun.clone());
    let (answer, ()) = tokio::join!(
        ask(&tools, context),
        passes(begun.wait_for("deployed"), Duration::from_secs(2))
    );
    assert_eq!(answer.unwrap(), None);
    dies(&fs::read_to_string(bench.workspace().join("pid")).unwrap());
}

#[tokio::test]
async fn a_question_that_is_called_off_says_nothing() {
    let bench = Bench::new();
    let tools = bench.reconciled_by("echo begun; sleep 60", json!({}));
    let (cancel, seen) = (CancelSource::new(), Arc::new(RecordedProgress::default()));
    let context = context_with(&cancel, 60_000, seen.clone());
    let (answer, ()) = tokio::join!(ask(&tools, context.clone()), async {
        seen.wait_for("begun").await;
        cancel.cancel();
    });
    assert_eq!(answer.unwrap(), None);
    let tools = bench.reconciled_by("echo begun > begun", json!({}));
    assert_eq!(ask(&tools, context).await.unwrap(), None);
    assert!(!bench.workspace().join("begun").exists());
}

#[tokio::test]
async fn a_long_answer_is_bounded() {
    for code in [0, 3] {
        let script = format!("yes | head -c 200000; exit {code}");
        let seen = answer(&script).await.unwrap();
        assert!(seen.output.len() < 64 * 1024, "{}", seen.output.len());
        assert_eq!(seen.output_bytes, 200_000);
        assert!(seen.omitted_bytes > 100_000);
    }
}

#[tokio::test]
async fn a_tool_without_such_a_command_cannot_tell() {
    let bench = Bench::new();
    let tools = bench.tool("echo ran > ran", json!({}));
    let refused = ask(&tools, context()).await.unwrap_err();
    assert_eq!(refused.kind, ToolErrorKind::Unsupported, "{refused}");
    assert!(!bench.workspace().join("ran").exists());
}

#[tokio::test]
async fn a_program_that_is_gone_is_an_error() {
    let bench = Bench::new();
    bench.script("check.sh", "#!/bin/sh\necho fine\n");
    let tools = bench.tool("true", json!({"reconcile": ["./check.sh"]}));
    let seen = ask(&tools, context()).await.unwrap().unwrap();
    assert_eq!(seen.output, "fine\n");
    fs::remove_file(bench.dir.path().join("config/check.sh")).unwrap();
    let gone = ask(&tools, context()).await.unwrap_err();
    assert!(gone.context.contains("check the tools file"), "{gone}");
}
