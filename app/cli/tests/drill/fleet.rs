//! The nodes, what happens to them while calls are in flight, and that others go on with what they drove.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use windlass_engine::core::{Fact, RecordedFact, Seq, SessionId};
use windlass_engine::ports::LogStore;

use crate::effects::Run;
use crate::faults::{Blow, Outlasted, Struck};
use crate::http::ask;
use crate::model::waits_at;
use crate::node::{Node, Start};
use crate::proxy::Way;
use crate::random::Random;
use crate::store::LEASE_MS;
use crate::world::{PATIENCE, World, now};

/// Longer than the leases last, and than a node tells anybody whether it is ready without looking again.
const PAST_LEASES: Duration = Duration::from_millis(LEASE_MS * 5 / 4);

/// The nodes.
pub(crate) struct Fleet<'a> {
    start: Start<'a>,
    world: Arc<World>,
    nodes: Vec<Node>,
    started: usize,
    /// The store by a way of its own.
    store: Arc<dyn LogStore>,
}

/// Calls in flight: those that wait at a gate, by node.
type Waiting = BTreeMap<String, Vec<Run>>;

/// When each of some sessions was gone on with.
type Gone = BTreeMap<String, u64>;

impl<'a> Fleet<'a> {
    pub(crate) async fn new(start: Start<'a>, world: Arc<World>, nodes: usize) -> Self {
        let store = start.store.open().await;
        let mut fleet = Self { store, start, world, nodes: Vec::new(), started: 0 };
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
        self.world.publish(self.nodes.iter().map(|node| node.at).collect());
    }

    /// Strikes one of the nodes whose calls wait at a gate, once so many sessions have begun theirs, and
    /// mends it when others have gone on with all that it drove. `meanwhile` is begun once it is struck.
    ///
    /// The node has its share of these calls at least: no blow falls where nearly nothing is in flight.
    pub(crate) async fn strike(
        &mut self,
        blow: Blow,
        gate: usize,
        random: &mut Random,
        least: usize,
        meanwhile: impl FnOnce(),
    ) {
        let waiting = self.waiting(gate, least).await;
        let all: usize = waiting.values().map(Vec::len).sum();
        let share = all.div_ceil(self.nodes.len());
        let full: Vec<(String, Vec<Run>)> =
            waiting.into_iter().filter(|(_, runs)| runs.len() >= share).collect();
        let (name, runs) = random.one(&full).clone();
        let of_that_name = |node: &Node| node.name == name;
        let at = self.nodes.iter().position(of_that_name).unwrap();
        let struck = now();
        match blow {
            Blow::Killed => self.nodes[at].kill(),
            Blow::Paused => self.nodes[at].signal("STOP"),
            Blow::Held => self.nodes[at].proxy.set(Way::Held),
            Blow::Cut => self.nodes[at].proxy.set(Way::Cut),
            Blow::Drained => self.nodes[at].signal("TERM"),
        }
        meanwhile();
        let gone = self.all_go_on(&runs, struck, |_| false).await;
        let after = |ts: &u64| ts - struck;
        let taken_ms =
            (gone.values().map(after).min().unwrap(), gone.values().map(after).max().unwrap());
        self.mend(blow, at, &runs).await;
        let struck = Struck {
            blow,
            node: name,
            calls: runs.len(),
            taken_ms,
            outlived: runs.iter().filter(|run| run.lives()).count(),
        };
        println!("{struck}");
    }

    /// Has the store away for all nodes, once this many sessions have begun their call at a gate, until
    /// each node has said that it takes no work and longer than their leases last; and as long once more
    /// so that it can be read alone, where it can. `meanwhile` is begun once it is away.
    pub(crate) async fn outlast(&mut self, gate: usize, least: usize, meanwhile: impl FnOnce()) {
        let waiting = self.waiting(gate, least).await;
        let runs: Vec<Run> = waiting.into_values().flatten().collect();
        let store = self.start.store;
        let began = now();
        self.all_ways(Way::Cut);
        meanwhile();
        self.all_answer(503).await;
        let none = now();
        // From here on no lease can have been renewed.
        sleep(PAST_LEASES).await;
        let read_only = store.takes_orders();
        if read_only {
            store.refuse_writes(true);
            self.all_ways(Way::Open);
            // For longer than anybody is told what was found out before.
            sleep(PAST_LEASES).await;
            self.all_answer(503).await;
            store.refuse_writes(false);
        } else {
            self.all_ways(Way::Open);
        }
        let over = now();
        self.all_answer(200).await;
        let again = now();
        // A claim that outlived its lease, as nobody had it since, stands, and its call waits on.
        let stands = |run: &Run| store.revives() && run.lives();
        let gone = self.all_go_on(&runs, began, stands).await;
        let outlasted = Outlasted {
            calls: runs.len(),
            told_ms: (none - began, again - over),
            read_only,
            taken_up: gone.len(),
            taken_ms: gone.values().max().map_or(0, |last| last.saturating_sub(over)),
        };
        println!("{outlasted}");
    }

    fn all_ways(&self, way: Way) {
        self.nodes.iter().for_each(|node| node.proxy.set(way));
    }

    /// The calls that wait at a gate once so many sessions have begun theirs. Those whose claim was lost
    /// without a fault, as by a machine that is too slow for its leases, do not wait any more.
    async fn waiting(&self, gate: usize, least: usize) -> Waiting {
        let world = &self.world;
        let waiting = world.until(PATIENCE, async || {
            let begun = world.effects.begun();
            let there = begun.iter().filter(|run| run.n >= waits_at(gate));
            let there: BTreeSet<&str> = there.map(|run| run.session.as_str()).collect();
            let mut waiting = Waiting::new();
            for run in begun.iter().filter(|run| run.gate == gate && run.lives()) {
                let waits = waiting.entry(run.node.clone()).or_default();
                waits.push(run.clone());
            }
            waiting.retain(|name, _| self.nodes.iter().any(|node| node.name == *name));
            match there.len() >= least && !waiting.is_empty() {
                true => Ok(waiting),
                false => Err(format!(
                    "{} sessions have begun their call at gate {gate}, and {least} are to",
                    there.len()
                )),
            }
        });
        waiting.await
    }

    /// Waits until the sessions of these calls were gone on with after this moment, but for those of
    /// calls that need not be.
    async fn all_go_on(&self, runs: &[Run], since: u64, need_not: impl Fn(&Run) -> bool) -> Gone {
        let mut gone = Gone::new();
        let mut left: Vec<(&Run, Seq)> = runs.iter().map(|run| (run, Seq::ZERO)).collect();
        let going_on = self.world.until(PATIENCE, async || {
            let mut still = Vec::new();
            for (run, mut after) in std::mem::take(&mut left) {
                match self.gone_on(&run.session, &mut after, since).await {
                    Some(ts) => drop(gone.insert(run.session.clone(), ts)),
                    None => still.push((run, after)),
                }
            }
            left = still;
            match left.iter().all(|(run, _)| need_not(run)) {
                true => Ok(()),
                false => Err(format!("nobody goes on with these: {left:?}")),
            }
        });
        going_on.await;
        gone
    }

    /// When a session, whose turn was in a call that nobody let go, was gone on with after this moment,
    /// by a new request to the model: a node that ends a call because it is to end asks for nothing
    /// more.
    async fn gone_on(&self, session: &str, after: &mut Seq, since: u64) -> Option<u64> {
        let session = SessionId::new(session).unwrap();
        let facts = self.store.read(&session, *after, 1_000).await.unwrap();
        *after = facts.last().map_or(*after, |fact| fact.seq);
        let asks = |fact: &&RecordedFact| matches!(fact.fact, Fact::SampleStarted(_));
        let mut asked = facts.iter().filter(asks).map(|fact| fact.ts.0);
        asked.find(|ts| *ts >= since)
    }

    /// Waits until each node answers so whether it takes work. That it lives it says all the while.
    async fn all_answer(&self, status: u16) {
        let answering = self.world.until(PATIENCE, async || {
            let mut asking = JoinSet::new();
            for at in self.nodes.iter().map(|node| node.at) {
                asking.spawn(async move {
                    let lives = ask(at, ("GET", "/v1/health"), &[], "").await?;
                    let ready = ask(at, ("GET", "/v1/ready"), &[], "").await?;
                    Ok((lives.status, ready.status))
                });
            }
            let told: Vec<Result<(u16, u16), String>> = asking.join_all().await;
            match told.iter().all(|told| *told == Ok((200, status))) {
                true => Ok(()),
                false => Err(format!("all nodes are to answer {status}: {told:?}")),
            }
        });
        answering.await;
    }

    /// Ends what was done to a node: it is back, or another one in its place.
    async fn mend(&mut self, blow: Blow, at: usize, runs: &[Run]) {
        match blow {
            Blow::Killed => {}
            Blow::Paused => self.nodes[at].signal("CONT"),
            Blow::Held | Blow::Cut => self.nodes[at].proxy.set(Way::Open),
            Blow::Drained => {
                let status = self.nodes[at].ended().await;
                assert!(status.success(), "{status}: {}", self.nodes[at].told());
            }
        }
        if matches!(blow, Blow::Paused | Blow::Drained) {
            // A node that sees that it stood still asks, and ends what it ran for sessions that it lost.
            // One that was away from the store finds that out by its next append.
            let ended = self.world.until(PATIENCE, async || {
                let left: Vec<&Run> = runs.iter().filter(|run| run.lives()).collect();
                match left.is_empty() {
                    true => Ok(()),
                    false => Err(format!("these are to end, {blow:?}: {left:?}")),
                }
            });
            ended.await;
        }
        if matches!(blow, Blow::Killed | Blow::Drained) {
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
