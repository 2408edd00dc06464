//! Detached children: agents that continue after their call was observed.
//!
//! The call's observation marks the child as detached. The session then awaits its result, which
//! enters once, as an input. Absent: how the result is found; the engine follows the child's log.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::agent::DetachedEndPolicy;
use crate::call::steps::idempotency_key;
use crate::context;
use crate::decide::{Plan, require_new_key, require_visible};
use crate::error::{InvalidFact, Reject};
use crate::evolve::invalid_fact;
use crate::fact::{CallObserved, Fact, InputQueued};
use crate::id::CallId;
use crate::record::RecordedFact;
use crate::scope::Scope;
use crate::session::{Delivery, QueuedInput, Session, Turn};

/// An agent that continues after its call was observed, and whose result is awaited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetachedChild {
    /// The call.
    pub call: CallId,
    /// Name of the agent.
    pub agent: Arc<str>,
    /// Scope of the call's turn.
    pub scope: Arc<Scope>,
    /// True if the result opens a turn.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub opens_turn: bool,
}

/// The result of a detached child, as a waiting input carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuedResult {
    /// The call of the child.
    pub call: CallId,
    /// Name of the agent.
    pub agent: Arc<str>,
    /// True if the input opens a turn.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub opens_turn: bool,
}

/// Returns the text of an input that carries the result of a detached child. `ended` says how its
/// turn ended, for example `The agent completed.`
#[must_use]
pub fn child_result(agent: &str, call: CallId, ended: &str, answer: &str) -> String {
    let mut text = format!(
        "No user wrote this: it is the result of the agent {agent}, which call @{call} started. {ended}"
    );
    if !answer.is_empty() {
        text.push_str(" Its answer:\n");
        text.push_str(answer);
    }
    context::frame(&format!("agent {agent}"), &text)
}

impl Session {
    /// Returns the first steering input of a user. Results of detached children neither cut an
    /// answer nor keep a turn from its end.
    #[must_use]
    pub fn user_steer(&self) -> Option<&QueuedInput> {
        let mut waiting = self.queue.iter();
        waiting.find(|queued| queued.delivery == Delivery::Steer && queued.result.is_none())
    }

    /// Returns the calls whose children are detached, in order.
    pub(crate) fn detached_calls(&self) -> Vec<CallId> {
        self.detached.iter().map(|child| child.call).collect()
    }
}

impl QueuedInput {
    /// Returns true if the input opens a turn by itself.
    #[must_use]
    pub fn opens_turn(&self) -> bool {
        self.result.as_ref().is_none_or(|result| result.opens_turn)
    }
}

/// Queues the result of a detached child as an input, once.
pub(crate) fn on_child_ended(
    plan: &mut Plan,
    scope: &Scope,
    call: CallId,
    text: String,
) -> Result<(), Reject> {
    require_visible(plan, scope)?;
    let key = format!("result {}", idempotency_key(plan, call));
    require_new_key(plan, &key)?;
    let mut detached = plan.session.detached.iter();
    let child = detached.find(|child| child.call == call).ok_or(Reject::NotDetached(call))?;
    let (scope, command_key) = (child.scope.clone(), plan.key.take());
    plan.push(Fact::InputQueued(InputQueued {
        scope,
        text: text.into(),
        delivery: Delivery::Steer,
        context: Vec::new(),
        images: Vec::new(),
        key: Some(key),
        command_key,
        dry_run: false,
        result_of: Some(call),
        command: None,
    }))
}

/// Returns the child that continues after this observation of a call.
pub(crate) fn detach(
    turn: &Turn,
    recorded: &RecordedFact,
    fact: &CallObserved,
    granted: bool,
) -> Result<Option<DetachedChild>, InvalidFact> {
    if !fact.detached {
        return Ok(None);
    }
    let call = turn.calls().iter().find(|call| call.id == fact.call);
    let agent = call.and_then(|call| Some((call, turn.agent(call)?))).filter(|_| granted);
    let Some((call, agent)) = agent else {
        return Err(invalid_fact(recorded, "only an agent that ran continues"));
    };
    Ok(Some(DetachedChild {
        call: fact.call,
        agent: call.tool.clone(),
        scope: turn.scope.clone(),
        opens_turn: agent.can_detach() && agent.when_detached_ends == DetachedEndPolicy::Wake,
    }))
}

/// Removes the child whose result an input carries.
pub(crate) fn take_result(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &InputQueued,
) -> Result<Option<QueuedResult>, InvalidFact> {
    let Some(call) = fact.result_of else {
        return Ok(None);
    };
    let index = session.detached.iter().position(|child| child.call == call);
    let index = index.ok_or_else(|| invalid_fact(recorded, "no child of this call is detached"))?;
    let child = session.detached.remove(index);
    Ok(Some(QueuedResult { call, agent: child.agent, opens_turn: child.opens_turn }))
}
