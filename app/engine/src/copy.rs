//! Copy: a session from one store to another, with what is kept beside its log.
//!
//! Facts are copied byte for byte in their text form, so both logs have one chain. What a fact names is
//! copied before it. A copy that was cut short goes on where the target stands.

use std::sync::Arc;

use windlass_core::{Epoch, Recorded, Seq, SessionId};
use windlass_ports::{BlobError, Blobs, Link, LogStore, StoreError, StoreErrorKind, codec};

use crate::beside::{Beside, NotBrought, Place};

/// Facts that are copied at a time.
pub(crate) const PAGE: usize = 512;

/// A store, and what is kept beside its logs.
#[derive(Clone)]
pub struct Keeper {
    /// The logs.
    pub store: Arc<dyn LogStore>,
    /// What is too long for them.
    pub blobs: Arc<dyn Blobs>,
}

impl Keeper {
    /// What is kept beside a session's log.
    pub(crate) fn beside<'a>(&'a self, session: &'a SessionId) -> Place<'a> {
        Place {
            blobs: &self.blobs,
            session,
        }
    }
}

/// A session that was copied: both logs have this last link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The last position.
    pub last: Seq,
    /// Facts that were written now.
    pub facts: u64,
    /// Outputs and images that were written now.
    pub blobs: u64,
    /// Those that the log names and that are in neither store, or that the target does not keep.
    pub left: u64,
    /// The last link of the chain.
    pub chain: Link,
    /// Why the source was not claimed: then this is the log as far as it was while it was copied, and
    /// whoever writes it may go on.
    pub unclaimed: Option<String>,
}

/// Why a session was not copied. What was written stands, and copying again goes on.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The store that it is copied from failed.
    #[error("{0}")]
    Source(StoreError),
    /// The store that it is copied to failed.
    #[error("{0}")]
    Target(StoreError),
    /// The target has a session of this id whose log is not how this one begins. It is left alone.
    #[error("the target has another session {session}: {what}. It was left alone")]
    Another {
        /// The session.
        session: SessionId,
        /// How they differ.
        what: String,
    },
    /// What is kept beside a log could not be copied.
    #[error("session {session}, what is kept as {sha256}: {error}")]
    Blob {
        /// The session.
        session: SessionId,
        /// Its name.
        sha256: String,
        /// What went wrong.
        error: BlobError,
    },
    /// What the target reads is not what was written to it.
    #[error(
        "session {session} was copied, and the target's log does not verify as the source's: {what}. \
         Do not use it, and report this as a defect of the target's store"
    )]
    Differs {
        /// The session.
        session: SessionId,
        /// How they differ.
        what: String,
    },
}

/// Copies a session.
///
/// The source is claimed meanwhile. Where it cannot be, because it is being written or cannot be written
/// to, what is there is copied, and [`Copied::unclaimed`] says so. The target is claimed, and its log must
/// be how this one begins. At the end the target's log is verified as a whole.
///
/// # Errors
/// [`CopyError`]: a store that fails, another session of that id, a log that does not verify.
pub async fn copy(from: &Keeper, to: &Keeper, session: &SessionId) -> Result<Copied, CopyError> {
    // A claim would begin a session that is not there.
    let first = from.store.read(session, Seq::ZERO, 1).await;
    if first.map_err(CopyError::Source)?.is_empty() {
        let context = format!("there is no session {session} to copy");
        return Err(CopyError::Source(StoreError::new(
            StoreErrorKind::Unknown,
            context,
        )));
    }
    let (epoch, unclaimed) = match from.store.claim(session).await {
        Ok(claim) => (Some(claim.epoch), None),
        Err(error) if may_be_read(&error.kind) => (None, Some(error.to_string())),
        Err(error) => return Err(CopyError::Source(error)),
    };
    let copied = claimed(from, to, session, unclaimed).await;
    if let Some(epoch) = epoch {
        let_go(from, session, epoch).await;
    }
    copied
}

/// Whether a session that cannot be claimed may be read all the same.
fn may_be_read(kind: &StoreErrorKind) -> bool {
    match kind {
        StoreErrorKind::Locked | StoreErrorKind::ReadOnly | StoreErrorKind::Full => true,
        StoreErrorKind::Unknown
        | StoreErrorKind::NotClaimed
        | StoreErrorKind::Conflict { .. }
        | StoreErrorKind::Invalid
        | StoreErrorKind::TooLarge
        | StoreErrorKind::Corrupt { .. }
        | StoreErrorKind::Newer
        | StoreErrorKind::Unsupported
        | StoreErrorKind::Unavailable
        | StoreErrorKind::Io => false,
    }
}

pub(crate) async fn let_go(keeper: &Keeper, session: &SessionId, epoch: Epoch) {
    if let Err(error) = keeper.store.release(session, epoch).await {
        tracing::warn!(%session, %error, "claim not given back");
    }
}

async fn claimed(
    from: &Keeper,
    to: &Keeper,
    session: &SessionId,
    unclaimed: Option<String>,
) -> Result<Copied, CopyError> {
    let claim = to.store.claim(session).await.map_err(CopyError::Target)?;
    let mut copying = Copying {
        from,
        to,
        session,
        epoch: claim.epoch,
        there: claim.last,
        beside: Beside::new(from.beside(session), to.beside(session)),
        copied: Copied {
            last: Seq::ZERO,
            facts: 0,
            blobs: 0,
            left: 0,
            chain: Link::genesis(session),
            unclaimed,
        },
    };
    let copied = copying.run().await;
    let_go(to, session, claim.epoch).await;
    copied.map(|()| Copied {
        blobs: copying.beside.written,
        left: copying.beside.left,
        ..copying.copied
    })
}

struct Copying<'a> {
    from: &'a Keeper,
    to: &'a Keeper,
    session: &'a SessionId,
    /// The claim on the target.
    epoch: Epoch,
    /// The last position that the target had.
    there: Seq,
    beside: Beside<'a>,
    copied: Copied,
}

impl Copying<'_> {
    async fn run(&mut self) -> Result<(), CopyError> {
        self.begun().await?;
        loop {
            let facts = self.read(self.copied.last).await?;
            if facts.is_empty() {
                break;
            }
            self.page(&facts).await?;
        }
        let chain = self.verified().await?;
        if chain != self.copied.chain {
            return Err(CopyError::Differs {
                session: self.session.clone(),
                what: format!("its chain is {chain}, and was {}", self.copied.chain),
            });
        }
        Ok(())
    }

    /// The target's log must be how this one begins, before anything is written beside it.
    async fn begun(&self) -> Result<(), CopyError> {
        if self.there == Seq::ZERO {
            return Ok(());
        }
        let (mut chain, mut last) = (self.copied.chain, Seq::ZERO);
        while last < self.there {
            let facts = self.read(last).await?;
            let Some(end) = facts.last().map(|fact| fact.seq) else {
                let what = format!("it has {} facts, and there are {last} to copy", self.there);
                return Err(self.another(what));
            };
            for fact in &facts {
                chain = chain.then(&self.text(fact)?);
            }
            last = end;
        }
        if self.verified().await? != chain {
            return Err(self.another(format!("the first {last} facts are not the same")));
        }
        Ok(())
    }

    /// The next facts of the source. A page ends where the target's log did, so that all of it is there
    /// or all of it is new.
    async fn read(&self, after: Seq) -> Result<Vec<Arc<Recorded>>, CopyError> {
        let left = self.there.0.saturating_sub(after.0);
        let limit = match usize::try_from(left) {
            Ok(0) | Err(_) => PAGE,
            Ok(left) => left.min(PAGE),
        };
        let facts = self.from.store.read(self.session, after, limit).await;
        let facts = facts.map_err(CopyError::Source)?.into_iter();
        Ok(facts.map(Arc::new).collect())
    }

    fn text(&self, fact: &Recorded) -> Result<Vec<u8>, CopyError> {
        codec::encode(fact).map_err(|error| {
            let context = format!("session {}, fact {}: {error}", self.session, fact.seq);
            CopyError::Source(StoreError::new(StoreErrorKind::Invalid, context))
        })
    }

    async fn verified(&self) -> Result<Link, CopyError> {
        let verified = self.to.store.verify(self.session).await;
        Ok(verified.map_err(CopyError::Target)?.chain)
    }

    fn another(&self, what: String) -> CopyError {
        CopyError::Another {
            session: self.session.clone(),
            what,
        }
    }

    async fn page(&mut self, facts: &[Arc<Recorded>]) -> Result<(), CopyError> {
        let mut chain = self.copied.chain;
        self.beside.page();
        for fact in facts {
            chain = chain.then(&self.text(fact)?);
            let brought = self.beside.bring(&fact.fact).await;
            brought.map_err(|NotBrought { sha256, error }| CopyError::Blob {
                session: self.session.clone(),
                sha256,
                error,
            })?;
        }
        let last = facts.last().map_or(self.copied.last, |fact| fact.seq);
        if last > self.there {
            let after = self.copied.last;
            let append = self.to.store.append(self.session, self.epoch, after, facts);
            append.await.map_err(CopyError::Target)?;
            self.copied.facts = self.copied.facts.saturating_add(facts.len() as u64);
        }
        (self.copied.chain, self.copied.last) = (chain, last);
        Ok(())
    }
}
