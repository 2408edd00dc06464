//! Tasks: a server goes on with a call by itself, and is asked how far it is.

use std::collections::BTreeSet;
use std::time::Duration;

use rmcp::model::{
    CallToolResult, CancelTaskParams, CancelTaskRequest, ClientRequest, DetailedTask,
    GetTaskParams, GetTaskRequest, InputRequests, InputResponses, ServerResult, TaskPayload,
    UpdateTaskParams, UpdateTaskRequest,
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
/// Time between two questions where the server names none, and after a connection was lost.
const PAUSE: Duration = Duration::from_secs(1);
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
    /// The connection is lost, and the task is not: another run goes on with it.
    Disconnected(NextStep),
    /// The server says nothing of the task any more, for this reason.
    Gone(String),
}

/// Follows a task, after it has the responses that it waits for.
pub(crate) async fn follow(
    link: &Link,
    id: &str,
    input: Option<PendingInput>,
    (within, context): (Duration, &ToolContext),
) -> TaskEnd {
    let again = NextStep::Task { id: id.to_owned(), input: input.clone() };
    let mut task = FollowedTask {
        link,
        id,
        responses: input.map(PendingInput::into_responses).unwrap_or_default(),
        sent: BTreeSet::new(),
    };
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => {
            let request = CancelTaskRequest::new(CancelTaskParams::new(id));
            let _ = timeout(CANCEL, ask(link, ClientRequest::CancelTaskRequest(request))).await;
            TaskEnd::Ended(CallEnd::Cancelled)
        }
        end = task.run_to_end(context) => match end {
            TaskEnd::Ended(CallEnd::Lost { .. }) => {
                tokio::time::sleep(PAUSE).await;
                TaskEnd::Disconnected(again)
            }
            TaskEnd::Ended(_) | TaskEnd::GoesOn(_) | TaskEnd::Disconnected(_) | TaskEnd::Gone(_) => end,
        },
        // The task is not at its end, and this run has no more time: the next one asks again.
        () = tokio::time::sleep(within) => TaskEnd::GoesOn(again),
    }
}

/// A task, and the responses to its requests for input.
struct FollowedTask<'a> {
    link: &'a Link,
    id: &'a str,
    responses: InputResponses,
    /// Names of the requests that have their response. Names are unique over the time of a task.
    sent: BTreeSet<String>,
}

impl FollowedTask<'_> {
    async fn run_to_end(&mut self, context: &ToolContext) -> TaskEnd {
        loop {
            let task = match state(self.link, self.id).await {
                Ok(task) => task,
                Err(CallEnd::Refused(words)) => return TaskEnd::Gone(words),
                Err(end) => return TaskEnd::Ended(end),
            };
            let polled = task.task.poll_interval_ms.map(Duration::from_millis);
            if let Some(words) = &task.task.status_message {
                context.report(&clipped(words, MAX_WORDS));
            }
            let end = if let TaskPayload::InputRequired { input_requests } = task.payload {
                self.on_requests(input_requests).await
            } else {
                ended(task.payload, self.id)
            };
            if let Some(end) = end {
                return end;
            }
            tokio::time::sleep(polled.unwrap_or(PAUSE).clamp(POLL.0, POLL.1)).await;
        }
    }

    /// Sends the responses to requests for input, or returns the end of the run, which asks for them. A
    /// request stays listed for a while after its response.
    async fn on_requests(&mut self, mut requests: InputRequests) -> Option<TaskEnd> {
        requests.retain(|name, _| !self.sent.contains(name));
        if requests.is_empty() {
            return None;
        }
        if requests.keys().all(|name| self.responses.contains_key(name)) {
            self.responses.retain(|name, _| requests.contains_key(name));
            let responses = std::mem::take(&mut self.responses);
            self.sent.extend(responses.keys().cloned());
            return update(self.link, self.id, responses).await.err().map(TaskEnd::Ended);
        }
        let refused = |words: String| Some(TaskEnd::Ended(CallEnd::Refused(words)));
        match PendingInput::new(Some(&requests)) {
            Ok(input) if self.link.handler.answers => {
                let id = self.id.to_owned();
                Some(TaskEnd::GoesOn(NextStep::Task { id, input: Some(input) }))
            }
            Ok(_) => refused("its task asks the user, and nobody can be asked here".into()),
            Err(asked) => refused(format!("its task asks for what cannot be given here: {asked}")),
        }
    }
}

/// Returns the step that asks how far a task is.
pub(crate) fn goes_on(id: &str) -> NextStep {
    NextStep::Task { id: id.to_owned(), input: None }
}

/// Returns the end of a task that asks nothing; `None` if it goes on.
fn ended(payload: TaskPayload, id: &str) -> Option<TaskEnd> {
    let refused = |words: String| Some(TaskEnd::Ended(CallEnd::Refused(words)));
    match payload {
        TaskPayload::Completed { result } => {
            let result = serde_json::Value::Object(result);
            match serde_json::from_value::<CallToolResult>(result) {
                Ok(result) => Some(TaskEnd::Ended(CallEnd::Result(result))),
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
        // A state that this version does not know goes on, as far as it knows.
        TaskPayload::Working | TaskPayload::InputRequired { .. } | _ => None,
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
