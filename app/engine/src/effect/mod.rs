//! Effects: desired effects of a session, run as separate tasks. They decide nothing. Each ends
//! with exactly one final report to its driver.

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

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::timeout;
use tracing::Instrument as _;
use windlass_core::{EffectKey, Input};
use windlass_ports::{CancelSignal, CancelSource};

pub(crate) use agent::AgentEffect;
pub(crate) use approval::{ApprovalEffect, PANICKED, denied, preview};
use call::ToolRunGuard;
pub(crate) use call::{CallEffect, DIVERTED, ProgressReporter};
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
    /// True if this is the final report.
    pub(crate) last: bool,
}

/// Channel for the reports of an effect.
#[derive(Clone)]
pub(crate) struct EffectReporter {
    key: EffectKey,
    sender: mpsc::Sender<EffectMessage>,
}

impl EffectReporter {
    /// Returns true if the driver still receives reports, which it does until it is ending.
    fn is_connected(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends inputs to the driver. Inputs to a driver that is gone are dropped.
    async fn send(&self, inputs: Vec<Input>, last: bool) {
        let said = EffectMessage { key: self.key, inputs, last };
        let _ = self.sender.send(said).await;
    }
}

/// Signals to a running effect.
pub(crate) struct EffectSignals {
    /// Signal to stop soon and report the progress.
    pub(crate) cancel: CancelSignal,
    /// Signal to a sample to stop soon if only text is streaming.
    pub(crate) steer: CancelSignal,
}

/// Sends a stop signal to everything that an effect has started, when the effect ends in any way.
/// Create it before those, so that they are dropped before the signal.
pub(crate) struct CancelOnDrop(pub(crate) CancelSource);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The running effects of one session.
pub(crate) struct Effects {
    running: BTreeMap<EffectKey, RunningEffect>,
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
    /// An effect panicked before its final report.
    Panicked(EffectKey),
}

impl Effects {
    pub(crate) fn new() -> Self {
        let (words, heard) = mpsc::channel(MAX_WAITING);
        Self { running: BTreeMap::new(), tasks: JoinSet::new(), sender: words, receiver: heard }
    }

    /// Starts an effect. `run` receives its reporter and its signals.
    pub(crate) fn start<F, R>(&mut self, key: EffectKey, run: F)
    where
        F: FnOnce(EffectReporter, EffectSignals) -> R,
        R: Future<Output = ()> + Send + 'static,
    {
        let (cancel, give_way) = (CancelSource::new(), CancelSource::new());
        let signals = EffectSignals { cancel: cancel.signal(), steer: give_way.signal() };
        let voice = EffectReporter { key, sender: self.sender.clone() };
        // In a box, since a task is moved several times before it runs.
        let abort = self.tasks.spawn(Box::pin(run(voice, signals).in_current_span()));
        let running = RunningEffect { cancel, give_way, abort };
        self.running.insert(key, running);
    }

    /// Tells an effect to stop soon and report its progress. Repeating it changes nothing.
    pub(crate) fn cancel(&self, key: EffectKey) {
        if let Some(running) = self.running.get(&key) {
            running.cancel.cancel();
        }
    }

    /// Tells a sample to stop soon if only text is streaming. Repeating it changes nothing.
    pub(crate) fn steer(&self, key: EffectKey) {
        if let Some(running) = self.running.get(&key) {
            running.give_way.cancel();
        }
    }

    /// Drops a running effect and its reports.
    pub(crate) fn discard(&mut self, key: EffectKey) {
        if let Some(running) = self.running.remove(&key) {
            running.cancel.cancel();
            running.abort.abort();
        }
    }

    /// Tells every effect to stop, and waits until none runs. Effects that still run after `grace`
    /// are dropped. Their reports are discarded.
    pub(crate) async fn end(&mut self, grace: Duration) {
        self.receiver.close();
        for running in self.running.values() {
            running.cancel.cancel();
        }
        let tasks = &mut self.tasks;
        if timeout(grace, joined(tasks)).await.is_err() {
            tasks.abort_all();
            // An effect that blocks its thread cannot be dropped, so the wait is bounded.
            let _ = timeout(grace, joined(tasks)).await;
        }
    }

    /// Drops every effect while it runs, and waits up to `grace` for those that cannot be dropped
    /// at once.
    pub(crate) async fn abort(&mut self, grace: Duration) {
        for running in self.running.values() {
            running.cancel.cancel();
        }
        self.tasks.abort_all();
        self.end(grace).await;
    }

    /// Waits for the next event. Cancel safe. Never returns when nothing runs.
    pub(crate) async fn next(&mut self) -> EffectEvent {
        loop {
            tokio::select! {
                Some(said) = self.receiver.recv() => {
                    if said.last {
                        self.running.remove(&said.key);
                    }
                    return EffectEvent::Message(said);
                }
                Some(ended) = self.tasks.join_next() => {
                    if let Some(key) = ended.err().and_then(|error| self.reap(&error)) {
                        return EffectEvent::Panicked(key);
                    }
                }
            }
        }
    }

    /// Returns the key of a task that panicked before its final report.
    fn reap(&mut self, ended: &JoinError) -> Option<EffectKey> {
        let mut running = self.running.iter().filter(|_| ended.is_panic());
        let (key, _) = running.find(|(_, effect)| effect.abort.id() == ended.id())?;
        let key = *key;
        self.running.remove(&key);
        Some(key)
    }
}
