//! The tools as an executor.

use async_trait::async_trait;
use windlass_core::{
    ASK_USER_TOOL, Concurrency, EffectClass, Observation, ObservationStatus, ToolSpec,
};
use windlass_ports::{ToolCall, ToolContext, ToolError, ToolExecutor};

use crate::plan::Plan;

/// Name of the tool that replaces the plan.
pub const UPDATE_PLAN_TOOL: &str = "update_plan";

/// Time for an answer, in milliseconds: a day.
const ANSWER_MS: u64 = 24 * 60 * 60 * 1000;

/// The plan, and questions to a person.
#[derive(Debug, Clone, Copy, Default)]
pub struct InteractionTools {
    questions: bool,
}

impl InteractionTools {
    /// Creates the tool of the plan.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the tool that asks a person. Use it only if somebody returns the answers: the call of
    /// a session without a watcher waits for a day.
    #[must_use]
    pub fn with_questions(self) -> Self {
        Self { questions: true }
    }
}

#[async_trait]
impl ToolExecutor for InteractionTools {
    fn tools(&self) -> Vec<ToolSpec> {
        let mut tools = vec![update_plan()];
        tools.extend(self.questions.then(ask_user));
        tools
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        if call.name != UPDATE_PLAN_TOOL {
            let words = format!("the tool `{}`: a person answers its calls", call.name);
            return Err(ToolError::unsupported(words));
        }
        if context.cancel.is_cancelled() {
            let words = "cancelled before the plan was shown";
            return Ok(Observation::new(ObservationStatus::Aborted, words));
        }
        Ok(match Plan::parse(&call.arguments) {
            Ok(plan) => {
                let (done, all) = (plan.completed(), plan.steps.len());
                let words =
                    format!("The plan is shown to the user: {done} of {all} steps completed.");
                Observation::new(ObservationStatus::Done, words)
            }
            Err(error) => Observation::new(ObservationStatus::Failed, error.to_string()),
        })
    }
}

/// The plan is nothing but the call in the log, so the tool changes nothing.
fn update_plan() -> ToolSpec {
    ToolSpec::new(UPDATE_PLAN_TOOL, EffectClass::ReadOnly).with(|it| {
        it.description = "Replaces the plan of the work that the user sees. Use it for work of \
                          several steps: write the steps before you begin, keep one of them in \
                          progress, and mark each as completed once it is. Not for what one step \
                          does."
            .to_owned();
        it.parameters = r#"{"type":"object","properties":{"explanation":{"type":"string","maxLength":2000,"description":"Why the plan changes, if it does."},"plan":{"type":"array","maxItems":50,"description":"All steps in their order.","items":{"type":"object","properties":{"step":{"type":"string","minLength":1,"maxLength":500,"description":"The step in a few words."},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["step","status"],"additionalProperties":false}}},"required":["plan"],"additionalProperties":false}"#.to_owned();
        // Of two plans in one answer the later one counts.
        it.concurrency = Concurrency::Exclusive;
    })
}

fn ask_user() -> ToolSpec {
    ToolSpec::new(ASK_USER_TOOL, EffectClass::ReadOnly).with(|it| {
        it.description = "Asks the user a question and waits for the answer. Use it if the work \
                          cannot go on without a decision that only the user can make. Offer \
                          choices where there are some; the user may answer with other words."
            .to_owned();
        it.parameters = r#"{"type":"object","properties":{"question":{"type":"string","minLength":1,"maxLength":4000,"description":"The question, with what is needed to answer it."},"choices":{"type":"array","maxItems":9,"description":"Answers to choose from. Default none.","items":{"type":"string","minLength":1,"maxLength":500}}},"required":["question"],"additionalProperties":false}"#.to_owned();
        it.concurrency = Concurrency::Exclusive;
        it.timeout_ms = Some(ANSWER_MS);
        it.client = true;
    })
}
