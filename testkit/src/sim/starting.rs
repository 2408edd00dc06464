//! Starting: the simulated driver starts an effect, from what the engine's shell finds of it.

use windlass_core::machine::RunCause;
use windlass_core::{CallProgress, CallState, EffectClass, EffectKey, EffectStart};

use super::driver::{Done, Driver};
use crate::laws::{Begun, Broken, broken};
use crate::world::effect;

impl Driver {
    /// Starts an effect.
    pub(super) fn begin(&mut self, key: EffectKey, cause: RunCause) -> Result<(), Broken> {
        self.startable(key)?;
        let call = match cause.start() {
            Some(EffectStart::Call(fact)) => Some(fact.clone()),
            Some(
                EffectStart::Sample(_)
                | EffectStart::Hook(_)
                | EffectStart::Approval(_)
                | EffectStart::Reconcile(_)
                | EffectStart::Compact(_),
            )
            | None => None,
        };
        self.say(format!("run {}", effect(&key)));
        let begun =
            Begun { life: self.life, key, class: self.class(key), durable: self.machine.durable() };
        self.begun.push(begun);
        self.done.push(Done::Began { begun, call });
        Ok(())
    }

    /// What an effect cannot be started without, as the engine's driver looks it up.
    fn startable(&self, key: EffectKey) -> Result<(), Broken> {
        let missing = |what: &str| broken(3, format!("{key} is owed, and {what} is not known"));
        let turn = || self.session().turn().ok_or_else(|| missing("its turn"));
        match key {
            EffectKey::Sample { .. } | EffectKey::Compact { .. } => turn().map(drop),
            EffectKey::Hook { hook, .. } => {
                let settings = self.session().turn().map(|turn| &turn.settings);
                let settings = settings.unwrap_or(&self.session().settings);
                let place = usize::try_from(hook).unwrap_or(usize::MAX);
                let spec = settings.hooks.get(place);
                spec.map(drop).ok_or_else(|| missing("its declaration"))
            }
            EffectKey::Approval { call, .. }
            | EffectKey::Call { call, .. }
            | EffectKey::Reconcile { call, .. } => {
                turn()?;
                self.history().call(call).ok_or_else(|| missing("its tool"))?;
                self.history().arguments(call).map(drop).ok_or_else(|| missing("what it is about"))
            }
        }
    }

    /// What an effect does to the world. Only the run of a tool changes anything.
    fn class(&self, key: EffectKey) -> EffectClass {
        let EffectKey::Call { call, .. } = key else {
            return EffectClass::ReadOnly;
        };
        let turn = self.session().turn();
        let state = turn.and_then(|turn| turn.calls().iter().find(|state| state.id == call));
        if let Some(CallProgress::Running { plan: true, .. }) = state.map(|state| &state.progress) {
            return EffectClass::ReadOnly;
        }
        if state.is_some_and(CallState::is_program) {
            return EffectClass::ReadOnly;
        }
        let item = self.history().call(call);
        let tool = turn.zip(item).and_then(|(turn, item)| turn.settings.tool(&item.name));
        tool.map_or(EffectClass::Effectful, |tool| tool.effect)
    }
}
