//! One run of a call: to its end, or until it is suspended.

use std::time::Duration;

use rmcp::model::{CallToolRequestParams, JsonObject};
use windlass_core::{EffectClass, Observation, ObservationStatus, Suspension};
use windlass_ports::{ToolContext, ToolEnd, ToolError, ToolErrorKind};

use crate::call::{CallEnd, RunningCall, asked};
use crate::config::McpServer;
use crate::elicit::PendingInput;
use crate::excerpt::observation;
use crate::images::{self, StoredImages};
use crate::record::McpRecord;
use crate::result;
use crate::server::{Link, Server};
use crate::suspended::{HeldCalls, NextStep};
use crate::task::{self, TaskEnd};
use crate::tools::OfferedTool;

/// Returns the time of a run: a little less than its caller waits, so that its end is told.
pub(crate) fn limit(config: &McpServer, context: &ToolContext) -> Duration {
    let caller = Duration::from_millis(context.timeout_ms);
    let caller = caller.saturating_sub((caller / 8).min(Duration::from_millis(500)));
    caller.min(config.tool_timeout)
}

/// One run of a call.
pub(crate) struct Run<'a> {
    pub(crate) server: &'a Server,
    pub(crate) offered: &'a OfferedTool,
    pub(crate) record: &'a McpRecord,
    pub(crate) held: &'a HeldCalls,
    pub(crate) context: &'a ToolContext,
}

/// Returns the result of a suspended call for a caller that cannot go on with it.
pub(crate) fn unasked(tool: &str, suspension: &Suspension) -> Observation {
    let words = match &suspension.question {
        Some(question) => format!(
            "Failed: {tool} asks the user for input before it goes on, which cannot be given here. \
             It asks: {}",
            question.question
        ),
        None => format!("Unknown: {tool} goes on by itself, and nothing follows it here."),
    };
    let status = match suspension.question {
        Some(_) => ObservationStatus::Failed,
        None => ObservationStatus::Unknown,
    };
    Observation::new(status, words)
}

impl Run<'_> {
    pub(crate) async fn run(self, arguments: JsonObject) -> Result<ToolEnd, ToolError> {
        let step = match self.context.suspended.as_deref().map(NextStep::read) {
            None => None,
            Some(Ok(step)) if step.asks() => return Ok(ToolEnd::Suspended(step.suspension())),
            Some(Ok(step)) => Some(step),
            Some(Err(error)) => {
                let words = format!("what an earlier run left cannot be read: {error}");
                return Err(ToolError::new(ToolErrorKind::Failed, words));
            }
        };
        self.held.release_earlier(self.context);
        let within = limit(&self.server.config, self.context);
        if let Some(NextStep::Held { input }) = step {
            return self.answer_held(input, within).await;
        }
        let begun = tokio::time::Instant::now();
        let link = match self.link(within).await? {
            Ok(link) => link,
            Err(ended) => return Ok(ToolEnd::Observed(ended)),
        };
        let left = within.saturating_sub(begun.elapsed());
        let params = CallToolRequestParams::new(self.offered.tool.own_name.clone());
        let params = params.with_arguments(arguments);
        match step {
            Some(NextStep::Task { id, input }) => {
                match task::follow(&link, &id, input, (left, self.context)).await {
                    TaskEnd::Ended(end) => self.ended(&link, end, within).await,
                    TaskEnd::GoesOn(step) => Ok(ToolEnd::Suspended(step.suspension())),
                    TaskEnd::Disconnected(step) => {
                        self.server.report_broken(&link);
                        Ok(ToolEnd::Suspended(step.suspension()))
                    }
                    TaskEnd::Gone(words) => {
                        let name = &self.server.name;
                        let words = format!("the MCP server {name} says of its task: {words}");
                        Err(ToolError::new(ToolErrorKind::Failed, words))
                    }
                }
            }
            Some(NextStep::Call { input, request_state }) => {
                let mut params = params.with_input_responses(input.into_responses());
                params.request_state = request_state;
                self.call(&link, params, left).await
            }
            Some(NextStep::Held { .. }) | None => self.call(&link, params, left).await,
        }
    }

    /// Calls the tool, and waits.
    async fn call(
        &self,
        link: &Link,
        params: CallToolRequestParams,
        within: Duration,
    ) -> Result<ToolEnd, ToolError> {
        match RunningCall::begin(link, params).await {
            Ok(call) => self.wait(call, within).await,
            Err(end) => self.ended(link, end, within).await,
        }
    }

    /// Goes on with a call whose server waits for the answer.
    async fn answer_held(
        &self,
        input: PendingInput,
        within: Duration,
    ) -> Result<ToolEnd, ToolError> {
        let Some(held) = self.held.take(&self.context.session, self.context.call) else {
            let words = format!(
                "the MCP server {} waited for the answer in a process that has ended",
                self.server.name
            );
            return Err(ToolError::new(ToolErrorKind::Failed, words));
        };
        self.wait(held.answer(input), within).await
    }

    async fn wait(&self, mut call: RunningCall, within: Duration) -> Result<ToolEnd, ToolError> {
        let limits = (within, &self.context.cancel);
        let link = call.link.clone();
        let mut end = call.wait(limits, self.context.progress.clone()).await;
        if let CallEnd::Asks(question) = end {
            if let Some(step) = self.held.hold(self.context, call, question) {
                return Ok(ToolEnd::Suspended(step.suspension()));
            }
            end = CallEnd::Refused("it asks the user, and too many calls wait for answers".into());
        }
        self.ended(&link, end, within).await
    }

    /// Returns the connection of the server, which has the tool as it was offered. The inner error is
    /// the result of a call that was stopped before.
    async fn link(&self, within: Duration) -> Result<Result<Link, Observation>, ToolError> {
        let (name, tool) = (&self.server.name, &self.offered.tool);
        let linked = tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => {
                let words = "[not begun: it was asked to stop before the server was there]";
                return Ok(Err(Observation::new(ObservationStatus::Aborted, words)));
            }
            linked = self.server.link() => linked,
            () = tokio::time::sleep(within) => Err("it is not there in time".into()),
        };
        let (link, catalogue) = linked.map_err(|reason| {
            self.not_started(&format!("the MCP server {name} is not there: {reason}"))
        })?;
        match catalogue.find(&tool.spec.name) {
            Some(now) if now.digest == tool.digest => {}
            Some(_) => return Err(self.not_started(&format!(
                "the MCP server {name} has changed what this tool is since it was offered, so it was \
                 not called; a new start offers it as it is, and asks about it"
            ))),
            None => {
                let words = format!("the MCP server {name} does not have this tool any more");
                return Err(self.not_started(&words));
            }
        }
        if self.offered.changed
            && let Err(error) =
                self.record.approve(&self.server.identity, &tool.own_name, &tool.digest)
        {
            tracing::warn!(%error, "the approval of a changed tool cannot be recorded");
        }
        Ok(Ok(link))
    }

    /// Returns the error of a run that did not reach the server. Of a call that goes on, an earlier run
    /// did.
    fn not_started(&self, words: &str) -> ToolError {
        let kind = match self.context.suspended {
            None => ToolErrorKind::NotStarted,
            Some(_) => ToolErrorKind::Failed,
        };
        ToolError::new(kind, words)
    }

    /// Returns the end of a run, or what it leaves for the next one.
    async fn ended(
        &self,
        link: &Link,
        end: CallEnd,
        within: Duration,
    ) -> Result<ToolEnd, ToolError> {
        if let CallEnd::Task(task) = &end {
            return Ok(ToolEnd::Suspended(task::goes_on(&task.task_id).suspension()));
        }
        if let CallEnd::InputRequired(required) = &end
            && (link.handler.answers || required.input_requests.is_none())
            && let Ok(input) = PendingInput::new(required.input_requests.as_ref())
        {
            let request_state = required.request_state.clone();
            return Ok(ToolEnd::Suspended(NextStep::Call { input, request_state }.suspension()));
        }
        if let CallEnd::Lost { broken: true, .. } = end {
            self.server.report_broken(link);
        }
        self.observed(end, within).await.map(ToolEnd::Observed)
    }

    async fn observed(&self, end: CallEnd, within: Duration) -> Result<Observation, ToolError> {
        let name = &self.server.name;
        let reads = self.offered.tool.spec.effect == EffectClass::ReadOnly;
        Ok(match end {
            CallEnd::Result(result) => {
                let outputs = &self.context.outputs;
                // A program receives text only.
                let shown = match self.context.program {
                    None => images::store(&result, outputs).await,
                    Some(_) => StoredImages::default(),
                };
                let schema = self.offered.tool.output.as_deref();
                let (status, text) = result::text(&result, schema, &shown.parts);
                let observation = observation(status, text, outputs).await;
                Observation { images: shown.images, ..observation }
            }
            CallEnd::Refused(words) => {
                let words = format!("Failed: the MCP server {name} answered: {words}");
                Observation::new(ObservationStatus::Failed, words)
            }
            CallEnd::InputRequired(required) => Observation::new(
                ObservationStatus::Failed,
                format!(
                    "Failed: the MCP server {name} asks for input before it goes on, which cannot be \
                     given here. It asks: {}",
                    asked(&required)
                ),
            ),
            CallEnd::Task(_) | CallEnd::Asks(_) => Observation::new(
                ObservationStatus::Unknown,
                format!("Unknown: the MCP server {name} goes on, and nothing follows it."),
            ),
            CallEnd::Cancelled => Observation::new(
                ObservationStatus::Aborted,
                format!(
                    "[stopped because it was asked to; the MCP server {name} was told, and may have \
                     done a part of it or all]"
                ),
            ),
            CallEnd::TimedOut if reads => Observation::new(
                ObservationStatus::Failed,
                format!(
                    "Failed: the MCP server {name} did not answer within {} ms. It changes nothing.",
                    within.as_millis()
                ),
            ),
            CallEnd::TimedOut => Observation::new(
                ObservationStatus::Unknown,
                format!(
                    "Unknown: the MCP server {name} did not answer within {} ms. The call may have \
                     taken effect or not; check before you repeat it.",
                    within.as_millis()
                ),
            ),
            CallEnd::Lost { words, sent, broken: _ } => {
                let begun = sent || self.context.suspended.is_some();
                let kind = if begun { ToolErrorKind::Failed } else { ToolErrorKind::NotStarted };
                let words = format!("no answer of the MCP server {name}: {words}");
                return Err(ToolError::new(kind, words));
            }
        })
    }
}
