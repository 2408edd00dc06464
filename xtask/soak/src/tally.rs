//! Counts of all that happened, and descriptions of all that is wrong.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_ports::sync::Mutex;

use xtask::say::complain;

/// Most violations that are described. More are counted.
const MOST: usize = 50;

/// Counts.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Inputs that were answered with 202.
    pub(crate) accepted: AtomicU64,
    /// Accepted inputs that came to their end.
    pub(crate) ended: AtomicU64,
    /// Turns that settled.
    pub(crate) turns: AtomicU64,
    /// Sessions that were held to their promises.
    pub(crate) sessions: AtomicU64,
    /// Effects that were done.
    pub(crate) effects: AtomicU64,
    /// Connections of watchers.
    pub(crate) connections: AtomicU64,
    /// Starts of the server after the first.
    pub(crate) restarts: AtomicU64,
    /// Sessions that were erased.
    pub(crate) erased: AtomicU64,
    faults: Mutex<BTreeMap<&'static str, u64>>,
    actions: Mutex<BTreeMap<&'static str, u64>>,
    outcomes: Mutex<BTreeMap<String, u64>>,
    wrong: Mutex<Vec<String>>,
    wrongs: AtomicU64,
}

/// Adds to a count.
pub(crate) fn add(count: &AtomicU64, more: usize) {
    count.fetch_add(u64::try_from(more).unwrap_or(u64::MAX), Ordering::SeqCst);
}

/// Reads a count.
pub(crate) fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::SeqCst)
}

impl Tally {
    pub(crate) fn fault(&self, name: &'static str) {
        *self.faults.lock().entry(name).or_default() += 1;
    }

    pub(crate) fn action(&self, name: &'static str) {
        *self.actions.lock().entry(name).or_default() += 1;
    }

    pub(crate) fn outcome(&self, name: &str) {
        *self.outcomes.lock().entry(name.to_owned()).or_default() += 1;
    }

    /// Records something that breaks a promise, and prints it at once.
    pub(crate) fn wrong(&self, words: String) {
        self.wrongs.fetch_add(1, Ordering::SeqCst);
        complain(format_args!("soak: WRONG: {words}"));
        let mut wrong = self.wrong.lock();
        if wrong.len() < MOST {
            wrong.push(words);
        }
    }

    /// Number of violations.
    pub(crate) fn wrongs(&self) -> u64 {
        read(&self.wrongs)
    }

    /// Descriptions of violations.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.wrong.lock().clone()
    }

    /// Three lines: outcomes, faults, actions.
    pub(crate) fn lines(&self) -> [String; 3] {
        [
            listed("outcomes", self.outcomes.lock().iter()),
            listed("faults", self.faults.lock().iter()),
            listed("actions", self.actions.lock().iter()),
        ]
    }
}

fn listed<'a, K: std::fmt::Display + 'a>(
    name: &str,
    counts: impl Iterator<Item = (K, &'a u64)>,
) -> String {
    let mut line = format!("{name}:");
    for (at, (key, count)) in counts.enumerate() {
        let comma = if at == 0 { "" } else { "," };
        // Writing to a string succeeds.
        let _ = write!(line, "{comma} {key} {count}");
    }
    line
}
