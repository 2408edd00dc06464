//! Snapshots: when an engine keeps one, what opening a session reads with one, and that whatever is
//! wrong with one changes nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/clock.rs"]
mod clock;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, timeout};
use windlass_engine::core::{Lineage, OpenSession, RecordedFact, Scope, Seq, SessionId, Timestamp};
use windlass_engine::ports::{
    LogStore, NoApprover, NoHooks, Ports, StoreCapabilities, StoreError, StoreErrorKind,
    StoredCheckpoint, ToolExecutor as _,
};
use windlass_engine::{CheckpointAudit, Config, Engine, NewInput, Start};
use windlass_testkit::Gate;
use windlass_testkit::blobs::HeldBlobs;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{ScriptedProvider, say};
use windlass_testkit::tools::ScriptedTools;

use clock::RuntimeClock;

/// A log store that keeps snapshots, and notes what it is asked.
#[derive(Clone)]
struct Shelf {
    logs: FaultyStore,
    limit: Option<usize>,
    kept: Arc<Mutex<Option<StoredCheckpoint>>>,
    noted: Arc<Mutex<Noted>>,
    /// Keeping waits for it.
    gate: Gate,
    fails: Option<StoreErrorKind>,
}

#[derive(Default)]
struct Noted {
    /// Positions of the snapshots that were brought.
    brought: Vec<Seq>,
    /// How many are being kept at once, and the most that were.
    now: usize,
    most: usize,
    /// Facts that were read.
    read: usize,
}

impl Shelf {
    fn new(limit: Option<usize>) -> Self {
        let gate = Gate::new();
        gate.open();
        Self {
            logs: FaultyStore::new(),
            limit,
            kept: Arc::default(),
            noted: Arc::default(),
            gate,
            fails: None,
        }
    }

    fn brought(&self) -> Vec<Seq> {
        self.noted.lock().unwrap().brought.clone()
    }

    /// How many facts were read since the last time that this was asked.
    fn read(&self) -> usize {
        std::mem::take(&mut self.noted.lock().unwrap().read)
    }

    fn kept(&self) -> Option<StoredCheckpoint> {
        self.kept.lock().unwrap().clone()
    }

    fn put(&self, snapshot: StoredCheckpoint) {
        *self.kept.lock().unwrap() = Some(snapshot);
    }
}

/// Audits the log by pages, and with its facts at hand. Both say the same.
async fn audit(store: &Shelf) -> CheckpointAudit {
    let audited = async |limit| {
        let mut logs = windlass_engine::verify_logs(store, &[id()], limit).await;
        let log = logs.remove(0).unwrap();
        assert_eq!(log.facts.is_empty(), limit == 0);
        windlass_engine::audit(store, &id(), 7, log, &mut |_| {}).await.unwrap()
    };
    let (paged, whole) = (audited(0).await, audited(usize::MAX).await);
    assert_eq!(paged.loaded, whole.loaded);
    assert_eq!((paged.checkpoint, &paged.fault), (whole.checkpoint, &whole.fault));
    paged
}

#[async_trait]
impl LogStore for Shelf {
    windlass_testkit::forward!(logs: claim, release, append, sessions, verify);

    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities { max_checkpoint_bytes: self.limit, ..self.logs.capabilities() }
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        let facts = self.logs.read(session, after, limit).await?;
        self.noted.lock().unwrap().read += facts.len();
        Ok(facts)
    }

    async fn write_checkpoint(
        &self,
        _: &SessionId,
        snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        assert!(self.limit.is_some(), "it keeps none");
        {
            let mut noted = self.noted.lock().unwrap();
            noted.brought.push(snapshot.seq);
            noted.now += 1;
            noted.most = noted.most.max(noted.now);
        }
        self.gate.pass().await;
        self.noted.lock().unwrap().now -= 1;
        match &self.fails {
            Some(kind) => Err(StoreError::new(kind.clone(), "scripted")),
            None => {
                self.put(snapshot.clone());
                Ok(())
            }
        }
    }

    async fn read_checkpoint(
        &self,
        _: &SessionId,
        _: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        assert!(self.limit.is_some(), "it keeps none");
        match &self.fails {
            Some(kind) => Err(StoreError::new(kind.clone(), "scripted")),
            None => Ok(self.kept()),
        }
    }
}

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

fn me() -> Scope {
    Scope::local("tester")
}

fn engine(store: &Shelf, snapshot_every: u64) -> Engine {
    let ports = Ports {
        provider: Arc::new(ScriptedProvider::responding(|_| say("It is so."))),
        store: Arc::new(store.clone()),
        tools: Arc::new(ScriptedTools::new([])),
        blobs: Arc::new(HeldBlobs::new(1 << 20)),
        hooks: Arc::new(NoHooks),
        approver: Arc::new(NoApprover),
        clock: Arc::new(RuntimeClock::new(Timestamp(1_000), 1)),
        programs: windlass_engine::ports::ProgramRuntimes::none(),
    };
    let config = Config::default().with(|it| {
        it.read_page = 7;
        it.checkpoint_every = snapshot_every;
    });
    Engine::new(ports, config)
}

fn start() -> Start {
    let settings =
        windlass_testkit::settings().with(|it| it.tools = ScriptedTools::new([]).tools());
    Start::Either(Box::new(OpenSession {
        owner: me(),
        workspace: None,
        settings,
        lineage: Lineage::Root,
    }))
}

/// Runs so many turns in a process of their own. Answers how many facts the log has then.
async fn turns(store: &Shelf, snapshot_every: u64, turns: usize) -> usize {
    let engine = engine(store, snapshot_every);
    let conversation = engine.open(&id(), &me(), start()).await.unwrap();
    for _ in 0..turns {
        let input = conversation.send(NewInput::new(me(), "hello")).await.unwrap();
        conversation.outcome(input).await.unwrap();
    }
    drop(conversation);
    assert!(engine.shutdown("the test is over").await.is_empty());
    assert!(!store.logs.claimed(&id()));
    store.logs.log(&id()).len()
}

#[tokio::test(start_paused = true)]
async fn one_is_kept_every_so_many_facts_and_one_as_a_session_is_let_go() {
    let store = Shelf::new(Some(1 << 20));
    let facts = turns(&store, 20, 10).await;
    assert!(facts > 60, "{facts}");
    let brought = store.brought();
    assert!(brought.len() > 2, "{brought:?}");
    let steps = brought.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let (last, between): (Vec<_>, Vec<_>) = steps.rev().enumerate().partition(|(at, _)| *at == 0);
    assert!(between.iter().all(|(_, facts)| *facts >= 20), "{brought:?}");
    assert!(last.iter().all(|(_, facts)| *facts > 0), "{brought:?}");
    assert_eq!(brought.last(), Some(&Seq(facts as u64)));
    assert_eq!(store.noted.lock().unwrap().most, 1);
}

#[tokio::test(start_paused = true)]
async fn opening_a_session_reads_what_came_after_its_snapshot() {
    let store = Shelf::new(Some(1 << 20));
    let facts = turns(&store, 20, 10).await;
    store.read();
    let loaded = windlass_engine::load(&store, &id(), 7).await.unwrap();
    assert_eq!(store.read(), 1, "the fact at its position");
    assert_eq!(loaded, windlass_engine::fold(&store, &id(), 7).await.unwrap());
    assert_eq!(store.read(), facts);
    // One turn more, and no snapshot of it.
    let before = store.kept().unwrap();
    let more = turns(&store, 1_000, 1).await;
    assert_eq!(store.kept().unwrap(), before);
    store.read();
    let loaded = windlass_engine::load(&store, &id(), 7).await.unwrap();
    assert_eq!(store.read(), 1 + more - facts);
    assert_eq!(loaded, windlass_engine::fold(&store, &id(), 7).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_keeps_none_is_asked_for_none() {
    let store = Shelf::new(None);
    let facts = turns(&store, 20, 10).await;
    store.read();
    windlass_engine::load(&store, &id(), 7).await.unwrap();
    assert_eq!(store.read(), facts);
    // Nor is one that nobody wants snapshots of.
    let store = Shelf::new(Some(1 << 20));
    turns(&store, 0, 10).await;
    assert_eq!(store.brought(), []);
}

#[tokio::test(start_paused = true)]
async fn whatever_is_wrong_with_one_the_log_is_what_counts() {
    let store = Shelf::new(Some(1 << 20));
    let facts = turns(&store, 20, 10).await;
    let whole = windlass_engine::fold(&store, &id(), 7).await.unwrap();
    let good = store.kept().unwrap();
    let text = String::from_utf8(good.bytes.clone()).unwrap();
    let other = |change: &dyn Fn(&mut StoredCheckpoint)| {
        let mut other = good.clone();
        change(&mut other);
        assert_ne!(other, good);
        other
    };
    let words = |from: &str, to: &str| {
        let changed = text.replacen(from, to, 1);
        move |snapshot: &mut StoredCheckpoint| snapshot.bytes = changed.clone().into_bytes()
    };
    let wrong = [
        other(&|snapshot| snapshot.bytes.clear()),
        other(&|snapshot| snapshot.bytes.truncate(100)),
        other(&|snapshot| snapshot.bytes.push(b'}')),
        other(&|snapshot| snapshot.version.push('1')),
        other(&|snapshot| snapshot.seq = Seq(3)),
        other(&|snapshot| snapshot.seq = Seq(1_000)),
        other(&words(r#"{"id":"s""#, r#"{"id":"t""#)),
        other(&words("It is so.", "It is sa.")),
        // It holds together, and is of a log that goes on elsewhere.
        other(&|snapshot| {
            words(&format!(r#""next":{}"#, facts + 1), &format!(r#""next":{}"#, facts + 9))(
                snapshot,
            );
            snapshot.seq = Seq(facts as u64 + 8);
        }),
        other(&|snapshot| {
            words(&format!(r#""next":{}"#, facts + 1), &format!(r#""next":{}"#, facts - 3))(
                snapshot,
            );
            snapshot.seq = Seq(facts as u64 - 4);
        }),
    ];
    for (case, snapshot) in wrong.into_iter().enumerate() {
        store.put(snapshot);
        let loaded = windlass_engine::load(&store, &id(), 7).await.unwrap();
        assert_eq!(loaded, whole, "case {case}");
        let audited = audit(&store).await;
        assert_eq!(audited.loaded, whole, "case {case}");
        assert!(audited.fault.is_some() && audited.checkpoint.is_none(), "case {case}");
        // And a session goes on.
        let before = store.logs.log(&id()).len();
        let conversation = engine(&store, 0).open(&id(), &me(), Start::Existing).await;
        assert_eq!(conversation.unwrap().state().await.unwrap(), whole.session);
        assert_eq!(store.logs.log(&id()).len(), before, "case {case}");
    }
    store.put(good.clone());
    let audited = audit(&store).await;
    assert_eq!((audited.checkpoint, audited.fault), (Some(good.seq), None));
    for kind in [StoreErrorKind::Io, StoreErrorKind::Unavailable] {
        let failing = Shelf { fails: Some(kind), ..store.clone() };
        assert_eq!(windlass_engine::load(&failing, &id(), 7).await.unwrap(), whole);
    }
}

/// One that holds together and says something else is not seen by who takes it up; whoever folds the
/// log is told.
#[tokio::test(start_paused = true)]
async fn an_audit_finds_a_snapshot_of_another_state() {
    let store = Shelf::new(Some(1 << 20));
    turns(&store, 20, 10).await;
    let mut kept = store.kept().unwrap();
    let text = String::from_utf8(kept.bytes).unwrap();
    kept.bytes = text.replacen(r#""hold":"free""#, r#""hold":"held""#, 1).into_bytes();
    assert_ne!(kept.bytes, text.into_bytes());
    let at = kept.seq;
    store.put(kept);
    let audited = audit(&store).await;
    let fault = audited.fault.unwrap();
    assert!(fault.contains(&format!("at position {at} is not what the log folds to")), "{fault}");
    assert_eq!(audited.checkpoint, None);
    assert_eq!(audited.loaded, windlass_engine::fold(&store, &id(), 7).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn one_that_is_never_kept_holds_nothing_up_for_long() {
    let store = Shelf { gate: Gate::new(), ..Shelf::new(Some(1 << 20)) };
    let began = Instant::now();
    let facts = timeout(Duration::from_secs(60), turns(&store, 20, 10)).await;
    assert!(facts.unwrap() > 60);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(store.brought().len(), 1, "one is under way");
    assert_eq!(store.kept(), None);
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_kept_is_tried_less_and_less() {
    let small = Shelf::new(Some(100));
    let failing = Shelf { fails: Some(StoreErrorKind::Io), ..Shelf::new(Some(1 << 20)) };
    for store in [&small, &failing] {
        let facts = turns(store, 20, 30).await;
        assert!(facts > 200, "{facts}");
        assert_eq!(store.kept(), None);
    }
    assert_eq!(small.brought(), [], "it is not even brought");
    let brought = failing.brought();
    assert!((2..7).contains(&brought.len()), "{brought:?}");
}
