//! Effects: what a session owes the world, run as tasks of their own. They decide nothing; each
//! ends with exactly one last word to its driver.

mod agent;
mod answer_reader;
mod approval;
mod call;
mod compact;
mod hook;
mod inline_program;
mod program;
mod reconcile;
mod redact;
mod sample;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::timeout;
use tracing::Instrument as _;
use windlass_core::{EffectKey, Input};
use windlass_ports::{CancelSignal, CancelSource};

pub(crate) use agent::AgentEffect;
pub(crate) use approval::{ApprovalEffect, PANICKED, denied};
use call::ToolRunGuard;
pub(crate) use call::{CallEffect, ProgressReporter};
pub(crate) use compact::CompactEffect;
pub(crate) use hook::{HookEffect, REASON, failed};
pub(crate) use inline_program::{InlineProgramExtractor, missing};
pub(crate) use program::{ProgramEffect, ProgramOrigin, panicked};
pub(crate) use reconcile::ReconcileEffect;
pub(crate) use sample::SampleEffect;

/// Most reports that wait for the driver. Further ones block their effects.
const MAX_WAITING: usize = 64;

/// Report of an effect to its driver.
pub(crate) struct EffectMessage {
    pub(crate) key: EffectKey,
    pub(crate) inputs: Vec<Input>,
    /// True if it was its last word.
    pub(crate) last: bool,
}

/// Channel for the reports of an effect.
#[derive(Clone)]
pub(crate) struct EffectReporter {
    key: EffectKey,
    sender: mpsc::Sender<EffectMessage>,
}

impl EffectReporter {
    /// Returns true if its driver still listens: it does not once it is on its way out.
    fn is_connected(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Says something. A driver that is gone hears nothing, and needs nothing.
    async fn send(&self, inputs: Vec<Input>, last: bool) {
        let said = EffectMessage {
            key: self.key,
            inputs,
            last,
        };
        let _ = self.sender.send(said).await;
    }
}

/// Signals to a running effect.
pub(crate) struct EffectSignals {
    /// To stop soon and say how far it came.
    pub(crate) cancel: CancelSignal,
    /// A sample: to stop soon if only text is streaming.
    pub(crate) steer: CancelSignal,
}

/// Tells whatever an effect has started to stop, once the effect ends, however that comes. Made
/// before what it tells, so that this is dropped first, then told.
pub(crate) struct CancelOnDrop(pub(crate) CancelSource);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The running effects of one session.
pub(crate) struct Effects {
    running: BTreeMap<EffectKey, RunningEffect>,
    keys: HashMap<Id, EffectKey>,
    tasks: JoinSet<()>,
    sender: mpsc::Sender<EffectMessage>,
    receiver: mpsc::Receiver<EffectMessage>,
}

struct RunningEffect {
    cancel: CancelSource,
    give_way: CancelSource,
    abort: AbortHandle,
}

async fn joined(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

/// Event of an effect.
pub(crate) enum EffectEvent {
    /// An effect reported.
    Message(EffectMessage),
    /// One ended without its last word: it panicked.
    Panicked(EffectKey),
}

impl Effects {
    pub(crate) fn new() -> Self {
        let (words, heard) = mpsc::channel(MAX_WAITING);
        Self {
            running: BTreeMap::new(),
            keys: HashMap::new(),
            tasks: JoinSet::new(),
            sender: words,
            receiver: heard,
        }
    }

    /// Starts an effect. `run` is handed its voice, and what it is told while it runs.
    pub(crate) fn start<F, R>(&mut self, key: EffectKey, run: F)
    where
        F: FnOnce(EffectReporter, EffectSignals) -> R,
        R: Future<Output = ()> + Send + 'static,
    {
        let (cancel, give_way) = (CancelSource::new(), CancelSource::new());
        let signals = EffectSignals {
            cancel: cancel.signal(),
            steer: give_way.signal(),
        };
        let voice = EffectReporter {
            key,
            sender: self.sender.clone(),
        };
        let abort = self.tasks.spawn(run(voice, signals).in_current_span());
        self.keys.insert(abort.id(), key);
        let running = RunningEffect {
            cancel,
            give_way,
            abort,
        };
        self.running.insert(key, running);
    }

    /// Tells an effect to stop soon and say how far it came. Telling it again changes nothing.
    pub(crate) fn cancel(&self, key: EffectKey) {
        if let Some(running) = self.running.get(&key) {
            running.cancel.cancel();
        }
    }

    /// Tells a sample to stop soon if only text is streaming. Telling it again changes nothing.
    pub(crate) fn steer(&self, key: EffectKey) {
        if let Some(running) = self.running.get(&key) {
            running.give_way.cancel();
        }
    }

    /// Drops a run where it is, unheard.
    pub(crate) fn discard(&mut self, key: EffectKey) {
        if let Some(running) = self.running.remove(&key) {
            running.cancel.cancel();
            running.abort.abort();
        }
    }

    /// Tells every effect to stop, and waits until none runs. Those that still run after `grace`
    /// are dropped. Nobody hears what they say.
    pub(crate) async fn end(&mut self, grace: Duration) {
        self.receiver.close();
        for running in self.running.values() {
            running.cancel.cancel();
        }
        let tasks = &mut self.tasks;
        if timeout(grace, joined(tasks)).await.is_err() {
            tasks.abort_all();
            // One that blocks its thread cannot be dropped; it is not waited for without end.
            let _ = timeout(grace, joined(tasks)).await;
        }
    }

    /// Drops every effect where it stands, and waits up to `grace` for those that cannot be dropped at
    /// once.
    pub(crate) async fn abort(&mut self, grace: Duration) {
        for running in self.running.values() {
            running.cancel.cancel();
        }
        self.tasks.abort_all();
        self.end(grace).await;
    }

    /// Waits for news. Safe to drop while it waits; for ever when nothing runs.
    pub(crate) async fn next(&mut self) -> EffectEvent {
        loop {
            tokio::select! {
                Some(said) = self.receiver.recv() => {
                    if said.last {
                        self.running.remove(&said.key);
                    }
                    return EffectEvent::Message(said);
                }
                Some(ended) = self.tasks.join_next_with_id() => {
                    if let Some(key) = self.reap(ended) {
                        return EffectEvent::Panicked(key);
                    }
                }
            }
        }
    }

    /// The key of a task that panicked before its last word.
    fn reap(&mut self, ended: Result<(Id, ()), tokio::task::JoinError>) -> Option<EffectKey> {
        let (id, panicked) = match ended {
            Ok((id, ())) => (id, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let key = self.keys.remove(&id)?;
        (panicked && self.running.remove(&key).is_some()).then_some(key)
    }
}
