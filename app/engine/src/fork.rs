//! Fork: a new session that continues a copy of another one's log, in the same store.
//!
//! The other log is only read, as far as it is durable, so it does not matter who drives it. A fork
//! whose log ends before the point is not whole: no engine opens it, and forking again with the same
//! words goes on where it stands.

mod engine;
mod survey;

use std::sync::Arc;

use windlass_core::{
    Epoch, Fact, Fork, InvalidFact, InvalidFork, Lineage, RecordedFact, Scope, Seq, SessionId,
    SessionOpened, Timestamp,
};
use windlass_ports::{BlobError, LogStore, StoreError, StoreErrorKind, codec};

use crate::append_batcher::AppendBatcher;
use crate::blob_names::{BlobCopy, BlobCopyError};
use crate::copy::{CopyTarget, release};
pub(crate) use engine::check_complete;
use survey::{ForkSurvey, survey};

/// Facts that are read at a time.
const PAGE: usize = 128;

/// A session that was forked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkReport {
    /// Id of the new session.
    pub session: SessionId,
    /// The last position that was taken over.
    pub last: Seq,
    /// Facts that were written now; none when it had been forked before.
    pub facts: u64,
    /// Outputs and images that were written now.
    pub blobs: u64,
    /// Those that the log names and that the store does not have.
    pub missing: u64,
}

/// Error of forking a session.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// There is none of this id, or none that this scope may see.
    #[error("there is no session {0}: list them with `windlass sessions`")]
    Unknown(SessionId),
    /// The log has no such position.
    #[error("session {session} has no position {at}: its log has the positions 1 to {last}")]
    NoPosition {
        /// Id of the session.
        session: SessionId,
        /// Requested position.
        at: Seq,
        /// The last that it has.
        last: Seq,
    },
    /// At this position a turn, or a hook, is under way, and would be repeated.
    #[error(
        "session {session} cannot be forked at {at}: something is under way there, and a fork never \
         repeats it. The nearest positions at which it can be are {before}{}",
        after_words(*.after)
    )]
    UnderWay {
        /// Id of the session.
        session: SessionId,
        /// Requested position.
        at: Seq,
        /// The nearest one before it at which the session can be forked.
        before: Seq,
        /// The nearest one after it; `None` when there is none yet.
        after: Option<Seq>,
    },
    /// The session is a fork itself, and was not taken over whole.
    #[error("session {0} is a fork that is not whole: fork the session that it is from once more")]
    Unfinished(SessionId),
    /// There is another session of the new id.
    #[error("session {0} exists already: choose another id")]
    Exists(SessionId),
    /// Under the new id a fact would be larger than the store takes.
    #[error(
        "session {session}, fact {seq}: with so long an id it is more than the store takes; choose one that is no longer than {session}"
    )]
    TooLarge {
        /// Id of the source session.
        session: SessionId,
        /// Position of the fact.
        seq: Seq,
    },
    /// It would be a fork of a fork of a fork, and so on, for too long.
    #[error("session {session}: {}", InvalidFork::TooDeep)]
    TooMany {
        /// Id of the source session.
        session: SessionId,
    },
    /// The other log reads well and does not fit together.
    #[error("session {session}: {cause}. Run `windlass verify {session}`")]
    InvalidFact {
        /// Id of the source session.
        session: SessionId,
        /// Cause of the failure.
        cause: InvalidFact,
    },
    /// An output beside the log could not be copied.
    #[error("session {session}, what is kept as {sha256}: {error}")]
    Blob {
        /// Id of the source session.
        session: SessionId,
        /// Name of the output.
        sha256: String,
        /// Cause of the failure.
        error: BlobError,
    },
    /// The store failed. What was written stands; forking again goes on.
    #[error("{0}")]
    Store(StoreError),
    /// The engine was shut down.
    #[error("session {0} is not forked: the engine is shut down")]
    ShutDown(SessionId),
}

fn after_words(after: Option<Seq>) -> String {
    match after {
        Some(after) => format!(" and {after}"),
        None => String::from("; after it there is none yet"),
    }
}

impl From<StoreError> for ForkError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Request to fork a session.
#[derive(Debug, Clone)]
pub struct ForkRequest {
    /// The session that is forked.
    pub source: SessionId,
    /// The last position that is taken over.
    pub at: Seq,
    /// The id of the new session.
    pub id: SessionId,
    /// Scope of the caller. The new session belongs to this principal; a fork by the system keeps
    /// the source's owner.
    pub scope: Scope,
    /// Time of the fork.
    pub now: Timestamp,
}

/// Forks a session where no engine has the new one open: see [`Engine::fork`](crate::Engine::fork).
///
/// # Errors
/// [`ForkError`].
pub async fn fork(keeper: &CopyTarget, asked: &ForkRequest) -> Result<ForkReport, ForkError> {
    match fork_state(keeper.store.as_ref(), asked).await? {
        ForkState::Complete => Ok(asked.unchanged_report()),
        ForkState::Absent => write(keeper, asked, None).await,
        ForkState::Partial(first) => write(keeper, asked, Some(first)).await,
        ForkState::OtherSession => Err(id_exists_error(keeper.store.as_ref(), asked).await),
    }
}

/// As [`fork()`], where the new session is driven: nothing is written, and either it is the fork that
/// is asked for or its id is taken.
async fn find(keeper: &CopyTarget, asked: &ForkRequest) -> Result<ForkReport, ForkError> {
    match fork_state(keeper.store.as_ref(), asked).await? {
        ForkState::Complete => Ok(asked.unchanged_report()),
        ForkState::Absent | ForkState::Partial(_) | ForkState::OtherSession => {
            Err(id_exists_error(keeper.store.as_ref(), asked).await)
        }
    }
}

/// State of a fork.
enum ForkState {
    Absent,
    /// A fork as it is asked for that is not whole, by its first fact.
    Partial(Arc<RecordedFact>),
    /// The fork as it is asked for.
    Complete,
    /// A session that is none.
    OtherSession,
}

impl ForkRequest {
    /// It is there already.
    fn unchanged_report(&self) -> ForkReport {
        ForkReport {
            session: self.id.clone(),
            last: self.at,
            facts: 0,
            blobs: 0,
            missing: 0,
        }
    }

    /// Returns true if a session with this opening is what is asked for.
    fn matches(&self, opened: &SessionOpened) -> bool {
        let of = match &opened.lineage {
            Lineage::Fork { of, at, .. } => *of == self.source && *at == self.at,
            Lineage::Root | Lineage::Child { .. } => false,
        };
        of && match (&self.scope, &*opened.owner) {
            (Scope::System { .. }, _) => true,
            (Scope::Principal { .. }, Scope::System { .. }) => false,
            (
                Scope::Principal {
                    tenant, principal, ..
                },
                Scope::Principal {
                    tenant: theirs,
                    principal: who,
                    ..
                },
            ) => tenant == theirs && principal == who,
        }
    }
}

/// The first fact of a session after a position, if there is one.
async fn first(
    store: &dyn LogStore,
    session: &SessionId,
    after: Seq,
) -> Result<Option<RecordedFact>, StoreError> {
    match store.read(session, after, 1).await {
        Ok(facts) => Ok(facts.into_iter().next()),
        Err(error) if error.kind == StoreErrorKind::Unknown => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the state of the requested fork.
async fn fork_state(store: &dyn LogStore, asked: &ForkRequest) -> Result<ForkState, ForkError> {
    let Some(first_) = first(store, &asked.id, Seq::ZERO).await? else {
        return Ok(ForkState::Absent);
    };
    let Fact::SessionOpened(opened) = &first_.fact else {
        return Ok(ForkState::OtherSession);
    };
    if !asked.matches(opened) {
        return Ok(ForkState::OtherSession);
    }
    let before = Seq(asked.at.0.saturating_sub(1));
    Ok(match first(store, &asked.id, before).await? {
        Some(_) => ForkState::Complete,
        None => ForkState::Partial(Arc::new(first_)),
    })
}

/// Returns the reason why a fork to an existing id is refused; faults of the request come first.
async fn id_exists_error(store: &dyn LogStore, asked: &ForkRequest) -> ForkError {
    match survey(store, asked).await {
        Ok(_) => ForkError::Exists(asked.id.clone()),
        Err(error) => error,
    }
}

/// Writes a fork, or what is missing of it. Nothing may drive the new session.
async fn write(
    keeper: &CopyTarget,
    asked: &ForkRequest,
    part: Option<Arc<RecordedFact>>,
) -> Result<ForkReport, ForkError> {
    let store = keeper.store.as_ref();
    let ForkSurvey { first, owner } = survey(store, asked).await?;
    let (owner, opened) = match part.as_deref() {
        // As it was begun, so that both are one.
        Some(RecordedFact {
            fact: Fact::SessionOpened(part),
            ts,
            ..
        }) => (part.owner.clone(), *ts),
        Some(_) | None => (owner, asked.now),
    };
    let fork = Fork::new(&first, asked.at, &asked.id, owner, opened);
    let fork = fork.map_err(|error| match error {
        InvalidFork::TooDeep => ForkError::TooMany {
            session: asked.source.clone(),
        },
        InvalidFork::InvalidFact(cause) => ForkError::InvalidFact {
            session: asked.source.clone(),
            cause,
        },
    })?;
    let claim = store.claim(&asked.id).await?;
    let mut writing = ForkWriter {
        keeper,
        request: asked,
        fork,
        epoch: claim.epoch,
        existing_last: claim.last,
        blobs: BlobCopy::new(keeper.blobs_of(&asked.source), keeper.blobs_of(&asked.id)),
        written: 0,
    };
    let written = writing.run().await;
    release(keeper, &asked.id, claim.epoch).await;
    written?;
    Ok(ForkReport {
        facts: writing.written,
        blobs: writing.blobs.written,
        missing: writing.blobs.missing,
        ..asked.unchanged_report()
    })
}

/// A fork on its way into the store.
struct ForkWriter<'a> {
    keeper: &'a CopyTarget,
    request: &'a ForkRequest,
    fork: Fork,
    epoch: Epoch,
    /// The last position that it had.
    existing_last: Seq,
    blobs: BlobCopy<'a>,
    /// Facts that were written.
    written: u64,
}

impl ForkWriter<'_> {
    async fn run(&mut self) -> Result<(), ForkError> {
        if self.existing_last >= self.request.at {
            // Somebody was faster. Whoever it was, this one writes nothing.
            return match fork_state(self.keeper.store.as_ref(), self.request).await? {
                ForkState::Complete => Ok(()),
                ForkState::Absent | ForkState::Partial(_) | ForkState::OtherSession => {
                    Err(ForkError::Exists(self.request.id.clone()))
                }
            };
        }
        self.check_prefix().await?;
        let (mut last, mut parts) = (Seq::ZERO, AppendBatcher::default());
        while last < self.request.at {
            let facts = self.facts(last).await?;
            let Some(end) = facts.last().map(|fact| fact.seq) else {
                let context = format!(
                    "session {} ended at {last} while it was forked at {}: it was erased",
                    self.request.source, self.request.at
                );
                return Err(StoreError::new(StoreErrorKind::Unknown, context).into());
            };
            self.blobs.start_page();
            for fact in facts {
                let brought = self.blobs.copy_named(&fact.fact).await;
                brought.map_err(|BlobCopyError { sha256, error }| ForkError::Blob {
                    session: self.request.source.clone(),
                    sha256,
                    error,
                })?;
                if fact.seq <= self.existing_last {
                    continue;
                }
                let size = text(&fact)?.len();
                let cut = parts.push(Arc::new(fact), size);
                self.append(cut).await?;
            }
            last = end;
        }
        self.append(parts.finish()).await
    }

    /// Checks that the existing log equals the start of the fork.
    async fn check_prefix(&self) -> Result<(), ForkError> {
        let mut last = Seq::ZERO;
        while last < self.existing_last {
            let left = usize::try_from(self.existing_last.0.saturating_sub(last.0)).unwrap_or(PAGE);
            let store = &self.keeper.store;
            let there = store.read(&self.request.id, last, left.min(PAGE)).await?;
            let facts = self.facts(last).await?;
            let same = !there.is_empty() && facts.starts_with(&there);
            if !same {
                return Err(ForkError::Exists(self.request.id.clone()));
            }
            last = there.last().map_or(last, |fact| fact.seq);
        }
        Ok(())
    }

    /// The next facts of the fork.
    async fn facts(&self, after: Seq) -> Result<Vec<RecordedFact>, ForkError> {
        let left = self.request.at.0.saturating_sub(after.0);
        let limit = usize::try_from(left).unwrap_or(PAGE).min(PAGE);
        let facts = self
            .keeper
            .store
            .read(&self.request.source, after, limit)
            .await?;
        Ok(facts
            .iter()
            .filter_map(|fact| self.fork.map_fact(fact))
            .collect())
    }

    async fn append(&mut self, facts: Vec<Arc<RecordedFact>>) -> Result<(), ForkError> {
        let Some(first) = facts.first() else {
            return Ok(());
        };
        let after = Seq(first.seq.0.saturating_sub(1));
        let (store, id) = (&self.keeper.store, &self.request.id);
        store.append(id, self.epoch, after, &facts).await?;
        self.written = self.written.saturating_add(facts.len() as u64);
        Ok(())
    }
}

fn text(fact: &RecordedFact) -> Result<Vec<u8>, ForkError> {
    codec::encode(fact).map_err(|error| {
        let context = format!("session {}, fact {}: {error}", fact.session, fact.seq);
        ForkError::Store(StoreError::new(StoreErrorKind::Invalid, context))
    })
}
