//! Samples: started, item by item, ended or cut.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{misfit, turn_of};
use crate::because::Because;
use crate::context;
use crate::digest::Digest;
use crate::error::Misfit;
use crate::fact::{ItemAdded, SampleCut, SampleEnded, SampleStarted};
use crate::failure::FailureKind;
use crate::id::{CallId, Seq};
use crate::item::{CallItem, Item, StopReason};
use crate::nonempty::NonEmpty;
use crate::outcome::Outcome;
use crate::record::Recorded;
use crate::session::{
    Backoff, CallState, Concluding, Executing, Fitness, Progress, Ready, Said, Sampling, Session,
    Stage, Turn,
};

pub(super) fn on_started(
    session: &mut Session,
    recorded: &Recorded,
    fact: &SampleStarted,
) -> Result<(), Misfit> {
    let (context, previous) = (session.context, session.latest);
    let turn = turn_of(session, recorded)?;
    let (because, failures, restarts) = match &turn.stage {
        Stage::Ready(ready) => (ready.because, 0, 0),
        Stage::Backoff(backoff) => (Because::Retry, backoff.failures, backoff.restarts),
        Stage::Opening { .. }
        | Stage::Sampling(_)
        | Stage::Executing(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => return Err(misfit(recorded, "the turn is not ready to sample")),
    };
    if turn.stop.is_some() {
        return Err(misfit(recorded, "the turn was asked to stop"));
    }
    if fact.because != because {
        return Err(misfit(recorded, "its reason is not the one the log gives"));
    }
    if fact.digest != context {
        return Err(misfit(
            recorded,
            "its request is not what the log renders to",
        ));
    }
    let tries = failures.saturating_add(restarts);
    if tries == 0 {
        turn.spent.samples = turn.spent.samples.saturating_add(1);
    }
    turn.spent.attempts = turn.spent.attempts.saturating_add(1);
    if fact.sample != turn.spent.samples || fact.attempt != tries.saturating_add(1) {
        return Err(misfit(recorded, "samples and attempts are not counted on"));
    }
    turn.stage = Stage::Sampling(Sampling {
        started: recorded.seq,
        previous,
        failures,
        restarts,
        calls: Vec::new(),
        context,
        said: Said::Nothing,
    });
    session.latest = recorded.seq;
    Ok(())
}

pub(super) fn on_item_added(
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
    sampling.context = sampling.context.digest(context::item(&fact.item));
    sampling.calls.extend(call);
    sampling.said = sampling.said.max(match &fact.item {
        Item::Text { .. } => Said::Text,
        Item::Refusal { .. } => Said::Refusal,
        Item::Reasoning(_) | Item::Call(_) => Said::Nothing,
    });
    Ok(())
}

/// A call as it enters the state, with what stands against running it.
fn proposed(turn: &Turn, seq: Seq, call: &CallItem) -> CallState {
    let provider_id = Digest::EMPTY.part(call.provider_id.as_bytes());
    let twin = match &turn.stage {
        Stage::Sampling(sampling) if !call.provider_id.is_empty() => sampling
            .calls
            .iter()
            .any(|other| other.provider_id == provider_id),
        Stage::Sampling(_)
        | Stage::Opening { .. }
        | Stage::Ready(_)
        | Stage::Backoff(_)
        | Stage::Executing(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => false,
    };
    CallState {
        id: CallId(seq.0),
        provider_id,
        fitness: fitness(turn, call, twin),
        arguments: Digest::EMPTY.part(call.arguments.as_bytes()),
        progress: Progress::Proposed,
    }
}

fn fitness(turn: &Turn, call: &CallItem, twin: bool) -> Fitness {
    if twin {
        let reason = "Not run: another call of the same answer has the same id. \
                      Give each call an id of its own.";
        return Fitness::Unfit {
            reason: String::from(reason),
        };
    }
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
    Fitness::Fit {
        effect: tool.effect,
        concurrency: tool.concurrency,
        timeout_ms: tool
            .timeout_ms
            .unwrap_or(turn.limits.call_ms)
            .min(turn.limits.call_ms),
    }
}

pub(super) fn on_ended(
    session: &mut Session,
    recorded: &Recorded,
    fact: &SampleEnded,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    let sampling = sampling(turn, recorded, fact.started)?;
    let (context, said) = (sampling.context, sampling.said);
    let calls = core::mem::take(&mut sampling.calls);
    let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
    turn.spent.calls = turn.spent.calls.saturating_add(count);
    if let Some(usage) = &fact.usage {
        turn.spent.usage.add(usage);
    }
    turn.stage = match NonEmpty::from_vec(calls) {
        Some(calls) => Stage::Executing(Executing { calls }),
        None if fact.stop == StopReason::Unfinished => Stage::Ready(Ready {
            because: Because::Unfinished,
        }),
        None => Stage::Concluding(Concluding {
            stop: fact.stop.clone(),
            said,
        }),
    };
    session.context = context;
    Ok(())
}

pub(super) fn on_cut(
    session: &mut Session,
    recorded: &Recorded,
    fact: &SampleCut,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    let sampling = sampling(turn, recorded, fact.started)?;
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
        | FailureKind::Cancelled => failures = failures.saturating_add(1),
    }
    turn.stage = match fact.retry_at {
        Some(until) => Stage::Backoff(Backoff {
            until,
            failures,
            restarts,
        }),
        None => Stage::Ending(Outcome::Failed {
            failure: fact.failure.kind,
            message: fact.failure.message.clone(),
        }),
    };
    Ok(())
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
        Stage::Opening { .. }
        | Stage::Ready(_)
        | Stage::Backoff(_)
        | Stage::Executing(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => Err(misfit(recorded, "no sample is out")),
    }
}
