//! Parting: a session is let go while its turn is open, between two facts, as a crash would do it;
//! but what runs may end first.
//!
//! What effects say is decided as ever, as long as the decision starts nothing. A word that would
//! start something is held back. Once all has been said, or the time is up, what is held back is
//! decided too, and of the last of it only the facts before the first start are kept: the log of a
//! process that ended there. What a fact has started already begins as it would have.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::{Decided, EffectKey, Input, Recorded, Reject, Stamped, decided};

use super::Driver;
use super::write::wrote;
use crate::error::Ended;

/// A session that is being let go with its turn open.
pub(super) struct Parting {
    until: Instant,
    reason: String,
    /// What effects have said and would start something.
    held: VecDeque<(EffectKey, Input)>,
}

impl Parting {
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// Whether a word of this effect is held back: it is not started again, and not waited for.
    pub(super) fn holds(&self, key: EffectKey) -> bool {
        self.held.iter().any(|(of, _)| *of == key)
    }
}

impl Driver {
    /// Lets what runs end for so long. The first word counts, unless a later one has less patience.
    pub(super) fn on_part(&mut self, within: Duration, reason: String) {
        let now = Instant::now();
        let until = now.checked_add(within).unwrap_or(now);
        match &mut self.parting {
            Some(parting) => parting.until = parting.until.min(until),
            None => {
                tracing::debug!(
                    session = %self.session.id,
                    within_ms = within.as_millis(),
                    reason,
                    "the session is being let go"
                );
                self.parting = Some(Parting {
                    until,
                    reason,
                    held: VecDeque::new(),
                });
            }
        }
    }

    /// Why nothing more is taken, once the session is being let go.
    pub(super) fn parted(&self, rested: bool) -> Option<Ended> {
        let parting = self.parting.as_ref()?;
        Some(Ended::Parted {
            reason: parting.reason.clone(),
            rested,
        })
    }

    /// Whether all that is waited for is over: `Some(true)` when everything has rested.
    pub(super) fn is_time_to_part(&self) -> Option<bool> {
        let parting = self.parting.as_ref()?;
        // A person may take days: a question stays open.
        let waits = |key| !matches!(key, EffectKey::Approval { .. }) && !parting.holds(key);
        let busy = self.effects.any(waits);
        // What is being written may yet begin what was decided before.
        let over = !busy && self.writing.is_none() && self.unsent.is_empty();
        (over || Instant::now() >= parting.until).then_some(!busy)
    }

    /// Takes what an effect has said while the session is being let go.
    pub(super) fn hear_last(&mut self, key: EffectKey, input: Input) -> Result<(), Ended> {
        if self.parting.as_ref().is_some_and(|one| one.holds(key)) {
            // A sample that goes on: nothing after what was held back can be kept.
            return Ok(());
        }
        let Some(decided) = self.try_decide(input.clone())? else {
            return Ok(());
        };
        if !decided.facts.iter().any(|one| one.fact.start().is_some()) {
            return self.commit(decided, |_| true);
        }
        // It can say no more that counts.
        self.effects.wind(key);
        if let Some(parting) = &mut self.parting {
            parting.held.push_back((key, input));
        }
        Ok(())
    }

    /// Decides what was held back, has it written, and ends the driver.
    pub(super) async fn part(&mut self, rested: bool) -> Result<(), Ended> {
        let held = self
            .parting
            .as_mut()
            .map(|one| std::mem::take(&mut one.held));
        let mut held: Vec<_> = held.unwrap_or_default().into();
        // What a tool has done is told before what a model says, which can be asked for again.
        held.sort_by_key(|(key, _)| matches!(key, EffectKey::Sample { .. }));
        let last = held.len().saturating_sub(1);
        for (place, (_, input)) in held.into_iter().enumerate() {
            let Some(decided) = self.try_decide(input)? else {
                continue;
            };
            self.commit(decided, |fact| place < last || fact.fact.start().is_none())?;
        }
        loop {
            self.write();
            if self.writing.is_none() {
                break;
            }
            let result = wrote(&mut self.writing).await;
            self.on_wrote(result)?;
        }
        match self.parted(rested) {
            Some(ended) => Err(ended),
            None => Ok(()),
        }
    }

    /// What an input leads to; `None` when it is refused, as one that comes too late is.
    fn try_decide(&self, input: Input) -> Result<Option<Decided>, Ended> {
        let stamped = Stamped {
            at: self.ports.clock.now(),
            entropy: self.ports.clock.entropy(),
            input,
        };
        match decided(&self.session, &self.config.limits, stamped) {
            Ok(decided) => Ok(Some(decided)),
            Err(Reject::Defect(misfit)) => Err(Ended::Defect(misfit.to_string())),
            Err(reject) => {
                tracing::debug!(session = %self.session.id, %reject, "input refused");
                Ok(None)
            }
        }
    }

    /// Takes the facts of a decision up to the first that is not to be kept.
    fn commit(&mut self, decided: Decided, keep: impl Fn(&Recorded) -> bool) -> Result<(), Ended> {
        let defect = |misfit: windlass_core::Misfit| Ended::Defect(misfit.to_string());
        for recorded in decided.facts.into_iter().take_while(keep) {
            self.session.apply(&recorded).map_err(defect)?;
            self.note(recorded).map_err(defect)?;
        }
        Ok(())
    }
}
