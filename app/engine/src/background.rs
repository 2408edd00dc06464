//! Background agents: the engine's own tools by which a model reaches its agents in the background.
//!
//! They reach only detached children of the model's own session. A result is never read here: it
//! enters the session as an input, once.

use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use tokio::time::sleep;
use windlass_core::{
    CLOSE_AGENT_TOOL, CallId, Delivery, DetachedChild, Fact, Observation, ObservationStatus,
    QueuedResult, Reject, SEND_TO_AGENT_TOOL, Scope, Seq, SessionId, ToolSpec, WAIT_FOR_AGENT_TOOL,
    background_agent_tools, is_background_agent_tool,
};
use windlass_ports::{ToolCall, ToolContext, ToolError, ToolErrorKind, ToolExecutor};

use crate::agents::{agent_session, find_prompted_turn, stop_agent_turn};
use crate::engine::Engine;
use crate::error::SendError;
use crate::event::Event;
use crate::session::NewInput;

/// Longest wait if the model sets none, in seconds.
const USUAL_WAIT: u64 = 60;
/// Time for the end of an agent that was asked to stop.
const STOPPING: Duration = Duration::from_secs(10);
/// Pause after a failure of the store.
const PAUSE: Duration = Duration::from_millis(200);

/// Returns true if the engine itself runs the calls of this tool: no executor has one of its name.
pub(crate) fn is_own(tool: &str, executor: &dyn ToolExecutor) -> bool {
    is_background_agent_tool(tool) && executor.tools().iter().all(|other| other.name != tool)
}

/// One run of one of the tools, with the state of the session at its start.
pub(crate) struct BackgroundAgents {
    pub(crate) engine: Engine,
    pub(crate) session: SessionId,
    /// Session whose id is in the keys of the calls.
    pub(crate) author: SessionId,
    pub(crate) detached: Vec<DetachedChild>,
    /// Results of agents that the model has not read yet.
    pub(crate) ended: Vec<QueuedResult>,
    /// Position up to which the log is durable.
    pub(crate) durable: Seq,
}

/// Arguments of a call. They match the schema of the tool.
#[derive(Debug, Deserialize)]
struct BackgroundArguments {
    agent: String,
    #[serde(default)]
    message: String,
    seconds: Option<u64>,
}

/// An agent that a call names.
struct NamedAgent<'a> {
    child: &'a DetachedChild,
    session: SessionId,
    /// Idempotency key of its call.
    key: String,
}

impl BackgroundAgents {
    /// Returns the agents of the session whose results are awaited.
    fn agents(&self) -> impl Iterator<Item = NamedAgent<'_>> {
        self.detached.iter().filter_map(|child| {
            let key = self.key(child.call);
            Some(NamedAgent { child, session: agent_session(&key)?, key })
        })
    }

    /// Finds the agent with this name: that of its call, of its session, or its own if it is the
    /// only one of that name.
    fn find(&self, name: &str) -> Option<NamedAgent<'_>> {
        let call = name.strip_prefix('@').unwrap_or(name).parse().ok();
        let exact =
            |one: &NamedAgent<'_>| Some(one.child.call.0) == call || one.session.as_str() == name;
        if let Some(found) = self.agents().find(exact) {
            return Some(found);
        }
        let mut named = self.agents().filter(|one| *one.child.agent == *name);
        named.next().filter(|_| named.next().is_none())
    }

    /// Returns true if the result of the agent with this name waits for the next request.
    fn has_ended(&self, name: &str) -> bool {
        let call = name.strip_prefix('@').unwrap_or(name).parse().ok();
        self.ended.iter().any(|one| {
            let session = agent_session(&self.key(one.call));
            Some(one.call.0) == call
                || session.is_some_and(|session| session.as_str() == name)
                || *one.agent == *name
        })
    }

    /// Returns the idempotency key of a call of the session.
    fn key(&self, call: CallId) -> String {
        format!("{}.{call}", self.author)
    }

    fn unknown(&self, name: &str) -> Observation {
        let name: String = name.chars().take(80).collect();
        let each = self.agents().map(|one| {
            format!(
                "{} ({}, in session {})",
                one.child.call.reference(),
                one.child.agent,
                one.session
            )
        });
        let these = match each.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "None does: each result has come as a message".to_owned(),
            these => format!("These do: {these}"),
        };
        failed(format!("no agent {name:?} of this session works in the background. {these}"))
    }

    async fn send(
        &self,
        agent: &NamedAgent<'_>,
        message: String,
        context: &ToolContext,
    ) -> Result<Observation, ToolError> {
        let (inner, session) = (&self.engine.inner, &agent.session);
        let (store, page) = (inner.ports.store.as_ref(), inner.config.read_page.max(1));
        let turn = find_prompted_turn(store, session, &agent.key, page).await;
        let turn = turn.map_err(|error| unavailable(&error))?;
        let Some(turn) = turn else {
            return Ok(failed("it has not begun yet. Send the message again later".to_owned()));
        };
        let handle = self.engine.session(session, &context.scope).await;
        let handle = handle.map_err(|error| unavailable(&error))?;
        let input = NewInput {
            delivery: Delivery::Steer,
            key: Some(format!("from {}", context.idempotency_key)),
            turn: Some(turn),
            ..NewInput::new(context.scope.clone(), message)
        };
        match handle.send(input).await {
            Ok(_) | Err(SendError::Rejected(Reject::Duplicate(_)) | SendError::Pending { .. }) => {
                let words = "Sent: the agent reads it before its next step.";
                Ok(Observation::new(ObservationStatus::Done, words))
            }
            Err(SendError::Rejected(Reject::TurnMismatch(_) | Reject::Idle)) => Ok(has_ended()),
            Err(SendError::Rejected(reject)) => Ok(failed(reject.to_string())),
            Err(error) => Err(unavailable(&error)),
        }
    }

    async fn wait(
        &self,
        agent: &NamedAgent<'_>,
        seconds: u64,
        context: &ToolContext,
    ) -> Observation {
        // Ends before the call's own time-out.
        let most = Duration::from_millis(context.timeout_ms.saturating_sub(1_000).max(1));
        let limit = Duration::from_secs(seconds).min(most);
        let done = |words: &str| Observation::new(ObservationStatus::Done, words);
        tokio::select! {
            () = self.result_entered(agent, &context.scope) => done(ENDED),
            () = sleep(limit) => done(&format!(
                "It still works, after a wait of {} s. Its result comes as a message once it has \
                 ended.",
                limit.as_secs()
            )),
            () = context.cancel.cancelled() => {
                Observation::new(ObservationStatus::Aborted, "Stopped: the wait was cut off.")
            }
        }
    }

    async fn close(&self, agent: &NamedAgent<'_>, context: &ToolContext) -> Observation {
        let stopping = async {
            stop_agent_turn(&self.engine, &agent.session, &agent.key).await;
            sleep(STOPPING).await;
        };
        let words = tokio::select! {
            () = self.result_entered(agent, &context.scope) => ENDED,
            () = stopping => "Asked to stop, and it has not ended yet. How it ended comes as a message.",
            () = context.cancel.cancelled() => "Asked to stop. How it ended comes as a message.",
        };
        Observation::new(ObservationStatus::Done, words)
    }

    /// Waits until the result of an agent is in the session.
    async fn result_entered(&self, agent: &NamedAgent<'_>, scope: &Scope) {
        let mut watch = self.engine.subscribe(&self.session, scope, Some(self.durable));
        loop {
            match watch.next().await {
                Ok(Event::Fact(fact)) => {
                    if let Fact::InputQueued(queued) = &fact.fact
                        && queued.result_of == Some(agent.child.call)
                    {
                        return;
                    }
                }
                Ok(Event::Live(_) | Event::Lagged { .. } | Event::Store(_) | Event::Ended(_)) => {}
                Err(_) => sleep(PAUSE).await,
            }
        }
    }
}

/// Result of a wait that was long enough.
const ENDED: &str = "It has ended: its result is in the message after this.";

#[async_trait]
impl ToolExecutor for BackgroundAgents {
    fn tools(&self) -> Vec<ToolSpec> {
        background_agent_tools().into()
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        let arguments: BackgroundArguments = match serde_json::from_str(&call.arguments) {
            Ok(arguments) => arguments,
            Err(error) => return Ok(failed(format!("the arguments cannot be read: {error}"))),
        };
        let Some(agent) = self.find(&arguments.agent) else {
            return Ok(match self.has_ended(&arguments.agent) {
                true if call.name == SEND_TO_AGENT_TOOL => has_ended(),
                true => Observation::new(ObservationStatus::Done, ENDED),
                false => self.unknown(&arguments.agent),
            });
        };
        match call.name.as_str() {
            SEND_TO_AGENT_TOOL => self.send(&agent, arguments.message, &context).await,
            WAIT_FOR_AGENT_TOOL => {
                Ok(self.wait(&agent, arguments.seconds.unwrap_or(USUAL_WAIT), &context).await)
            }
            CLOSE_AGENT_TOOL => Ok(self.close(&agent, &context).await),
            other => Err(ToolError::unsupported(format!("the engine has no tool {other}"))),
        }
    }
}

/// Returns the result of a message to an agent that reads nothing more.
fn has_ended() -> Observation {
    failed("it has ended. Its result comes as a message".to_owned())
}

fn failed(words: String) -> Observation {
    Observation::new(ObservationStatus::Failed, format!("Failed: {words}."))
}

fn unavailable(error: &dyn std::fmt::Display) -> ToolError {
    ToolError::new(ToolErrorKind::Failed, format!("the agent cannot be reached: {error}"))
}
