//! What happens to a node, or to the store of all nodes, while calls are in flight; and what it came to.

use std::fmt;

use crate::store::LEASE_MS;

/// Within what time others are to go on with what a node drove: its lease and a second.
const PROMISED_MS: u64 = LEASE_MS + 1_000;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// To one node.
    Node(Blow),
    /// To the store: it is away for all nodes for longer than the lease. Where it takes orders, it is there
    /// again then and takes no writes, for as long once more.
    Store,
}

/// What happens to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blow {
    /// It ends as by `kill -9`; its tools' processes live on.
    Killed,
    /// It stands still past its lease, and is woken.
    Paused,
    /// What it and the store say to each other arrives late, after its lease is over.
    Held,
    /// It has no connection to the store for longer than its lease.
    Cut,
    /// It is told to end in good order.
    Drained,
}

impl Fault {
    pub(crate) const ALL: [Self; 6] = [
        Self::Node(Blow::Killed),
        Self::Node(Blow::Paused),
        Self::Node(Blow::Held),
        Self::Node(Blow::Cut),
        Self::Node(Blow::Drained),
        Self::Store,
    ];
}

/// What a blow to a node came to.
pub(crate) struct Struck {
    pub(crate) blow: Blow,
    pub(crate) node: String,
    /// How many calls of the node waited at the gate.
    pub(crate) calls: usize,
    /// From the blow to the first fact of another node, in the first and in the last of the sessions.
    pub(crate) taken_ms: (u64, u64),
    /// How many processes of these calls were left when it was over.
    pub(crate) outlived: usize,
}

impl fmt::Display for Struck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { blow, node, calls, taken_ms: (first, last), outlived } = self;
        write!(
            f,
            "{blow:?} {node} with {calls} calls in flight: taken over after {first} to {last} ms \
             (promised: {PROMISED_MS}), {outlived} processes outlived it"
        )
    }
}

/// What an outage of the store came to.
pub(crate) struct Outlasted {
    /// How many calls waited at the gate.
    pub(crate) calls: usize,
    /// After what time all nodes said that they take no work, and after the outage that they do.
    pub(crate) told_ms: (u64, u64),
    /// Whether it took no writes once it was there again.
    pub(crate) read_only: bool,
    /// How many of the sessions were taken up again; the others went on under the claims that they had.
    pub(crate) taken_up: usize,
    /// From the end of the outage to the last of these.
    pub(crate) taken_ms: u64,
}

impl fmt::Display for Outlasted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, told_ms: (none, again), read_only, taken_up, taken_ms } = self;
        let then = match read_only {
            true => ", and then read-only,",
            false => "",
        };
        write!(
            f,
            "Store away{then} with {calls} calls in flight: no node takes work after {none} ms, all do {again} \
             ms after it is over; {taken_up} taken up again, the last after {taken_ms} ms"
        )
    }
}
