//! What happens to nodes while calls are in flight, and that others go on with what they drove.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use windlass::core::{Fact, Recorded, Seq, SessionId};
use windlass::ports::LogStore;

use crate::effects::Run;
use crate::node::{Node, Start};
use crate::proxy::Way;
use crate::random::Random;
use crate::store::LEASE_MS;
use crate::world::{World, now};

/// How long anything may take that a fault leads to. What is measured is held against [`TAKEN_OVER_MS`].
const PATIENCE: Duration = Duration::from_secs(30);

/// Within what time others go on with what a node drove: the lease and a second, and twice as much again
/// for a machine on which all nodes, the store, the model and the clients share two processors with
/// others. What it took is printed.
const TAKEN_OVER_MS: u64 = 3 * (LEASE_MS + 1_000);

/// What happens to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
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
    pub(crate) const ALL: [Self; 5] = [
        Self::Killed,
        Self::Paused,
        Self::Held,
        Self::Cut,
        Self::Drained,
    ];
}

/// What a fault came to.
pub(crate) struct Struck {
    fault: Fault,
    node: String,
    /// How many calls of the node waited at the gate.
    calls: usize,
    /// From the fault to the first fact of another node, in the first and in the last of the sessions.
    taken_ms: (u64, u64),
    /// How many processes of these calls were left when the fault was over.
    outlived: usize,
}

impl fmt::Display for Struck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            fault,
            node,
            calls,
            taken_ms: (first, last),
            outlived,
        } = self;
        write!(
            f,
            "{fault:?} {node} with {calls} calls in flight: taken over after {first} to {last} ms, \
             {outlived} processes outlived it"
        )
    }
}

/// The nodes.
pub(crate) struct Fleet<'a> {
    start: Start<'a>,
    world: Arc<World>,
    nodes: Vec<Node>,
    started: usize,
    /// The store by a way of its own.
    store: Arc<dyn LogStore>,
}

impl<'a> Fleet<'a> {
    pub(crate) async fn new(start: Start<'a>, world: Arc<World>, nodes: usize) -> Self {
        let store = start.store.open().await;
        let mut fleet = Self {
            store,
            start,
            world,
            nodes: Vec::new(),
            started: 0,
        };
        for _ in 0..nodes {
            let node = fleet.another().await;
            fleet.nodes.push(node);
        }
        fleet.publish();
        fleet
    }

    async fn another(&mut self) -> Node {
        self.started += 1;
        self.start.node(&format!("node-{}", self.started)).await
    }

    fn publish(&self) {
        self.world
            .publish(self.nodes.iter().map(|node| node.at).collect());
    }

    /// Strikes one of the nodes whose calls wait at a gate, once at least so many wait, and mends it
    /// when others have gone on with all that it drove. `meanwhile` is begun once it is struck.
    pub(crate) async fn strike(
        &mut self,
        fault: Fault,
        gate: usize,
        random: &mut Random,
        least: usize,
        meanwhile: impl FnOnce(),
    ) -> Struck {
        let world = self.world.clone();
        let waiting = world.until(PATIENCE, async || {
            let mut waiting = world.effects.waiting(gate);
            let all: usize = waiting.values().map(Vec::len).sum();
            waiting.retain(|name, _| self.nodes.iter().any(|node| node.name == *name));
            match all >= least && !waiting.is_empty() {
                true => Ok(waiting),
                false => Err(format!(
                    "{all} calls wait at gate {gate}, and {least} are to"
                )),
            }
        });
        let waiting: Vec<(String, Vec<Run>)> = waiting.await.into_iter().collect();
        let (name, runs) = random.one(&waiting).clone();
        let at = self
            .nodes
            .iter()
            .position(|node| node.name == name)
            .unwrap();
        let struck = now();
        match fault {
            Fault::Killed => self.nodes[at].kill(),
            Fault::Paused => self.nodes[at].signal("STOP"),
            Fault::Held => self.nodes[at].proxy.set(Way::Held),
            Fault::Cut => self.nodes[at].proxy.set(Way::Cut),
            Fault::Drained => self.nodes[at].signal("TERM"),
        }
        meanwhile();
        let sessions: BTreeSet<String> = runs.iter().map(|run| run.session.clone()).collect();
        let mut taken = BTreeMap::new();
        let mut left: Vec<(String, Seq)> = sessions
            .into_iter()
            .map(|session| (session, Seq::ZERO))
            .collect();
        let going_on = world.until(PATIENCE, async || {
            let mut still = Vec::new();
            for (session, mut after) in std::mem::take(&mut left) {
                match self.gone_on(&session, &mut after, struck).await {
                    Some(ts) => drop(taken.insert(session, ts)),
                    None => still.push((session, after)),
                }
            }
            left = still;
            match left.is_empty() {
                true => Ok(()),
                false => Err(format!(
                    "nobody goes on with these of {name}, {fault:?}: {left:?}"
                )),
            }
        });
        going_on.await;
        let after = |ts: &u64| ts - struck;
        let taken_ms = (
            taken.values().map(after).min().unwrap(),
            taken.values().map(after).max().unwrap(),
        );
        self.mend(fault, at, &runs).await;
        let calls = runs.len();
        let outlived = runs.iter().filter(|run| run.lives()).count();
        let struck = Struck {
            fault,
            node: name,
            calls,
            taken_ms,
            outlived,
        };
        println!("{struck}");
        assert!(
            taken_ms.1 <= TAKEN_OVER_MS,
            "seed {}: later than {TAKEN_OVER_MS} ms",
            world.seed
        );
        struck
    }

    /// When a session, whose turn was in a call that nobody let go, was gone on with after this moment,
    /// by a new request to the model: a node that ends a call because it is to end asks for nothing
    /// more.
    async fn gone_on(&self, session: &str, after: &mut Seq, since: u64) -> Option<u64> {
        let session = SessionId::new(session).unwrap();
        let facts = self.store.read(&session, *after, 1_000).await.unwrap();
        *after = facts.last().map_or(*after, |fact| fact.seq);
        let asks = |fact: &&Recorded| matches!(fact.fact, Fact::SampleStarted(_));
        let mut asked = facts.iter().filter(asks).map(|fact| fact.ts.0);
        asked.find(|ts| *ts >= since)
    }

    /// Ends a fault: the node is back, or another one in its place.
    async fn mend(&mut self, fault: Fault, at: usize, runs: &[Run]) {
        match fault {
            Fault::Killed => {}
            Fault::Paused => self.nodes[at].signal("CONT"),
            Fault::Held | Fault::Cut => self.nodes[at].proxy.set(Way::Open),
            Fault::Drained => {
                let status = self.nodes[at].ended().await;
                assert!(status.success(), "{status}: {}", self.nodes[at].told());
            }
        }
        if matches!(fault, Fault::Paused | Fault::Drained) {
            // A node that sees that it stood still asks, and ends what it ran for sessions that it lost.
            // One that was away from the store finds that out by its next append.
            let ended = self.world.until(PATIENCE, async || {
                let left: Vec<&Run> = runs.iter().filter(|run| run.lives()).collect();
                match left.is_empty() {
                    true => Ok(()),
                    false => Err(format!("these are to end, {fault:?}: {left:?}")),
                }
            });
            ended.await;
        }
        if matches!(fault, Fault::Killed | Fault::Drained) {
            self.nodes[at] = self.another().await;
            self.publish();
        }
    }

    /// Ends all nodes in good order.
    pub(crate) async fn end(mut self) {
        for node in &self.nodes {
            node.signal("TERM");
        }
        for node in &mut self.nodes {
            let status = node.ended().await;
            assert!(status.success(), "{}: {status}: {}", node.name, node.told());
        }
    }
}
