//! The tools pass the suite of their port, and their shapes fit their schemas.

use std::sync::Arc;

use windlass_interaction::{
    ASK_USER_TOOL, InteractionTools, Plan, Question, StepStatus, UPDATE_PLAN_TOOL,
};
use windlass_ports::{ToolCall, ToolExecutor};
use windlass_testkit::tools::suite::ToolFixture;

const PLAN: &str =
    r#"{"plan":[{"step":"read","status":"completed"},{"step":"write","status":"in_progress"}]}"#;

struct Fixture;

impl ToolFixture for Fixture {
    fn executor(&self) -> Arc<dyn ToolExecutor> {
        Arc::new(InteractionTools::new())
    }

    fn calls(&self) -> Vec<ToolCall> {
        vec![ToolCall { name: UPDATE_PLAN_TOOL.into(), arguments: PLAN.into() }]
    }
}

windlass_testkit::tool_suite!(Fixture);

#[test]
fn a_plan_and_a_question_are_read_as_they_were_written() {
    let plan = Plan::parse(PLAN).unwrap();
    assert_eq!((plan.completed(), plan.steps.len()), (1, 2));
    assert_eq!(plan.steps[1].status, StepStatus::InProgress);
    assert_eq!(serde_json::to_string(&plan).unwrap(), PLAN);
    for bad in ["", "[]", r#"{"plan":[{"step":"a","status":"done"}]}"#, r#"{"plan":[],"x":1}"#] {
        assert!(Plan::parse(bad).is_err(), "{bad}");
    }
    let text = r#"{"question":"Which?","choices":["a","b"]}"#;
    let asked = Question::parse(text).unwrap();
    assert_eq!(serde_json::to_string(&asked).unwrap(), text);
    assert_eq!(Question::parse(r#"{"question":"Why?"}"#).unwrap().choices, [""; 0]);
    assert!(Question::parse(r#"{"choices":["a"]}"#).is_err());
}

#[test]
fn only_a_person_answers_and_only_where_there_is_one() {
    let names = |tools: InteractionTools| -> Vec<(String, bool)> {
        tools.tools().into_iter().map(|tool| (tool.name, tool.client)).collect()
    };
    let plan = || (UPDATE_PLAN_TOOL.to_owned(), false);
    assert_eq!(names(InteractionTools::new()), [plan()]);
    let asks = (ASK_USER_TOOL.to_owned(), true);
    assert_eq!(names(InteractionTools::new().with_questions()), [plan(), asks]);
}
