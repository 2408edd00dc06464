//! Compacting: the conversation is being compacted.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::transition::{OTHER_RUN, about_steer};
use super::{
    EffectReport, NextFact, Ready, Stage, StageRules, Transition, TransitionResult, TurnOpening,
};
use crate::compaction::CompactionRequest;
use crate::decide::{Plan, compaction};
use crate::effect::{Demand, DesiredEffect, EffectKey};
use crate::error::{InvalidFact, Reject};
use crate::evolve::{allowed, invalid_fact, turn_of};
use crate::fact::{
    Compacted, CompactionFact, CompactionFailed, CompactionRequested, CompactionStarted, Fact,
    Reservation,
};
use crate::failure::FailureKind;
use crate::hook::CompactionTrigger;
use crate::id::Seq;
use crate::outcome::{LimitKind, TurnOutcome};
use crate::reason::Reason;
use crate::record::RecordedFact;
use crate::session::{Session, Turn};
use crate::settings::Settings;
use crate::time::Timestamp;

/// The conversation is being compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compacting {
    /// Position of the run's start.
    pub started: Seq,
    /// Trigger of the compaction.
    pub trigger: CompactionTrigger,
    /// Reservation for a summary.
    pub reserved: Reservation,
    /// Settings of the model that is asked for the summary, if it is not the turn's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader: Option<Arc<Settings>>,
    /// Next step of the turn.
    pub after: AfterCompacting,
}

/// Next step of a turn after a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterCompacting {
    /// Admit the input or the goal.
    Open(TurnOpening),
    /// Ask the model.
    Ask(Reason),
}

impl StageRules for Compacting {
    fn allows(&self, session: &Session, _: &Turn, transition: Transition<'_>) -> TransitionResult {
        let so = match transition {
            Transition::AskHooks(at) => about_steer(session, at),
            Transition::Block(input) => self.opening() == Some(TurnOpening::Input(input)),
            Transition::EndCompaction(started) if started == self.started => true,
            Transition::EndCompaction(_) => return Err(OTHER_RUN),
            Transition::Accept(_)
            | Transition::Inject
            | Transition::InjectLast
            | Transition::AskAgain(_)
            | Transition::AskAfterEmpty(_)
            | Transition::Sample(_)
            | Transition::Settle(_) => false,
        };
        transition.only_if(so)
    }

    fn on_report(
        &self,
        plan: &Plan,
        turn: &Turn,
        key: EffectKey,
        report: EffectReport,
    ) -> Result<Vec<Fact>, Reject> {
        let fact = match report {
            EffectReport::CompactionEnded(Ok(compaction)) => Fact::Compacted(Compacted {
                started: self.started,
                cut: compaction.cut,
                visible: compaction.visible,
                usage: compaction.usage,
                unmeasured: compaction.unmeasured,
                fallback: compaction.fallback,
            }),
            EffectReport::CompactionEnded(Err(reason)) => {
                self.failed(reason, Reservation::default())
            }
            EffectReport::ProcessEnded if turn.compacting > turn.limits.restarts => {
                let reason = String::from("the process ended each time while it was made");
                self.failed(reason, self.reserved)
            }
            EffectReport::ProcessEnded => compaction::restart(plan, turn, self),
            EffectReport::SampleEvent(_)
            | EffectReport::CallEnded(_)
            | EffectReport::AgentEnded(..)
            | EffectReport::AgentDetached(_)
            | EffectReport::CallReconciled(_)
            | EffectReport::ProgramEvent(_)
            | EffectReport::NeverStarted => return Err(Reject::Stale(key)),
        };
        Ok(alloc::vec![fact])
    }

    fn next(&self, _: &Plan, _: &Turn) -> NextFact {
        NextFact::Wait
    }

    fn desired_effect(&self, _: &Session, turn: &Turn) -> Option<DesiredEffect> {
        turn.stop.is_none().then_some(DesiredEffect {
            key: EffectKey::Compact { started: self.started },
            demand: Demand::Run,
            requires_durable: self.started,
        })
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }

    fn opening(&self) -> Option<TurnOpening> {
        match self.after {
            AfterCompacting::Open(opening) => Some(opening),
            AfterCompacting::Ask(_) => None,
        }
    }

    fn after_compaction(&self) -> Option<AfterCompacting> {
        Some(self.after)
    }
}

impl Compacting {
    fn failed(&self, reason: String, lost: Reservation) -> Fact {
        Fact::CompactionFailed(CompactionFailed { started: self.started, reason, lost })
    }
}

impl Turn {
    /// Returns the settings of the model that has read the whole conversation, so that it can be
    /// asked about all of it: an earlier one, or the turn's own if a user requested the running
    /// compaction.
    #[must_use]
    pub fn summary_reader(&self) -> Option<&Arc<Settings>> {
        let running = self.stage.compacting()?;
        running.reader.as_ref().or(match running.trigger {
            CompactionTrigger::Manual => Some(&self.settings),
            CompactionTrigger::Window | CompactionTrigger::Overflow => None,
        })
    }
}

impl Stage {
    /// Returns the running compaction.
    #[must_use]
    pub fn compacting(&self) -> Option<&Compacting> {
        if let Self::Compacting(compacting) = self { Some(compacting) } else { None }
    }
}

pub(crate) fn on_compaction(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: CompactionFact<'_>,
) -> Result<(), InvalidFact> {
    match fact {
        CompactionFact::CompactionRequested(fact) => {
            on_requested(session, recorded, fact);
            Ok(())
        }
        CompactionFact::CompactionStarted(fact) => on_started(session, recorded, fact),
        CompactionFact::Compacted(fact) => on_compacted(session, recorded, fact),
        CompactionFact::CompactionFailed(fact) => on_failed(session, recorded, fact),
    }
}

/// Replaces a request that waits.
fn on_requested(session: &mut Session, recorded: &RecordedFact, fact: &CompactionRequested) {
    session.compaction = Some(CompactionRequest {
        requested: recorded.seq,
        scope: fact.by.clone(),
        waits: session.turn().is_some(),
        focus: fact.focus.clone(),
    });
}

fn on_started(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &CompactionStarted,
) -> Result<(), InvalidFact> {
    let reader = session.reader.clone();
    let reader = reader.filter(|reader| fact.model.as_ref() == Some(&reader.model));
    if reader.is_none() && fact.model.is_some() {
        return Err(invalid_fact(recorded, "no earlier sample was of this model"));
    }
    let turn = turn_of(session, recorded)?;
    if turn.stop.is_some() {
        return Err(invalid_fact(recorded, "the turn was asked to stop"));
    }
    let running = turn.stage.compacting().map(|running| running.reserved);
    spend_lost(turn, recorded, &fact.lost, &running.unwrap_or_default())?;
    let then = turn.stage.rules().after_compaction();
    let then = then.ok_or_else(|| invalid_fact(recorded, "the turn does not stand there"))?;
    let (compaction, attempt) = (turn.spent.compactions, turn.compacting);
    if fact.compaction != compaction.saturating_add(1) || fact.attempt != attempt.saturating_add(1)
    {
        return Err(invalid_fact(recorded, "compactions are not counted on"));
    }
    turn.compacting = fact.attempt;
    turn.stage = Stage::Compacting(Compacting {
        started: recorded.seq,
        trigger: fact.trigger,
        reserved: fact.reserved,
        reader,
        after: then,
    });
    Ok(())
}

fn on_compacted(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &Compacted,
) -> Result<(), InvalidFact> {
    let before = session.visible;
    let (turn, compacting) = compacting(session, recorded, fact.started)?;
    turn.spent.compactions = turn.spent.compactions.saturating_add(1);
    turn.compacting = 0;
    turn.compacted = Some((recorded.seq, compacting.trigger));
    if let Some(usage) = &fact.usage {
        turn.spend(usage);
    }
    let unmeasured = fact.unmeasured.unwrap_or_else(|| u32::from(fact.usage.is_none()));
    turn.spend_reserved(&compacting.reserved.times(unmeasured));
    let little = fact.visible.bytes > before.bytes.saturating_sub(before.bytes / 10);
    turn.stage = stage_after(compacting, little);
    session.visible = fact.visible;
    session.measured = None;
    Ok(())
}

fn on_failed(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &CompactionFailed,
) -> Result<(), InvalidFact> {
    let (turn, compacting) = compacting(session, recorded, fact.started)?;
    spend_lost(turn, recorded, &fact.lost, &compacting.reserved)?;
    turn.spent.compactions = turn.spent.compactions.saturating_add(1);
    turn.compacting = 0;
    turn.compacted = Some((recorded.seq, compacting.trigger));
    turn.stage = match compacting.trigger {
        CompactionTrigger::Window | CompactionTrigger::Overflow => stage_after(compacting, true),
        CompactionTrigger::Manual => Stage::Ending(TurnOutcome::Failed {
            failure: FailureKind::Compaction,
            message: fact.reason.clone(),
        }),
    };
    Ok(())
}

/// Counts the reservation of a run whose process ended, since it may have been billed. Older logs
/// have no such reservation.
fn spend_lost(
    turn: &mut Turn,
    recorded: &RecordedFact,
    lost: &Reservation,
    reserved: &Reservation,
) -> Result<(), InvalidFact> {
    if *lost != Reservation::default() && lost != reserved {
        return Err(invalid_fact(recorded, "it is not what was set aside for the run"));
    }
    turn.spend_reserved(lost);
    Ok(())
}

/// Returns the stage after a compaction. One that saved too little ends the turn, unless its input
/// is not admitted yet.
fn stage_after(compacting: Compacting, little: bool) -> Stage {
    match compacting.after {
        AfterCompacting::Open(opening) => Stage::Opening(opening),
        AfterCompacting::Ask(_) if little => {
            Stage::Ending(TurnOutcome::Exhausted { limit: LimitKind::Context })
        }
        AfterCompacting::Ask(because) => Stage::Ready(Ready::for_reason(because)),
    }
}

/// Returns the running compaction, which the fact must belong to.
fn compacting<'a>(
    session: &'a mut Session,
    recorded: &RecordedFact,
    started: Seq,
) -> Result<(&'a mut Turn, Compacting), InvalidFact> {
    let turn = allowed(session, recorded, Transition::EndCompaction(started))?;
    let compacting = turn.stage.compacting().cloned();
    let compacting = compacting.ok_or_else(|| invalid_fact(recorded, "no compaction is out"))?;
    Ok((turn, compacting))
}
