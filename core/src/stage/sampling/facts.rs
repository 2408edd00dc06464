//! Facts of a sample: its start, its items, its end.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{AnswerKind, Sampling};
use crate::budget::answer::bounding_limit;
use crate::call::programs;
use crate::call::proposed::proposed;
use crate::compaction::{ItemFingerprint, VisiblePart};
use crate::context;
use crate::error::InvalidFact;
use crate::evolve::{allowed, invalid_fact, turn_of};
use crate::fact::{ItemAdded, Retained, SampleCut, SampleEnded, SampleFact, SampleStarted};
use crate::failure::{FailureKind, Retry};
use crate::history;
use crate::hook::SessionStart;
use crate::hook_rounds::HookRounds;
use crate::id::Seq;
use crate::item::{Item, StopReason};
use crate::nonempty::NonEmpty;
use crate::outcome::TurnOutcome;
use crate::program::SampleKind;
use crate::reason::Reason;
use crate::record::RecordedFact;
use crate::session::{CallState, MeasuredRequest, Session, Turn};
use crate::stage::executing::leave_if_done;
use crate::stage::{AfterCalls, Backoff, Concluding, Executing, Ready, Stage, Transition};

pub(crate) fn on_sample(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: SampleFact<'_>,
) -> Result<(), InvalidFact> {
    match fact {
        SampleFact::SampleStarted(fact) => on_started(session, recorded, fact),
        SampleFact::ItemAdded(fact) => on_item_added(session, recorded, fact),
        SampleFact::SampleEnded(fact) => on_ended(session, recorded, fact),
        SampleFact::SampleCut(fact) => on_cut(session, recorded, fact),
    }
}

fn on_started(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &SampleStarted,
) -> Result<(), InvalidFact> {
    let (shown, previous) = (session.visible, session.latest_sample);
    let turn = turn_of(session, recorded)?;
    if fact.kind != turn.next_kind() {
        return Err(invalid_fact(recorded, "it is not what the next sample is for"));
    }
    let attempt = turn.stage.rules().attempt();
    let attempt =
        attempt.ok_or_else(|| invalid_fact(recorded, "the turn is not ready to sample"))?;
    let (failures, restarts) = (attempt.failures, attempt.restarts);
    if turn.stop.is_some() {
        return Err(invalid_fact(recorded, "the turn was asked to stop"));
    }
    if turn.hook_rounds.open.is_some() || !turn.pending.is_empty() {
        return Err(invalid_fact(recorded, "hooks have not been heard"));
    }
    if fact.reason != attempt.reason {
        return Err(invalid_fact(recorded, "its reason is not the one the log gives"));
    }
    if fact.digest != shown.digest {
        return Err(invalid_fact(recorded, "its request is not what the log renders to"));
    }
    let tries = failures.saturating_add(restarts);
    if tries == 0 {
        turn.spent.samples = turn.spent.samples.saturating_add(1);
    }
    if tries == 0 && fact.kind == SampleKind::ReAsk {
        turn.re_asks = turn.re_asks.saturating_add(1);
    }
    turn.spent.attempts = turn.spent.attempts.saturating_add(1);
    if fact.sample != turn.spent.samples || fact.attempt != tries.saturating_add(1) {
        return Err(invalid_fact(recorded, "samples and attempts are not counted on"));
    }
    turn.hook_rounds = HookRounds::default();
    turn.compacted = None;
    turn.stage = Stage::Sampling(Sampling {
        started: recorded.seq,
        previous,
        failures,
        restarts,
        request: shown,
        reserved: fact.reserved,
        output_bound: fact.output_bound,
        kind: fact.kind,
        calls: Vec::new(),
        items: Vec::new(),
        found: BTreeSet::new(),
    });
    session.latest_sample = recorded.seq;
    if session.start == Some(SessionStart::Startup) {
        session.start = None;
    }
    Ok(())
}

fn on_item_added(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &ItemAdded,
) -> Result<(), InvalidFact> {
    let mut found = session.found_tools.clone();
    let turn = allowed(session, recorded, Transition::Sample(fact.started))?;
    let new = &sampling(turn, recorded)?.found;
    if !new.is_empty() {
        Arc::make_mut(&mut found).retain(|name| !new.contains(name));
    }
    if fact.surplus && !(matches!(fact.item, Item::Call(_)) && turn.answer_has_most_calls()) {
        return Err(invalid_fact(recorded, "the answer has room for the call"));
    }
    let call = match &fact.item {
        Item::Call(call) => Some(proposed((turn, &found), recorded.seq, call, fact.surplus)),
        Item::Text { .. } | Item::Refusal { .. } | Item::Reasoning(_) => None,
    };
    let sampling = sampling(turn, recorded)?;
    let said = answer_kind(&fact.item);
    if !is_inline(&fact.item) {
        let part = context::item(&fact.item);
        sampling.items.push((recorded.seq, part, said));
    }
    sampling.calls.extend(call);
    Ok(())
}

/// Returns true if the conversation shows the item inline in the answer's text.
fn is_inline(item: &Item) -> bool {
    match item {
        Item::Call(call) => call.inline,
        Item::Text { .. } | Item::Refusal { .. } | Item::Reasoning(_) => false,
    }
}

fn answer_kind(item: &Item) -> AnswerKind {
    match item {
        Item::Text { .. } => AnswerKind::Text,
        Item::Refusal { .. } => AnswerKind::Refusal,
        Item::Reasoning(_) | Item::Call(_) => AnswerKind::Nothing,
    }
}

fn on_ended(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &SampleEnded,
) -> Result<(), InvalidFact> {
    let turn = allowed(session, recorded, Transition::Sample(fact.started))?;
    let sampling = sampling(turn, recorded)?;
    let (asked, said) = (sampling.request, sampling.answer_kind());
    let answers = sampling.answers(&fact.stop);
    let shown = with(asked, sampling.items.iter().map(|(_, part, _)| *part));
    let calls = core::mem::take(&mut sampling.calls);
    let kind = sampling.kind;
    let (reserved, bound) = (sampling.reserved, sampling.output_bound);
    let bounded = bound.filter(|_| fact.stop == StopReason::Length);
    let bounded = bounded.map(|_| bounding_limit(turn, &reserved));
    let of_schema = answers && turn.settings.options.output_schema.is_some();
    let unusable = programs::unusable(turn, kind, &calls).is_some();
    if fact.fault.is_some() && !of_schema && !unusable {
        return Err(invalid_fact(recorded, "no shape is asked of this answer"));
    }
    match (&fact.usage, &fact.estimate) {
        (Some(usage), _) => turn.spend(usage),
        (None, estimate) => turn.spend_reserved(estimate.as_ref().unwrap_or(&reserved)),
    }
    turn.count(&calls);
    if !calls.is_empty() || said != AnswerKind::Nothing {
        turn.empty_answers = 0;
    }
    turn.stage = match NonEmpty::from_vec(calls) {
        Some(calls) => {
            let then = fact.fault.clone().map_or(AfterCalls::Ask, AfterCalls::Rejected);
            Stage::Executing(Executing::new(fact.started, calls, then, kind))
        }
        None if fact.stop == StopReason::Unfinished => {
            Stage::Ready(Ready::for_reason(Reason::Unfinished))
        }
        None => Stage::Concluding(Concluding {
            started: fact.started,
            stop: fact.stop.clone(),
            answer: said,
            fault: fact.fault.clone(),
            bounded,
        }),
    };
    let settings = turn.settings.clone();
    session.reader = (settings != session.settings).then_some(settings);
    session.visible = shown;
    let tokens = fact.usage.and_then(|usage| usage.input);
    session.measured = tokens.map(|tokens| MeasuredRequest { tokens, visible: asked });
    leave_if_done(session);
    Ok(())
}

fn on_cut(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &SampleCut,
) -> Result<(), InvalidFact> {
    let turn = allowed(session, recorded, Transition::Sample(fact.started))?;
    let overflow = turn.overflows(&fact.failure);
    let sampling = sampling(turn, recorded)?.clone();
    if let Some(usage) = &fact.usage {
        turn.spend(usage);
    }
    match (&fact.usage, &fact.estimate) {
        (_, Some(estimate)) => turn.spend_reserved(estimate),
        (None, None) if fact.failure.kind.is_billed() => turn.spend_reserved(&sampling.reserved),
        (Some(_) | None, None) => {}
    }
    let begun = |call: &CallState| call.has_started();
    let last = sampling.calls.iter().rfind(|call| begun(call));
    let shown = match (fact.retained, last.map(|call| Seq(call.id.0))) {
        (Retained::Nothing, None) if fact.stopped_by.is_none() => {
            turn.stage = if overflow {
                Stage::Ready(Ready { overflow: true, ..Ready::for_reason(Reason::Compacted) })
            } else {
                discard(turn, &sampling, fact)
            };
            return Ok(());
        }
        (Retained::Through { item }, Some(last)) if item == last && names_interrupt(turn, fact) => {
            retain_through(turn, sampling, fact, item)
        }
        (Retained::Text, None) if may_retain_text(turn, &sampling, fact) => {
            turn.stage = match fact.stopped_by {
                None => Stage::Ready(Ready::for_reason(Reason::Retry)),
                Some(_) => Stage::Ending(failed(turn, fact)),
            };
            with_texts(sampling.request, &sampling, Seq::ZERO, fact)
        }
        (Retained::Nothing | Retained::Through { .. } | Retained::Text, _) => {
            return Err(invalid_fact(recorded, "it does not say what stands of the answer"));
        }
    };
    session.visible = shown;
    leave_if_done(session);
    Ok(())
}

/// Returns true if the text of a truncated answer may stand: it yielded to a steering input, or an
/// interrupt stops the turn.
fn may_retain_text(turn: &Turn, sampling: &Sampling, fact: &SampleCut) -> bool {
    match fact.stopped_by {
        None => sampling.calls.is_empty() && turn.stop.is_none(),
        Some(_) => names_interrupt(turn, fact),
    }
}

/// Returns true if the cut names no interrupt, or the one that stops the turn.
fn names_interrupt(turn: &Turn, fact: &SampleCut) -> bool {
    fact.stopped_by.is_none_or(|by| turn.stopped_by() == Some(by))
}

/// Retains the items up to a started call, whose observation is awaited, and the text behind it if
/// an interrupt truncated that.
fn retain_through(
    turn: &mut Turn,
    mut sampling: Sampling,
    fact: &SampleCut,
    item: Seq,
) -> VisiblePart {
    sampling.calls.retain(|call| call.id.0 <= item.0);
    let stand = sampling.items.iter().filter(|(seq, _, _)| *seq <= item);
    let mut shown = with(sampling.request, stand.map(|(_, part, _)| *part));
    if fact.stopped_by.is_some() {
        shown = with_texts(shown, &sampling, item, fact);
    }
    turn.count(&sampling.calls);
    if let Some(calls) = NonEmpty::from_vec(sampling.calls) {
        let then = match fact.retry_at {
            Some(until) => AfterCalls::Wait(until),
            None => AfterCalls::End(failed(turn, fact)),
        };
        let executing = Executing::new(sampling.started, calls, then, sampling.kind);
        turn.stage = Stage::Executing(executing);
    }
    shown
}

/// Discards the answer: it is requested again, or the turn ends.
fn discard(turn: &Turn, sampling: &Sampling, fact: &SampleCut) -> Stage {
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
        | FailureKind::Program
        | FailureKind::Compaction => failures = failures.saturating_add(1),
    }
    match fact.retry_at {
        Some(until) => Stage::Backoff(Backoff { until, failures, restarts, kind: sampling.kind }),
        None => Stage::Ending(failed(turn, fact)),
    }
}

fn failed(turn: &Turn, fact: &SampleCut) -> TurnOutcome {
    let mut message = fact.failure.message.clone();
    if let (true, Retry::AfterMs(ms)) =
        (turn.limits.asks_too_long(fact.failure.retry), fact.failure.retry)
    {
        let limit = turn.limits.retry_after_ms;
        message.push_str(&format!(
            "; the provider asks to wait {ms} ms, and the limit is {limit} ms (retry_after_ms): try \
             again later"
        ));
    }
    TurnOutcome::Failed { failure: fact.failure.kind, message }
}

/// Adds the texts of an answer after a position, with the part that was streaming.
fn with_texts(
    shown: VisiblePart,
    sampling: &Sampling,
    after: Seq,
    fact: &SampleCut,
) -> VisiblePart {
    let texts = sampling.items.iter();
    let texts = texts.filter(|(seq, _, said)| *seq > after && *said != AnswerKind::Nothing);
    let partial = history::cut_off(&fact.partial, fact.stopped_by);
    let partial = partial.iter().map(context::item);
    with(shown, texts.map(|(_, part, _)| *part).chain(partial))
}

fn with(shown: VisiblePart, parts: impl Iterator<Item = ItemFingerprint>) -> VisiblePart {
    parts.fold(shown, VisiblePart::with)
}

/// Returns the running sample.
fn sampling<'a>(
    turn: &'a mut Turn,
    recorded: &RecordedFact,
) -> Result<&'a mut Sampling, InvalidFact> {
    if let Stage::Sampling(sampling) = &mut turn.stage {
        Ok(sampling)
    } else {
        Err(invalid_fact(recorded, "no sample is out"))
    }
}
