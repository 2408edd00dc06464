//! Suspended calls: a run ends without a result, and a later run goes on with an answer, or at once.
//! The wait is a state and not an effect, so it outlives processes.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Observation, ObservationStatus, client};
use crate::decide::Plan;
use crate::effect::EffectKey;
use crate::error::{InvalidFact, Reject};
use crate::evolve::{invalid_fact, turn_of};
use crate::fact::{CallResumed, CallSuspended, Fact, Lineage};
use crate::id::CallId;
use crate::record::RecordedFact;
use crate::scope::Scope;
use crate::session::{CallProgress, CallState, Session, Turn};
use crate::time::Timestamp;

/// Time for an answer, in milliseconds, where the limits set none: a day.
const ANSWER_MS: u64 = 24 * 60 * 60 * 1000;

/// End of a run that has no result yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspension {
    /// State from which the tool goes on, in its executor's own form, at most
    /// [`MAX_STATE_BYTES`](Self::MAX_STATE_BYTES). It is part of the log, so it must hold no secret.
    pub state: Arc<str>,
    /// Question to a person; `None` if the call goes on at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<UserQuestion>,
    /// True if the run that goes on may be repeated after its process was killed.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub repeatable: bool,
}

impl Suspension {
    /// Longest state, in bytes.
    pub const MAX_STATE_BYTES: usize = 64 * 1024;
    /// Most suspensions of one call. It then ends.
    pub const MAX_PER_CALL: u32 = 64;
}

/// Name of the tool by which a model asks a person. The question of a suspended call is shown as a call
/// of it, whose arguments are a [`UserQuestion`].
pub const ASK_USER_TOOL: &str = "ask_user";

/// Question of a tool to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserQuestion {
    /// Text of the question.
    pub question: String,
    /// Offered answers; empty if none are offered. Any other text is an answer too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

impl UserQuestion {
    /// Returns the question as people see it: it says which tool asks.
    #[must_use]
    pub fn asked_by(&self, tool: &str) -> Self {
        let question = alloc::format!("The tool {tool} asks: {}", self.question);
        Self { question, choices: self.choices.clone() }
    }
}

/// Answer of a person to a tool's question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserAnswer {
    /// Text of the answer.
    pub text: String,
    /// True if the person, or their client, refuses to answer.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub declined: bool,
}

/// State of a call that was suspended. It stays with the call while it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuspendedCall {
    /// Latest suspension.
    pub suspension: Arc<Suspension>,
    /// Answer to its question, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Arc<UserAnswer>>,
    /// Number of runs until the latest suspension.
    pub runs: u32,
    /// Number of suspensions of the call.
    pub count: u32,
    /// True if the call is decided again before it goes on: a new process drives its session, or one
    /// that permits less.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub decide_again: bool,
}

impl CallState {
    /// Returns true if a run of the call was suspended, so its tool may have begun.
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// Returns true if a person's answer is awaited.
    pub(crate) fn asks_person(&self) -> bool {
        self.is_suspended() && matches!(self.progress, CallProgress::AwaitingResult { .. })
    }

    /// Makes the call be decided again once it has its answer.
    pub(crate) fn decide_after_answer(&mut self) {
        if let Some(suspended) = &mut self.suspended {
            Arc::make_mut(suspended).decide_again = true;
        }
    }

    /// Returns the number of its next run, if none runs: 1 for a call that never ran.
    pub(crate) fn next_run(&self) -> u32 {
        self.suspended.as_ref().map_or(1, |suspended| suspended.runs.saturating_add(1))
    }

    /// Returns true if its run may be repeated although the tool changes something.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.suspended.as_ref().is_some_and(|suspended| suspended.suspension.repeatable)
    }

    /// Returns the number of repeats of its run that is this attempt, from 1.
    pub(crate) fn repeats(&self, attempt: u32) -> u32 {
        attempt.saturating_sub(self.next_run()).saturating_add(1)
    }
}

/// Returns true if a run of a tool is in progress: no plan of one, no program and no agent.
fn can_suspend(call: &CallState) -> bool {
    let runs = matches!(call.progress, CallProgress::Running { plan: false, .. });
    runs && !call.is_program() && call.grant.is_none()
}

/// Records that a run of a call ended without a result. Nobody is asked in the session of an agent.
pub(crate) fn on_suspended(
    plan: &mut Plan,
    key: EffectKey,
    suspension: Suspension,
) -> Result<(), Reject> {
    let EffectKey::Call { call, .. } = key else {
        return Err(Reject::Stale(key));
    };
    let turn = plan.session.turn().filter(|turn| super::answer::running(turn, key));
    let turn = turn.ok_or(Reject::Stale(key))?;
    turn.calls()
        .iter()
        .find(|state| state.id == call && can_suspend(state))
        .ok_or(Reject::Stale(key))?;
    let limit = turn.limits.approval_ms;
    let wait = if limit > 0 { limit } else { ANSWER_MS };
    let deadline = suspension.question.as_ref().map(|_| plan.at.plus_ms(wait));
    let suspension = Arc::new(suspension);
    plan.push(Fact::CallSuspended(CallSuspended { call, suspension, deadline }))?;
    let is_agents = matches!(*plan.session.lineage, Lineage::Child { .. });
    match deadline {
        Some(_) if is_agents => {
            let by = Scope::system("the session of an agent");
            plan.push(answered(call, by, Observation::new(ObservationStatus::Failed, NOBODY), None))
        }
        Some(_) | None => Ok(()),
    }
}

/// Answer to a question in the session of an agent, which nobody watches.
const NOBODY: &str = "Nobody can be asked: the session of an agent has no user.";

/// Returns the fact that records an answer for a suspended call.
pub(super) fn answered(
    call: CallId,
    by: Scope,
    observation: Observation,
    key: Option<String>,
) -> Fact {
    let declined = observation.status != ObservationStatus::Done;
    let answer = Arc::new(UserAnswer { text: observation.output, declined });
    Fact::CallResumed(CallResumed { call, answer, by: Arc::new(by), key })
}

/// Ends a suspended call whose tool never comes to an end.
pub(super) fn settle(call: &CallState) -> Option<Fact> {
    let suspended = call.suspended.as_ref()?;
    (suspended.count > Suspension::MAX_PER_CALL).then(|| {
        client::without_result(call, ObservationStatus::Failed, "its tool asks again and again")
    })
}

/// Applies the end of a run without a result.
pub(crate) fn on_suspended_fact(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &CallSuspended,
) -> Result<(), InvalidFact> {
    let call = find(turn_of(session, recorded)?, recorded, fact.call)?;
    let CallProgress::Running { attempt, .. } = call.progress else {
        return Err(invalid_fact(recorded, "no run of the call has begun"));
    };
    if !can_suspend(call) {
        return Err(invalid_fact(recorded, "no plan, program or agent is suspended"));
    }
    if fact.suspension.question.is_some() != fact.deadline.is_some() {
        return Err(invalid_fact(recorded, "a question has a deadline, and nothing else has"));
    }
    let count = call.suspended.as_ref().map_or(0, |suspended| suspended.count);
    call.suspended = Some(Arc::new(SuspendedCall {
        suspension: fact.suspension.clone(),
        answer: None,
        runs: attempt,
        count: count.saturating_add(1),
        // The process permits less than when the run began.
        decide_again: call.barred,
    }));
    let barred = core::mem::take(&mut call.barred);
    match fact.deadline {
        Some(deadline) => {
            call.progress = CallProgress::AwaitingResult { started: recorded.seq, deadline };
        }
        None if barred => call.decide_again(),
        None => call.progress = CallProgress::Allowed,
    }
    Ok(())
}

/// Applies the answer for a suspended call.
pub(crate) fn on_resumed_fact(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &CallResumed,
) -> Result<(), InvalidFact> {
    let call = find(turn_of(session, recorded)?, recorded, fact.call)?;
    let (CallProgress::AwaitingResult { .. }, Some(suspended)) =
        (&call.progress, &mut call.suspended)
    else {
        return Err(invalid_fact(recorded, "the call asks nothing"));
    };
    let suspended = Arc::make_mut(suspended);
    suspended.answer = Some(fact.answer.clone());
    match core::mem::take(&mut suspended.decide_again) {
        true => call.decide_again(),
        false => call.progress = CallProgress::Allowed,
    }
    Ok(())
}

fn find<'a>(
    turn: &'a mut Turn,
    recorded: &RecordedFact,
    id: CallId,
) -> Result<&'a mut CallState, InvalidFact> {
    let call = turn.calls_mut().iter_mut().find(|call| call.id == id);
    call.ok_or_else(|| invalid_fact(recorded, "no such call is out"))
}

/// Returns true if an answer for a suspended call comes in time.
pub(super) fn is_asked(call: &CallState, at: Timestamp) -> bool {
    match call.progress {
        CallProgress::AwaitingResult { deadline, .. } => call.is_suspended() && at < deadline,
        CallProgress::Proposed
        | CallProgress::AwaitingApproval { .. }
        | CallProgress::Allowed
        | CallProgress::Denied { .. }
        | CallProgress::Running { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::Done { .. } => false,
    }
}
