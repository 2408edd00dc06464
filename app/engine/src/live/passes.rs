//! Passes: tells those who begin to hear a session that is driven here what was shown so far.
//!
//! One task an engine, from the first driver on. What is shown may be long, and a relay drops what is
//! told faster than it goes out: so it is told in parts with a pause between, those of several sessions
//! by turns.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};
use windlass_core::SessionId;
use windlass_ports::sync::Mutex;
use windlass_ports::{LiveRelay, News};

use super::publisher::Passing;
use crate::bus::Bus;
use crate::engine::Inner;

/// The pause between two parts.
const PAUSE: Duration = Duration::from_millis(20);
/// The most bytes of a part.
const PART: usize = 256 * 1024;

/// The task of an engine that tells those who begin to hear. It ends with the engine.
#[derive(Debug, Default)]
pub(crate) struct Passes(Mutex<Option<AbortHandle>>);

/// Queue of repetitions.
struct Queue {
    engine: Weak<Inner>,
    /// Bytes that are sent at a time.
    part: usize,
    waiting: VecDeque<(SessionId, Bus, Passing)>,
    /// Sessions of which all is to be told once more: somebody began to hear meanwhile.
    again: BTreeSet<SessionId>,
}

impl Passes {
    /// Has the task run. Is called within a runtime.
    pub(crate) fn begin(&self, engine: &Arc<Inner>, relay: &Arc<dyn LiveRelay>) {
        let mut task = self.0.lock();
        // One that ended with its runtime is replaced.
        if task.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let can = relay.capabilities();
        let part = (can.backlog_bytes / 4).min(PART);
        let queue = Queue {
            engine: Arc::downgrade(engine),
            part: part.max(can.message_bytes),
            waiting: VecDeque::new(),
            again: BTreeSet::new(),
        };
        *task = Some(tokio::spawn(run(queue, relay.hearers())).abort_handle());
    }
}

impl Drop for Passes {
    fn drop(&mut self) {
        let task = self.0.get_mut();
        if let Some(task) = task {
            task.abort();
        }
    }
}

async fn run(mut queue: Queue, mut hearers: News) {
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

impl Queue {
    /// At most one entry a session that is driven here.
    fn add(&mut self, session: SessionId) {
        if self.waiting.iter().any(|(one, ..)| *one == session) {
            self.again.insert(session);
        } else {
            self.begin(session);
        }
    }

    fn begin(&mut self, session: SessionId) {
        let engine = self.engine.upgrade();
        if let Some(bus) = engine.and_then(|engine| engine.driving(&session)) {
            self.waiting.push_back((session, bus, Passing::default()));
        }
    }

    fn step(&mut self) {
        let Some((session, bus, mut passing)) = self.waiting.pop_front() else {
            return;
        };
        if bus.ended().is_none() && !bus.pass(&mut passing, self.part) {
            self.waiting.push_back((session, bus, passing));
        } else if self.again.remove(&session) {
            self.begin(session);
        }
    }
}
