//! Reconciling: the simulated driver starts what is owed and durable, and ends what is not owed.

use windlass_core::{
    CallStarted, CallState, Demand, EffectClass, EffectKey, Fact, Input, Owed, Progress, Seq,
};

use super::breach::Breach;
use super::driver::{Done, Driver, Moment};
use super::flaw::Flaw;
use crate::laws::{Begun, Broken, broken};
use crate::world::effect;

/// More rounds of reconciling than any session needs after one input.
const ROUNDS: usize = 1_000;

impl Driver {
    /// Starts what is owed and does not run, winds down what is to stop, ends what is not owed,
    /// and says of what will never begin that it never will.
    pub(super) fn reconcile(&mut self, moment: Moment) -> Result<(), Breach> {
        for round in 0..ROUNDS as u64 {
            let owed = (self.machine.owed)(&self.session);
            self.end_unowed(&owed);
            let mut never = None;
            for one in owed {
                match (one.demand, self.running.get(&one.key)) {
                    (demand @ (Demand::Run | Demand::Yield), None) => {
                        let early = self.flaw == Some(Flaw::StartsEarly);
                        if one.needs <= self.durable || early {
                            self.begin(one.key, demand)?;
                        }
                    }
                    (Demand::Wind, None) => never = never.or(Some(one.key)),
                    (demand, Some(running)) if demand == *running => {}
                    // What winds down already does so for good.
                    (Demand::Run | Demand::Yield, Some(Demand::Wind)) => {}
                    (demand, Some(_)) => {
                        self.say(format!("{demand:?} {}", effect(&one.key)));
                        self.running.insert(one.key, demand);
                    }
                }
            }
            let Some(key) = never else { return Ok(()) };
            self.say(format!("never {}", effect(&key)));
            let entropy = moment.entropy.wrapping_add(round).wrapping_add(1);
            let moment = Moment { entropy, ..moment };
            if let Some(reject) = self.decide(Input::NeverBegan { key }, moment)? {
                let what = format!("{key:?} is owed, and that it never began is refused: {reject}");
                return Err(broken(3, what).into());
            }
        }
        Err(broken(3, "what is owed does not come to rest").into())
    }

    fn begin(&mut self, key: EffectKey, demand: Demand) -> Result<(), Broken> {
        let call = self.startable(key)?;
        self.say(format!("run {}", effect(&key)));
        self.running.insert(key, demand);
        let begun = Begun {
            life: self.life,
            key,
            class: self.class(key),
            durable: self.durable,
        };
        self.begun.push(begun);
        self.done.push(Done::Began { begun, call });
        Ok(())
    }

    /// What an effect cannot be started without, as the engine's driver looks it up.
    fn startable(&self, key: EffectKey) -> Result<Option<CallStarted>, Broken> {
        let missing = |what: &str| broken(3, format!("{key} is owed, and {what} is not known"));
        let turn = || self.session.turn().ok_or_else(|| missing("its turn"));
        match key {
            EffectKey::Sample { .. } | EffectKey::Compact { .. } => turn().map(|_| None),
            EffectKey::Hook { hook, .. } => {
                let settings = self.session.turn().map(|turn| &turn.settings);
                let settings = settings.unwrap_or(&self.session.settings);
                let place = usize::try_from(hook).unwrap_or(usize::MAX);
                let spec = settings.hooks.get(place);
                spec.map(|_| None).ok_or_else(|| missing("its declaration"))
            }
            EffectKey::Approval { call, .. }
            | EffectKey::Call { call, .. }
            | EffectKey::Reconcile { call, .. } => {
                turn()?;
                self.history.call(call).ok_or_else(|| missing("its tool"))?;
                self.history
                    .arguments(call)
                    .ok_or_else(|| missing("what it is about"))?;
                Ok(self.started(key.started()))
            }
        }
    }

    fn started(&self, at: Seq) -> Option<CallStarted> {
        let Fact::CallStarted(fact) = self.fact(at)? else {
            return None;
        };
        Some(fact.clone())
    }

    /// What an effect does to the world. Only the run of a tool changes anything.
    fn class(&self, key: EffectKey) -> EffectClass {
        let EffectKey::Call { call, .. } = key else {
            return EffectClass::ReadOnly;
        };
        let turn = self.session.turn();
        let state = turn.and_then(|turn| turn.calls().iter().find(|state| state.id == call));
        if let Some(Progress::Running { plan: true, .. }) = state.map(|state| &state.progress) {
            return EffectClass::ReadOnly;
        }
        if state.is_some_and(CallState::is_program) {
            return EffectClass::ReadOnly;
        }
        let item = self.history.call(call);
        let tool = turn
            .zip(item)
            .and_then(|(turn, item)| turn.settings.tool(&item.name));
        tool.map_or(EffectClass::Effectful, |tool| tool.effect)
    }

    fn end_unowed(&mut self, owed: &[Owed]) {
        let ended = self.running.keys().copied();
        let ended: Vec<EffectKey> = ended
            .filter(|key| !owed.iter().any(|one| one.key == *key))
            .collect();
        for key in ended {
            self.running.remove(&key);
            self.past.push(key);
        }
    }
}
