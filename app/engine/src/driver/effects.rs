//! Reconciling: what runs is made equal to what is owed (law 3).

use windlass_core::{Demand, EffectKey, EffectStart, Fact, Input, Owed, Recorded, Seq, owed};

use super::Driver;
use super::lost::lost;
use crate::effect::News;
use crate::error::Ended;

impl Driver {
    /// Starts what is owed and does not run, winds down what is to end, ends what is not owed.
    pub(super) fn reconcile(&mut self) -> Result<(), Ended> {
        loop {
            let owed = owed(&self.session);
            self.effects
                .keep_only(|key| owed.iter().any(|owed| owed.key == key));
            let mut never = None;
            for owed in &owed {
                never = never.or(self.attend(owed)?);
            }
            match never {
                // It was to wind down and had not begun.
                Some(key) => self.hear(key, Input::NeverBegan { key })?,
                None => return Ok(()),
            }
        }
    }

    /// Attends to one effect. Answers its key if it is to wind down and never began.
    fn attend(&mut self, owed: &Owed) -> Result<Option<EffectKey>, Ended> {
        if self.parting.as_ref().is_some_and(|one| one.holds(owed.key)) {
            // It has run, as far as it counts.
            return Ok(None);
        }
        match (owed.demand, self.effects.runs(owed.key)) {
            (Demand::Run, false) if owed.needs <= self.durable => {
                self.start(owed.key)?;
                Ok(None)
            }
            // A sample that has not begun gives way before it asks anybody.
            (Demand::Yield, false) if owed.needs <= self.durable => {
                self.start(owed.key)?;
                self.effects.give_way(owed.key);
                Ok(None)
            }
            (Demand::Run, _) | (Demand::Yield, false) => Ok(None),
            (Demand::Yield, true) => {
                self.effects.give_way(owed.key);
                Ok(None)
            }
            (Demand::Wind, true) => {
                self.effects.wind(owed.key);
                Ok(None)
            }
            (Demand::Wind, false) => Ok(Some(owed.key)),
        }
    }

    fn start(&mut self, key: EffectKey) -> Result<(), Ended> {
        let started = match key {
            EffectKey::Sample { started } => self.start_sample(key, started),
            EffectKey::Call { call, started } => self.start_call(key, call, started),
            EffectKey::Hook { hook, asked } => self.start_hook(key, hook, asked),
            EffectKey::Approval { call, asked } => self.start_approval(key, call, asked),
            EffectKey::Reconcile { call, started } => self.start_reconcile(key, call, started),
            EffectKey::Compact { started } => self.start_compact(key, started),
        };
        started.ok_or_else(|| Ended::Defect(format!("{key:?} is owed and cannot be started")))
    }

    /// Keeps what a run needs of the fact that causes it.
    pub(super) fn keep_start(&mut self, recorded: &Recorded) {
        if let Fact::TurnSettled(_) = &recorded.fact {
            self.starts.clear();
        }
        match recorded.fact.start() {
            Some(EffectStart::Call(_) | EffectStart::Reconcile(_) | EffectStart::Compact(_)) => {
                self.starts.insert(recorded.seq, recorded.fact.clone());
            }
            // The state holds all that these need.
            Some(EffectStart::Sample(_) | EffectStart::Hook(_) | EffectStart::Approval(_))
            | None => {}
        }
    }

    pub(super) fn take_start(&mut self, seq: Seq) -> Option<Fact> {
        self.starts.remove(&seq)
    }

    pub(super) fn on_news(&mut self, news: News) -> Result<(), Ended> {
        match news {
            News::Said(said) => {
                for input in said.inputs {
                    self.hear(said.key, input)?;
                }
                Ok(())
            }
            News::Lost(key) => {
                tracing::error!(session = %self.session.id, ?key, "an adapter panicked");
                let input = lost(&self.session, &self.history, key);
                self.hear(key, input)
            }
        }
    }

    fn hear(&mut self, key: EffectKey, input: Input) -> Result<(), Ended> {
        if self.parting.is_some() {
            return self.hear_last(key, input);
        }
        self.must_take(input)
    }
}
