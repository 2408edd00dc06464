//! Effects: each is built from the machine's state and history, and reports back to the machine.

use windlass_core::EffectKey;
use windlass_core::machine::{MachineEvent, RunCause};

use super::Driver;
use super::panics::panic_input;
use crate::effect::EffectEvent;

impl Driver {
    /// Starts an effect. `None` when the state lacks what it needs.
    pub(super) fn start(&mut self, key: EffectKey, cause: RunCause) -> Option<()> {
        let _entered = self.effect_span(key).entered();
        match key {
            EffectKey::Sample { started } => self.start_sample(key, started),
            EffectKey::Call { call, .. } => self.start_call(key, call, cause),
            EffectKey::Hook { hook, asked } => self.start_hook(key, hook, asked),
            EffectKey::Approval { call, asked } => self.start_approval(key, call, asked),
            EffectKey::Reconcile { call, .. } => self.start_reconcile(key, call, cause),
            EffectKey::Compact { started } => self.start_compact(key, started, cause),
        }
    }

    pub(super) fn on_effect_event(&mut self, news: EffectEvent) {
        let (key, inputs, last) = match news {
            EffectEvent::Message(said) => (said.key, said.inputs, said.last),
            EffectEvent::Panicked(key) => {
                let session = self.machine.session();
                tracing::error!(session = %session.id, ?key, "an adapter panicked");
                let input = panic_input(session, self.machine.history(), key);
                (key, vec![input], true)
            }
        };
        self.hand_over(MachineEvent::Effect { key, inputs, last });
    }
}
