//! Fork: a new session that continues a copy of another session's log, in the same store.
//!
//! The source is only read, up to its durable end, so any node may drive it. A fork whose log ends
//! before the fork position is incomplete: no engine opens it, and repeating the fork request
//! resumes it. A turn that is open at the position is settled in the fork right after the copy.

mod engine;
mod survey;

use std::sync::Arc;

use windlass_core::{
    Epoch, Fact, Fork, Input, InvalidFact, InvalidFork, Lineage, RecordedFact, Scope, Seq, Session,
    SessionId, SessionOpened, Timestamp, evolve_first,
};
use windlass_ports::{BlobError, LogStore, StoreError, StoreErrorKind, codec};

use crate::append_batcher::AppendBatcher;
use crate::blob_names::{BlobCopy, BlobCopyError};
use crate::copy::CopyTarget;
use crate::offline::{self, release};
pub(crate) use engine::check_complete;
use survey::{ForkSurvey, survey};

/// Facts that are read at a time.
const PAGE: usize = 128;

/// Result of a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkReport {
    /// Id of the new session.
    pub session: SessionId,
    /// Last position that was copied.
    pub last: Seq,
    /// Number of facts that were written by this call; 0 if the fork was complete before.
    pub facts: u64,
    /// Number of outputs and images that were written by this call.
    pub blobs: u64,
    /// Number of named blobs that the store does not have.
    pub missing: u64,
}

/// Error of forking a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// No session with this id exists, or none that the scope may see.
    #[error("there is no session {0}: list them with `windlass sessions`")]
    Unknown(SessionId),
    /// The log does not have this position.
    #[error("session {session} has no position {at}: its log has the positions 1 to {last}")]
    NoPosition {
        /// Id of the session.
        session: SessionId,
        /// Requested position.
        at: Seq,
        /// Last position of the log.
        last: Seq,
    },
    /// A sample, a call, a hook or a compaction is running at this position, and would be repeated.
    #[error(
        "cannot fork session {session} at {at}: something is in progress there. The nearest \
         possible positions are {before}{}",
        after_words(*.after)
    )]
    UnderWay {
        /// Id of the session.
        session: SessionId,
        /// Requested position.
        at: Seq,
        /// Nearest earlier position at which the session can be forked.
        before: Seq,
        /// Nearest later position; `None` if there is none yet.
        after: Option<Seq>,
    },
    /// The source is itself an incomplete fork.
    #[error("session {0} is an incomplete fork: fork its original session again")]
    Unfinished(SessionId),
    /// A different session with the new id exists.
    #[error("session {0} exists already: choose another id")]
    Exists(SessionId),
    /// Under the new id a fact would exceed the store's limit.
    #[error(
        "session {session}, fact {seq}: with so long an id it is more than the store accepts; \
         choose one that is no longer than {session}"
    )]
    TooLarge {
        /// Id of the source session.
        session: SessionId,
        /// Position of the fact.
        seq: Seq,
    },
    /// The copy would be larger than the request allows.
    #[error(
        "forking session {session} at {at} would copy more than {max_bytes} bytes of facts and \
         outputs: fork it at an earlier position, or have the limit raised"
    )]
    TooManyBytes {
        /// Id of the source session.
        session: SessionId,
        /// Requested position.
        at: Seq,
        /// Most bytes of a copy.
        max_bytes: u64,
    },
    /// The chain of forks is too long.
    #[error("session {session}: {}", InvalidFork::TooDeep)]
    TooMany {
        /// Id of the source session.
        session: SessionId,
    },
    /// The source's log is readable, but a fact in it is invalid.
    #[error("session {session}: {cause}. Run `windlass verify {session}`")]
    InvalidFact {
        /// Id of the source session.
        session: SessionId,
        /// Cause of the failure.
        cause: InvalidFact,
    },
    /// A blob could not be copied.
    #[error("session {session}, stored output {sha256}: {error}")]
    Blob {
        /// Id of the source session.
        session: SessionId,
        /// Name of the blob.
        sha256: String,
        /// Cause of the failure.
        error: BlobError,
    },
    /// The store failed. Written facts are kept; repeating the request resumes the fork.
    #[error("{0}")]
    Store(StoreError),
    /// The engine was shut down.
    #[error("cannot fork session {0}: the engine is shut down")]
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
    /// Id of the source session.
    pub source: SessionId,
    /// Last position to copy.
    pub at: Seq,
    /// Id of the new session.
    pub id: SessionId,
    /// Scope of the caller. The new session belongs to this principal. A fork by the system keeps
    /// the source's owner.
    pub scope: Scope,
    /// Time of the fork.
    pub now: Timestamp,
    /// Most bytes to copy: of facts in their text form, and of the blobs that they name.
    pub max_bytes: u64,
}

/// Forks a session. No engine may have the new session open: see
/// [`Engine::fork`](crate::Engine::fork).
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

/// Checks a request whose new session is being driven, and writes nothing. The session is either
/// the requested fork, or its id is taken.
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
    /// The requested fork, incomplete, with its first fact.
    Partial(Arc<RecordedFact>),
    /// The requested fork, complete.
    Complete,
    /// Another session.
    OtherSession,
}

impl ForkRequest {
    /// Returns the report of a fork that was complete before.
    fn unchanged_report(&self) -> ForkReport {
        ForkReport { session: self.id.clone(), last: self.at, facts: 0, blobs: 0, missing: 0 }
    }

    /// Returns true if a session with this opening is the requested fork.
    fn matches(&self, opened: &SessionOpened) -> bool {
        let of = match &opened.lineage {
            Lineage::Fork { of, at, .. } => *of == self.source && *at == self.at,
            Lineage::Root | Lineage::Child { .. } => false,
        };
        of && match (&self.scope, &*opened.owner) {
            (Scope::System { .. }, _) => true,
            (Scope::Principal { .. }, Scope::System { .. }) => false,
            (
                Scope::Principal { tenant, principal, .. },
                Scope::Principal { tenant: theirs, principal: who, .. },
            ) => tenant == theirs && principal == who,
        }
    }
}

/// Reads the first fact of a session after a position, if there is one.
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

/// Returns the error for an id that is taken. Faults of the request take precedence.
async fn id_exists_error(store: &dyn LogStore, asked: &ForkRequest) -> ForkError {
    match survey(store, asked).await {
        Ok(_) => ForkError::Exists(asked.id.clone()),
        Err(error) => error,
    }
}

/// Writes a fork, or the missing rest of it. Nothing may drive the new session.
async fn write(
    keeper: &CopyTarget,
    asked: &ForkRequest,
    part: Option<Arc<RecordedFact>>,
) -> Result<ForkReport, ForkError> {
    let store = keeper.store.as_ref();
    let ForkSurvey { first, owner } = survey(store, asked).await?;
    let (owner, opened) = match part.as_deref() {
        // The first fact as it was written, so that the chain continues.
        Some(RecordedFact { fact: Fact::SessionOpened(part), ts, .. }) => (part.owner.clone(), *ts),
        Some(_) | None => (owner, asked.now),
    };
    let fork = Fork::new(&first, asked.at, &asked.id, owner, opened);
    let fork = fork.map_err(|error| match error {
        InvalidFork::TooDeep => ForkError::TooMany { session: asked.source.clone() },
        InvalidFork::InvalidFact(cause) => {
            ForkError::InvalidFact { session: asked.source.clone(), cause }
        }
    })?;
    let claim = store.claim(&asked.id).await?;
    let mut writing = ForkWriter {
        keeper,
        request: asked,
        fork,
        epoch: claim.epoch,
        existing_last: claim.last,
        blobs: BlobCopy::new(keeper.blobs_of(&asked.source), keeper.blobs_of(&asked.id)),
        session: None,
        written: 0,
    };
    let written = writing.run().await;
    release(store, &asked.id, claim.epoch).await;
    written?;
    Ok(ForkReport {
        facts: writing.written,
        blobs: writing.blobs.written,
        missing: writing.blobs.missing,
        ..asked.unchanged_report()
    })
}

/// Fork that is being written.
struct ForkWriter<'a> {
    keeper: &'a CopyTarget,
    request: &'a ForkRequest,
    fork: Fork,
    epoch: Epoch,
    /// Last position that the fork had before.
    existing_last: Seq,
    blobs: BlobCopy<'a>,
    /// The fork, as far as it was read.
    session: Option<Session>,
    /// Number of written facts.
    written: u64,
}

impl ForkWriter<'_> {
    async fn run(&mut self) -> Result<(), ForkError> {
        if self.existing_last >= self.request.at {
            // Another writer was faster, so this one writes nothing.
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
                self.fold(&fact)?;
                if fact.seq <= self.existing_last {
                    continue;
                }
                let size = text(&fact)?.len();
                let cut = parts.push(Arc::new(fact), size);
                self.append(cut).await?;
            }
            last = end;
        }
        self.append(parts.finish()).await?;
        self.settle().await
    }

    fn fold(&mut self, fact: &RecordedFact) -> Result<(), ForkError> {
        let folded = match &mut self.session {
            Some(session) => session.apply(fact),
            None => evolve_first(fact).map(|session| self.session = Some(session)),
        };
        let session = || self.request.source.clone();
        folded.map_err(|cause| ForkError::InvalidFact { session: session(), cause })
    }

    /// Settles the turn that is open at the position. If this process ends before, the first one
    /// that opens the fork settles it: both decide a recovery.
    async fn settle(&mut self) -> Result<(), ForkError> {
        let Some(session) = self.session.take_if(|session| session.turn().is_some()) else {
            return Ok(());
        };
        let decided = offline::decide(&session, self.request.now, Input::Recover);
        let facts = decided.map_err(|reject| {
            let id = &self.request.id;
            let context = format!("settling the open turn of session {id}: {reject}");
            StoreError::new(StoreErrorKind::Invalid, context)
        })?;
        self.append(facts).await
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

    /// Reads the next facts of the fork.
    async fn facts(&self, after: Seq) -> Result<Vec<RecordedFact>, ForkError> {
        let left = self.request.at.0.saturating_sub(after.0);
        let limit = usize::try_from(left).unwrap_or(PAGE).min(PAGE);
        let facts = self.keeper.store.read(&self.request.source, after, limit).await?;
        Ok(facts.iter().filter_map(|fact| self.fork.map_fact(fact)).collect())
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
