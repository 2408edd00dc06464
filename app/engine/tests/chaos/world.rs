//! The world of a seed: what outlives its processes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use windlass_engine::core::{InputId, Limits, ProgramTransport, RecordedFact, Seq, SessionId};
use windlass_testkit::Gate;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::laws::Begun;

use crate::luck::Luck;
use crate::ports;
use crate::programs;
use crate::runs::Runs;

/// The wall clock when a world begins, in milliseconds.
const BEGINNING: u64 = 1_000_000;

/// What a delay is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// Time that is paused and jumps when nothing runs.
    Virtual,
    /// A number of yields, on several threads.
    Threads,
}

/// What outlives the processes.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) time: Time,
    pub(crate) luck: Luck,
    pub(crate) store: FaultyStore,
    pub(crate) sessions: Vec<SessionId>,
    /// How the model hands programs over, in a world where it writes them.
    pub(crate) programs: Option<ProgramTransport>,
    /// Whether everybody behaves from now on.
    pub(crate) fair: Arc<AtomicBool>,
    /// The wall clock, in milliseconds, when the running process began, in virtual time.
    pub(crate) began: Arc<AtomicU64>,
    /// When the world began, in real time.
    born: Instant,
    pub(crate) seen: Arc<Seen>,
}

/// What has been seen.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) life: AtomicU64,
    /// What was sent, acknowledged or not.
    pub(crate) sent: Mutex<Vec<Sent>>,
    pub(crate) watched: Mutex<Vec<Arc<Watched>>>,
    /// Tools that change something, as they began.
    pub(crate) begun: Mutex<Vec<(SessionId, Begun)>>,
    /// Broken promises that were seen at once.
    pub(crate) broken: Mutex<Vec<String>>,
    /// What runs now.
    pub(crate) runs: Runs,
    /// How often the laws were checked while the driver ran.
    pub(crate) moments: AtomicU64,
    /// How often an adapter panicked on purpose.
    pub(crate) panics: AtomicU64,
    pub(crate) crashes: AtomicU64,
    pub(crate) supersessions: AtomicU64,
    /// How often sessions were let go with their turns open.
    pub(crate) parted: AtomicU64,
}

/// Something that a user sent.
pub(crate) struct Sent {
    pub(crate) session: SessionId,
    /// No other input has it, but one with the same key.
    pub(crate) text: String,
    pub(crate) acknowledged: Option<InputId>,
}

/// What one subscriber saw.
pub(crate) struct Watched {
    pub(crate) session: SessionId,
    pub(crate) after: Seq,
    pub(crate) facts: Mutex<Vec<Arc<RecordedFact>>>,
    /// How often it was told that it lagged.
    pub(crate) lags: AtomicU64,
    /// Whether it was told the end.
    pub(crate) ended: AtomicBool,
}

impl World {
    pub(crate) fn new(seed: u64, time: Time) -> Self {
        let luck = Luck::new(seed);
        let fair = Arc::new(AtomicBool::new(false));
        let sessions = (0..=luck.below(3)).map(|n| SessionId::new(&format!("s{n}")).unwrap());
        let sessions = sessions.collect();
        Self {
            time,
            store: ports::store(time, luck.clone(), fair.clone()),
            programs: programs::drawn(&luck),
            luck,
            sessions,
            fair,
            began: Arc::new(AtomicU64::new(BEGINNING)),
            born: Instant::now(),
            seen: Arc::default(),
        }
    }

    /// The wall clock between two processes, in milliseconds.
    pub(crate) fn now(&self) -> u64 {
        match self.time {
            Time::Virtual => self.began.load(Ordering::SeqCst),
            Time::Threads => BEGINNING + u64::try_from(self.born.elapsed().as_millis()).unwrap(),
        }
    }

    pub(crate) fn is_fair(&self) -> bool {
        self.fair.load(Ordering::SeqCst)
    }

    pub(crate) fn broke(&self, what: impl Into<String>) {
        self.seen.broken.lock().unwrap().push(what.into());
    }
}

/// The limits of every turn: tight, so that they are met. On threads, where time is real, nothing
/// waits for long.
pub(crate) fn limits(time: Time) -> Limits {
    let (backoff_ms, backoff_max_ms) = match time {
        Time::Virtual => (50, 500),
        Time::Threads => (0, 1),
    };
    Limits::default().with(|it| {
        it.samples = 8;
        it.calls_per_sample = 5;
        it.calls = 20;
        it.attempts = 3;
        it.restarts = 4;
        it.parallel_calls = 3;
        it.turn_ms = 200_000;
        it.approval_ms = 3_000;
        it.queue = 6;
        it.backoff_ms = backoff_ms;
        it.backoff_max_ms = backoff_max_ms;
        it.connect_ms = 1_000;
        it.first_byte_ms = 1_000;
        it.idle_ms = 1_000;
        it.sample_ms = 5_000;
        it.call_ms = 2_000;
        it.grace_ms = 100;
    })
}

/// Waits: so many milliseconds of virtual time, or some yields.
pub(crate) async fn pause(time: Time, ms: u64) {
    match time {
        Time::Virtual => tokio::time::sleep(Duration::from_millis(ms)).await,
        Time::Threads => {
            for _ in 0..ms % 23 {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// A gate that opens by itself after a while.
pub(crate) fn opening(time: Time, ms: u64) -> Gate {
    let gate = Gate::new();
    let opened = gate.clone();
    tokio::spawn(async move {
        pause(time, ms).await;
        opened.open();
    });
    gate
}
