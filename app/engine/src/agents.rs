//! Agents: the child session that executes a call, and how it is stopped.

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::sleep;
use windlass_core::{
    Fact, InputId, InterruptSource, LimitKind, Reason, RecordedFact, Reject, Scope, Seq, SessionId,
    StopTiming, TurnId, TurnOutcome,
};
use windlass_ports::{LogStore, StoreError, StoreErrorKind};

use crate::engine::Engine;
use crate::error::SendError;
use crate::load::load;
use crate::report::{TurnFold, TurnReport};
use crate::session::SessionCommand;

/// Most attempts to stop a child, and the pause between them.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// Returns the id of the child session that executes a call, derived from the idempotency key in
/// [`CallStarted`](windlass_core::CallStarted). The id is always the same, so a later run finds the
/// child again.
///
/// The id is the key itself if the key is a valid session id, else a name derived from the key.
#[must_use]
pub fn agent_session(idempotency_key: &str) -> Option<SessionId> {
    if let Ok(id) = SessionId::new(idempotency_key) {
        return Some(id);
    }
    let hash = Sha256::digest(idempotency_key.as_bytes());
    let hash: String = hash.iter().take(20).map(|byte| format!("{byte:02x}")).collect();
    SessionId::new(&format!("agent-{hash}")).ok()
}

/// Returns the key under which a child's prompt is sent, so that an agent receives its prompt once.
pub(crate) fn prompt_key(idempotency_key: &str) -> String {
    format!("agent {idempotency_key}")
}

/// Reason for stopping an agent whose call is over.
pub(crate) const CALL_ENDED: &str = "the call that this agent works for has ended";

/// Finds, in an agent's log from its beginning, the turn that executes the call's prompt. The log
/// may contain turns for other inputs.
pub(crate) struct PromptFinder {
    key: String,
    input: Option<InputId>,
}

impl PromptFinder {
    /// Creates a finder for the call with this idempotency key.
    pub(crate) fn new(idempotency_key: &str) -> Self {
        Self { key: prompt_key(idempotency_key), input: None }
    }

    /// Applies the next fact; returns the turn with the fact that opens it.
    pub(crate) fn apply(&mut self, recorded: &RecordedFact) -> Option<TurnId> {
        if let Fact::InputQueued(queued) = &recorded.fact
            && queued.key.as_ref() == Some(&self.key)
        {
            self.input = Some(InputId(recorded.seq.0));
        }
        if let Fact::TurnOpened(opened) = &recorded.fact
            && let Reason::Input { input } = opened.reason
            && self.input == Some(input)
        {
            return Some(TurnId(recorded.seq.0));
        }
        None
    }
}

/// Finds the report of the turn that executes a call's prompt, in the child's log from its
/// beginning.
pub(crate) struct ReportFinder {
    prompted: PromptFinder,
    fold: Option<TurnFold>,
}

impl ReportFinder {
    /// Creates a finder for the call with this idempotency key.
    pub(crate) fn of(idempotency_key: &str) -> Self {
        Self { prompted: PromptFinder::new(idempotency_key), fold: None }
    }

    /// Applies the next fact; returns the report with the fact that settles the turn.
    pub(crate) fn apply(&mut self, fact: &Arc<RecordedFact>) -> Option<TurnReport> {
        if let Some(fold) = &mut self.fold {
            return fold.apply(fact);
        }
        self.fold = self.prompted.apply(fact).map(TurnFold::new);
        None
    }
}

/// Returns how a child's turn ended, in words after its name.
pub(crate) fn describe_outcome(outcome: &TurnOutcome) -> String {
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
        LimitKind::SessionBytes => "the limit of its session's bytes",
    }
}

/// Stops the turn of an agent that executes the call's prompt, if it runs. Retries for a while if
/// the agent cannot be reached.
pub(crate) async fn stop_agent_turn(engine: &Engine, child: &SessionId, idempotency_key: &str) {
    for _ in 0..TRIES {
        match try_stop(engine, child, idempotency_key).await {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(session = %child, %error, "an agent could not be told to stop");
            }
        }
        sleep(PAUSE).await;
    }
}

/// Returns true if that turn was asked to stop or has ended; false if it does not exist yet.
async fn try_stop(engine: &Engine, child: &SessionId, key: &str) -> Result<bool, SendError> {
    let scope = Scope::system(CALL_ENDED);
    let inner = &engine.inner;
    let start = |error| SendError::Start(Arc::new(error));
    let store = inner.ports.store.as_ref();
    let turn = find_prompted_turn(store, child, key, inner.config.read_page.max(1)).await;
    let Some(turn) = turn.map_err(|error| start(error.into()))? else {
        return Ok(false);
    };
    let loaded = load(store, child, inner.config.read_page).await.map_err(start)?;
    if loaded.session.turn().is_none_or(|open| open.id != turn) {
        return Ok(true);
    }
    let stop = SessionCommand::Interrupt {
        by: InterruptSource::Parent,
        reason: CALL_ENDED.to_owned(),
        when: StopTiming::Now,
        turn: Some(turn),
    };
    let handle = engine.session(child, &scope).await.map_err(start)?;
    match handle.execute(stop, scope, None).await {
        Ok(_) | Err(SendError::Pending { .. }) => Ok(true),
        Err(SendError::Rejected(Reject::Idle | Reject::Stopping | Reject::TurnMismatch(_))) => {
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

/// Finds the turn of an agent that executes the call's prompt; `None` if it is not in the log yet.
pub(crate) async fn find_prompted_turn(
    store: &dyn LogStore,
    child: &SessionId,
    key: &str,
    page: usize,
) -> Result<Option<TurnId>, StoreError> {
    match read_prompt(store, child, key, page).await {
        Ok((_, turn)) => Ok(turn),
        Err(error) if error.kind == StoreErrorKind::Unknown => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true if the log of an agent has the call's prompt.
pub(crate) async fn has_prompt(
    store: &dyn LogStore,
    child: &SessionId,
    key: &str,
    page: usize,
) -> Result<bool, StoreError> {
    let (prompted, _) = read_prompt(store, child, key, page).await?;
    Ok(prompted.input.is_some())
}

/// Reads the log of an agent up to the turn that executes the call's prompt, or to its end.
async fn read_prompt(
    store: &dyn LogStore,
    child: &SessionId,
    key: &str,
    page: usize,
) -> Result<(PromptFinder, Option<TurnId>), StoreError> {
    let mut prompted = PromptFinder::new(key);
    let mut after = Seq::ZERO;
    loop {
        let facts = store.read(child, after, page).await?;
        if let Some(turn) = facts.iter().find_map(|fact| prompted.apply(fact)) {
            return Ok((prompted, Some(turn)));
        }
        let Some(last) = facts.last().filter(|_| facts.len() >= page) else {
            return Ok((prompted, None));
        };
        after = last.seq;
    }
}
