//! Reconciling: what runs is made equal to what is owed (law 3).

use alloc::vec::Vec;

use super::Machine;
use super::action::{Action, Cancel, Cause, Defect, Exit, Note};
use crate::effect::{Demand, EffectKey, Owed};
use crate::error::Reject;
use crate::input::Input;

impl Machine {
    /// Starts what is owed and does not run, winds down what is to end, drops what is not owed.
    /// Returns an effect that is to wind down and never began.
    pub(super) fn reconcile(&mut self) -> Option<EffectKey> {
        let owed = (self.transitions.owed)(&self.session);
        self.drop_unowed(&owed);
        let mut never = None;
        for one in &owed {
            never = never.or(self.attend(one));
        }
        never
    }

    fn drop_unowed(&mut self, owed: &[Owed]) {
        let is_owed = |key: &EffectKey| owed.iter().any(|one| one.key == *key);
        let unowed = self.running.keys().copied().filter(|key| !is_owed(key));
        let unowed: Vec<EffectKey> = unowed.collect();
        for key in unowed {
            self.running.remove(&key);
            let how = Cancel::Drop;
            self.actions.push_back(Action::Cancel { key, how });
        }
    }

    fn attend(&mut self, owed: &Owed) -> Option<EffectKey> {
        let key = owed.key;
        if self.hand_off.as_ref().is_some_and(|one| one.holds(key)) {
            // It has run, as far as it counts.
            return None;
        }
        match (owed.demand, self.running.get(&key)) {
            (Demand::Wind, None) => return Some(key),
            (Demand::Run | Demand::Yield, None) if owed.needs > self.durable => {}
            (Demand::Run, None) => self.start(key),
            (Demand::Yield, None) => {
                // A sample that has not begun gives way before it asks anybody.
                self.start(key);
                self.cancel(key, Cancel::Yield);
            }
            (Demand::Wind, Some(Demand::Run | Demand::Yield)) => self.cancel(key, Cancel::Wind),
            (Demand::Yield, Some(Demand::Run)) => self.cancel(key, Cancel::Yield),
            (Demand::Run, Some(Demand::Yield)) => {
                self.running.insert(key, Demand::Run);
                self.actions.push_back(Action::Continue { key });
            }
            // What winds down does so for good.
            (Demand::Run, Some(Demand::Run | Demand::Wind))
            | (Demand::Yield, Some(Demand::Yield | Demand::Wind))
            | (Demand::Wind, Some(Demand::Wind)) => {}
        }
        None
    }

    fn start(&mut self, key: EffectKey) {
        let cause = self.causes.remove(&key.started()).unwrap_or(Cause::State);
        self.running.insert(key, Demand::Run);
        self.actions.push_back(Action::Start { key, cause });
    }

    /// Has a running effect stop and report. Asking again changes nothing.
    pub(super) fn cancel(&mut self, key: EffectKey, how: Cancel) {
        let demand = match how {
            Cancel::Yield => Demand::Yield,
            Cancel::Wind | Cancel::Drop => Demand::Wind,
        };
        if let Some(now) = self.running.get_mut(&key)
            && *now != demand
        {
            *now = demand;
            self.actions.push_back(Action::Cancel { key, how });
        }
    }

    /// Decides that an effect which is to wind down never began.
    pub(super) fn never_began(&mut self, key: EffectKey) {
        self.actions.push_back(Action::Note(Note::NeverBegan(key)));
        match self.report(key, Input::NeverBegan { key }) {
            Ok(()) | Err(Reject::Defect(_)) => {}
            Err(reject) => self.exit(Exit::Defect(Defect::NeverBegan { key, reject })),
        }
    }
}
