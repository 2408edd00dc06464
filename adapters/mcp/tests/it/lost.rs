//! Calls whose answers are lost, and the way back to the server.

use std::time::Duration;

use serde_json::json;
use windlass_core::ObservationStatus;
use windlass_mcp::ServerState;
use windlass_ports::{CancelSource, ToolErrorKind};

use super::bench::{Bench, call, call_within, context, eventually, kill, said, state};

#[tokio::test]
async fn a_call_in_which_the_server_dies_is_unknown_and_not_repeated() {
    let bench = Bench::new("plain");
    let tools = bench.start().await;
    let error = call(&tools, "die", json!({})).await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Failed, "{error}");
    assert_eq!(said(&tools, "echo").await, "hello", "the next call starts the server again");
    assert_eq!(bench.lines("world"), ["died"], "it ran once");
    assert_eq!(bench.lines("starts").len(), 2);
}

#[tokio::test]
async fn a_server_that_is_killed_in_a_call_is_degraded_with_its_last_list() {
    let bench = Bench::new("plain");
    let tools = bench.start().await;
    let waiting = call(&tools, "wait", json!({}));
    let killing = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        kill(&bench.folder());
        eventually("the loss", || matches!(state(&tools), ServerState::Degraded { .. })).await;
        assert!(tools.reports()[0].tools.len() > 6, "its last list stays");
    };
    let (ended, ()) = tokio::join!(waiting, killing);
    assert!(ended.unwrap_err().started());
    eventually("the way back", || state(&tools) == ServerState::Ready).await;
    assert_eq!(said(&tools, "echo").await, "hello");
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_unknown_if_it_may_have_changed_something() {
    let mut bench = Bench::new("plain");
    bench.server.tool_timeout = Duration::from_millis(100);
    let tools = bench.start().await;
    let ended = call(&tools, "wait", json!({})).await.unwrap();
    assert_eq!(ended.status, ObservationStatus::Unknown, "{}", ended.output);
    bench.wait_lines("cancelled", 1).await;
    assert_eq!(said(&tools, "echo").await, "hello", "the server is still there");
    assert_eq!(bench.lines("starts").len(), 1);
}

#[tokio::test]
async fn a_cancelled_and_a_dropped_call_are_told_to_the_server() {
    let bench = Bench::new("plain");
    let tools = bench.start().await;
    let cancel = CancelSource::new();
    let running = call_within(&tools, "wait", json!({}), context(&cancel));
    let cancelling = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(running, cancelling);
    assert_eq!(ended.unwrap().status, ObservationStatus::Aborted);
    bench.wait_lines("cancelled", 1).await;
    let dropped = tokio::time::timeout(Duration::from_millis(20), call(&tools, "wait", json!({})));
    assert!(dropped.await.is_err());
    bench.wait_lines("cancelled", 2).await;
}
