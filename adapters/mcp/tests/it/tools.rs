//! Tools as they are offered, and their results.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_core::{EffectClass, ObservationStatus};
use windlass_mcp::{McpTools, ToolApproval};
use windlass_ports::{CancelSource, ProgressSink, ToolExecutor as _};

use super::bench::{Bench, call, call_within, context, eventually, said};

fn effects(tools: &McpTools) -> Vec<(String, EffectClass)> {
    let short = |name: &str| name.trim_start_matches("mcp__s__").to_owned();
    tools.tools().iter().map(|tool| (short(&tool.name), tool.effect)).take(4).collect()
}

#[tokio::test]
async fn hints_count_where_the_server_is_trusted_and_a_person_is_asked_where_it_is_not() {
    let mut bench = Bench::plain("plain");
    let pairs = |classes: [EffectClass; 4]| {
        ["echo", "look", "add", "set"].map(str::to_owned).into_iter().zip(classes).collect()
    };
    let (reads, again, effect) =
        (EffectClass::ReadOnly, EffectClass::Idempotent, EffectClass::Effectful);
    let tools = bench.start().await;
    let expected: Vec<_> = pairs([reads, reads, effect, again]);
    assert_eq!(effects(&tools), expected);
    assert!(tools.approvals().is_empty());
    bench.server.trusted = false;
    let tools = bench.start().await;
    let expected: Vec<_> = pairs([effect; 4]);
    assert_eq!(effects(&tools), expected);
    let asked = tools.approvals();
    assert_eq!(asked.len(), tools.tools().len());
    assert!(asked.iter().all(|(_, approval)| *approval == ToolApproval::Ask));
}

#[tokio::test]
async fn hostile_names_and_texts_are_offered_safely_or_not_at_all() {
    let bench = Bench::plain("hostile");
    let tools = bench.start().await;
    let specs = tools.tools();
    let names: BTreeSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!((specs.len(), names.len()), (8, 8), "{names:?}");
    for spec in &specs {
        let safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        assert!(spec.name.len() <= 64 && spec.name.bytes().all(safe), "{}", spec.name);
        assert!(spec.description.len() <= 9_000);
    }
    let left = &tools.reports()[0].left_out;
    assert_eq!(left, &["\"ok\": its name is taken"]);
}

#[tokio::test]
async fn results_are_text_with_their_status() {
    let bench = Bench::new("plain");
    let tools = bench.start().await;
    let failed = call(&tools, "fail", json!({})).await.unwrap();
    assert_eq!(
        (failed.status, failed.output.as_str()),
        (ObservationStatus::Failed, "no such city")
    );
    let measured = said(&tools, "measure").await;
    assert!(measured.starts_with(r#"{"degrees":"warm"}"#), "{measured}");
    assert!(measured.contains("/degrees is not of the type \"number\""), "{measured}");
}

#[tokio::test]
async fn an_answer_that_is_too_large_ends_the_connection_and_is_told() {
    let bench = Bench::new("plain");
    let tools = bench.start().await;
    let error = call(&tools, "huge", json!({})).await.unwrap_err();
    assert!(error.started(), "{error}");
    let degraded =
        || format!("{:?}", tools.reports()[0].state).contains("more than 16777216 bytes");
    eventually("the reason", || degraded() || bench.lines("starts").len() == 2).await;
    assert_eq!(said(&tools, "echo").await, "hello", "it is there again");
}

/// Texts that were reported.
#[derive(Default)]
struct Reports(Mutex<Vec<String>>);

impl ProgressSink for Reports {
    fn report(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

#[tokio::test]
async fn progress_is_reported_while_a_call_runs() {
    let bench = Bench::new("plain");
    let tools = bench.start().await;
    let reports = Arc::new(Reports::default());
    let mut context = context(&CancelSource::new());
    context.progress = reports.clone();
    call_within(&tools, "progress", json!({}), context).await.unwrap();
    let told = reports.0.lock().unwrap();
    assert!(!told.is_empty() && told.iter().all(|text| text.starts_with("half (")), "{told:?}");
}

#[tokio::test]
async fn a_tool_that_changed_is_not_called_as_it_was_offered() {
    let bench = Bench::new("plain");
    let tools = bench.start().await;
    assert!(tools.changed().is_empty());
    assert_eq!(said(&tools, "change").await, "changed");
    let refused = async || call(&tools, "echo", json!({"text": "a"})).await;
    let mut ended = refused().await;
    // The list is read again once the server has told its change.
    while ended.is_ok() {
        ended = refused().await;
    }
    let error = ended.unwrap_err();
    assert!(!error.started() && error.to_string().contains("has changed what this tool is"));
    assert_eq!(said(&tools, "look").await, "", "another tool is called as before");
}

#[tokio::test]
async fn a_tool_that_changed_between_starts_is_asked_about_until_a_call_of_it_ran() {
    let bench = Bench::new("plain");
    drop(bench.start().await);
    let record = bench.dir.path().join("state/servers.json");
    let text = std::fs::read_to_string(&record).unwrap();
    let at = text.find("\"echo\":\"").unwrap() + "\"echo\":\"".len();
    let other = format!("{}{}{}", &text[..at], "0".repeat(64), &text[at + 64..]);
    std::fs::write(&record, other).unwrap();
    for _ in 0..2 {
        let tools = bench.start().await;
        assert_eq!(tools.changed(), BTreeSet::from(["mcp__s__echo"]));
        assert_eq!(tools.approvals(), [("mcp__s__echo", ToolApproval::Ask)]);
    }
    let tools = bench.start().await;
    assert_eq!(said(&tools, "echo").await, "hello");
    drop(tools);
    assert!(bench.start().await.approvals().is_empty());
    std::fs::write(&record, "{").unwrap();
    let tools = bench.start().await;
    assert_eq!(tools.changed().len(), tools.tools().len(), "a damaged record approves nothing");
}
