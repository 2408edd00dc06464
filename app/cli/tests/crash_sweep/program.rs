//! The program that dies: `windlass` with a layer of faults over its store.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use windlass_engine::core::{Epoch, Fact, RecordedFact, Seq, SessionId};
use windlass_engine::ports::{LogStore, StoreError, StoreErrorKind, StoredCheckpoint};

use windlass_testkit::crash::CrashingStore;

/// The variable that makes this the program that dies: a plan, or `none`.
pub(crate) const PLAN: &str = "WINDLASS_CRASH_PLAN";
/// The variable that has its store acknowledge before it keeps.
pub(crate) const LAGS: &str = "WINDLASS_CRASH_LAGS";
/// How the last line on standard error begins.
pub(crate) const SYNCS: &str = "syncs: ";

/// The variable that has one read fail after a turn has settled.
pub(crate) const READ_FAILS: &str = "WINDLASS_READ_FAILS";

static COUNT: OnceLock<Arc<AtomicU64>> = OnceLock::new();

/// The plan in the environment, if there is one.
pub(crate) fn plan() -> Option<String> {
    std::env::var(PLAN).ok()
}

/// Runs the program and says how many syncs there were.
pub(crate) fn run(plan: &str) -> ExitCode {
    if plan != "none" && plan.parse::<windlass_testkit::crash::Plan>().is_err() {
        eprintln!("{PLAN}={plan:?} is no plan");
        return ExitCode::from(2);
    }
    let code = windlass_cli::Command::new().layer(layer).main();
    let syncs = COUNT.get().map_or(0, |count| count.load(Ordering::SeqCst));
    eprintln!("{SYNCS}{syncs}");
    code
}

fn layer(store: Arc<dyn LogStore>) -> Arc<dyn LogStore> {
    let plan = plan().and_then(|plan| plan.parse().ok());
    let store = match std::env::var_os(LAGS) {
        Some(_) => Arc::new(Lagging { inner: store, held: Mutex::default() }),
        None => store,
    };
    let store = match std::env::var_os(READ_FAILS) {
        Some(_) => Arc::new(FailingRead { inner: store, due: AtomicBool::new(false) }),
        None => store,
    };
    let crashing = CrashingStore::new(store, plan);
    let _ = COUNT.set(crashing.syncs());
    Arc::new(crashing)
}

/// A store of which one read fails, for a moment, after a turn has settled.
struct FailingRead {
    inner: Arc<dyn LogStore>,
    due: AtomicBool,
}

#[async_trait]
impl LogStore for FailingRead {
    windlass_testkit::forward!(
        inner: capabilities, probe, claim, release, sessions, verify, tail, erase,
        write_checkpoint, read_checkpoint
    );

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let settles = facts.iter().any(|fact| matches!(fact.fact, Fact::TurnSettled(_)));
        self.due.fetch_or(settles, Ordering::SeqCst);
        self.inner.append(session, epoch, after, facts).await
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        if self.due.swap(false, Ordering::SeqCst) {
            return Err(StoreError::new(StoreErrorKind::Io, "a read failed, for a moment"));
        }
        self.inner.read(session, after, limit).await
    }
}

/// A store with a defect: it acknowledges an append and keeps it when somebody reads or when its
/// session is released. So whatever is written beside an effect, what was said of it is lost.
struct Lagging {
    inner: Arc<dyn LogStore>,
    held: Mutex<Vec<Held>>,
}

struct Held {
    session: SessionId,
    epoch: Epoch,
    after: Seq,
    facts: Vec<Arc<RecordedFact>>,
}

impl Lagging {
    async fn keep(&self) -> Result<(), StoreError> {
        for held in std::mem::take(&mut *self.held.lock().await) {
            let append = (&held.session, held.epoch, held.after, &*held.facts);
            let (session, epoch, after, facts) = append;
            self.inner.append(session, epoch, after, facts).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl LogStore for Lagging {
    windlass_testkit::forward!(inner: capabilities, probe, claim, sessions, verify);

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.keep().await?;
        self.inner.release(session, epoch).await
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        self.held.lock().await.push(Held {
            session: session.clone(),
            epoch,
            after,
            facts: facts.to_vec(),
        });
        Ok(())
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        self.keep().await?;
        self.inner.read(session, after, limit).await
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        self.keep().await?;
        self.inner.tail(session, after, patience).await
    }

    async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.keep().await?;
        self.inner.erase(session, epoch).await
    }

    async fn write_checkpoint(
        &self,
        session: &SessionId,
        snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        self.keep().await?;
        self.inner.write_checkpoint(session, snapshot).await
    }

    async fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        self.keep().await?;
        self.inner.read_checkpoint(session, version).await
    }
}
