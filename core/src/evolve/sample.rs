//! Samples: started, item by item, ended or cut.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::calls::{leave_if_done, ruled};
use super::{misfit, turn_of};
use crate::because::Because;
use crate::compaction::{Part, Shown};
use crate::context;
use crate::digest::Digest;
use crate::error::Misfit;
use crate::fact::{ItemAdded, SampleCut, SampleEnded, SampleFact, SampleStarted, Stands};
use crate::failure::FailureKind;
use crate::gate::Gates;
use crate::goal::GOAL_TOOL;
use crate::history;
use crate::hook::SessionStart;
use crate::id::{CallId, Seq};
use crate::item::{CallItem, Item, StopReason};
use crate::nonempty::NonEmpty;
use crate::outcome::Outcome;
use crate::program::{PROGRAM_TOOL, SampleKind, call_line};
use crate::record::Recorded;
use crate::session::{
    AfterCalls, Backoff, CallState, Changes, Concluding, Executing, Fitness, Measured, Progress,
    Ready, Said, Sampling, Session, Stage, Turn,
};
use crate::settings::EffectClass;

pub(super) fn on_sample(
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
    let (because, failures, restarts) = match &turn.stage {
        Stage::Ready(ready) => (ready.because, 0, 0),
        Stage::Backoff(backoff) => (Because::Retry, backoff.failures, backoff.restarts),
        Stage::Opening(_)
        | Stage::Compacting(_)
        | Stage::Sampling(_)
        | Stage::Executing(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => return Err(misfit(recorded, "the turn is not ready to sample")),
    };
    if turn.stop.is_some() {
        return Err(misfit(recorded, "the turn was asked to stop"));
    }
    if turn.gates.open.is_some() || !turn.pending.is_empty() {
        return Err(misfit(recorded, "hooks have not been heard"));
    }
    if fact.because != because {
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
    let turn = turn_of(session, recorded)?;
    let call = match &fact.item {
        Item::Call(call) => Some(proposed(turn, recorded.seq, call)),
        Item::Text { .. } | Item::Refusal { .. } | Item::Reasoning(_) => None,
    };
    let sampling = sampling(turn, recorded, fact.started)?;
    let said = said(&fact.item);
    if !is_spoken(&fact.item) {
        let part = context::item(&fact.item);
        sampling.items.push((recorded.seq, part, said));
    }
    sampling.calls.extend(call);
    Ok(())
}

/// Whether the conversation shows it as a part of the text that it stood in.
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

/// A call as it enters the state, with what stands against running it.
fn proposed(turn: &Turn, seq: Seq, call: &CallItem) -> CallState {
    let provider_id = Digest::EMPTY.part(call.provider_id.as_bytes());
    let mut others = turn.calls().iter();
    let twin = !call.provider_id.is_empty() && others.any(|other| other.provider_id == provider_id);
    let fitness = match (twin, &turn.settings.options.program) {
        (true, _) => unfit(
            "Not run: another call of the same answer has the same id. Give each call an id of its \
             own.",
        ),
        (false, Some(_)) => program(turn, call),
        (false, None) => fitness(turn, call),
    };
    state(turn, seq, call, fitness, None)
}

/// A call of a program, with what stands against running it.
pub(super) fn called(turn: &Turn, seq: Seq, program: CallId, call: &CallItem) -> CallState {
    let kind = match &turn.stage {
        Stage::Executing(executing) => executing.kind,
        Stage::Opening(_)
        | Stage::Ready(_)
        | Stage::Compacting(_)
        | Stage::Sampling(_)
        | Stage::Backoff(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => SampleKind::Normal,
    };
    let fitness = if !turn.programs_call(kind) {
        unfit("Not run: this is the last program for work, and it cannot call tools.")
    } else if !turn.room_for_program_call() {
        unfit("Not run: the limit of calls is used up.")
    } else {
        fitness(turn, call)
    };
    let line = match &fitness {
        Fitness::Fit {
            effect: EffectClass::Idempotent | EffectClass::Effectful,
            ..
        } if !turn.dry_run => Some(told_call(&call.name, &call.arguments)),
        Fitness::Fit { .. } | Fitness::Goal | Fitness::Program { .. } | Fitness::Unfit { .. } => {
            None
        }
    };
    CallState {
        line,
        ..state(turn, seq, call, fitness, Some(program))
    }
}

/// How a call of a program is named to the model, in numbers.
pub(super) fn told_call(tool: &str, arguments: &str) -> Part {
    context::told_call(&call_line(tool, arguments))
}

fn state(
    turn: &Turn,
    seq: Seq,
    call: &CallItem,
    fitness: Fitness,
    parent: Option<CallId>,
) -> CallState {
    CallState {
        id: CallId(seq.0),
        tool: Arc::from(call.name.as_str()),
        provider_id: Digest::EMPTY.part(call.provider_id.as_bytes()),
        fitness,
        arguments: Digest::EMPTY.part(call.arguments.as_bytes()),
        edited: None,
        ruled: ruled(&turn.settings, &call.rules),
        gates: Gates::default(),
        contexts: Vec::new(),
        lent: None,
        progress: Progress::Proposed,
        spoken: call.spoken,
        ended: false,
        line: None,
        parent,
    }
}

fn unfit(reason: &str) -> Fitness {
    Fitness::Unfit {
        reason: String::from(reason),
    }
}

/// Where the model writes programs, the one call of an answer is a program.
fn program(turn: &Turn, call: &CallItem) -> Fitness {
    if call.name != PROGRAM_TOOL {
        let name: String = call.name.chars().take(80).collect();
        return unfit(&format!(
            "Not run: {name:?} is no tool here. Call {PROGRAM_TOOL} with a program that calls it as \
             a function."
        ));
    }
    if turn.calls().iter().any(CallState::is_program) {
        return unfit("Not run: an answer has one program. Write all of it in that one.");
    }
    if let Some(fault) = &call.fault {
        return unfit(&format!("Not run: the program cannot be used. {fault}"));
    }
    Fitness::Program {
        timeout_ms: turn.limits.call_ms,
    }
}

fn fitness(turn: &Turn, call: &CallItem) -> Fitness {
    let Some(tool) = turn.settings.tool(&call.name) else {
        let names: Vec<&str> = turn
            .settings
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        let name: String = call.name.chars().take(80).collect();
        return Fitness::Unfit {
            reason: format!(
                "Not run: there is no tool {name:?}. The tools are: {}.",
                names.join(", ")
            ),
        };
    };
    if let Some(fault) = &call.fault {
        return Fitness::Unfit {
            reason: format!(
                "Not run: the arguments of {} cannot be used. {fault}",
                tool.name
            ),
        };
    }
    if tool.name == GOAL_TOOL {
        return Fitness::Goal;
    }
    Fitness::Fit {
        effect: tool.effect,
        concurrency: tool.concurrency,
        timeout_ms: tool
            .timeout_ms
            .unwrap_or(turn.limits.call_ms)
            .min(turn.limits.call_ms),
        reconciles: tool.reconciles,
    }
}

fn on_ended(session: &mut Session, recorded: &Recorded, fact: &SampleEnded) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    let sampling = sampling(turn, recorded, fact.started)?;
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
        Some(calls) => Stage::Executing(Executing {
            started: fact.started,
            calls,
            then: AfterCalls::Ask,
            kind,
            made: 0,
            changes: Changes::default(),
            told: None,
            contexts: Vec::new(),
        }),
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
    let turn = turn_of(session, recorded)?;
    let overflow = turn.overflows(&fact.failure);
    let sampling = sampling(turn, recorded, fact.started)?.clone();
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
        turn.stage = Stage::Executing(Executing {
            started: sampling.started,
            calls,
            then: match fact.retry_at {
                Some(until) => AfterCalls::Wait(until),
                None => AfterCalls::End(failed(fact)),
            },
            kind: sampling.kind,
            made: 0,
            changes: Changes::default(),
            told: None,
            contexts: Vec::new(),
        });
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

/// The sample that is out, which the fact must belong to.
fn sampling<'a>(
    turn: &'a mut Turn,
    recorded: &Recorded,
    started: Seq,
) -> Result<&'a mut Sampling, Misfit> {
    match &mut turn.stage {
        Stage::Sampling(sampling) if sampling.started == started => Ok(sampling),
        Stage::Sampling(_) => Err(misfit(recorded, "it is another run's fact")),
        Stage::Opening(_)
        | Stage::Ready(_)
        | Stage::Compacting(_)
        | Stage::Backoff(_)
        | Stage::Executing(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => Err(misfit(recorded, "no sample is out")),
    }
}
