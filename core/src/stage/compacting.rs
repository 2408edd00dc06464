//! Compacting: the conversation is being made smaller.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::transition::OTHER_RUN;
use super::{Allowed, Next, Opening, Ready, Report, Rules, Stage, Transition};
use crate::because::Because;
use crate::decide::{Plan, compaction};
use crate::effect::{Demand, EffectKey, Owed};
use crate::error::{Misfit, Reject};
use crate::evolve::{allowed, misfit, turn_of};
use crate::fact::{Compacted, CompactionFact, CompactionFailed, CompactionStarted, Fact, Reserved};
use crate::hook::Trigger;
use crate::id::Seq;
use crate::outcome::{LimitKind, Outcome};
use crate::record::Recorded;
use crate::session::{Session, Turn};
use crate::time::Timestamp;

/// The conversation is being compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compacting {
    /// Position of the run's start.
    pub started: Seq,
    /// Trigger of the compaction.
    pub trigger: Trigger,
    /// Tokens and money set aside for a summary.
    pub reserved: Reserved,
    /// Next step of the turn.
    pub then: Then,
}

/// Next step of a turn after a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// The input or the goal is let in.
    Open(Opening),
    /// The model is asked.
    Ask(Because),
}

impl Rules for Compacting {
    fn allows(&self, _: &Session, _: &Turn, transition: Transition<'_>) -> Allowed {
        let so = match transition {
            Transition::Block(input) => self.opening() == Some(Opening::Input(input)),
            Transition::EndCompaction(started) if started == self.started => true,
            Transition::EndCompaction(_) => return Err(OTHER_RUN),
            Transition::Accept(_)
            | Transition::Inject
            | Transition::InjectLast
            | Transition::AskAgain(_)
            | Transition::AskHooks(_)
            | Transition::Sample(_)
            | Transition::Settle(_) => false,
        };
        transition.only_if(so)
    }

    fn on(
        &self,
        plan: &Plan,
        turn: &Turn,
        key: EffectKey,
        report: Report,
    ) -> Result<Vec<Fact>, Reject> {
        let fact = match report {
            Report::Compacted(Ok(compaction)) => Fact::Compacted(Compacted {
                started: self.started,
                cut: compaction.cut,
                shown: compaction.shown,
                usage: compaction.usage,
                fallback: compaction.fallback,
            }),
            Report::Compacted(Err(reason)) => self.failed(reason, Reserved::default()),
            Report::Lost if turn.compacting > turn.limits.restarts => {
                let reason = String::from("the process ended each time while it was made");
                self.failed(reason, self.reserved)
            }
            Report::Lost => compaction::again(plan, turn, self),
            Report::Sampled(_)
            | Report::Ran(_)
            | Report::Returned(..)
            | Report::Reconciled(_)
            | Report::Programmed(_)
            | Report::NeverBegan => return Err(Reject::Stale(key)),
        };
        Ok(alloc::vec![fact])
    }

    fn next(&self, _: &Plan, _: &Turn) -> Next {
        Next::Wait
    }

    fn owed(&self, _: &Session, turn: &Turn) -> Option<Owed> {
        turn.stop.is_none().then_some(Owed {
            key: EffectKey::Compact {
                started: self.started,
            },
            demand: Demand::Run,
            needs: self.started,
        })
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }

    fn opening(&self) -> Option<Opening> {
        match self.then {
            Then::Open(opening) => Some(opening),
            Then::Ask(_) => None,
        }
    }

    fn after_compaction(&self) -> Option<Then> {
        Some(self.then)
    }
}

impl Compacting {
    fn failed(&self, reason: String, lost: Reserved) -> Fact {
        Fact::CompactionFailed(CompactionFailed {
            started: self.started,
            reason,
            lost,
        })
    }
}

impl Stage {
    /// Returns the compaction that runs.
    #[must_use]
    pub fn compacting(&self) -> Option<&Compacting> {
        if let Self::Compacting(compacting) = self {
            Some(compacting)
        } else {
            None
        }
    }
}

pub(crate) fn on_compaction(
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
    let running = turn.stage.compacting().map(|running| running.reserved);
    lose(turn, recorded, &fact.lost, &running.unwrap_or_default())?;
    let then = turn.stage.rules().after_compaction();
    let then = then.ok_or_else(|| misfit(recorded, "the turn does not stand there"))?;
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
    let (turn, compacting) = compacting(session, recorded, fact.started)?;
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
    let (turn, compacting) = compacting(session, recorded, fact.started)?;
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

/// Returns the stage after a compaction. One that gained too little ends the turn, unless its input
/// has not been let in yet.
fn after(compacting: Compacting, little: bool) -> Stage {
    match compacting.then {
        Then::Open(opening) => Stage::Opening(opening),
        Then::Ask(_) if little => Stage::Ending(Outcome::Exhausted {
            limit: LimitKind::Context,
        }),
        Then::Ask(because) => Stage::Ready(Ready::because(because)),
    }
}

/// Returns the compaction that is out, which the fact must belong to.
fn compacting<'a>(
    session: &'a mut Session,
    recorded: &Recorded,
    started: Seq,
) -> Result<(&'a mut Turn, Compacting), Misfit> {
    let turn = allowed(session, recorded, Transition::EndCompaction(started))?;
    let compacting = turn.stage.compacting().cloned();
    let compacting = compacting.ok_or_else(|| misfit(recorded, "no compaction is out"))?;
    Ok((turn, compacting))
}
