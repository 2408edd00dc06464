//! Plan: the lines of a plan that a model wrote.

use windlass_engine::core::CallView;
use windlass_interaction::{Plan, StepStatus, UPDATE_PLAN_TOOL};

use super::words::visible;

/// Returns the lines of the plan that a call wrote, if it is a call of `update_plan`.
pub(super) fn plan_lines(call: &CallView) -> Option<String> {
    if call.item.name != UPDATE_PLAN_TOOL {
        return None;
    }
    let plan = Plan::parse(call.arguments()).ok()?;
    let head = format!("plan: {} of {} steps completed", plan.completed(), plan.steps.len());
    let steps = plan.steps.iter().map(|step| {
        let sign = match step.status {
            StepStatus::Pending => ' ',
            StepStatus::InProgress => '>',
            StepStatus::Completed => 'x',
        };
        format!("\n    [{sign}] {}", visible(&step.step).replace('\n', " "))
    });
    Some(head + &steps.collect::<String>())
}
