//! Reconciling: what runs is made equal to what is owed (law 3).

use windlass_core::{CallStarted, CompactionStarted, Demand, EffectKey, Input, Owed, owed};
use windlass_core::{Fact, ReconcileStarted, Recorded, Seq};

use super::Driver;
use super::lost::lost;
use crate::effect::News;
use crate::error::Ended;

/// The fact that caused a run that is about to start, where the state does not hold all of it.
pub(super) enum Started {
    /// A tool's run.
    Call(CallStarted),
    /// The question what became of one.
    Reconcile(ReconcileStarted),
    /// A compaction.
    Compact(CompactionStarted),
}

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
        let started = match &recorded.fact {
            Fact::CallStarted(fact) => Started::Call(fact.clone()),
            Fact::ReconcileStarted(fact) => Started::Reconcile(fact.clone()),
            Fact::CompactionStarted(fact) => Started::Compact(fact.clone()),
            Fact::TurnSettled(_) => {
                self.starts.clear();
                return;
            }
            Fact::SessionOpened(_)
            | Fact::SessionResumed(_)
            | Fact::SettingsChanged(_)
            | Fact::GoalSet(_)
            | Fact::GoalEnded(_)
            | Fact::InputQueued(_)
            | Fact::TurnOpened(_)
            | Fact::HooksAsked(_)
            | Fact::HookDecided(_)
            | Fact::InputAccepted(_)
            | Fact::InputBlocked(_)
            | Fact::ContextInjected(_)
            | Fact::Compacted(_)
            | Fact::CompactionFailed(_)
            | Fact::SampleStarted(_)
            | Fact::ItemAdded(_)
            | Fact::SampleEnded(_)
            | Fact::SampleCut(_)
            | Fact::CallDecided(_)
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalAnswered(_)
            | Fact::CallObserved(_)
            | Fact::ProgramCalled(_)
            | Fact::ProgramRun(_)
            | Fact::InterruptRequested(_) => return,
        };
        self.starts.insert(recorded.seq, started);
    }

    pub(super) fn take_start(&mut self, seq: Seq) -> Option<Started> {
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
