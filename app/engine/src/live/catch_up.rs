//! Catch-up: sends the live state of sessions that are driven here to nodes that begin to
//! subscribe.
//!
//! Each engine has one such task, from its first driver on. The live state may be long, and a live
//! bus drops messages that are published faster than it can send them. So the state is sent in
//! chunks with a pause between them, in turns for several sessions.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};
use windlass_core::SessionId;
use windlass_ports::sync::Mutex;
use windlass_ports::{LiveBus, LogSignal};

use super::publisher::CatchUpProgress;
use crate::bus::EventBus;
use crate::engine::Inner;

/// Pause between two chunks.
const PAUSE: Duration = Duration::from_millis(20);
/// Most bytes of a chunk.
const CHUNK_BYTES: usize = 256 * 1024;

/// Task of an engine that sends live state to new subscribers. It ends with the engine.
#[derive(Debug, Default)]
pub(crate) struct CatchUpTask(Mutex<Option<AbortHandle>>);

/// Queue of sessions that are being caught up.
struct CatchUpQueue {
    engine: Weak<Inner>,
    /// Bytes that are sent at a time.
    chunk: usize,
    waiting: VecDeque<(SessionId, EventBus, CatchUpProgress)>,
    /// Sessions whose catch-up must be repeated, since another node subscribed during it.
    again: BTreeSet<SessionId>,
}

impl CatchUpTask {
    /// Starts the task unless it runs. Must be called within a runtime.
    pub(crate) fn start(&self, engine: &Arc<Inner>, relay: &Arc<dyn LiveBus>) {
        let mut task = self.0.lock();
        // A task that ended with its runtime is replaced.
        if task.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let can = relay.capabilities();
        let part = (can.backlog_bytes / 4).min(CHUNK_BYTES);
        let queue = CatchUpQueue {
            engine: Arc::downgrade(engine),
            chunk: part.max(can.message_bytes),
            waiting: VecDeque::new(),
            again: BTreeSet::new(),
        };
        *task = Some(tokio::spawn(run(queue, relay.new_subscribers())).abort_handle());
    }
}

impl Drop for CatchUpTask {
    fn drop(&mut self) {
        let task = self.0.get_mut();
        if let Some(task) = task {
            task.abort();
        }
    }
}

async fn run(mut queue: CatchUpQueue, mut hearers: LogSignal) {
    let mut next = Instant::now();
    loop {
        tokio::select! {
            session = hearers.next() => match session {
                Some(session) => queue.add(session),
                None => return,
            },
            () = sleep_until(next), if !queue.waiting.is_empty() => {
                queue.step();
                next = Instant::now() + PAUSE;
            }
        }
    }
}

impl CatchUpQueue {
    /// Adds a session, with at most one entry for each session.
    fn add(&mut self, session: SessionId) {
        if self.waiting.iter().any(|(one, ..)| *one == session) {
            self.again.insert(session);
        } else {
            self.begin(session);
        }
    }

    fn begin(&mut self, session: SessionId) {
        let engine = self.engine.upgrade();
        if let Some(bus) = engine.and_then(|engine| engine.local_bus(&session)) {
            self.waiting.push_back((session, bus, CatchUpProgress::default()));
        }
    }

    fn step(&mut self) {
        let Some((session, bus, mut passing)) = self.waiting.pop_front() else {
            return;
        };
        if bus.ended().is_none() && !bus.catch_up(&mut passing, self.chunk) {
            self.waiting.push_back((session, bus, passing));
        } else if self.again.remove(&session) {
            self.begin(session);
        }
    }
}
