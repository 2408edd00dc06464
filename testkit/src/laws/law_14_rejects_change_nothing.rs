//! Law 14: a reject changes nothing, and what must be rejected is.
//!
//! After a reject the log, the state and what runs are as they were before it. An answer of a
//! run that nobody waits for, the word that something never began which is not to wind down, a
//! person's answer to a question that is not open or about other arguments than those asked about, a
//! word for a turn that does not run, a change of an input that does not wait, a goal without words or turns,
//! a compaction of nothing, and an input whose key was used before, are rejected. What is said
//! under a key leaves the key in the log, in the fact that it became itself, and no key is left twice
//! while it is remembered: so what is said again is rejected also by who knows nothing but the log.
//!
//! It kills: an answer that is taken without a look at its key, or at what it is about.

use std::collections::BTreeMap;

use windlass_core::{
    ArgumentsDigest, CallId, CallProgress, Demand, DesiredEffect, EffectKey, Goal, Input,
    MAX_TITLE_CHARS, RecordedFact, Seq, Session, TurnId, TurnOpening,
};

use super::{Held, hold};
use crate::world::awaited;

/// What a reject must leave as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The last position of the log.
    pub last: Seq,
    /// The state.
    pub session: Session,
    /// What runs.
    pub running: BTreeMap<EffectKey, Demand>,
    /// How many effects were begun so far.
    pub begun: usize,
}

/// Checks one input: what stood before it, the desired effects then, whether it was rejected, and what
/// stands after it.
///
/// # Errors
/// [`Broken`](super::Broken) when a reject changed something, or there should have been one.
pub fn check(
    before: &Standing,
    owed: &[DesiredEffect],
    input: &Input,
    rejected: bool,
    after: &Standing,
) -> Held {
    hold(14, !rejected || before == after, || {
        format!("{input:?} was rejected, and {before:?}\nbecame {after:?}")
    })?;
    hold(14, rejected || !refusable(before, owed, input), || {
        format!("{input:?} was not rejected, and nobody waited for it")
    })
}

/// Checks what an input that was said under a key left in the log, which had ended at `last`.
///
/// # Errors
/// [`Broken`](super::Broken) when it left no key, or one that was there already.
pub fn once(last: Seq, input: &Input, rejected: bool, log: &[RecordedFact]) -> Held {
    let (Input::Keyed { key, input }, false) = (input, rejected) else {
        return Ok(());
    };
    let (before, after) = log.split_at(log.partition_point(|recorded| recorded.seq <= last));
    let carries = |recorded: &RecordedFact| recorded.fact.keys().any(|other| other == key);
    let keyed = before.iter().rev();
    let keyed = keyed.filter(|recorded| recorded.fact.keys().next().is_some());
    let again = keyed.take(Session::MAX_KEYS).find(|recorded| carries(recorded));
    hold(14, again.is_none(), || {
        format!("{input:?} was decided under the key {key:?} of {again:?}")
    })?;
    let own = |recorded: &&RecordedFact| {
        let kind = recorded.fact.kind();
        // The answer for a suspended call is no result of a client.
        let answers = matches!(**input, Input::SubmitResult { .. }) && kind == "CallResumed";
        answers || Some(kind) == becomes(input)
    };
    let own = after.first().filter(own);
    let left =
        if leaves_a_fact(input) { own.is_some_and(carries) } else { own.is_none_or(carries) };
    hold(14, left, || {
        format!(
            "{input:?} was said under the key {key:?}, and its fact does not have it: {after:?}"
        )
    })
}

/// Whether an input leaves a fact also if it changes nothing.
fn leaves_a_fact(input: &Input) -> bool {
    matches!(
        input,
        Input::EditInput { .. }
            | Input::MoveInput { .. }
            | Input::WithdrawInput { .. }
            | Input::Rewind { .. }
            | Input::FilesRestored { .. }
    )
}

/// The kind of the fact that an input which somebody says itself is.
fn becomes(input: &Input) -> Option<&'static str> {
    match input {
        Input::Configure { .. } => Some("SettingsChanged"),
        Input::SetGoal { .. } => Some("GoalSet"),
        Input::Compact { .. } => Some("CompactionRequested"),
        Input::Send { .. } | Input::RunCommand { .. } | Input::ChildEnded { .. } => {
            Some("InputQueued")
        }
        Input::EditInput { .. } => Some("InputEdited"),
        Input::MoveInput { .. } => Some("InputMoved"),
        Input::WithdrawInput { .. } => Some("InputWithdrawn"),
        Input::Rename { .. } => Some("SessionRenamed"),
        Input::Rewind { .. } => Some("SessionRewound"),
        Input::FilesRestored { .. } => Some("FilesRestored"),
        Input::Continue => Some("TurnOpened"),
        Input::Interrupt { .. } => Some("InterruptRequested"),
        Input::Answer { .. } => Some("ApprovalAnswered"),
        Input::SubmitResult { .. } => Some("CallObserved"),
        Input::Keyed { .. }
        | Input::Close
        | Input::Recover
        | Input::Narrow { .. }
        | Input::Tick
        | Input::SampleEvent { .. }
        | Input::CallEnded { .. }
        | Input::CallSuspended { .. }
        | Input::AgentEnded { .. }
        | Input::AgentDetached { .. }
        | Input::ProgramEvent { .. }
        | Input::HookReplied { .. }
        | Input::ApproverAnswered { .. }
        | Input::CallReconciled { .. }
        | Input::CompactionEnded { .. }
        | Input::NeverStarted { .. } => None,
    }
}

/// Returns true if an input must be rejected.
fn refusable(before: &Standing, owed: &[DesiredEffect], input: &Input) -> bool {
    let known = |key| before.session.keys.iter().any(|(known, _)| known == key);
    let running = before.session.turn().map(|turn| turn.id);
    let over = |turn: Option<TurnId>| turn.is_some() && turn != running;
    let waits = |input| before.session.queue.iter().any(|queued| queued.id == input);
    let opened = |input| {
        let turn = before.session.turn();
        turn.and_then(|turn| turn.opening()) == Some(TurnOpening::Input(input))
    };
    match input {
        Input::Keyed { key, input } => {
            known(key) || becomes(input).is_none() || refusable(before, owed, input)
        }
        Input::SampleEvent { key, .. }
        | Input::CallEnded { key, .. }
        | Input::CallSuspended { key, .. }
        | Input::AgentEnded { key, .. }
        | Input::AgentDetached { key, .. }
        | Input::ProgramEvent { key, .. }
        | Input::HookReplied { key, .. }
        | Input::ApproverAnswered { key, .. }
        | Input::CallReconciled { key, .. }
        | Input::CompactionEnded { key, .. } => !owed.iter().any(|owed| owed.key == *key),
        Input::ChildEnded { call, .. } => {
            !before.session.detached.iter().any(|child| child.call == *call)
        }
        Input::NeverStarted { key } => {
            let winds = |owed: &DesiredEffect| owed.key == *key && owed.demand == Demand::Cancel;
            !owed.iter().any(winds)
        }
        Input::Answer { call, arguments, .. } => asked(&before.session, *call) != Some(*arguments),
        Input::SubmitResult { call, .. } => !awaited(&before.session).contains(call),
        Input::SetGoal { goal, .. } => {
            let empty = |goal: &Goal| goal.text.trim().is_empty() || goal.turns == 0;
            goal.as_ref().is_some_and(empty)
        }
        Input::Send { key, text, turn, .. } => {
            text.trim().is_empty() || key.as_ref().is_some_and(known) || over(*turn)
        }
        Input::RunCommand { text, call, .. } => {
            let tool = call.as_ref().and_then(|call| before.session.settings.tool(&call.name));
            text.trim().is_empty() || tool.is_none()
        }
        Input::Interrupt { turn, .. } => before.session.turn().is_none() || over(*turn),
        Input::EditInput { input, text, .. } => {
            let mut queue = before.session.queue.iter();
            let command = queue.any(|queued| queued.id == *input && queued.command.is_some());
            !waits(*input) || text.trim().is_empty() || command
        }
        Input::MoveInput { input, before, .. } => {
            !waits(*input) || opened(*input) || before.is_some_and(|before| !waits(before))
        }
        Input::WithdrawInput { input, .. } => !waits(*input) || opened(*input),
        Input::Rename { title, .. } => title.as_ref().is_some_and(|title| {
            let title = title.trim();
            title.is_empty()
                || title.chars().count() > MAX_TITLE_CHARS
                || title.chars().any(char::is_control)
        }),
        Input::FilesRestored { paths, .. } => running.is_some() || paths.is_empty(),
        Input::Rewind { to, .. } => running.is_some() || *to >= before.session.next,
        Input::Compact { .. } => {
            let idle = before.session.turn().is_none();
            idle && before.session.visible.items == 0
        }
        Input::Configure { .. }
        | Input::Continue
        | Input::Close
        | Input::Recover
        | Input::Narrow { .. }
        | Input::Tick => false,
    }
}

/// The arguments of the open question about a call.
fn asked(session: &Session, id: CallId) -> Option<ArgumentsDigest> {
    let call = session.turn()?.calls().iter().find(|call| call.id == id)?;
    match call.progress {
        CallProgress::AwaitingApproval { question } => question.map(|_| call.arguments_digest()),
        CallProgress::Proposed
        | CallProgress::Allowed
        | CallProgress::Denied { .. }
        | CallProgress::Running { .. }
        | CallProgress::AwaitingResult { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::Done { .. } => None,
    }
}
