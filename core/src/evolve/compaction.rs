//! Compactions: started, done, failed.

use super::{misfit, turn_of};
use crate::error::Misfit;
use crate::fact::{Compacted, CompactionFact, CompactionFailed, CompactionStarted, Reserved};
use crate::id::Seq;
use crate::outcome::{LimitKind, Outcome};
use crate::record::Recorded;
use crate::session::{Compacting, Ready, Session, Stage, Then, Turn};

pub(super) fn on_compaction(
    session: &mut Session,
    recorded: &Recorded,
    fact: CompactionFact<'_>,
) -> Result<(), Misfit> {
    match fact {
        CompactionFact::CompactionStarted(fact) => on_started(session, recorded, fact),
        CompactionFact::Compacted(fact) => on_compacted(session, recorded, fact),
        CompactionFact::CompactionFailed(fact) => on_failed(session, recorded, fact),
    }
}

fn on_started(
    session: &mut Session,
    recorded: &Recorded,
    fact: &CompactionStarted,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    if turn.stop.is_some() {
        return Err(misfit(recorded, "the turn was asked to stop"));
    }
    let lost = match &turn.stage {
        Stage::Compacting(compacting) => compacting.reserved,
        Stage::Opening(_)
        | Stage::Ready(_)
        | Stage::Sampling(_)
        | Stage::Backoff(_)
        | Stage::Executing(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => Reserved::default(),
    };
    lose(turn, recorded, &fact.lost, &lost)?;
    let then = match &turn.stage {
        Stage::Opening(opening) => Then::Open(*opening),
        Stage::Ready(ready) => Then::Ask(ready.because),
        Stage::Compacting(compacting) => compacting.then,
        Stage::Sampling(_)
        | Stage::Backoff(_)
        | Stage::Executing(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => return Err(misfit(recorded, "the turn does not stand there")),
    };
    let (compaction, attempt) = (turn.spent.compactions, turn.compacting);
    if fact.compaction != compaction.saturating_add(1) || fact.attempt != attempt.saturating_add(1)
    {
        return Err(misfit(recorded, "compactions are not counted on"));
    }
    turn.compacting = fact.attempt;
    turn.stage = Stage::Compacting(Compacting {
        started: recorded.seq,
        trigger: fact.trigger,
        reserved: fact.reserved,
        then,
    });
    Ok(())
}

fn on_compacted(
    session: &mut Session,
    recorded: &Recorded,
    fact: &Compacted,
) -> Result<(), Misfit> {
    let before = session.shown;
    let turn = turn_of(session, recorded)?;
    let compacting = compacting(turn, recorded, fact.started)?;
    turn.spent.compactions = turn.spent.compactions.saturating_add(1);
    turn.compacting = 0;
    turn.compacted = Some((recorded.seq, compacting.trigger));
    match &fact.usage {
        Some(usage) => turn.spend(usage),
        None => turn.spend_reserved(&compacting.reserved),
    }
    let little = fact.shown.bytes > before.bytes.saturating_sub(before.bytes / 10);
    turn.stage = after(compacting, little);
    session.shown = fact.shown;
    session.measured = None;
    Ok(())
}

fn on_failed(
    session: &mut Session,
    recorded: &Recorded,
    fact: &CompactionFailed,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    let compacting = compacting(turn, recorded, fact.started)?;
    lose(turn, recorded, &fact.lost, &compacting.reserved)?;
    turn.spent.compactions = turn.spent.compactions.saturating_add(1);
    turn.compacting = 0;
    turn.compacted = Some((recorded.seq, compacting.trigger));
    turn.stage = after(compacting, true);
    Ok(())
}

/// A run whose process ended may have been charged for: what was set aside for it is spent. Logs
/// from before that was counted do not say so.
fn lose(
    turn: &mut Turn,
    recorded: &Recorded,
    lost: &Reserved,
    reserved: &Reserved,
) -> Result<(), Misfit> {
    if *lost != Reserved::default() && lost != reserved {
        return Err(misfit(recorded, "it is not what was set aside for the run"));
    }
    turn.spend_reserved(lost);
    Ok(())
}

/// What comes after a compaction. One that gained too little ends the turn, unless its input has
/// not been let in yet.
fn after(compacting: Compacting, little: bool) -> Stage {
    match compacting.then {
        Then::Open(opening) => Stage::Opening(opening),
        Then::Ask(_) if little => Stage::Ending(Outcome::Exhausted {
            limit: LimitKind::Context,
        }),
        Then::Ask(because) => Stage::Ready(Ready::because(because)),
    }
}

fn compacting(turn: &Turn, recorded: &Recorded, started: Seq) -> Result<Compacting, Misfit> {
    match &turn.stage {
        Stage::Compacting(compacting) if compacting.started == started => Ok(compacting.clone()),
        Stage::Compacting(_) => Err(misfit(recorded, "it is another run's fact")),
        Stage::Opening(_)
        | Stage::Ready(_)
        | Stage::Sampling(_)
        | Stage::Backoff(_)
        | Stage::Executing(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => Err(misfit(recorded, "no compaction is out")),
    }
}
