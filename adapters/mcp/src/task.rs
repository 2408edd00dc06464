//! Tasks: a server goes on with a call by itself, and is asked how far it is.

use std::time::Duration;

use rmcp::model::{
    CallToolResult, CancelTaskParams, CancelTaskRequest, ClientRequest, DetailedTask,
    GetTaskParams, GetTaskRequest, InputResponses, ServerResult, TaskPayload, UpdateTaskParams,
    UpdateTaskRequest,
};
use tokio::time::timeout;
use windlass_ports::ToolContext;

use crate::call::{CallEnd, failed, send};
use crate::elicit::PendingInput;
use crate::excerpt::clipped;
use crate::server::Link;
use crate::suspended::NextStep;

/// Least and most time between two questions for the state of a task.
const POLL: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));
/// Longest time to send a cancellation.
const CANCEL: Duration = Duration::from_secs(1);
/// Longest message of an error, in bytes.
const MAX_WORDS: usize = 4 * 1024;

/// State of a task that a run leaves.
pub(crate) enum TaskEnd {
    /// The call has ended.
    Ended(CallEnd),
    /// It goes on in another run: with an answer, or since the time of this run is over.
    GoesOn(NextStep),
}

/// Follows a task, after it has the responses that it waits for.
pub(crate) async fn follow(
    link: &Link,
    id: &str,
    input: Option<PendingInput>,
    (within, context): (Duration, &ToolContext),
) -> TaskEnd {
    let followed = async {
        let mut responses = input.map(PendingInput::into_responses);
        loop {
            let task = match state(link, id).await {
                Ok(task) => task,
                Err(end) => return TaskEnd::Ended(end),
            };
            let polled = task.task.poll_interval_ms.map(Duration::from_millis);
            if let Some(words) = &task.task.status_message {
                context.report(&clipped(words, MAX_WORDS));
            }
            match ended(task.payload, id, link.handler.answers) {
                Ok(end) => return end,
                Err(Some(requests)) => match responses.take() {
                    Some(answers) => {
                        if let Err(end) = update(link, id, answers).await {
                            return TaskEnd::Ended(end);
                        }
                    }
                    None => return TaskEnd::GoesOn(asks(id, requests)),
                },
                Err(None) => {}
            }
            let pause = polled.unwrap_or(Duration::from_secs(1)).clamp(POLL.0, POLL.1);
            tokio::time::sleep(pause).await;
        }
    };
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => {
            let request = CancelTaskRequest::new(CancelTaskParams::new(id));
            let _ = timeout(CANCEL, ask(link, ClientRequest::CancelTaskRequest(request))).await;
            TaskEnd::Ended(CallEnd::Cancelled)
        }
        end = followed => end,
        // The task is not at its end, and this run has no more time: the next one asks again.
        () = tokio::time::sleep(within) => TaskEnd::GoesOn(goes_on(id)),
    }
}

/// Returns the step that asks how far a task is.
pub(crate) fn goes_on(id: &str) -> NextStep {
    NextStep::Task { id: id.to_owned(), input: None }
}

fn asks(id: &str, input: PendingInput) -> NextStep {
    NextStep::Task { id: id.to_owned(), input: Some(input) }
}

/// Returns the end of a task; an error if it goes on, with what it asks for.
fn ended(payload: TaskPayload, id: &str, answers: bool) -> Result<TaskEnd, Option<PendingInput>> {
    let refused = |words: String| Ok(TaskEnd::Ended(CallEnd::Refused(words)));
    match payload {
        TaskPayload::Completed { result } => {
            let result = serde_json::Value::Object(result);
            match serde_json::from_value::<CallToolResult>(result) {
                Ok(result) => Ok(TaskEnd::Ended(CallEnd::Result(result))),
                Err(error) => refused(format!("the result of its task is none of a call: {error}")),
            }
        }
        TaskPayload::Failed { error } => {
            let message = error.get("message").and_then(serde_json::Value::as_str);
            refused(clipped(message.unwrap_or("its task failed"), MAX_WORDS))
        }
        TaskPayload::Cancelled => {
            refused(format!("it has cancelled its task {}", clipped(id, 200)))
        }
        TaskPayload::InputRequired { input_requests } => {
            match PendingInput::new(Some(&input_requests)) {
                Ok(input) if answers => Err(Some(input)),
                Ok(_) => refused("its task asks the user, and nobody can be asked here".into()),
                Err(asked) => {
                    refused(format!("its task asks for what cannot be given here: {asked}"))
                }
            }
        }
        // A state that this version does not know goes on, as far as it knows.
        TaskPayload::Working | _ => Err(None),
    }
}

async fn state(link: &Link, id: &str) -> Result<DetailedTask, CallEnd> {
    let request = GetTaskRequest::new(GetTaskParams::new(id));
    let answer = ask(link, ClientRequest::GetTaskRequest(request)).await?;
    if let ServerResult::GetTaskResult(result) = answer {
        return Ok(result.task);
    }
    Err(CallEnd::Refused("something that is no state of a task".into()))
}

async fn update(link: &Link, id: &str, responses: InputResponses) -> Result<(), CallEnd> {
    let request = UpdateTaskRequest::new(UpdateTaskParams::new(id, responses));
    ask(link, ClientRequest::UpdateTaskRequest(request)).await.map(drop)
}

async fn ask(link: &Link, request: ClientRequest) -> Result<ServerResult, CallEnd> {
    let answer = send(link, request).await?.rx.await;
    let lost = || CallEnd::Lost {
        words: "the connection ended before the answer".into(),
        sent: true,
        broken: true,
    };
    answer.map_err(|_| lost())?.map_err(|error| failed(&error, link))
}
