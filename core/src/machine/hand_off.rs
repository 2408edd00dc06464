//! Handing off: a session is let go while its turn is open, between two facts, as a crash would do
//! it; but running effects may end first.
//!
//! Reports of effects are decided as ever, as long as the decision starts nothing. A report that
//! would start something is held back. Once every effect has ended, or the time is up, the held
//! reports are decided too, and of the last decision only the facts before the first start are
//! kept: the log of a process that ended there. Effects that a fact has started already begin.

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
    /// Reports that would start something.
    deferred: VecDeque<(EffectKey, Input)>,
    /// The time is up.
    over: bool,
    /// Only what is decided is still to be appended: whether every effect has ended.
    finishing: Option<bool>,
}

impl HandOff {
    pub(super) fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns true if a report of this effect is held back: it is not started again, and not
    /// waited for.
    pub(super) fn defers(&self, key: EffectKey) -> bool {
        self.deferred.iter().any(|(of, _)| *of == key)
    }
}

impl Machine {
    /// Lets running effects end for so long. The first reason counts, and the least patience.
    pub(super) fn on_hand_off(&mut self, within_ms: u64, reason: String) {
        self.actions.push_back(Action::SetTimer {
            timer: Timer::HandOff,
            after_ms: within_ms,
        });
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

    /// Returns true if nothing but appends is left to do.
    pub(super) fn is_finishing(&self) -> bool {
        let hand_off = self.hand_off.as_ref();
        hand_off.is_some_and(|one| one.finishing.is_some())
    }

    /// Takes a report of an effect, or holds it back.
    pub(super) fn report_at_hand_off(
        &mut self,
        key: EffectKey,
        input: Input,
    ) -> Result<(), Reject> {
        if self.hand_off.as_ref().is_some_and(|one| one.defers(key)) {
            // A sample that goes on: nothing after what was held back can be kept.
            return Ok(());
        }
        let Decision { session, facts } = self.decide(input.clone())?;
        if !facts.iter().any(starts) {
            self.record(facts).map_err(Reject::Defect)?;
            self.session = session;
            return Ok(());
        }
        // It can report no more that counts.
        self.cancel(key, CancelMode::Graceful);
        if let Some(hand_off) = &mut self.hand_off {
            hand_off.deferred.push_back((key, input));
        }
        Ok(())
    }

    /// Has the hand-off finish once all that is waited for is over.
    pub(super) fn hand_off_in_time(&mut self) {
        let Some(hand_off) = &self.hand_off else {
            return;
        };
        // A person may take days: a question stays open.
        let waits =
            |key: &EffectKey| !matches!(key, EffectKey::Approval { .. }) && !hand_off.defers(*key);
        let busy = self.running.keys().any(waits);
        // The append that is under way may yet begin what was decided before.
        let over = !busy && self.appending.is_none() && self.unsent.is_empty();
        if !over && !hand_off.over {
            return;
        }
        // What is asked for now is done in the state of now: the held reports are decided after it.
        if let Some(hand_off) = &mut self.hand_off {
            hand_off.finishing = Some(!busy);
            self.changed = true;
        }
    }

    fn decide_deferred(&mut self, mut held: Vec<(EffectKey, Input)>) {
        // The results of tools come before what a model says, which can be asked for again.
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

    /// Takes only the first facts of a decision.
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
                    self.exit(ExitReason::Defect(EngineDefect::InvalidFact(
                        misfit.clone(),
                    )));
                    return Err(misfit);
                }
            };
        }
        self.record(facts)?;
        self.session = session;
        Ok(())
    }

    /// Decides the held reports, appends what is decided, and ends.
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
