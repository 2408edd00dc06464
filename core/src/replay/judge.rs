//! Judge: compares a recorded decision with the one that this engine makes.

use alloc::vec::Vec;

use super::Decide;
use super::input::inputs;
use super::report::{Divergence, Replacement, UnverifiableReason};
use crate::cause::DecisionCause;
use crate::error::Reject;
use crate::fact::Fact;
use crate::hook::HookVerdict;
use crate::id::Seq;
use crate::input::Incoming;
use crate::limits::Limits;
use crate::record::{Draft, RecordedFact};
use crate::session::Session;

/// Judgement of a decision.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// This engine makes the same decision.
    Same,
    /// The same decision; its last facts were lost with its process.
    CutShort,
    /// The log does not hold enough to tell.
    Unverifiable(Seq, UnverifiableReason),
    /// This engine decides differently.
    Different(Divergence),
}

/// Facts of this engine, and the number of them that equal the recorded ones.
struct Attempt {
    same: usize,
    drafts: Result<Vec<Draft>, Reject>,
}

/// Judges the decision with this cause. `facts` are its facts in the log, at least one.
pub(super) fn judge(
    decide: Decide,
    session: &Session,
    cause: DecisionCause,
    facts: &[RecordedFact],
) -> Judgement {
    let Some(first) = facts.first() else {
        return Judgement::Same;
    };
    let limits = limits(facts);
    let attempts = inputs(session, cause.input, facts).into_iter().map(|input| {
        let input = Incoming { at: first.ts, entropy: cause.drawn.unwrap_or(0), input };
        let drafts = decide(session, limits, input);
        let pairs = drafts.as_deref().unwrap_or_default().iter().zip(facts);
        let same = pairs.take_while(|(draft, fact)| is(draft, fact)).count();
        Attempt { same, drafts }
    });
    let Some(best) = attempts.max_by_key(|attempt| attempt.same) else {
        return Judgement::Unverifiable(first.seq, UnverifiableReason::NoCause);
    };
    let decided = best.drafts.as_ref().map_or(0, Vec::len);
    // The limits of the lost part of a decision are lost too.
    let cut_short = facts.len() < cause.facts as usize;
    if best.same < facts.len() || (decided != facts.len() && !cut_short) {
        return Judgement::Different(divergence(first.seq, facts, &best));
    }
    if let Fact::HookDecided(fact) = &first.fact
        && fact.verdict == HookVerdict::Overrun
    {
        return Judgement::Unverifiable(first.seq, UnverifiableReason::Overrun);
    }
    match cut_short {
        true => Judgement::CutShort,
        false => Judgement::Same,
    }
}

fn is(draft: &Draft, recorded: &RecordedFact) -> bool {
    draft.turn == recorded.turn && draft.ts == recorded.ts && draft.fact == recorded.fact
}

/// Returns the limits to decide under: those of the turn that the decision opened, as recorded.
/// Nothing else that is decided depends on the limits of a process.
fn limits(facts: &[RecordedFact]) -> &Limits {
    let opened = facts.iter().find_map(|recorded| {
        let Fact::TurnOpened(fact) = &recorded.fact else {
            return None;
        };
        Some(&fact.limits)
    });
    opened.unwrap_or(&UNLIMITED)
}

fn divergence(first: Seq, facts: &[RecordedFact], best: &Attempt) -> Divergence {
    let recorded = facts.get(best.same).map(|recorded| recorded.fact.kind());
    let replacement = match &best.drafts {
        Err(reject) => Replacement::Rejected(reject.clone()),
        Ok(drafts) => match drafts.get(best.same).map(|draft| draft.fact.kind()) {
            None => Replacement::Nothing,
            other if other == recorded => Replacement::Content,
            Some(other) => Replacement::Kind(other),
        },
    };
    Divergence { seq: Seq(first.0.saturating_add(best.same as u64)), recorded, replacement }
}

/// Limits that restrict nothing.
pub(super) const UNLIMITED: Limits = Limits {
    samples: u32::MAX,
    calls_per_sample: u32::MAX,
    calls: u32::MAX,
    attempts: u32::MAX,
    restarts: u32::MAX,
    parallel_calls: u32::MAX,
    tokens: 0,
    cost_micros: 0,
    continuations: u32::MAX,
    empty_answers: u32::MAX,
    compactions: u32::MAX,
    context_bytes: u64::MAX,
    turn_ms: 0,
    approval_ms: 0,
    reask_after_ms: 0,
    queue: u32::MAX,
    session_bytes: 0,
    backoff_ms: u64::MAX,
    backoff_max_ms: u64::MAX,
    retry_after_ms: 0,
    connect_ms: u64::MAX,
    first_byte_ms: u64::MAX,
    idle_ms: u64::MAX,
    sample_ms: u64::MAX,
    call_ms: u64::MAX,
    grace_ms: u64::MAX,
};
