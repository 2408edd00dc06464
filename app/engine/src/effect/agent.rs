//! Agent effect: executes a call in a child session, and reports the child's result and usage.
//!
//! The call determines the child's id. Another run of the effect, in this process or on another
//! node, finds the same child, does not repeat its prompt, and continues to wait.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;
use windlass_core::{
    AgentSpec, BudgetGrant, BudgetUsage, EffectKey, Input, LimitKind, Observation,
    ObservationStatus, OpenSession, ParentEndPolicy, RecordedFact, Reject, Seq, SessionId,
    TurnOutcome,
};
use windlass_ports::{CancelSignal, CancelSource, ProgressSink, StoreError, StoreErrorKind};

use super::{EffectReporter, EffectSignals, ProgressReporter, ToolRunGuard};
use crate::agents::{self, PromptFinder};
use crate::capacity::FactCapacity;
use crate::engine::Engine;
use crate::error::{SendError, StartError};
use crate::event::Event;
use crate::report::{TurnFold, TurnReport};
use crate::session::{NewInput, SessionHandle};

/// Interval of checks that the child has a driver, possibly on another node.
const DRIVER_CHECK: Duration = Duration::from_secs(5);
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
    pub(crate) engine: Engine,
    pub(crate) reports: Arc<ProgressReporter>,
    pub(crate) size: FactCapacity,
}

/// Result of a call, with its usage.
type AgentResult = (Observation, BudgetUsage);

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
    pub(crate) async fn run(self, voice: EffectReporter, signals: EffectSignals) {
        let _run = ToolRunGuard { stop: CancelSource::new(), reports: self.reports.clone() };
        let (key, size) = (self.key, self.size);
        let Some((observation, took)) = self.observe(&voice, signals.cancel).await else {
            return;
        };
        let observation = size.shorten(observation);
        let said = Input::AgentEnded { key, observation, usage: took };
        voice.send(vec![said], true).await;
    }

    async fn observe(&self, voice: &EffectReporter, wind: CancelSignal) -> Option<AgentResult> {
        let prompt = match prompt(&self.arguments) {
            Ok(prompt) => prompt,
            Err(why) => return Some(without_usage(ObservationStatus::Failed, why)),
        };
        let Some(lent) = self.grant else {
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
        let (halt, said) = (CancelSource::new(), Notify::new());
        let mut work = std::pin::pin!(self.work(prompt, opening, halt.signal(), &said));
        let stopped = tokio::select! {
            ended = &mut work => return Some(self.report(ended, lent, None)),
            () = wind.cancelled() => AgentStop::TurnStopped,
            () = self.time_out() => AgentStop::TimedOut,
        };
        if !voice.is_connected() {
            return None;
        }
        let grace = Duration::from_millis(self.grace_ms);
        let late = |why: &str| Err(ChildLoss::Unfinished(why.to_owned()));
        if self.agent.when_parent_ends == ParentEndPolicy::Detach {
            let given_up = async {
                wind.cancelled().await;
                sleep(grace.saturating_mul(2)).await;
            };
            // A child without a prompt is not started for a turn that is to stop.
            let untold = tokio::select! {
                biased;
                ended = &mut work => Some(ended),
                () = said.notified() => None,
                () = given_up => Some(late("it was not told in time what it is to do")),
            };
            if !voice.is_connected() {
                return None;
            }
            if let Some(ended) = untold {
                return Some(self.report(ended, lent, Some(stopped)));
            }
            let status = match stopped {
                AgentStop::TurnStopped => ObservationStatus::Aborted,
                AgentStop::TimedOut => ObservationStatus::Failed,
            };
            let words = format!(
                "Not waited for any longer: {} It goes on by itself, and what it comes to \
                 stays in its session {}.",
                stopped.describe(self.timeout_ms),
                self.child
            );
            return Some((Observation::new(status, words), lent.as_usage()));
        }
        halt.cancel();
        // For a stopping turn the core counts the grace period, from the time of the request.
        let patience = match stopped {
            AgentStop::TurnStopped => grace.saturating_mul(2),
            AgentStop::TimedOut => grace,
        };
        let halting = async {
            agents::stop_agent_turn(&self.engine, &self.child, &self.idempotency_key).await;
            std::future::pending().await
        };
        let ended = tokio::select! {
            ended = &mut work => ended,
            () = halting => late("it did not stop in time"),
            () = sleep(patience) => late("it did not stop in time"),
        };
        voice.is_connected().then(|| self.report(ended, lent, Some(stopped)))
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
        halt: CancelSignal,
        said: &Notify,
    ) -> Result<TurnReport, ChildLoss> {
        self.exists(opening, &halt).await?;
        let child = &self.child;
        self.reports.report(&format!("in session {child}"));
        // Reads from the beginning: an earlier run may have sent the prompt, and the turn may have
        // ended.
        let watching = self.follow();
        let driving = self.drive(prompt, halt, said);
        tokio::select! {
            report = watching => Ok(report),
            lost = driving => Err(lost),
        }
    }

    /// Ensures that the child is recorded. An existing session of this name that has another parent
    /// is unchanged.
    ///
    /// An earlier run recorded the child before it did anything else. If the child does not exist
    /// now, its log may have been left behind when this session was copied, restored or imported.
    /// The child may have done all its work there, so it is not created again.
    async fn exists(&self, opening: OpenSession, halt: &CancelSignal) -> Result<(), ChildLoss> {
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
            if halt.is_cancelled() {
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

    /// Sends the child's prompt once, and ensures that the child has a driver. Returns only if that
    /// fails.
    async fn drive(&self, prompt: String, halt: CancelSignal, told: &Notify) -> ChildLoss {
        let scope = match &self.opening {
            Ok(opening) => opening.owner.clone(),
            Err(reject) => return ChildLoss::NotStarted(reject.to_string()),
        };
        if halt.is_cancelled() && self.attempt == 1 {
            return ChildLoss::NotStarted("it was stopped before it began".to_owned());
        }
        let mut held: Option<SessionHandle> = None;
        let mut said = false;
        loop {
            let here = held.as_ref().is_some_and(SessionHandle::is_driven_here);
            if !here {
                match self.engine.session(&self.child, &scope).await {
                    Ok(handle) => held = Some(handle),
                    Err(error) if said => {
                        tracing::warn!(session = %self.child, %error, "nobody drives an agent here");
                    }
                    Err(error) => return self.prompt_not_sent(error.to_string()),
                }
            }
            if let (Some(handle), false) = (&held, said) {
                let send = NewInput {
                    key: Some(agents::prompt_key(&self.idempotency_key)),
                    dry_run: self.dry_run,
                    ..NewInput::new(scope.clone(), prompt.clone())
                };
                match handle.send(send).await {
                    Ok(_)
                    | Err(SendError::Rejected(Reject::Duplicate(_)) | SendError::Pending { .. }) => {
                        said = true;
                        told.notify_one();
                    }
                    Err(SendError::Ended(_)) => sleep(PAUSE).await,
                    Err(SendError::Rejected(reject)) => {
                        return self.prompt_not_sent(reject.to_string());
                    }
                    Err(error) => return ChildLoss::Unfinished(error.to_string()),
                }
            }
            if said {
                sleep(DRIVER_CHECK).await;
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

    /// Waits for the end of the turn that executes the prompt, on any node.
    async fn follow(&self) -> TurnReport {
        let mut watch = self.engine.subscribe(&self.child, Some(Seq::ZERO));
        let mut following = ReportFinder::of(&self.idempotency_key);
        loop {
            match watch.next().await {
                Ok(Event::Fact(fact)) => {
                    if let Some(report) = following.apply(&fact.into()) {
                        return report;
                    }
                }
                Ok(Event::Live(_) | Event::Lagged { .. } | Event::Ended(_)) => {}
                Err(error) => {
                    unreadable_log(&self.child, &error);
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Returns the report for the model.
    fn report(
        &self,
        ended: Result<TurnReport, ChildLoss>,
        lent: BudgetGrant,
        stopped: Option<AgentStop>,
    ) -> AgentResult {
        let child = &self.child;
        match ended {
            Ok(report) => {
                let took = report.spent.with_agents();
                match (&report.outcome, stopped) {
                    (TurnOutcome::Completed, _) => {
                        (Observation::new(ObservationStatus::Done, report.answer), took)
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
                        (Observation::new(status, words), took)
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
                        (Observation::new(ObservationStatus::Failed, words), took)
                    }
                }
            }
            Err(ChildLoss::NotStarted(why)) => {
                without_usage(ObservationStatus::Failed, format!("Failed: {why}."))
            }
            Err(ChildLoss::Unfinished(why)) => {
                let words = format!(
                    "Unknown: {why}. The agent's session {child} may go on; what it was lent counts \
                     as taken."
                );
                let observation = Observation::new(ObservationStatus::Unknown, words);
                (observation, lent.as_usage())
            }
            Err(ChildLoss::LogMissing) => {
                let words = format!(
                    "Unknown: the process that ran this call ended, and there is no log of the \
                     agent's session {child} here, so it was not sent out again. It may have done \
                     all of its work, a part of it or nothing; check before you repeat it. What it \
                     was lent counts as taken."
                );
                let observation = Observation::new(ObservationStatus::Unknown, words);
                (observation, lent.as_usage())
            }
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
    (Observation::new(status, words), BudgetUsage::default())
}

fn unreadable_log(child: &SessionId, error: &StoreError) {
    // The child was recorded before it was followed, and may not be readable yet.
    if error.kind != StoreErrorKind::Unknown {
        tracing::warn!(session = %child, %error, "an agent's log cannot be read now");
    }
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

fn describe_outcome(outcome: &TurnOutcome) -> String {
    match outcome {
        TurnOutcome::Completed => "completed".to_owned(),
        TurnOutcome::NoAnswer => "ended without an answer".to_owned(),
        TurnOutcome::Refused => "declined".to_owned(),
        TurnOutcome::InvalidOutput { fault } => format!("gave an answer of another shape: {fault}"),
        TurnOutcome::Interrupted { reason, .. } => format!("was interrupted: {reason}"),
        TurnOutcome::Blocked { reason } => format!("was not let in: {reason}"),
        TurnOutcome::Exhausted { limit } => format!("reached {}", describe_limit(*limit)),
        TurnOutcome::Failed { message, .. } => format!("failed: {message}"),
    }
}

fn describe_limit(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::Samples => "its limit of samples",
        LimitKind::CallsPerSample | LimitKind::Calls => "its limit of calls",
        LimitKind::Tokens => "its limit of tokens",
        LimitKind::OutputTokens => "the model's limit of tokens in one answer",
        LimitKind::WallClock => "its limit of time",
        LimitKind::Cost => "its limit of cost",
        LimitKind::Continuations => "its limit of continuations by hooks",
        LimitKind::Compactions => "its limit of compactions",
        LimitKind::Context => "the limit of its model's window",
    }
}

/// Finds the report of the turn that executes a call's prompt, in the child's log from its
/// beginning.
struct ReportFinder {
    prompted: PromptFinder,
    fold: Option<TurnFold>,
}

impl ReportFinder {
    fn of(idempotency_key: &str) -> Self {
        Self { prompted: PromptFinder::new(idempotency_key), fold: None }
    }

    fn apply(&mut self, fact: &Arc<RecordedFact>) -> Option<TurnReport> {
        if let Some(fold) = &mut self.fold {
            return fold.apply(fact);
        }
        self.fold = self.prompted.apply(fact).map(TurnFold::new);
        None
    }
}
