//! What runs: each run of an adapter's method, from its beginning until it is over or dropped.

use std::collections::BTreeMap;
use std::sync::Mutex;

use windlass_engine::core::{
    CallId, EffectKey, Fact, HookOccurrence, RecordedFact, Seq, Session, SessionId,
};
use windlass_engine::ports::CancelSignal;

use crate::world::World;

/// What an adapter is asked to do, as far as it can tell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// The model is asked: a sample, or the summary of a compaction.
    Model(Seq),
    Call(CallId),
    Hook(String, String),
    Question(CallId),
    Aftermath(CallId),
}

/// The signals of runs of the same thing; a run of the model has none.
type Signals = Vec<Option<CancelSignal>>;

/// What runs now, by session.
#[derive(Default)]
pub(crate) struct Runs {
    running: Mutex<BTreeMap<(SessionId, What), Signals>>,
}

/// A run. It is over when this is dropped.
pub(crate) struct Run {
    world: World,
    at: (SessionId, What),
}

impl Drop for Run {
    fn drop(&mut self) {
        let mut running = self.world.seen.runs.running.lock().unwrap();
        if let Some(runs) = running.get_mut(&self.at) {
            runs.pop();
            if runs.is_empty() {
                running.remove(&self.at);
            }
        }
    }
}

impl World {
    /// Notes that something runs, until what this answers with is dropped.
    pub(crate) fn runs(
        &self,
        session: &SessionId,
        what: What,
        cancel: Option<&CancelSignal>,
    ) -> Run {
        let at = (session.clone(), what);
        let mut running = self.seen.runs.running.lock().unwrap();
        running.entry(at.clone()).or_default().push(cancel.cloned());
        drop(running);
        let world = self.clone();
        Run { world, at }
    }
}

impl Runs {
    /// A new process: nothing of the last one runs.
    pub(crate) fn none_left(&self) -> bool {
        self.running.lock().unwrap().is_empty()
    }

    /// What runs for a session, each with whether it was told to stop, where it can be told.
    pub(crate) fn of(&self, session: &SessionId) -> Vec<(What, Option<bool>)> {
        let running = self.running.lock().unwrap();
        let ours = running.iter().filter(|((id, _), _)| id == session);
        let told = |cancel: &Option<CancelSignal>| cancel.as_ref().map(CancelSignal::is_cancelled);
        ours.flat_map(|((_, what), runs)| runs.iter().map(|run| (what.clone(), told(run))))
            .collect()
    }
}

/// What the adapters are asked to do for an effect; `None` for a compaction that asks no model.
pub(crate) fn what(key: EffectKey, state: &Session, log: &[RecordedFact]) -> Option<What> {
    Some(match key {
        EffectKey::Sample { started } => What::Model(started),
        EffectKey::Compact { started } => What::Model(started),
        EffectKey::Call { call, .. } => What::Call(call),
        EffectKey::Approval { call, .. } => What::Question(call),
        EffectKey::Reconcile { call, .. } => What::Aftermath(call),
        EffectKey::Hook { hook, asked } => {
            let settings = state.turn().map_or(&state.settings, |turn| &turn.settings);
            let hook = settings.hooks.get(usize::try_from(hook).ok()?)?;
            let at = log.get(usize::try_from(asked.0).ok()?.checked_sub(1)?)?;
            let Fact::HooksAsked(fact) = &at.fact else {
                return None;
            };
            What::hook(&hook.name, fact.at)
        }
    })
}

impl What {
    pub(crate) fn hook(name: &str, at: HookOccurrence) -> Self {
        Self::Hook(name.to_owned(), format!("{at:?}"))
    }
}
