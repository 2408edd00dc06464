//! Fork: a new session that continues a copy of another one's log, in the same store.
//!
//! The other log is only read, as far as it is durable, so it does not matter who drives it. A fork
//! whose log ends before the point is not whole: no engine opens it, and forking again with the same
//! words goes on where it stands.

mod engine;
mod survey;

use std::sync::Arc;

use windlass_core::{
    Epoch, Fact, Fork, Lineage, Misfit, NoFork, Recorded, Scope, Seq, SessionId, SessionOpened,
    Timestamp,
};
use windlass_ports::{BlobError, LogStore, StoreError, StoreErrorKind, codec};

use crate::beside::{Beside, NotBrought};
use crate::copy::{Keeper, let_go};
use crate::parts::Parts;
pub(crate) use engine::whole;
use survey::{Survey, survey};

/// Facts that are read at a time.
const PAGE: usize = 128;

/// A session that was forked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forked {
    /// Id of the new session.
    pub session: SessionId,
    /// The last position that was taken over.
    pub last: Seq,
    /// Facts that were written now; none when it had been forked before.
    pub facts: u64,
    /// Outputs and images that were written now.
    pub blobs: u64,
    /// Those that the log names and that the store does not have.
    pub left: u64,
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
    #[error("session {session}: {}", NoFork::TooMany)]
    TooMany {
        /// Id of the source session.
        session: SessionId,
    },
    /// The other log reads well and does not fit together.
    #[error("session {session}: {misfit}. Run `windlass verify {session}`")]
    Misfit {
        /// Id of the source session.
        session: SessionId,
        /// Cause of the failure.
        misfit: Misfit,
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
    Shut(SessionId),
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
pub struct ForkAt {
    /// The session that is forked.
    pub of: SessionId,
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
pub async fn fork(keeper: &Keeper, asked: &ForkAt) -> Result<Forked, ForkError> {
    match stands(keeper.store.as_ref(), asked).await? {
        Stands::Whole => Ok(asked.done()),
        Stands::Nothing => write(keeper, asked, None).await,
        Stands::Part(first) => write(keeper, asked, Some(first)).await,
        Stands::Another => Err(taken(keeper.store.as_ref(), asked).await),
    }
}

/// As [`fork()`], where the new session is driven: nothing is written, and either it is the fork that
/// is asked for or its id is taken.
async fn find(keeper: &Keeper, asked: &ForkAt) -> Result<Forked, ForkError> {
    match stands(keeper.store.as_ref(), asked).await? {
        Stands::Whole => Ok(asked.done()),
        Stands::Nothing | Stands::Part(_) | Stands::Another => {
            Err(taken(keeper.store.as_ref(), asked).await)
        }
    }
}

/// State of a fork.
enum Stands {
    Nothing,
    /// A fork as it is asked for that is not whole, by its first fact.
    Part(Arc<Recorded>),
    /// The fork as it is asked for.
    Whole,
    /// A session that is none.
    Another,
}

impl ForkAt {
    /// It is there already.
    fn done(&self) -> Forked {
        Forked {
            session: self.id.clone(),
            last: self.at,
            facts: 0,
            blobs: 0,
            left: 0,
        }
    }

    /// Returns true if a session with this opening is what is asked for.
    fn is(&self, opened: &SessionOpened) -> bool {
        let of = match &opened.lineage {
            Lineage::Fork { of, at, .. } => *of == self.of && *at == self.at,
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
) -> Result<Option<Recorded>, StoreError> {
    match store.read(session, after, 1).await {
        Ok(facts) => Ok(facts.into_iter().next()),
        Err(error) if error.kind == StoreErrorKind::Unknown => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the state of the requested fork.
async fn stands(store: &dyn LogStore, asked: &ForkAt) -> Result<Stands, ForkError> {
    let Some(first_) = first(store, &asked.id, Seq::ZERO).await? else {
        return Ok(Stands::Nothing);
    };
    let Fact::SessionOpened(opened) = &first_.fact else {
        return Ok(Stands::Another);
    };
    if !asked.is(opened) {
        return Ok(Stands::Another);
    }
    let before = Seq(asked.at.0.saturating_sub(1));
    Ok(match first(store, &asked.id, before).await? {
        Some(_) => Stands::Whole,
        None => Stands::Part(Arc::new(first_)),
    })
}

/// Returns the reason why a fork to an existing id is refused; faults of the request come first.
async fn taken(store: &dyn LogStore, asked: &ForkAt) -> ForkError {
    match survey(store, asked).await {
        Ok(_) => ForkError::Exists(asked.id.clone()),
        Err(error) => error,
    }
}

/// Writes a fork, or what is missing of it. Nothing may drive the new session.
async fn write(
    keeper: &Keeper,
    asked: &ForkAt,
    part: Option<Arc<Recorded>>,
) -> Result<Forked, ForkError> {
    let store = keeper.store.as_ref();
    let Survey { first, owner } = survey(store, asked).await?;
    let (owner, opened) = match part.as_deref() {
        // As it was begun, so that both are one.
        Some(Recorded {
            fact: Fact::SessionOpened(part),
            ts,
            ..
        }) => (part.owner.clone(), *ts),
        Some(_) | None => (owner, asked.now),
    };
    let fork = Fork::new(&first, asked.at, &asked.id, owner, opened);
    let fork = fork.map_err(|error| match error {
        NoFork::TooMany => ForkError::TooMany {
            session: asked.of.clone(),
        },
        NoFork::Misfit(misfit) => ForkError::Misfit {
            session: asked.of.clone(),
            misfit,
        },
    })?;
    let claim = store.claim(&asked.id).await?;
    let mut writing = Writing {
        keeper,
        asked,
        fork,
        epoch: claim.epoch,
        there: claim.last,
        beside: Beside::new(keeper.beside(&asked.of), keeper.beside(&asked.id)),
        written: 0,
    };
    let written = writing.run().await;
    let_go(keeper, &asked.id, claim.epoch).await;
    written?;
    Ok(Forked {
        facts: writing.written,
        blobs: writing.beside.written,
        left: writing.beside.left,
        ..asked.done()
    })
}

/// A fork on its way into the store.
struct Writing<'a> {
    keeper: &'a Keeper,
    asked: &'a ForkAt,
    fork: Fork,
    epoch: Epoch,
    /// The last position that it had.
    there: Seq,
    beside: Beside<'a>,
    /// Facts that were written.
    written: u64,
}

impl Writing<'_> {
    async fn run(&mut self) -> Result<(), ForkError> {
        if self.there >= self.asked.at {
            // Somebody was faster. Whoever it was, this one writes nothing.
            return match stands(self.keeper.store.as_ref(), self.asked).await? {
                Stands::Whole => Ok(()),
                Stands::Nothing | Stands::Part(_) | Stands::Another => {
                    Err(ForkError::Exists(self.asked.id.clone()))
                }
            };
        }
        self.begun().await?;
        let (mut last, mut parts) = (Seq::ZERO, Parts::default());
        while last < self.asked.at {
            let facts = self.facts(last).await?;
            let Some(end) = facts.last().map(|fact| fact.seq) else {
                let context = format!(
                    "session {} ended at {last} while it was forked at {}: it was erased",
                    self.asked.of, self.asked.at
                );
                return Err(StoreError::new(StoreErrorKind::Unknown, context).into());
            };
            self.beside.page();
            for fact in facts {
                let brought = self.beside.bring(&fact.fact).await;
                brought.map_err(|NotBrought { sha256, error }| ForkError::Blob {
                    session: self.asked.of.clone(),
                    sha256,
                    error,
                })?;
                if fact.seq <= self.there {
                    continue;
                }
                let size = text(&fact)?.len();
                let cut = parts.push(Arc::new(fact), size);
                self.append(cut).await?;
            }
            last = end;
        }
        self.append(parts.rest()).await
    }

    /// Checks that the existing log equals the start of the fork.
    async fn begun(&self) -> Result<(), ForkError> {
        let mut last = Seq::ZERO;
        while last < self.there {
            let left = usize::try_from(self.there.0.saturating_sub(last.0)).unwrap_or(PAGE);
            let store = &self.keeper.store;
            let there = store.read(&self.asked.id, last, left.min(PAGE)).await?;
            let facts = self.facts(last).await?;
            let same = !there.is_empty() && facts.starts_with(&there);
            if !same {
                return Err(ForkError::Exists(self.asked.id.clone()));
            }
            last = there.last().map_or(last, |fact| fact.seq);
        }
        Ok(())
    }

    /// The next facts of the fork.
    async fn facts(&self, after: Seq) -> Result<Vec<Recorded>, ForkError> {
        let left = self.asked.at.0.saturating_sub(after.0);
        let limit = usize::try_from(left).unwrap_or(PAGE).min(PAGE);
        let facts = self.keeper.store.read(&self.asked.of, after, limit).await?;
        Ok(facts
            .iter()
            .filter_map(|fact| self.fork.take(fact))
            .collect())
    }

    async fn append(&mut self, facts: Vec<Arc<Recorded>>) -> Result<(), ForkError> {
        let Some(first) = facts.first() else {
            return Ok(());
        };
        let after = Seq(first.seq.0.saturating_sub(1));
        let (store, id) = (&self.keeper.store, &self.asked.id);
        store.append(id, self.epoch, after, &facts).await?;
        self.written = self.written.saturating_add(facts.len() as u64);
        Ok(())
    }
}

fn text(fact: &Recorded) -> Result<Vec<u8>, ForkError> {
    codec::encode(fact).map_err(|error| {
        let context = format!("session {}, fact {}: {error}", fact.session, fact.seq);
        ForkError::Store(StoreError::new(StoreErrorKind::Invalid, context))
    })
}
