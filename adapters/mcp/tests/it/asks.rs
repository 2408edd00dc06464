//! Calls whose servers ask the user, in both eras, and tasks: suspended, and gone on with.

use std::fs;
use std::sync::Arc;

use serde_json::json;
use windlass_core::{
    CallId, Observation, ObservationStatus, SuspendedCall, Suspension, TurnId, UserAnswer,
};
use windlass_mcp::McpTools;
use windlass_ports::{
    CancelSource, ToolCall, ToolContext, ToolEnd, ToolErrorKind, ToolExecutor as _,
};

use super::bench::{Bench, call, context};

/// A call, and what its runs left, as an engine has it.
struct Asking {
    tool: &'static str,
    suspended: Option<Arc<SuspendedCall>>,
    runs: u32,
}

impl Asking {
    fn new(tool: &'static str) -> Self {
        Self { tool, suspended: None, runs: 0 }
    }

    async fn run(&mut self, tools: &McpTools) -> ToolEnd {
        self.runs += 1;
        let suspended = self.suspended.clone();
        let context = ToolContext { suspended, ..context(&CancelSource::new()) };
        let call = ToolCall { name: format!("mcp__s__{}", self.tool), arguments: "{}".into() };
        tools.run_or_suspend(call, context).await.unwrap()
    }

    /// Runs until the call asks, and returns the question.
    async fn asks(&mut self, tools: &McpTools) -> Suspension {
        for _ in 0..10 {
            let ToolEnd::Suspended(suspension) = self.run(tools).await else {
                panic!("it did not ask");
            };
            let (suspension, runs) = (Arc::new(suspension), self.runs);
            self.suspended = Some(Arc::new(SuspendedCall {
                suspension: suspension.clone(),
                answer: None,
                runs,
                count: runs,
                decide_again: false,
            }));
            if suspension.question.is_some() {
                return (*suspension).clone();
            }
        }
        panic!("it goes on without an end");
    }

    fn answer(&mut self, text: &str) {
        let answer = UserAnswer { text: text.into(), declined: false };
        if let Some(suspended) = &mut self.suspended {
            Arc::make_mut(suspended).answer = Some(Arc::new(answer));
        }
    }

    async fn ends(&mut self, tools: &McpTools) -> Observation {
        match self.run(tools).await {
            ToolEnd::Observed(observation) => observation,
            ToolEnd::Suspended(suspension) => panic!("{suspension:?}"),
        }
    }
}

#[tokio::test]
async fn a_call_that_needs_input_is_sent_again_with_it_by_another_process() {
    let bench = Bench::plain("asks");
    let mut asking = Asking::new("book");
    let tools = bench.start().await;
    let asked = asking.asks(&tools).await;
    let question = asked.question.unwrap().question;
    assert_eq!(question, "Whom for?\nname (/decline refuses)");
    assert!(!asked.repeatable, "the call that follows books");
    // Asked again, for an answer that never came: the server is not called.
    assert_eq!(asking.asks(&tools).await.question.unwrap().question, question);
    drop(tools);
    let tools = bench.start().await;
    asking.answer("Ada");
    assert!(asking.asks(&tools).await.question.unwrap().question.contains("/skip takes 2"));
    assert_eq!(bench.lines("world"), ["asked"], "nothing is sent before all is answered");
    asking.answer("/skip");
    let ended = asking.ends(&tools).await;
    let content = r#"{"name":"Ada","seats":2}"#;
    assert_eq!(ended.output, format!(r#"booked: {{"action":"accept","content":{content}}}"#));
    assert_eq!(bench.lines("world"), ["asked".to_owned(), format!("booked {content}")]);
}

#[tokio::test]
async fn a_state_without_questions_is_sent_back_at_once() {
    let bench = Bench::plain("asks");
    let tools = bench.start().await;
    let mut asking = Asking::new("again");
    let ToolEnd::Suspended(suspension) = asking.run(&tools).await else {
        panic!("it has ended");
    };
    assert_eq!(suspension.question, None);
    let (suspension, decide_again) = (Arc::new(suspension), false);
    let suspended = SuspendedCall { suspension, answer: None, runs: 1, count: 1, decide_again };
    asking.suspended = Some(Arc::new(suspended));
    assert_eq!(asking.ends(&tools).await.output, "again: 1, {}");
}

#[tokio::test]
async fn a_task_is_followed_and_asks_and_outlives_the_process() {
    let mut bench = Bench::plain("asks");
    bench.server.tool_timeout = std::time::Duration::from_secs(10);
    let tools = bench.start().await;
    let mut asking = Asking::new("build");
    let asked = asking.asks(&tools).await;
    assert!(asked.repeatable, "it is asked how far it is");
    assert_eq!(asking.runs, 2, "the id of the task is recorded before it is followed");
    drop(tools);
    let tools = bench.start().await;
    asking.answer("Ada");
    asking.asks(&tools).await;
    asking.answer("3");
    let ended = asking.ends(&tools).await;
    assert_eq!(ended.status, ObservationStatus::Done, "{}", ended.output);
    let content = json!({"name": "Ada", "seats": 3});
    let updated = format!(r#"updated {{"who":{{"action":"accept","content":{content}}}}}"#);
    let lines = bench.lines("task");
    assert_eq!(lines.iter().filter(|line| **line == updated).count(), 1, "{lines:?}");
    assert_eq!(lines.iter().filter(|line| *line == "created").count(), 1, "{lines:?}");
}

#[tokio::test]
async fn a_task_outlives_its_connection_and_one_that_is_gone_is_unknown() {
    let bench = Bench::plain("asks");
    fs::write(bench.folder().join("dies"), "").unwrap();
    let tools = bench.start().await;
    let mut asking = Asking::new("build");
    asking.asks(&tools).await;
    assert_eq!(bench.lines("starts").len(), 2, "it was started again");
    asking.answer("Ada");
    asking.asks(&tools).await;
    asking.answer("3");
    fs::write(bench.folder().join("forgets"), "").unwrap();
    let context = ToolContext { suspended: asking.suspended, ..context(&CancelSource::new()) };
    let call = ToolCall { name: "mcp__s__build".into(), arguments: "{}".into() };
    let error = tools.run_or_suspend(call, context).await.unwrap_err();
    assert!(error.started() && error.to_string().contains("no such task"), "{error}");
}

/// A question of a turn that was interrupted would keep those of later turns from being asked.
#[tokio::test]
async fn a_question_that_an_earlier_turn_left_is_dismissed() {
    let bench = Bench::plain("asks_live");
    let tools = bench.start().await;
    Asking::new("live").asks(&tools).await;
    let context =
        ToolContext { turn: TurnId(9), call: CallId(10), ..context(&CancelSource::new()) };
    let call = ToolCall { name: "mcp__s__live".into(), arguments: "{}".into() };
    let end = tools.run_or_suspend(call, context).await.unwrap();
    assert!(matches!(end, ToolEnd::Suspended(_)), "{end:?}");
    bench.wait_lines("cancelled", 1).await;
}

#[tokio::test]
async fn a_task_of_a_call_that_is_cancelled_is_cancelled() {
    let bench = Bench::plain("asks");
    let tools = bench.start().await;
    let mut asking = Asking::new("build");
    asking.run(&tools).await;
    let suspension = Suspension {
        state: r#"{"kind":"task","id":"t1"}"#.into(),
        question: None,
        repeatable: true,
    };
    let (suspension, cancel) = (Arc::new(suspension), CancelSource::new());
    let suspended =
        SuspendedCall { suspension, answer: None, runs: 1, count: 1, decide_again: false };
    let context = ToolContext { suspended: Some(Arc::new(suspended)), ..context(&cancel) };
    let call = ToolCall { name: "mcp__s__build".into(), arguments: "{}".into() };
    let cancelling = async {
        bench.wait_lines("task", 2).await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(tools.run_or_suspend(call, context), cancelling);
    let ToolEnd::Observed(ended) = ended.unwrap() else { panic!("it goes on") };
    assert_eq!(ended.status, ObservationStatus::Aborted, "{}", ended.output);
    assert!(bench.lines("task").contains(&"cancelled".to_owned()));
}

#[tokio::test]
async fn a_question_in_the_middle_of_a_call_is_answered_in_its_process() {
    let bench = Bench::plain("asks_live");
    let tools = bench.start().await;
    let mut asking = Asking::new("live");
    asking.asks(&tools).await;
    asking.answer("Ada");
    asking.asks(&tools).await;
    asking.answer("4");
    let ended = asking.ends(&tools).await;
    let content = json!({"name": "Ada", "seats": 4});
    assert_eq!(ended.output, json!({"action": "accept", "content": content}).to_string());
    // Another process has nothing that could go on: nobody knows what became of the call.
    let mut lost = Asking::new("live");
    lost.asks(&tools).await;
    lost.answer("Ada");
    lost.asks(&tools).await;
    lost.answer("5");
    drop(tools);
    let tools = bench.start().await;
    let call = ToolCall { name: "mcp__s__live".into(), arguments: "{}".into() };
    let context = ToolContext { suspended: lost.suspended, ..context(&CancelSource::new()) };
    let error = tools.run_or_suspend(call, context).await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Failed, "{error}");
}

#[tokio::test]
async fn what_no_person_can_give_and_callers_that_cannot_ask_are_failures() {
    let mut bench = Bench::plain("asks");
    let tools = bench.start().await;
    for (tool, words) in [("roots", "roots/list"), ("book", "Whom for?")] {
        let ended = call(&tools, tool, json!({})).await.unwrap();
        assert_eq!(ended.status, ObservationStatus::Failed);
        assert!(ended.output.contains(words), "{}", ended.output);
    }
    drop(tools);
    bench.answers = false;
    let tools = bench.start().await;
    let ended = Asking::new("book").ends(&tools).await;
    assert_eq!(ended.status, ObservationStatus::Failed, "nothing waits for nobody");
    assert!(ended.output.contains("Whom for?"), "{}", ended.output);
}
