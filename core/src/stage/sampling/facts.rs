//! Facts of a sample: its start, its items, its end.

use alloc::vec::Vec;

use super::{Said, Sampling};
use crate::because::Because;
use crate::call::proposed::proposed;
use crate::compaction::{Part, Shown};
use crate::context;
use crate::error::Misfit;
use crate::evolve::{allowed, misfit, turn_of};
use crate::fact::{ItemAdded, SampleCut, SampleEnded, SampleFact, SampleStarted, Stands};
use crate::failure::FailureKind;
use crate::gate::Gates;
use crate::history;
use crate::hook::SessionStart;
use crate::id::Seq;
use crate::item::{Item, StopReason};
use crate::nonempty::NonEmpty;
use crate::outcome::Outcome;
use crate::program::SampleKind;
use crate::record::Recorded;
use crate::session::{CallState, Measured, Session, Turn};
use crate::stage::executing::leave_if_done;
use crate::stage::{AfterCalls, Backoff, Concluding, Executing, Ready, Stage, Transition};

pub(crate) fn on_sample(
    session: &mut Session,
    recorded: &Recorded,
    fact: SampleFact<'_>,
) -> Result<(), Misfit> {
    match fact {
        SampleFact::SampleStarted(fact) => on_started(session, recorded, fact),
        SampleFact::ItemAdded(fact) => on_item_added(session, recorded, fact),
        SampleFact::SampleEnded(fact) => on_ended(session, recorded, fact),
        SampleFact::SampleCut(fact) => on_cut(session, recorded, fact),
    }
}

fn on_started(
    session: &mut Session,
    recorded: &Recorded,
    fact: &SampleStarted,
) -> Result<(), Misfit> {
    let (shown, previous) = (session.shown, session.latest);
    let turn = turn_of(session, recorded)?;
    if fact.kind != turn.next_kind() {
        return Err(misfit(recorded, "it is not what the next sample is for"));
    }
    let attempt = turn.stage.rules().attempt();
    let attempt = attempt.ok_or_else(|| misfit(recorded, "the turn is not ready to sample"))?;
    let (failures, restarts) = (attempt.failures, attempt.restarts);
    if turn.stop.is_some() {
        return Err(misfit(recorded, "the turn was asked to stop"));
    }
    if turn.gates.open.is_some() || !turn.pending.is_empty() {
        return Err(misfit(recorded, "hooks have not been heard"));
    }
    if fact.because != attempt.because {
        return Err(misfit(recorded, "its reason is not the one the log gives"));
    }
    if fact.digest != shown.digest {
        return Err(misfit(
            recorded,
            "its request is not what the log renders to",
        ));
    }
    let tries = failures.saturating_add(restarts);
    if tries == 0 {
        turn.spent.samples = turn.spent.samples.saturating_add(1);
    }
    if tries == 0 && fact.kind == SampleKind::Retry {
        turn.retried = turn.retried.saturating_add(1);
    }
    turn.spent.attempts = turn.spent.attempts.saturating_add(1);
    if fact.sample != turn.spent.samples || fact.attempt != tries.saturating_add(1) {
        return Err(misfit(recorded, "samples and attempts are not counted on"));
    }
    turn.gates = Gates::default();
    turn.compacted = None;
    turn.stage = Stage::Sampling(Sampling {
        started: recorded.seq,
        previous,
        failures,
        restarts,
        asked: shown,
        reserved: fact.reserved,
        kind: fact.kind,
        calls: Vec::new(),
        items: Vec::new(),
    });
    session.latest = recorded.seq;
    if session.start == Some(SessionStart::Startup) {
        session.start = None;
    }
    Ok(())
}

fn on_item_added(
    session: &mut Session,
    recorded: &Recorded,
    fact: &ItemAdded,
) -> Result<(), Misfit> {
    let turn = allowed(session, recorded, Transition::Sample(fact.started))?;
    let call = match &fact.item {
        Item::Call(call) => Some(proposed(turn, recorded.seq, call)),
        Item::Text { .. } | Item::Refusal { .. } | Item::Reasoning(_) => None,
    };
    let sampling = sampling(turn, recorded)?;
    let said = said(&fact.item);
    if !is_spoken(&fact.item) {
        let part = context::item(&fact.item);
        sampling.items.push((recorded.seq, part, said));
    }
    sampling.calls.extend(call);
    Ok(())
}

/// Returns `true` if the conversation shows it as a part of the text that it stood in.
fn is_spoken(item: &Item) -> bool {
    match item {
        Item::Call(call) => call.spoken,
        Item::Text { .. } | Item::Refusal { .. } | Item::Reasoning(_) => false,
    }
}

fn said(item: &Item) -> Said {
    match item {
        Item::Text { .. } => Said::Text,
        Item::Refusal { .. } => Said::Refusal,
        Item::Reasoning(_) | Item::Call(_) => Said::Nothing,
    }
}

fn on_ended(session: &mut Session, recorded: &Recorded, fact: &SampleEnded) -> Result<(), Misfit> {
    let turn = allowed(session, recorded, Transition::Sample(fact.started))?;
    let sampling = sampling(turn, recorded)?;
    let (asked, said) = (sampling.asked, sampling.said());
    let answers = sampling.answers(&fact.stop);
    let shown = with(asked, sampling.items.iter().map(|(_, part, _)| *part));
    let calls = core::mem::take(&mut sampling.calls);
    let kind = sampling.kind;
    let reserved = sampling.reserved;
    if fact.fault.is_some() && !(answers && turn.settings.options.answer.is_some()) {
        return Err(misfit(recorded, "no shape is asked of this answer"));
    }
    match &fact.usage {
        Some(usage) => turn.spend(usage),
        None => turn.spend_reserved(&reserved),
    }
    turn.count(&calls);
    turn.stage = match NonEmpty::from_vec(calls) {
        Some(calls) => {
            let then = AfterCalls::Ask;
            Stage::Executing(Executing::new(fact.started, calls, then, kind))
        }
        None if fact.stop == StopReason::Unfinished => {
            Stage::Ready(Ready::because(Because::Unfinished))
        }
        None => Stage::Concluding(Concluding {
            started: fact.started,
            stop: fact.stop.clone(),
            said,
            fault: fact.fault.clone(),
        }),
    };
    session.shown = shown;
    let tokens = fact.usage.and_then(|usage| usage.input);
    session.measured = tokens.map(|tokens| Measured {
        tokens,
        shown: asked,
    });
    leave_if_done(session);
    Ok(())
}

fn on_cut(session: &mut Session, recorded: &Recorded, fact: &SampleCut) -> Result<(), Misfit> {
    let turn = allowed(session, recorded, Transition::Sample(fact.started))?;
    let overflow = turn.overflows(&fact.failure);
    let sampling = sampling(turn, recorded)?.clone();
    match &fact.usage {
        Some(usage) => turn.spend(usage),
        None if fact.failure.kind.is_billed() => turn.spend_reserved(&sampling.reserved),
        None => {}
    }
    let begun = |call: &CallState| call.has_begun();
    let last = sampling.calls.iter().rfind(|call| begun(call));
    let shown = match (fact.stands, last.map(|call| Seq(call.id.0))) {
        (Stands::Nothing, None) => {
            turn.stage = if overflow {
                Stage::Ready(Ready {
                    overflow: true,
                    ..Ready::because(Because::Compacted)
                })
            } else {
                again(&sampling, fact)
            };
            return Ok(());
        }
        (Stands::Through { item }, Some(last)) if item == last => {
            through(turn, sampling, fact, item)
        }
        (Stands::Said, None) if sampling.calls.is_empty() && turn.stop.is_none() => {
            turn.stage = Stage::Ready(Ready::because(Because::Retry));
            let texts = sampling
                .items
                .iter()
                .filter(|(_, _, said)| *said != Said::Nothing);
            let partial = history::cut_off(&fact.partial);
            let partial = partial.iter().map(context::item);
            with(
                sampling.asked,
                texts.map(|(_, part, _)| *part).chain(partial),
            )
        }
        (Stands::Nothing | Stands::Through { .. } | Stands::Said, _) => {
            return Err(misfit(
                recorded,
                "it does not say what stands of the answer",
            ));
        }
    };
    session.shown = shown;
    leave_if_done(session);
    Ok(())
}

/// The items up to a call that had begun stand, and its observation is awaited.
fn through(turn: &mut Turn, mut sampling: Sampling, fact: &SampleCut, item: Seq) -> Shown {
    sampling.calls.retain(|call| call.id.0 <= item.0);
    let stand = sampling.items.iter().filter(|(seq, _, _)| *seq <= item);
    let shown = with(sampling.asked, stand.map(|(_, part, _)| *part));
    turn.count(&sampling.calls);
    if let Some(calls) = NonEmpty::from_vec(sampling.calls) {
        let then = match fact.retry_at {
            Some(until) => AfterCalls::Wait(until),
            None => AfterCalls::End(failed(fact)),
        };
        let executing = Executing::new(sampling.started, calls, then, sampling.kind);
        turn.stage = Stage::Executing(executing);
    }
    shown
}

/// Nothing of the answer stands: it is asked for again, or the turn ends.
fn again(sampling: &Sampling, fact: &SampleCut) -> Stage {
    let (mut failures, mut restarts) = (sampling.failures, sampling.restarts);
    match fact.failure.kind {
        FailureKind::Restart => restarts = restarts.saturating_add(1),
        FailureKind::Authentication
        | FailureKind::NotFound
        | FailureKind::InvalidRequest
        | FailureKind::ContextOverflow
        | FailureKind::RateLimit
        | FailureKind::Quota
        | FailureKind::Overloaded
        | FailureKind::Server
        | FailureKind::ContentFilter
        | FailureKind::Unavailable
        | FailureKind::Protocol
        | FailureKind::Truncated
        | FailureKind::TooLarge
        | FailureKind::Timeout
        | FailureKind::Cancelled
        | FailureKind::Steered
        | FailureKind::Hook
        | FailureKind::Unsupported
        | FailureKind::Program => failures = failures.saturating_add(1),
    }
    match fact.retry_at {
        Some(until) => Stage::Backoff(Backoff {
            until,
            failures,
            restarts,
            kind: sampling.kind,
        }),
        None => Stage::Ending(failed(fact)),
    }
}

fn failed(fact: &SampleCut) -> Outcome {
    Outcome::Failed {
        failure: fact.failure.kind,
        message: fact.failure.message.clone(),
    }
}

fn with(shown: Shown, parts: impl Iterator<Item = Part>) -> Shown {
    parts.fold(shown, Shown::with)
}

/// The sample that is out.
fn sampling<'a>(turn: &'a mut Turn, recorded: &Recorded) -> Result<&'a mut Sampling, Misfit> {
    if let Stage::Sampling(sampling) = &mut turn.stage {
        Ok(sampling)
    } else {
        Err(misfit(recorded, "no sample is out"))
    }
}
