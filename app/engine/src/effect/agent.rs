//! Agent effect: executes a call in a child session, and reports the child's result and usage.
//!
//! The call determines the child's id. Another run of the effect, in this process or on another
//! node, finds the same child, does not repeat its prompt, and continues to wait.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;
use windlass_core::{
    AgentSpec, BudgetGrant, BudgetUsage, CLOSE_AGENT_TOOL, CallId, EffectKey, Input, Observation,
    ObservationStatus, OpenSession, Reject, SEND_TO_AGENT_TOOL, Scope, SessionId, TurnOutcome,
    WAIT_FOR_AGENT_TOOL,
};
use windlass_ports::{CancelSignal, CancelSource, ProgressSink};

use super::{EffectReporter, EffectSignals, ProgressReporter, ToolRunGuard};
use crate::agents::{self, describe_outcome};
use crate::capacity::FactCapacity;
use crate::engine::Engine;
use crate::error::{SendError, StartError};
use crate::followed_child::{ChildFault, FollowedChild};
use crate::report::TurnReport;
use crate::session::{NewInput, SessionHandle};

/// Pause after a failure of the store.
const PAUSE: Duration = Duration::from_millis(200);
/// Most attempts to record the child.
const MAX_TRIES: usize = 150;

/// Context of an agent effect.
pub(crate) struct AgentEffect {
    pub(crate) key: EffectKey,
    /// Name of the tool.
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) agent: AgentSpec,
    /// Grant of the child; `None` for a dry run.
    pub(crate) grant: Option<BudgetGrant>,
    pub(crate) child: SessionId,
    /// Request to open the child, or the reason why it may not be opened.
    pub(crate) opening: Result<OpenSession, Reject>,
    pub(crate) attempt: u32,
    pub(crate) idempotency_key: String,
    pub(crate) dry_run: bool,
    /// True if none of its tools changes anything, so that it may be repeated.
    pub(crate) read_only: bool,
    /// Time-out in milliseconds; 0 if only the turn's own limit applies.
    pub(crate) timeout_ms: u64,
    pub(crate) grace_ms: u64,
    pub(crate) call: CallId,
    /// True if the model has the tools for agents in the background.
    pub(crate) names_tools: bool,
    pub(crate) engine: Engine,
    pub(crate) reports: Arc<ProgressReporter>,
    pub(crate) size: FactCapacity,
}

/// Result of a call.
enum AgentResult {
    /// The child ended, or never began, with this usage.
    Ended(Observation, BudgetUsage),
    /// The child may continue.
    Detached(Observation),
}

/// Reason why a child's result is unknown.
enum ChildLoss {
    /// The child does not exist, or received no prompt.
    NotStarted(String),
    /// The child's progress is unknown.
    Unfinished(String),
    /// An earlier run created the child, and its log is gone. It may have done nothing or
    /// everything.
    LogMissing,
}

/// Reason for stopping a child.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AgentStop {
    /// The turn of the call was stopped.
    TurnStopped,
    /// The time-out of the call has passed.
    TimedOut,
}

impl AgentEffect {
    /// Runs to the final report. If its driver ends, there is no report: the child continues, and
    /// the next run finds it.
    pub(crate) async fn run(self, reporter: EffectReporter, signals: EffectSignals) {
        let _run = ToolRunGuard { stop: CancelSource::new(), reports: self.reports.clone() };
        let (key, size) = (self.key, self.size);
        let report = match Box::pin(self.observe(&reporter, signals.cancel)).await {
            None => return,
            Some(AgentResult::Ended(observation, usage)) => {
                Input::AgentEnded { key, observation: size.shorten(observation), usage }
            }
            Some(AgentResult::Detached(observation)) => {
                Input::AgentDetached { key, observation: size.shorten(observation) }
            }
        };
        reporter.send(vec![report], true).await;
    }

    async fn observe(
        &self,
        reporter: &EffectReporter,
        cancel: CancelSignal,
    ) -> Option<AgentResult> {
        let prompt = match prompt(&self.arguments) {
            Ok(prompt) => prompt,
            Err(why) => return Some(without_usage(ObservationStatus::Failed, why)),
        };
        let Some(grant) = self.grant else {
            let words = format!("Would have the agent {} do this: {prompt}", self.name);
            return Some(without_usage(ObservationStatus::Done, words));
        };
        let opening = match &self.opening {
            Ok(opening) => opening.clone(),
            Err(reject) => {
                let words = format!("Failed: the agent's session may not be opened: {reject}.");
                return Some(without_usage(ObservationStatus::Failed, words));
            }
        };
        let (stop, prompt_sent) = (CancelSource::new(), Notify::new());
        let mut work = std::pin::pin!(self.work(prompt, opening, stop.signal(), &prompt_sent));
        let stopped = tokio::select! {
            ended = &mut work => return Some(self.report(ended, grant, None)),
            () = prompt_sent.notified(), if self.agent.background => {
                return Some(self.in_background());
            }
            () = cancel.cancelled() => AgentStop::TurnStopped,
            () = self.time_out() => AgentStop::TimedOut,
        };
        if !reporter.is_connected() {
            return None;
        }
        let grace = Duration::from_millis(self.grace_ms);
        let unfinished = |why: &str| Err(ChildLoss::Unfinished(why.to_owned()));
        if self.agent.can_detach() {
            let grace_over = async {
                cancel.cancelled().await;
                sleep(grace.saturating_mul(2)).await;
            };
            // A child without a prompt is not started for a turn that is to stop.
            let not_started = tokio::select! {
                biased;
                ended = &mut work => Some(ended),
                () = prompt_sent.notified() => None,
                () = grace_over => Some(unfinished("it received no prompt in time")),
            };
            if !reporter.is_connected() {
                return None;
            }
            if let Some(ended) = not_started {
                return Some(self.report(ended, grant, Some(stopped)));
            }
            let status = match stopped {
                AgentStop::TurnStopped => ObservationStatus::Aborted,
                AgentStop::TimedOut => ObservationStatus::Failed,
            };
            let words = format!(
                "Not waited for any longer: {} It goes on by itself, in its session {}, and its \
                 result comes as a message once it has ended.",
                stopped.describe(self.timeout_ms),
                self.child
            );
            return Some(AgentResult::Detached(Observation::new(status, words)));
        }
        stop.cancel();
        // For a stopping turn the core counts the grace period, from the time of the request.
        let limit = match stopped {
            AgentStop::TurnStopped => grace.saturating_mul(2),
            AgentStop::TimedOut => grace,
        };
        let stopping = async {
            agents::stop_agent_turn(&self.engine, &self.child, &self.idempotency_key).await;
            std::future::pending().await
        };
        let ended = tokio::select! {
            ended = &mut work => ended,
            () = stopping => unfinished("it did not stop in time"),
            () = sleep(limit) => unfinished("it did not stop in time"),
        };
        reporter.is_connected().then(|| self.report(ended, grant, Some(stopped)))
    }

    /// Returns the result of a call whose agent works in the background.
    fn in_background(&self) -> AgentResult {
        let mut words = format!(
            "Started: the agent {} works in the background, in its session {}. Go on with other \
             work: its result comes as a message once it has ended.",
            self.name, self.child
        );
        if self.names_tools {
            let name = self.call.reference();
            words.push_str(&format!(
                " It is {name} for {WAIT_FOR_AGENT_TOOL}, {SEND_TO_AGENT_TOOL} and {CLOSE_AGENT_TOOL}."
            ));
        }
        AgentResult::Detached(Observation::new(ObservationStatus::Done, words))
    }

    /// Waits until the call's own time-out has passed, if it has one.
    async fn time_out(&self) {
        match self.timeout_ms {
            0 => std::future::pending().await,
            ms => sleep(Duration::from_millis(ms)).await,
        }
    }

    /// Creates or finds the child, sends its prompt unless it was sent, and waits for the end.
    async fn work(
        &self,
        prompt: String,
        opening: OpenSession,
        stop: CancelSignal,
        prompt_sent: &Notify,
    ) -> Result<TurnReport, ChildLoss> {
        let scope = opening.owner.clone();
        self.exists(opening, &stop).await?;
        let child = &self.child;
        self.reports.report(&format!("in session {child}"));
        let key = self.idempotency_key.clone();
        let followed = FollowedChild::new(&self.engine, child.clone(), key, scope.clone());
        let driving = async {
            match self.send_prompt(prompt, &scope, &stop).await {
                Ok(_handle) => {
                    prompt_sent.notify_one();
                    followed.keep_driven().await.map(ChildLoss::from)
                }
                Err(loss) => Some(loss),
            }
        };
        let ended = tokio::select! {
            report = followed.report() => report.map(|ended| ended.map_err(ChildLoss::from)),
            loss = driving => loss.map(Err),
        };
        match ended {
            Some(ended) => ended,
            // The engine is shut down: the child continues, and the next run finds it.
            None => std::future::pending().await,
        }
    }

    /// Ensures that the child is recorded. An existing session of this name that has another parent
    /// is unchanged.
    ///
    /// An earlier run recorded the child before it did anything else. If the child does not exist
    /// now, its log may have been left behind when this session was copied, restored or imported.
    /// The child may have done all its work there, so it is not created again.
    async fn exists(&self, opening: OpenSession, stop: &CancelSignal) -> Result<(), ChildLoss> {
        let before = |why: &dyn std::fmt::Display| {
            let words = format!("the agent's session {} cannot be opened: {why}", self.child);
            self.prompt_not_sent(words)
        };
        let scope = opening.owner.clone();
        let lineage = opening.lineage.clone();
        for _ in 0..MAX_TRIES {
            match self.engine.lookup(&self.child, &scope).await {
                Ok(info) => {
                    let ours = info.opened().map(|opened| &opened.lineage) == Some(&lineage);
                    return match ours {
                        true => Ok(()),
                        false => Err(before(&"its name is taken by another session")),
                    };
                }
                Err(StartError::Unknown(_)) if self.attempt > 1 && !self.read_only => {
                    return Err(ChildLoss::LogMissing);
                }
                Err(StartError::Unknown(_)) => {}
                Err(error) => return Err(before(&error)),
            }
            if stop.is_cancelled() {
                return Err(ChildLoss::NotStarted("it was stopped before it began".to_owned()));
            }
            match self.engine.create(&self.child, opening.clone()).await {
                Ok(()) => {}
                // It belongs to another tenant, or its first fact is about to be durable.
                Err(StartError::Exists(_) | StartError::Locked(_)) => sleep(PAUSE).await,
                Err(error) => return Err(before(&error)),
            }
        }
        Err(before(&"its name is taken by another session, or another process holds it"))
    }

    /// Sends the child's prompt once. Returns a handle that keeps the child's driver here.
    async fn send_prompt(
        &self,
        prompt: String,
        scope: &Scope,
        stop: &CancelSignal,
    ) -> Result<SessionHandle, ChildLoss> {
        if stop.is_cancelled() && self.attempt == 1 {
            return Err(ChildLoss::NotStarted("it was stopped before it began".to_owned()));
        }
        let input = NewInput {
            key: Some(agents::prompt_key(&self.idempotency_key)),
            dry_run: self.dry_run,
            ..NewInput::new(scope.clone(), prompt)
        };
        loop {
            let opened = self.engine.session(&self.child, scope).await;
            let handle = opened.map_err(|error| self.prompt_not_sent(error.to_string()))?;
            match handle.send(input.clone()).await {
                Ok(_)
                | Err(SendError::Rejected(Reject::Duplicate(_)) | SendError::Pending { .. }) => {
                    return Ok(handle);
                }
                Err(SendError::Ended(_)) => sleep(PAUSE).await,
                Err(SendError::Rejected(reject)) => {
                    return Err(self.prompt_not_sent(reject.to_string()));
                }
                Err(error) => return Err(ChildLoss::Unfinished(error.to_string())),
            }
        }
    }

    /// Returns the loss of a child to which this run sent no prompt; an earlier run may have.
    fn prompt_not_sent(&self, why: String) -> ChildLoss {
        match self.attempt {
            1 => ChildLoss::NotStarted(why),
            _ => ChildLoss::Unfinished(why),
        }
    }

    /// Returns the report for the model.
    fn report(
        &self,
        ended: Result<TurnReport, ChildLoss>,
        grant: BudgetGrant,
        stopped: Option<AgentStop>,
    ) -> AgentResult {
        let child = &self.child;
        match ended {
            Ok(report) => {
                let usage = report.spent.with_agents();
                match (&report.outcome, stopped) {
                    (TurnOutcome::Completed, _) => {
                        ended_with(ObservationStatus::Done, report.answer, usage)
                    }
                    (_, Some(stopped)) => {
                        let words = format!(
                            "Stopped: {} What it did until then stands, and is in its session \
                             {child}.",
                            stopped.describe(self.timeout_ms)
                        );
                        let status = match stopped {
                            AgentStop::TurnStopped => ObservationStatus::Aborted,
                            AgentStop::TimedOut => ObservationStatus::Failed,
                        };
                        ended_with(status, words, usage)
                    }
                    (outcome, None) => {
                        let mut words = format!(
                            "Failed: the agent {}. What it did until then stands.",
                            describe_outcome(outcome)
                        );
                        if !report.answer.is_empty() {
                            words.push_str(" Its last words: ");
                            words.push_str(&report.answer);
                        }
                        ended_with(ObservationStatus::Failed, words, usage)
                    }
                }
            }
            Err(ChildLoss::NotStarted(why)) => {
                without_usage(ObservationStatus::Failed, format!("Failed: {why}."))
            }
            Err(ChildLoss::Unfinished(why)) => {
                let words = format!(
                    "Unknown: {why}. The agent's session {child} may go on; the whole grant counts \
                     as used. How it ended comes as a message."
                );
                AgentResult::Detached(Observation::new(ObservationStatus::Unknown, words))
            }
            Err(ChildLoss::LogMissing) => {
                let words = format!(
                    "Unknown: the process that ran this call ended, and there is no log of the \
                     agent's session {child} here, so it was not sent out again. It may have done \
                     all of its work, a part of it or nothing; check before you repeat it. The \
                     whole grant counts as used."
                );
                ended_with(ObservationStatus::Unknown, words, grant.as_usage())
            }
        }
    }
}

impl From<ChildFault> for ChildLoss {
    fn from(fault: ChildFault) -> Self {
        match fault {
            ChildFault::Missing => {
                Self::Unfinished("there is no log of the agent's session any more".to_owned())
            }
            ChildFault::Unusable(why) => Self::Unfinished(why),
        }
    }
}

impl AgentStop {
    fn describe(self, timeout_ms: u64) -> String {
        match self {
            Self::TurnStopped => "the turn was asked to stop.".to_owned(),
            Self::TimedOut => format!("the agent ran longer than its limit of {timeout_ms} ms."),
        }
    }
}

fn without_usage(status: ObservationStatus, words: String) -> AgentResult {
    ended_with(status, words, BudgetUsage::default())
}

fn ended_with(status: ObservationStatus, words: String, usage: BudgetUsage) -> AgentResult {
    AgentResult::Ended(Observation::new(status, words), usage)
}

/// Returns the task in a call's arguments.
fn prompt(arguments: &str) -> Result<String, String> {
    let value: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
    let prompt = value.get("prompt").and_then(serde_json::Value::as_str);
    let prompt = prompt.filter(|prompt| !prompt.trim().is_empty());
    prompt
        .map(str::to_owned)
        .ok_or_else(|| "Failed: say in `prompt` what the agent is to do.".to_owned())
}
