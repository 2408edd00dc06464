//! Following: what others append reaches whoever watches, through a store that can follow its logs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use windlass_engine::core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_engine::ports::{LogStore, StoreCapabilities, StoreError, StoreErrorKind};
use windlass_engine::{Event, EventStream};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{ScriptedProvider, say};
use windlass_testkit::tools::ScriptedTools;

use crate::world::{Cast, World, hello, id, me, ms, soon, until};

/// A store that follows its logs, and counts what it is asked.
#[derive(Clone)]
struct Following {
    inner: FaultyStore,
    appended: watch::Sender<()>,
    reads: Arc<AtomicUsize>,
    tails: Arc<AtomicUsize>,
    /// How many wait in `tail`.
    waiting: Arc<AtomicUsize>,
    erased: Arc<AtomicBool>,
    /// What `tail` fails with next.
    fails: Arc<Mutex<Vec<Fails>>>,
}

#[derive(Clone, Copy)]
enum Fails {
    Unavailable,
    Panics,
}

struct Waits<'a>(&'a AtomicUsize);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Following {
    fn new() -> Self {
        Self {
            inner: FaultyStore::new(),
            appended: watch::Sender::new(()),
            reads: Arc::default(),
            tails: Arc::default(),
            waiting: Arc::default(),
            erased: Arc::default(),
            fails: Arc::default(),
        }
    }

    fn world(&self) -> World {
        let provider = ScriptedProvider::responding(|_| say("there"));
        let cast = Cast {
            provider: Arc::new(provider),
            tools: Arc::new(ScriptedTools::new([])),
            ..Cast::new([], [])
        };
        World::on(self.inner.clone(), Arc::new(self.clone()), cast)
    }

    fn erase(&self) {
        self.erased.store(true, Ordering::SeqCst);
        self.appended.send_replace(());
    }

    fn there(&self, session: &SessionId) -> Result<(), StoreError> {
        if self.erased.load(Ordering::SeqCst) {
            let context = format!("session {session} was erased");
            return Err(StoreError::new(StoreErrorKind::Unknown, context));
        }
        Ok(())
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    async fn waits(&self, count: usize) {
        until(|| self.waiting.load(Ordering::SeqCst) == count).await;
    }
}

#[async_trait]
impl LogStore for Following {
    windlass_testkit::forward!(inner: claim, release, sessions, verify);

    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities { tail_delay_ms: Some(0), ..self.inner.capabilities() }
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        self.inner.append(session, epoch, after, facts).await?;
        self.appended.send_replace(());
        Ok(())
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.there(session)?;
        self.inner.read(session, after, limit).await
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        self.tails.fetch_add(1, Ordering::SeqCst);
        match self.fails.lock().unwrap().pop() {
            Some(Fails::Panics) => panic!("on purpose"),
            Some(Fails::Unavailable) => {
                return Err(StoreError::new(StoreErrorKind::Unavailable, "on purpose"));
            }
            None => {}
        }
        let mut appended = self.appended.subscribe();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _waits = Waits(&self.waiting);
        let until = Instant::now() + patience;
        loop {
            self.there(session)?;
            let last = Seq(self.inner.log(session).len() as u64);
            if last > after || Instant::now() >= until {
                return Ok(last);
            }
            let _ = tokio::time::timeout_at(until, appended.changed()).await;
        }
    }
}

async fn turn(world: &World) {
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    conversation.close().await;
}

async fn facts(watch: &mut EventStream, count: usize) -> Vec<RecordedFact> {
    let mut facts = Vec::new();
    while facts.len() < count {
        if let Event::Fact(fact) = soon(watch.next()).await.unwrap() {
            facts.push((**fact).clone());
        }
    }
    facts
}

#[tokio::test(start_paused = true)]
async fn what_another_appends_is_read_once_for_all_who_watch() {
    let store = Following::new();
    let world = store.world();
    turn(&world).await;
    let before = store.inner.log(&id("s")).len();
    let mut watching = Vec::new();
    for _ in 0..100 {
        let mut watch = world.engine.subscribe(&id("s"), &me(), None);
        watching.push(tokio::spawn(async move { facts(&mut watch, 5).await }));
    }
    // One waits for all of them.
    store.waits(1).await;
    let reads = store.reads();
    let at = Instant::now();
    let other = store.world();
    turn(&other).await;
    let log = store.inner.log(&id("s"));
    for watching in watching {
        assert_eq!(soon(watching).await.unwrap(), log[before..before + 5]);
    }
    // By nobody but the one who follows, and whoever opened the session.
    let reads = store.reads() - reads;
    assert!(reads < 20, "{reads} reads for 100 who watch");
    assert!(at.elapsed() < ms(1_000), "woken, and not by looking: {:?}", at.elapsed());
    store.waits(0).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_erased_ends_its_watches() {
    let store = Following::new();
    let world = store.world();
    turn(&world).await;
    let mut watching = Vec::new();
    for _ in 0..3 {
        let mut watch = world.engine.subscribe(&id("s"), &me(), None);
        watching.push(tokio::spawn(async move {
            let first = watch.next().await.unwrap_err();
            (first, watch.next().await.unwrap_err())
        }));
    }
    store.waits(1).await;
    store.erase();
    for watching in watching {
        let (first, again) = soon(watching).await.unwrap();
        assert_eq!(first.kind, StoreErrorKind::Unknown);
        assert_eq!(again.kind, StoreErrorKind::Unknown, "and again");
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_becomes_of_following_nothing_is_missed() {
    let store = Following::new();
    let world = store.world();
    turn(&world).await;
    let before = store.inner.log(&id("s")).len();
    let mut watch = world.engine.subscribe(&id("s"), &me(), Some(Seq(before as u64)));
    for fails in [Fails::Unavailable, Fails::Panics] {
        store.fails.lock().unwrap().extend([fails; 3]);
        let tails = store.tails.load(Ordering::SeqCst);
        let from = store.inner.log(&id("s")).len();
        // Nothing comes, and it is asked again later and later.
        let nothing = timeout(ms(20_000), watch.next()).await;
        assert!(nothing.is_err(), "{nothing:?}");
        let tails = store.tails.load(Ordering::SeqCst) - tails;
        assert!(tails <= 4, "{tails} times in twenty seconds");
        turn(&store.world()).await;
        let log = store.inner.log(&id("s"));
        assert_eq!(facts(&mut watch, log.len() - from).await, log[from..]);
        // What was waited for when it failed is over.
        store.appended.send_replace(());
    }
}
