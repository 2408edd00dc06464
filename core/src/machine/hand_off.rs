//! Hand-off: releases a session while its turn is open, between two facts, like a crash, but lets
//! running effects end first.
//!
//! Reports that start no effect are decided as usual. Reports that would start one are deferred.
//! Once every effect has ended, or the time is up, the deferred reports are decided too. Of the
//! last decision only the facts before the first start are recorded, as in the log of a process
//! that ended there. Effects whose start is already recorded still begin.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use super::Machine;
use super::action::{Action, CancelMode, EngineDefect, ExitReason};
use super::event::Timer;
use crate::decide::Decision;
use crate::effect::EffectKey;
use crate::error::{InvalidFact, Reject};
use crate::input::Input;
use crate::record::RecordedFact;

/// A session that is being handed off with its turn open.
#[derive(Debug, Clone)]
pub(super) struct HandOff {
    reason: String,
    /// Reports that would start an effect.
    deferred: VecDeque<(EffectKey, Input)>,
    /// True once the time is up.
    over: bool,
    /// Set once only appends remain: true if every effect has ended.
    finishing: Option<bool>,
}

impl HandOff {
    pub(super) fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns true if reports of this effect are deferred: it is neither restarted nor awaited.
    pub(super) fn defers(&self, key: EffectKey) -> bool {
        self.deferred.iter().any(|(of, _)| *of == key)
    }
}

impl Machine {
    /// Lets running effects end within this time. The first reason and the shortest time count.
    pub(super) fn on_hand_off(&mut self, within_ms: u64, reason: String) {
        self.actions.push_back(Action::SetTimer { timer: Timer::HandOff, after_ms: within_ms });
        let hand_off = self.hand_off.get_or_insert_with(|| HandOff {
            reason,
            deferred: VecDeque::new(),
            over: false,
            finishing: None,
        });
        hand_off.over |= within_ms == 0;
    }

    pub(super) fn end_patience(&mut self) {
        if let Some(hand_off) = &mut self.hand_off {
            hand_off.over = true;
        }
    }

    /// Returns true if only appends remain.
    pub(super) fn is_finishing(&self) -> bool {
        let hand_off = self.hand_off.as_ref();
        hand_off.is_some_and(|one| one.finishing.is_some())
    }

    /// Decides a report of an effect, or defers it.
    pub(super) fn report_at_hand_off(
        &mut self,
        key: EffectKey,
        input: Input,
    ) -> Result<(), Reject> {
        if self.hand_off.as_ref().is_some_and(|one| one.defers(key)) {
            // A sample that continues: nothing after a deferred report can be recorded.
            return Ok(());
        }
        let Decision { session, facts } = self.decide(input.clone())?;
        if !facts.iter().any(starts) {
            self.record(facts).map_err(Reject::Defect)?;
            self.session = session;
            return Ok(());
        }
        // Its later reports do not count.
        self.cancel(key, CancelMode::Graceful);
        if let Some(hand_off) = &mut self.hand_off {
            hand_off.deferred.push_back((key, input));
        }
        Ok(())
    }

    /// Finishes the hand-off once all awaited effects have ended.
    pub(super) fn hand_off_in_time(&mut self) {
        let Some(hand_off) = &self.hand_off else {
            return;
        };
        // A person may take days to answer, so a question stays open.
        let waits =
            |key: &EffectKey| !matches!(key, EffectKey::Approval { .. }) && !hand_off.defers(*key);
        let busy = self.running.keys().any(waits);
        // The running append may still start effects that were decided before.
        let over = !busy && self.appending.is_none() && self.unsent.is_empty();
        if !over && !hand_off.over {
            return;
        }
        // Pending demands use the current state, so deferred reports are decided after them.
        if let Some(hand_off) = &mut self.hand_off {
            hand_off.finishing = Some(!busy);
            self.changed = true;
        }
    }

    fn decide_deferred(&mut self, mut held: Vec<(EffectKey, Input)>) {
        // Results of tools come before a model's answer, which can be requested again.
        held.sort_by_key(|(key, _)| matches!(key, EffectKey::Sample { .. }));
        let last = held.len().saturating_sub(1);
        for (place, (_, input)) in held.into_iter().enumerate() {
            let Ok(Decision { session, facts }) = self.decide(input) else {
                continue;
            };
            let kept = match place < last {
                true => facts.len(),
                false => facts.iter().position(starts).unwrap_or(facts.len()),
            };
            let recorded = match kept == facts.len() {
                true => self.record(facts).map(|()| self.session = session),
                false => self.record_first(facts, kept),
            };
            if recorded.is_err() {
                return;
            }
        }
    }

    /// Records only the first facts of a decision.
    fn record_first(
        &mut self,
        mut facts: Vec<RecordedFact>,
        kept: usize,
    ) -> Result<(), InvalidFact> {
        facts.truncate(kept);
        let mut session = self.session.clone();
        for recorded in &facts {
            session = match (self.transitions.evolve)(session, recorded) {
                Ok(session) => session,
                Err(misfit) => {
                    self.exit(ExitReason::Defect(EngineDefect::InvalidFact(misfit.clone())));
                    return Err(misfit);
                }
            };
        }
        self.record(facts)?;
        self.session = session;
        Ok(())
    }

    /// Decides the deferred reports, appends all decided facts, and exits.
    pub(super) fn finish(&mut self) {
        if let Some(hand_off) = &mut self.hand_off {
            let held = core::mem::take(&mut hand_off.deferred);
            self.decide_deferred(held.into());
        }
        if self.exited {
            return;
        }
        self.append();
        if self.appending.is_some() {
            return;
        }
        let Some(hand_off) = &self.hand_off else {
            return;
        };
        let exit = ExitReason::HandedOff {
            reason: hand_off.reason.clone(),
            complete: hand_off.finishing == Some(true),
        };
        self.exit(exit);
    }
}

/// Returns true if a fact starts an effect.
fn starts(recorded: &RecordedFact) -> bool {
    recorded.fact.start().is_some()
}
