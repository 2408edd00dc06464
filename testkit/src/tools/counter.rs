//! A tool whose effect is a count, so that a test can tell once from twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::{CallId, EffectClass, Observation, ObservationStatus, SessionId};
use windlass_ports::ToolContext;
use windlass_ports::sync::Mutex;

use super::tool::ScriptedTool;

/// A tool whose effect is a count per call. It outlives the executors that its
/// [`tool`](Self::tool) is given to, as the world outlives a process.
///
/// Declared idempotent, it counts each idempotency key once, as such a tool must; declared
/// otherwise, it counts every run.
#[derive(Debug, Clone)]
pub struct CounterTool {
    name: String,
    effect: EffectClass,
    world: Arc<Mutex<World>>,
}

#[derive(Debug, Default)]
struct World {
    effects: BTreeMap<(SessionId, CallId), u32>,
    keys: BTreeSet<String>,
}

impl CounterTool {
    /// A counter of this name and effect class.
    #[must_use]
    pub fn new(name: impl Into<String>, effect: EffectClass) -> Self {
        Self { name: name.into(), effect, world: Arc::default() }
    }

    /// The tool, for an executor. Its output is the total so far.
    #[must_use]
    pub fn tool(&self) -> ScriptedTool {
        let counter = self.clone();
        ScriptedTool::new(&self.name, self.effect).runs(move |_, context| {
            let total = counter.count(context);
            Ok(Observation::new(ObservationStatus::Done, total.to_string()))
        })
    }

    /// How often a call took effect.
    #[must_use]
    pub fn effects(&self, session: &SessionId, call: CallId) -> u32 {
        let key = (session.clone(), call);
        self.world.lock().effects.get(&key).copied().unwrap_or(0)
    }

    /// How often any call took effect.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.world.lock().effects.values().sum()
    }

    /// Calls that took effect more than once.
    #[must_use]
    pub fn repeated(&self) -> Vec<(SessionId, CallId)> {
        let world = self.world.lock();
        let repeated = world.effects.iter().filter(|(_, effects)| **effects > 1);
        repeated.map(|(key, _)| key.clone()).collect()
    }

    fn count(&self, context: &ToolContext) -> u32 {
        let mut world = self.world.lock();
        let new = world.keys.insert(context.idempotency_key.clone());
        let counts = match self.effect {
            EffectClass::Idempotent => new,
            EffectClass::Effectful => true,
            EffectClass::ReadOnly => false,
        };
        if counts {
            *world.effects.entry((context.session.clone(), context.call)).or_default() += 1;
        }
        world.effects.values().sum()
    }
}
