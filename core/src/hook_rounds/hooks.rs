//! Hooks: the hooks to ask, and the meaning of their replies.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{CombinedVerdict, HookRounds, RoundStep, counts_as, subject_name};
use crate::call::denial;
use crate::context;
use crate::decide::Plan;
use crate::decide::turn::settle;
use crate::desired_effects::desired_effects;
use crate::digest::Digest;
use crate::effect::{DesiredEffect, EffectKey};
use crate::error::Reject;
use crate::fact::{Fact, HookDecided, HooksAsked};
use crate::history;
use crate::hook::{
    AfterDenial, DenialEffect, Edit, Editable, HookOccurrence, HookOrder, HookPoint, HookReply,
    HookSpec, HookVerdict,
};
use crate::id::Seq;
use crate::outcome::TurnOutcome;
use crate::session::{CallState, Session, Turn};
use crate::stage::{NextFact, Transition};

/// Next step at an occurrence of a hook point.
#[expect(clippy::large_enum_variant, reason = "used at once, never kept")]
pub(crate) enum HookStep<'a> {
    /// Add this fact.
    Add(Fact),
    /// Wait: hooks are being asked.
    Wait,
    /// Continue: all hooks have replied, or there are none.
    Finished(&'a CombinedVerdict),
}

/// Returns the next step at an occurrence that is about the turn.
pub(crate) fn at_turn<'a>(turn: &'a Turn, at: HookOccurrence, subject: &str) -> HookStep<'a> {
    step(&turn.hook_rounds, &turn.settings.hooks, at, subject)
}

/// Returns the next step at an occurrence that is about a call.
pub(crate) fn at_call<'a>(turn: &'a Turn, call: &'a CallState, at: HookOccurrence) -> HookStep<'a> {
    step(&call.hook_rounds, &turn.settings.hooks, at, &call.tool)
}

fn step<'a>(
    gates: &'a HookRounds,
    hooks: &[HookSpec],
    at: HookOccurrence,
    subject: &str,
) -> HookStep<'a> {
    match gates.step(hooks, at, subject) {
        RoundStep::Ask(hooks) => {
            let all = asks_all(gates, at);
            HookStep::Add(Fact::HooksAsked(HooksAsked { at, hooks, attempt: 1, all }))
        }
        RoundStep::Wait => HookStep::Wait,
        RoundStep::Finished(word) => HookStep::Finished(word),
    }
}

/// Returns true if a denial does not end the round at this occurrence. An open round stays as it
/// was opened.
fn asks_all(gates: &HookRounds, at: HookOccurrence) -> bool {
    match &gates.open {
        Some(gate) => gate.all,
        None => at.point().properties().after_denial == AfterDenial::AskOthers,
    }
}

/// Asks hooks about the turn, and ends it as blocked if they deny.
pub(crate) fn ask_or_block(plan: &Plan, turn: &Turn, at: HookOccurrence) -> NextFact {
    match at_turn(turn, at, subject_name(at)) {
        HookStep::Add(fact) => NextFact::Fact(fact),
        HookStep::Wait => NextFact::Wait,
        HookStep::Finished(word) => {
            let denied = reason(word).map(|reason| TurnOutcome::Blocked { reason });
            NextFact::from(denied.map(|outcome| settle(plan, turn, outcome)))
        }
    }
}

/// Returns true if any hook is declared for a point.
pub(crate) fn has_hooks(hooks: &[HookSpec], point: HookPoint) -> bool {
    hooks.iter().any(|hook| hook.point == point)
}

/// Runs the hooks on the session's end, unless a turn is open: the process releases the session.
pub(crate) fn on_close(plan: &mut Plan) -> Result<(), Reject> {
    if plan.session.turn().is_some() || plan.session.hook_rounds.open.is_some() {
        return Ok(());
    }
    match at_rest(&plan.session) {
        Some(fact) => plan.push(fact),
        None => Ok(()),
    }
}

/// Returns the question to the next hooks on the session's end.
pub(crate) fn at_rest(session: &Session) -> Option<Fact> {
    let hooks = &session.settings.hooks;
    match step(&session.hook_rounds, hooks, HookOccurrence::SessionEnd, "") {
        HookStep::Add(fact) => Some(fact),
        HookStep::Wait | HookStep::Finished(_) => None,
    }
}

/// A hook that is asked: its occurrence, its declaration, and its subject.
struct HookQuestion<'a> {
    at: HookOccurrence,
    seq: Seq,
    index: u32,
    spec: &'a HookSpec,
    about: Digest,
    /// True if a denial does not end its round.
    all: bool,
}

pub(crate) fn on_hook_reply(
    plan: &mut Plan,
    key: EffectKey,
    reply: HookReply,
) -> Result<(), Reject> {
    let due = desired_effects(&plan.session).iter().any(|owed| owed.key == key);
    let asked = find(&plan.session, key).filter(|_| due);
    let asked = asked.ok_or(Reject::Stale(key))?;
    let fact = decided(plan, &asked, reply);
    plan.push(Fact::HookDecided(fact))
}

/// Returns the fact for a hook's reply. An edit that is not allowed counts as a failure, and
/// context beyond the budget ends the turn.
fn decided(plan: &Plan, asked: &HookQuestion<'_>, reply: HookReply) -> HookDecided {
    let HookReply { mut verdict, mut reason, mut edit, context } = reply;
    let name = &asked.spec.name;
    if let Some(why) = edit.as_ref().and_then(|edit| edit_fault(asked, verdict, edit)) {
        (verdict, edit) = (HookVerdict::Failed, None);
        reason = format!("hook {name} {why}");
    }
    let counts = counts_as(asked.spec, verdict);
    let mut context = context_for_model(asked, counts, &reason, context);
    if let (Some(text), Some(turn)) = (&context, plan.session.turn()) {
        let text = context::frame(&history::hook_name(name), text);
        let bytes = turn.context_bytes.saturating_add(text.len() as u64);
        let limit = turn.limits.context_bytes;
        if bytes > limit {
            reason = format!(
                "hook {name} gives the model {} bytes of context, which makes {bytes} in this \
                 turn, and the limit is {limit}: let it say less, or raise the limit",
                text.len()
            );
            (verdict, edit, context) = (HookVerdict::Overrun, None, None);
        }
    }
    HookDecided {
        asked: asked.seq,
        hook: asked.index,
        name: name.clone(),
        verdict,
        reason,
        subject: asked.about,
        edit,
        context,
    }
}

/// Returns the reason why an edit is not allowed, if there is one.
fn edit_fault(asked: &HookQuestion<'_>, verdict: HookVerdict, edit: &Edit) -> Option<&'static str> {
    let edits = asked.at.point().properties().edits;
    if edits == Editable::Nothing {
        return Some("changes something where there is nothing to change");
    }
    if asked.spec.order == HookOrder::Parallel {
        return Some("is declared parallel and changes something");
    }
    if edits == Editable::Prompt && edit.text.trim().is_empty() {
        return Some("leaves nothing of the prompt");
    }
    match verdict {
        HookVerdict::Pass | HookVerdict::Allow | HookVerdict::Ask => None,
        HookVerdict::Deny | HookVerdict::Halt | HookVerdict::Failed | HookVerdict::Overrun => {
            Some("changes what it does not let pass")
        }
    }
}

/// Returns the text for the model: the hook's context, or its reason where a denial answers the
/// model.
fn context_for_model(
    asked: &HookQuestion<'_>,
    counts: HookVerdict,
    reason: &str,
    context: Option<Arc<str>>,
) -> Option<Arc<str>> {
    let denial = asked.at.point().properties().denial;
    let answers = denial == DenialEffect::Answers && counts == HookVerdict::Deny;
    let context = context.filter(|context| !context.trim().is_empty());
    if !answers {
        return context;
    }
    let reason = match reason.trim() {
        "" => "This is not enough; go on.",
        words => words,
    };
    Some(match context {
        None => Arc::from(reason),
        Some(context) => format!("{reason}\n{context}").into(),
    })
}

/// Returns the hook that a key names, if it is asked.
fn find(session: &Session, key: EffectKey) -> Option<HookQuestion<'_>> {
    let EffectKey::Hook { hook, asked } = key else {
        return None;
    };
    let (turn, index) = (session.turn(), usize::try_from(hook).ok()?);
    let at = |gates: &HookRounds| {
        let gate = gates.open.as_ref()?;
        let mut out = gate.pending.iter();
        let asked = out.any(|asking| asking.hook == hook && asking.asked == asked);
        asked.then_some((gate.at, gate.all))
    };
    if let Some((at, all)) = at(&session.hook_rounds) {
        let spec = session.settings.hooks.get(index)?;
        return Some(HookQuestion { at, seq: asked, index: hook, spec, about: Digest::EMPTY, all });
    }
    let turn = turn?;
    let spec = turn.settings.hooks.get(index)?;
    let here = at(&turn.hook_rounds).map(|(at, all)| (at, all, about(session, at)));
    let mut calls = turn.calls().iter();
    let (at, all, about) = here.or_else(|| {
        calls.find_map(|call| at(&call.hook_rounds).map(|(at, all)| (at, all, call.arguments)))
    })?;
    Some(HookQuestion { at, seq: asked, index: hook, spec, about, all })
}

/// Returns the digest of the prompt that hooks are asked about; empty at other points.
fn about(session: &Session, at: HookOccurrence) -> Digest {
    let HookOccurrence::PromptSubmitted { input } = at else {
        return Digest::EMPTY;
    };
    let mut queue = session.queue.iter();
    let queued = queue.find(|queued| queued.id == input);
    queued.map_or(Digest::EMPTY, |queued| queued.text.digest)
}

/// Asks a hook again after its process ended, or records that it did not answer after too many
/// tries.
pub(crate) fn ask_again(plan: &Plan, one: &DesiredEffect) -> Option<Fact> {
    let asked = find(&plan.session, one.key)?;
    let attempt = attempt(&plan.session, &asked)?;
    let limits = plan.session.turn().map_or(plan.ceiling, |turn| turn.limits);
    if attempt > limits.restarts || asked.at == HookOccurrence::SessionEnd {
        let why = format!("hook {} was cut short: its process ended", asked.spec.name);
        return Some(Fact::HookDecided(decided(plan, &asked, HookReply::failed(why))));
    }
    // A turn that ends here asks nobody about a steering input: the next turn does.
    if asked.at.input().is_some() {
        let turn = plan.session.turn()?;
        turn.allows(&plan.session, Transition::AskHooks(asked.at)).ok()?;
    }
    Some(Fact::HooksAsked(HooksAsked {
        at: asked.at,
        hooks: alloc::vec![asked.index],
        attempt: attempt.saturating_add(1),
        all: asked.all,
    }))
}

fn attempt(session: &Session, asked: &HookQuestion<'_>) -> Option<u32> {
    let mut out: Vec<_> = session.hook_rounds.pending().to_vec();
    if let Some(turn) = session.turn() {
        out.extend_from_slice(turn.hook_rounds.pending());
        for call in turn.calls() {
            out.extend_from_slice(call.hook_rounds.pending());
        }
    }
    let mut out = out.into_iter();
    let found = out.find(|one| one.hook == asked.index && one.asked == asked.seq);
    found.map(|one| one.attempt)
}

/// Abandons hooks on an interrupt that have not answered within the grace period.
pub(crate) fn give_up(plan: &Plan, turn: &Turn) -> Option<Fact> {
    let out = turn.hook_rounds.pending().first()?;
    let key = EffectKey::Hook { hook: out.hook, asked: out.asked };
    let asked = find(&plan.session, key)?;
    let why = format!("hook {} did not answer in time", asked.spec.name);
    let reply = HookReply::failed(why);
    Some(Fact::HookDecided(decided(plan, &asked, reply)))
}

/// Returns the reason of a call that hooks deny, as the model reads it.
pub(crate) fn call_denial(word: &CombinedVerdict) -> Option<String> {
    match word {
        CombinedVerdict::Deny { reason, .. } => Some(denial::by_hook(reason)),
        CombinedVerdict::Pass | CombinedVerdict::Allow | CombinedVerdict::Ask => None,
    }
}

/// Returns the text of a denial, or words in place of a missing one.
pub(crate) fn reason(word: &CombinedVerdict) -> Option<String> {
    match word {
        CombinedVerdict::Deny { reason, .. } if reason.trim().is_empty() => {
            Some(String::from("Denied: a hook said no."))
        }
        CombinedVerdict::Deny { reason, .. } => Some(reason.clone()),
        CombinedVerdict::Pass | CombinedVerdict::Allow | CombinedVerdict::Ask => None,
    }
}
