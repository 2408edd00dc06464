//! Tasks: work as a task of the protocol's extension. A task is a view of the log.

use rmcp::model::{
    CallToolResult, CreateTaskResult, DetailedTask, JsonObject, Task, TaskPayload, TaskStatus,
};
use serde_json::Value;
use windlass_engine::core::TurnOutcome;

use super::elicit;
use super::report::{Report, WorkState};
use super::work::WorkName;
use crate::agui::iso_time;

/// Interval at which clients should ask, in milliseconds.
const POLL_MS: u64 = 1_000;

/// Returns the task that a call became.
pub(super) fn created(name: &WorkName, report: &Report) -> CreateTaskResult {
    CreateTaskResult::new(task(name, report))
}

/// Returns a task with its result or its open questions. `asks` is true for a client that can be
/// asked.
pub(super) fn detailed(name: &WorkName, report: &Report, asks: bool) -> DetailedTask {
    let payload = match report.state {
        WorkState::Waiting if asks => {
            TaskPayload::InputRequired { input_requests: elicit::requests(&report.questions) }
        }
        WorkState::Queued | WorkState::Held | WorkState::Running | WorkState::Waiting => {
            TaskPayload::Working
        }
        WorkState::Withdrawn => TaskPayload::Cancelled,
        WorkState::Settled if is_interrupted(report) => TaskPayload::Cancelled,
        WorkState::Settled | WorkState::Blocked | WorkState::Idle => {
            TaskPayload::Completed { result: object(&report.result()) }
        }
    };
    DetailedTask::new(task(name, report), payload)
}

fn task(name: &WorkName, report: &Report) -> Task {
    let created = iso_time(report.opened.unwrap_or(report.changed));
    Task::new(name.to_string(), TaskStatus::Working, created, iso_time(report.changed))
        .with_status_message(report.words())
        .with_poll_interval_ms(POLL_MS)
}

fn is_interrupted(report: &Report) -> bool {
    matches!(report.outcome, Some(TurnOutcome::Interrupted { .. }))
}

fn object(result: &CallToolResult) -> JsonObject {
    match serde_json::to_value(result) {
        Ok(Value::Object(object)) => object,
        Ok(_) | Err(_) => JsonObject::new(),
    }
}
