//! A backend in memory that records its calls, waits for a test's permission, and fails, panics or
//! hangs at the call that a script names.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{StoreError, StoreErrorKind, TailRepair};
use windlass_testkit::store::numbered_facts;

use crate::{AppendRequest, Batch, CommitBackend, LogEnd, Pipeline, PipelineLimits};

/// A call of the backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Claim(String),
    Release(String),
    /// The session and last position of each append.
    Commit(Vec<(String, u64)>),
    Erase(String),
    Maintain,
}

/// The fate of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Fails,
    /// Fails for good.
    Ends,
    Panics,
}

/// Deviations from a backend that keeps everything.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Fate of commits by their number, from 1.
    pub(super) commits: BTreeMap<usize, Fate>,
    /// Each commit reports its beginning and waits for permission.
    pub(super) gated: bool,
    pub(super) erase_fails: bool,
    /// Pieces of maintenance that it wants.
    pub(super) pieces: usize,
}

pub(super) struct Scripted {
    script: Script,
    told: Arc<Mutex<Vec<Call>>>,
    begun: Sender<()>,
    maintained: Sender<()>,
    go: Receiver<()>,
    ends: Ends,
    commits: usize,
    failed: bool,
}

type Ends = Arc<Mutex<BTreeMap<SessionId, LogEnd>>>;

/// A pipeline over such a backend, and the test's side of it.
pub(super) struct Stage {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) told: Arc<Mutex<Vec<Call>>>,
    ends: Ends,
    begun: Receiver<()>,
    maintained: Receiver<()>,
    go: Sender<()>,
}

impl Stage {
    pub(super) fn new(script: Script) -> Self {
        Self::bounded(script, PipelineLimits::default())
    }

    pub(super) fn bounded(script: Script, bounds: PipelineLimits) -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let (begin, begun) = channel();
        let (maintain, maintained) = channel();
        let (go, may) = channel();
        let ends = Ends::default();
        let backend = Scripted {
            script,
            told: told.clone(),
            begun: begin,
            maintained: maintain,
            go: may,
            ends: ends.clone(),
            commits: 0,
            failed: false,
        };
        let pipeline = Pipeline::start("the scripted store", backend, bounds).unwrap();
        Self { pipeline: Arc::new(pipeline), told, ends, begun, maintained, go }
    }

    pub(super) async fn claim(&self, session: &SessionId) -> Epoch {
        self.pipeline.claim(session).await.unwrap().epoch
    }

    /// End of a log in the backend.
    pub(super) fn end(&self, session: &SessionId) -> LogEnd {
        self.ends.lock().unwrap().get(session).unwrap().clone()
    }

    /// Waits until a gated commit has begun.
    pub(super) fn begun(&self) {
        self.begun.recv_timeout(Duration::from_secs(30)).unwrap();
    }

    /// Waits for one more piece of maintenance.
    pub(super) fn maintained(&self) {
        self.maintained.recv_timeout(Duration::from_secs(30)).unwrap();
    }

    /// Permits a gated commit to continue.
    pub(super) fn go(&self) {
        self.go.send(()).unwrap();
    }

    /// Calls `append`, which is in the queue when this returns.
    pub(super) async fn ask(&self, batch: Batch, epoch: Epoch) -> Answer {
        let pipeline = self.pipeline.clone();
        let append = async move { pipeline.append(batch, epoch).await };
        self.begin(append).await
    }

    /// Begins a call, which is in the queue when this returns.
    pub(super) async fn begin(
        &self,
        call: impl Future<Output = Result<(), StoreError>> + Send + 'static,
    ) -> Answer {
        let asked = tokio::spawn(call);
        // On a runtime of one thread, a task that was spawned runs up to its first wait.
        tokio::task::yield_now().await;
        asked
    }

    pub(super) fn told(&self) -> Vec<Call> {
        let told = self.told.lock().unwrap();
        let told = told.iter().filter(|call| **call != Call::Maintain);
        told.cloned().collect()
    }

    pub(super) fn commits(&self) -> Vec<Vec<(String, u64)>> {
        let commit = |call| match call {
            Call::Commit(appends) => Some(appends),
            Call::Claim(_) | Call::Release(_) | Call::Erase(_) | Call::Maintain => None,
        };
        self.told().into_iter().filter_map(commit).collect()
    }
}

/// An append that was asked for.
pub(super) type Answer = tokio::task::JoinHandle<Result<(), StoreError>>;

impl Scripted {
    fn tell(&self, call: Call) {
        self.told.lock().unwrap().push(call);
    }
}

impl CommitBackend for Scripted {
    fn claim(&mut self, session: &SessionId) -> Result<(LogEnd, Option<TailRepair>), StoreError> {
        self.tell(Call::Claim(session.to_string()));
        let end = self.ends.lock().unwrap().get(session).cloned();
        Ok((end.unwrap_or_else(|| LogEnd::empty(session)), None))
    }

    fn release(&mut self, session: &SessionId) {
        self.tell(Call::Release(session.to_string()));
    }

    fn commit(&mut self, requests: &[AppendRequest]) -> Result<(), StoreError> {
        let name = |request: &AppendRequest| {
            let session = request.batch.session.to_string();
            (session, request.end.last.0)
        };
        self.tell(Call::Commit(requests.iter().map(name).collect()));
        if self.script.gated {
            self.begun.send(()).unwrap();
            // The test is over when nobody lets it go on.
            let _ = self.go.recv();
        }
        self.commits += 1;
        match self.script.commits.get(&self.commits) {
            Some(Fate::Panics) => panic!("page 7 is not there"),
            Some(fate) => {
                self.failed = *fate == Fate::Ends;
                return Err(StoreError::new(StoreErrorKind::Full, "no space is left"));
            }
            None => {}
        }
        let mut ends = self.ends.lock().unwrap();
        for request in requests {
            ends.insert(request.batch.session.clone(), request.end.clone());
        }
        Ok(())
    }

    fn erase(&mut self, session: &SessionId) -> Result<(), StoreError> {
        self.tell(Call::Erase(session.to_string()));
        if self.script.erase_fails {
            return Err(StoreError::new(StoreErrorKind::Io, "it cannot be erased"));
        }
        self.ends.lock().unwrap().remove(session);
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.failed
    }

    fn maintain(&mut self) -> Result<Option<Duration>, StoreError> {
        self.tell(Call::Maintain);
        // Few tests look.
        let _ = self.maintained.send(());
        self.script.pieces = self.script.pieces.saturating_sub(1);
        Ok((self.script.pieces > 0).then_some(Duration::ZERO))
    }
}

pub(super) fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// `count` facts after a position.
pub(super) fn batch(session: &SessionId, after: u64, count: u64) -> Batch {
    let facts = numbered_facts(session, Seq(after), count);
    batch_of(session, after, &facts)
}

pub(super) fn batch_of(session: &SessionId, after: u64, facts: &[Arc<RecordedFact>]) -> Batch {
    Batch::new("the scripted store", session, Seq(after), facts).unwrap()
}

pub(super) fn kind(answer: Result<(), StoreError>) -> Option<StoreErrorKind> {
    answer.err().map(|error| error.kind)
}
