//! A medium in memory that tells what it is asked, waits where a test lets it, and fails, panics or
//! hangs at the call that a script names.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass_core::{Epoch, Recorded, Seq, SessionId};
use windlass_ports::{Repair, StoreError, StoreErrorKind};
use windlass_testkit::store::numbered_facts;

use crate::{Batch, Bounds, End, Medium, Pipeline, Seat, Unit};

/// What the medium was asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    /// The session and its seat.
    Admit(String, u32),
    LetGo(String),
    /// The sessions and last positions of the units.
    Keep(Vec<(String, u64)>),
    Erase(String),
    Rest,
}

/// What happens at a keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Fails,
    /// And nothing can be written any more.
    Ends,
    Panics,
}

/// What the medium does beside keeping everything.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// By the number of the keep, from 1.
    pub(super) keeps: BTreeMap<usize, Fate>,
    /// Each keep says that it has begun and waits until it may go on.
    pub(super) gated: bool,
    pub(super) erase_fails: bool,
    /// How often it wants upkeep.
    pub(super) rests: usize,
}

pub(super) struct Scripted {
    script: Script,
    told: Arc<Mutex<Vec<Call>>>,
    begun: Sender<()>,
    rested: Sender<()>,
    go: Receiver<()>,
    ends: Ends,
    kept: usize,
    over: bool,
}

type Ends = Arc<Mutex<BTreeMap<SessionId, End>>>;

/// A pipeline over such a medium, and the test's side of it.
pub(super) struct Stage {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) told: Arc<Mutex<Vec<Call>>>,
    ends: Ends,
    begun: Receiver<()>,
    rested: Receiver<()>,
    go: Sender<()>,
}

impl Stage {
    pub(super) fn new(script: Script) -> Self {
        Self::bounded(script, Bounds::default())
    }

    pub(super) fn bounded(script: Script, bounds: Bounds) -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let (begin, begun) = channel();
        let (rest, rested) = channel();
        let (go, may) = channel();
        let ends = Ends::default();
        let medium = Scripted {
            script,
            told: told.clone(),
            begun: begin,
            rested: rest,
            go: may,
            ends: ends.clone(),
            kept: 0,
            over: false,
        };
        let pipeline = Pipeline::start("the scripted store", medium, bounds).unwrap();
        Self {
            pipeline: Arc::new(pipeline),
            told,
            ends,
            begun,
            rested,
            go,
        }
    }

    pub(super) async fn claim(&self, session: &SessionId) -> Epoch {
        self.pipeline.claim(session).await.unwrap().epoch
    }

    /// Where the medium was told that a log ends.
    pub(super) fn end(&self, session: &SessionId) -> End {
        self.ends.lock().unwrap().get(session).unwrap().clone()
    }

    /// Waits until a gated keep has begun.
    pub(super) fn begun(&self) {
        self.begun.recv_timeout(Duration::from_secs(30)).unwrap();
    }

    /// Waits until upkeep was done once more.
    pub(super) fn rested(&self) {
        self.rested.recv_timeout(Duration::from_secs(30)).unwrap();
    }

    /// Lets a gated keep go on.
    pub(super) fn go(&self) {
        self.go.send(()).unwrap();
    }

    /// Asks for an append, which is in the queue when this returns.
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
        let told = told.iter().filter(|call| **call != Call::Rest);
        told.cloned().collect()
    }

    pub(super) fn keeps(&self) -> Vec<Vec<(String, u64)>> {
        let keep = |call| match call {
            Call::Keep(units) => Some(units),
            Call::Admit(..) | Call::LetGo(_) | Call::Erase(_) | Call::Rest => None,
        };
        self.told().into_iter().filter_map(keep).collect()
    }
}

/// An append that was asked for.
pub(super) type Answer = tokio::task::JoinHandle<Result<(), StoreError>>;

impl Scripted {
    fn tell(&self, call: Call) {
        self.told.lock().unwrap().push(call);
    }
}

impl Medium for Scripted {
    fn admit(
        &mut self,
        session: &SessionId,
        seat: Seat,
    ) -> Result<(End, Option<Repair>), StoreError> {
        self.tell(Call::Admit(session.to_string(), seat.0));
        let end = self.ends.lock().unwrap().get(session).cloned();
        Ok((end.unwrap_or_else(|| End::none(session)), None))
    }

    fn let_go(&mut self, session: &SessionId) {
        self.tell(Call::LetGo(session.to_string()));
    }

    fn keep(&mut self, units: &[Box<Unit>]) -> Result<(), StoreError> {
        let name = |unit: &Unit| (unit.batch.session.to_string(), unit.end.last.0);
        let names = units.iter().map(|unit| name(unit)).collect();
        self.tell(Call::Keep(names));
        if self.script.gated {
            self.begun.send(()).unwrap();
            // The test is over when nobody lets it go on.
            let _ = self.go.recv();
        }
        self.kept += 1;
        match self.script.keeps.get(&self.kept) {
            Some(Fate::Panics) => panic!("page 7 is not there"),
            Some(fate) => {
                self.over = *fate == Fate::Ends;
                return Err(StoreError::new(StoreErrorKind::Full, "no space is left"));
            }
            None => {}
        }
        let mut ends = self.ends.lock().unwrap();
        for unit in units {
            ends.insert(unit.batch.session.clone(), unit.end.clone());
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

    fn is_over(&self) -> bool {
        self.over
    }

    fn rest(&mut self) -> Result<Option<Duration>, StoreError> {
        self.tell(Call::Rest);
        // Few tests look.
        let _ = self.rested.send(());
        self.script.rests = self.script.rests.saturating_sub(1);
        Ok((self.script.rests > 0).then_some(Duration::ZERO))
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

pub(super) fn batch_of(session: &SessionId, after: u64, facts: &[Arc<Recorded>]) -> Batch {
    Batch::new("the scripted store", session, Seq(after), facts).unwrap()
}

pub(super) fn kind(answer: Result<(), StoreError>) -> Option<StoreErrorKind> {
    answer.err().map(|error| error.kind)
}
