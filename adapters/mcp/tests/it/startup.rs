//! How a server begins: both eras, servers that say nothing, and those that fail.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_mcp::{McpServer, McpTransport, ServerState};
use windlass_ports::ToolExecutor as _;

use super::bench::{Bench, call, eventually, said, state};

#[tokio::test]
async fn a_server_of_the_older_era_is_asked_twice_and_then_once() {
    let bench = Bench::new("plain");
    let tools = bench.start().await;
    assert_eq!(tools.reports()[0].protocol.as_deref(), Some("2025-11-25"));
    assert_eq!(said(&tools, "echo").await, "hello");
    assert_eq!(bench.lines("asked"), ["discover", "initialize"]);
    assert_eq!(bench.lines("starts").len(), 1);
    drop(tools);
    let tools = bench.start().await;
    assert_eq!(said(&tools, "echo").await, "hello");
    assert_eq!(bench.lines("asked"), ["discover", "initialize", "initialize"]);
}

#[tokio::test]
async fn a_server_of_the_newer_era_is_asked_in_its_own_way() {
    for mode in ["modern", "latch"] {
        let bench = Bench::new(mode);
        for _ in 0..2 {
            let tools = bench.start().await;
            assert_eq!(tools.reports()[0].protocol.as_deref(), Some("2026-07-28"));
            assert_eq!(said(&tools, "echo").await, "hello");
        }
        assert_eq!(bench.lines("asked"), ["discover", "discover"], "{mode}");
    }
}

#[tokio::test]
async fn a_server_that_changed_its_era_is_asked_again() {
    let bench = Bench::new("modern");
    drop(bench.start().await);
    // The record of the time when it spoke the older one.
    let record = bench.dir.path().join("state/servers.json");
    let text = std::fs::read_to_string(&record).unwrap();
    let older = text.replace("\"era\":\"discover\"", "\"era\":\"initialize\"");
    assert_ne!(text, older);
    std::fs::write(&record, older).unwrap();
    let tools = bench.try_start().await.unwrap();
    assert!(matches!(state(&tools), ServerState::Failed { .. }), "{:?}", state(&tools));
    eventually("the next attempt", || state(&tools) == ServerState::Ready).await;
    assert_eq!(bench.lines("asked"), ["discover", "initialize", "discover"]);
}

#[tokio::test]
async fn a_server_that_ignores_what_it_does_not_know_is_started_again_for_the_older_way() {
    let mut bench = Bench::new("silent");
    bench.server.startup_timeout = Duration::from_millis(1_500);
    let tools = bench.start().await;
    assert_eq!(said(&tools, "echo").await, "hello");
    assert_eq!(bench.lines("asked"), ["discover", "initialize"]);
    assert_eq!(bench.lines("starts").len(), 2, "the older way has a process of its own");
    drop(tools);
    let begun = Instant::now();
    drop(bench.start().await);
    assert!(begun.elapsed() < Duration::from_millis(750), "what worked is remembered");
}

#[tokio::test]
async fn a_server_that_answers_with_something_else_is_asked_in_the_older_way() {
    let bench = Bench::new("polite");
    let tools = bench.start().await;
    assert_eq!(said(&tools, "echo").await, "hello");
    assert_eq!(bench.lines("asked"), ["discover", "initialize"]);
}

#[tokio::test]
async fn a_mute_server_fails_within_its_time() {
    let mut bench = Bench::new("mute");
    bench.server.startup_timeout = Duration::from_millis(400);
    let begun = Instant::now();
    let tools = bench.try_start().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let ServerState::Failed { reason } = state(&tools) else { panic!("{:?}", state(&tools)) };
    assert!(reason.contains("said nothing within 200 ms"), "{reason}");
    assert!(tools.tools().is_empty());
    bench.server.required = true;
    let error = bench.try_start().await.err().unwrap().to_string();
    assert!(error.starts_with("cannot start the MCP server s ("), "{error}");
}

#[tokio::test]
async fn a_program_that_is_missing_or_that_exits_is_a_failure_with_its_words() {
    let mut bench = Bench::new("fails_once");
    let tools = bench.try_start().await.unwrap();
    let ServerState::Failed { reason } = state(&tools) else { panic!("{:?}", state(&tools)) };
    assert!(reason.ends_with("it wrote: Error: the database is locked"), "{reason}");
    eventually("the next attempt", || state(&tools) == ServerState::Ready).await;
    drop(tools);
    bench.server = McpServer::new(McpTransport::Stdio {
        command: "no-such-program-here".into(),
        args: Vec::new(),
        env: Default::default(),
        cwd: None,
        sandbox: None,
    });
    let tools = bench.try_start().await.unwrap();
    let ServerState::Failed { reason } = state(&tools) else { panic!("{:?}", state(&tools)) };
    assert!(reason.contains("no-such-program-here"), "{reason}");
}

#[tokio::test]
async fn notifications_before_an_answer_are_no_answer() {
    let bench = Bench::new("chatty");
    let tools = bench.start().await;
    assert_eq!(said(&tools, "echo").await, "hello");
    let ended = call(&tools, "look", json!({})).await.unwrap();
    assert_eq!(ended.output, "");
}

#[tokio::test]
async fn a_list_without_an_end_is_a_failure() {
    let bench = Bench::new("endless_list");
    let tools = bench.try_start().await.unwrap();
    let ServerState::Failed { reason } = state(&tools) else { panic!("{:?}", state(&tools)) };
    assert!(reason.contains("pages"), "{reason}");
}
