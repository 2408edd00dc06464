//! Reconciling: makes the running effects equal to the desired effects (law 3).

use alloc::vec::Vec;

use super::Machine;
use super::action::{Action, CancelMode, EngineDefect, ExitReason, Note, RunCause};
use crate::effect::{Demand, DesiredEffect, EffectKey};
use crate::error::Reject;
use crate::input::Input;

impl Machine {
    /// Starts desired effects, cancels those that should end, and drops those that are no longer
    /// desired. Returns a cancelled effect that never started.
    pub(super) fn reconcile(&mut self) -> Option<EffectKey> {
        let owed = (self.transitions.desired_effects)(&self.session);
        self.drop_undesired(&owed);
        let mut never = None;
        for one in &owed {
            never = never.or(self.reconcile_one(one));
        }
        never
    }

    fn drop_undesired(&mut self, owed: &[DesiredEffect]) {
        let is_owed = |key: &EffectKey| owed.iter().any(|one| one.key == *key);
        let unowed = self.running.keys().copied().filter(|key| !is_owed(key));
        let unowed: Vec<EffectKey> = unowed.collect();
        for key in unowed {
            self.running.remove(&key);
            let how = CancelMode::Drop;
            self.actions.push_back(Action::Cancel { key, mode: how });
        }
    }

    fn reconcile_one(&mut self, owed: &DesiredEffect) -> Option<EffectKey> {
        let key = owed.key;
        if self.hand_off.as_ref().is_some_and(|one| one.defers(key)) {
            // Its report is deferred, so it must not start again.
            return None;
        }
        match (owed.demand, self.running.get(&key)) {
            (Demand::Cancel, None) => return Some(key),
            (Demand::Run | Demand::Yield, None) if owed.requires_durable > self.durable => {}
            (Demand::Run, None) => self.start(key),
            (Demand::Yield, None) => {
                // A sample that has not started yields before it sends a request.
                self.start(key);
                self.cancel(key, CancelMode::Yield);
            }
            (Demand::Cancel, Some(Demand::Run | Demand::Yield)) => {
                self.cancel(key, CancelMode::Graceful)
            }
            (Demand::Yield, Some(Demand::Run)) => self.cancel(key, CancelMode::Yield),
            (Demand::Run, Some(Demand::Yield)) => {
                self.running.insert(key, Demand::Run);
                self.actions.push_back(Action::Continue { key });
            }
            // A cancellation is final.
            (Demand::Run, Some(Demand::Run | Demand::Cancel))
            | (Demand::Yield, Some(Demand::Yield | Demand::Cancel))
            | (Demand::Cancel, Some(Demand::Cancel)) => {}
        }
        None
    }

    fn start(&mut self, key: EffectKey) {
        let cause = self.causes.remove(&key.started()).unwrap_or(RunCause::State);
        self.running.insert(key, Demand::Run);
        self.actions.push_back(Action::Start { key, cause });
    }

    /// Cancels a running effect, which then reports. Repeating it has no effect.
    pub(super) fn cancel(&mut self, key: EffectKey, how: CancelMode) {
        let demand = match how {
            CancelMode::Yield => Demand::Yield,
            CancelMode::Graceful | CancelMode::Drop => Demand::Cancel,
        };
        if let Some(now) = self.running.get_mut(&key)
            && *now != demand
        {
            *now = demand;
            self.actions.push_back(Action::Cancel { key, mode: how });
        }
    }

    /// Decides the report that a cancelled effect never started.
    pub(super) fn report_never_started(&mut self, key: EffectKey) {
        self.actions.push_back(Action::Note(Note::NeverStarted(key)));
        match self.report(key, Input::NeverStarted { key }) {
            Ok(()) | Err(Reject::Defect(_)) => {}
            Err(reject) => {
                self.exit(ExitReason::Defect(EngineDefect::NeverStarted { key, reject }))
            }
        }
    }
}
