//! Copy: a session from one store to another, with what is kept beside its log.
//!
//! Facts are copied byte for byte in their text form, so both logs have one chain. What a fact names is
//! copied before it. A copy that was cut short goes on where the target stands. Both stores' own checks
//! must tell the chain of what was read.

use std::sync::Arc;

use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{
    BlobError, BlobStore, ChainLink, LogReader, LogStore, LogVerification, StoreError,
    StoreErrorKind, codec,
};

use crate::append_batcher::AppendBatcher;
use crate::blob_names::{BlobCopy, BlobCopyError, BlobLocation};

/// Facts whose names are remembered as looked for.
const MAX_CHECKED: u64 = 512;

/// A store, and what is kept beside its logs.
#[derive(Clone)]
pub struct CopyTarget {
    /// Store of the logs.
    pub store: Arc<dyn LogStore>,
    /// Store of long outputs.
    pub blobs: Arc<dyn BlobStore>,
}

impl CopyTarget {
    /// Returns the place of a session's outputs.
    pub(crate) fn blobs_of<'a>(&'a self, session: &'a SessionId) -> BlobLocation<'a> {
        BlobLocation {
            blobs: &self.blobs,
            session,
        }
    }
}

/// A session that was copied: both logs have this last link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyReport {
    /// Last position of the log.
    pub last: Seq,
    /// Facts that were written now.
    pub facts: u64,
    /// Outputs and images that were written now.
    pub blobs: u64,
    /// Those that the log names and that are in neither store, or that the target does not keep.
    pub missing: u64,
    /// The last link of the chain.
    pub chain: ChainLink,
    /// Reason why the source was not claimed: the copy is then the log at the time of copying, and
    /// its writer may continue.
    pub unclaimed: Option<String>,
}

/// Error of copying a session. Written facts are kept, and repeating the copy continues it.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The store that it is copied from failed.
    #[error("{0}")]
    Source(StoreError),
    /// The store that it is copied to failed.
    #[error("{0}")]
    Target(StoreError),
    /// The target has a session of this id whose log is not how this one begins. It is left alone.
    #[error("the target has another session {session}: {difference}. It was left alone")]
    OtherSession {
        /// Id of the session.
        session: SessionId,
        /// Description of the difference.
        difference: String,
    },
    /// The target has all of this session, and more. It is left alone.
    #[error(
        "session {session} is further on in the target: it has {target_end} facts there, and the first \
         {source_end} are all that is to copy. Nothing was copied; to have the rest here, copy the other way"
    )]
    TargetAhead {
        /// Id of the session.
        session: SessionId,
        /// The last position of the source.
        source_end: Seq,
        /// The last position of the target.
        target_end: Seq,
    },
    /// An output beside a log could not be copied.
    #[error("session {session}, what is kept as {sha256}: {error}")]
    Blob {
        /// Id of the session.
        session: SessionId,
        /// Name of the output.
        sha256: String,
        /// Cause of the failure.
        error: BlobError,
    },
    /// The facts that were read differ from the source's own verification of that log.
    #[error(
        "session {session}: what was read of it is not what its store verifies: {difference}. Do not use the \
         copy, and report this as a defect of the store that it is copied from"
    )]
    SourceDiffers {
        /// Id of the session.
        session: SessionId,
        /// Description of the difference.
        difference: String,
    },
    /// The target's log differs from the facts that were written to it.
    #[error(
        "session {session} was copied, and the target's log does not verify as the source's: {difference}. \
         Do not use it, and report this as a defect of the target's store"
    )]
    TargetDiffers {
        /// Id of the session.
        session: SessionId,
        /// Description of the difference.
        difference: String,
    },
}

/// Copies a session.
///
/// The source is claimed meanwhile. Where it cannot be, because it is being written or cannot be written
/// to, what is there is copied, and [`CopyReport::unclaimed`] says so. The target is claimed, and its log must
/// be how this one begins. Both logs are verified as a whole by their stores, and must tell the chain of
/// what was copied. Of a source that is damaged the part before the damage is copied, and the damage is
/// the error.
///
/// # Errors
/// [`CopyError`]: a store that fails, another session of that id or one that is further on, a log that
/// does not verify.
pub async fn copy(
    from: &CopyTarget,
    to: &CopyTarget,
    session: &SessionId,
) -> Result<CopyReport, CopyError> {
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
        Err(error) if is_readable_unclaimed(&error.kind) => (None, Some(error.to_string())),
        Err(error) => return Err(CopyError::Source(error)),
    };
    let copied = copy_claimed(from, to, session, unclaimed).await;
    if let Some(epoch) = epoch {
        release(from, session, epoch).await;
    }
    copied
}

/// Returns true if a session that cannot be claimed may be read all the same.
fn is_readable_unclaimed(kind: &StoreErrorKind) -> bool {
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

pub(crate) async fn release(keeper: &CopyTarget, session: &SessionId, epoch: Epoch) {
    if let Err(error) = keeper.store.release(session, epoch).await {
        tracing::warn!(%session, %error, "claim not given back");
    }
}

async fn copy_claimed(
    from: &CopyTarget,
    to: &CopyTarget,
    session: &SessionId,
    unclaimed: Option<String>,
) -> Result<CopyReport, CopyError> {
    // Before the copy: one that is being written goes on growing.
    let source = from.store.verify(session).await;
    let (until, source) = match source {
        Ok(source) => (source.last, Ok(source)),
        Err(error) => match error.kind {
            StoreErrorKind::Corrupt { after, .. } => (after, Err(error)),
            StoreErrorKind::Unknown
            | StoreErrorKind::Locked
            | StoreErrorKind::NotClaimed
            | StoreErrorKind::Conflict { .. }
            | StoreErrorKind::Invalid
            | StoreErrorKind::TooLarge
            | StoreErrorKind::Newer
            | StoreErrorKind::Full
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Unavailable
            | StoreErrorKind::Io => return Err(CopyError::Source(error)),
        },
    };
    let claim = to.store.claim(session).await.map_err(CopyError::Target)?;
    let mut copying = CopyTask {
        from,
        to,
        session,
        epoch: claim.epoch,
        target_last: claim.last,
        end: until,
        blobs: BlobCopy::new(from.blobs_of(session), to.blobs_of(session)),
        batches: AppendBatcher::default(),
        report: CopyReport {
            last: Seq::ZERO,
            facts: 0,
            blobs: 0,
            missing: 0,
            chain: ChainLink::genesis(session),
            unclaimed,
        },
    };
    let copied = copying.run(source).await;
    release(to, session, claim.epoch).await;
    copied.map(|()| CopyReport {
        blobs: copying.blobs.written,
        missing: copying.blobs.missing,
        ..copying.report
    })
}

struct CopyTask<'a> {
    from: &'a CopyTarget,
    to: &'a CopyTarget,
    session: &'a SessionId,
    /// The claim on the target.
    epoch: Epoch,
    /// The last position that the target had.
    target_last: Seq,
    /// The last position that is copied: the source's last, or the last one before its damage.
    end: Seq,
    blobs: BlobCopy<'a>,
    batches: AppendBatcher,
    report: CopyReport,
}

impl CopyTask<'_> {
    async fn run(&mut self, source: Result<LogVerification, StoreError>) -> Result<(), CopyError> {
        match (self.check_prefix().await, &source) {
            (Ok(()), _) => {}
            // That it has more than stands before the damage is not what is wrong.
            (Err(CopyError::TargetAhead { .. }), Err(_)) => {
                return source.map(|_| ()).map_err(CopyError::Source);
            }
            (Err(error), _) => return Err(error),
        }
        let mut log = read(self.from, self.session, self.end);
        while let Some(fact) = log.next().await.map_err(CopyError::Source)? {
            self.push(fact).await?;
        }
        let rest = self.batches.finish();
        self.append(&rest).await?;
        let source = source.map_err(CopyError::Source)?;
        let (last, chain) = (self.report.last, self.report.chain);
        if (source.last, source.chain) != (last, chain) {
            return Err(CopyError::SourceDiffers {
                session: self.session.clone(),
                difference: describe_difference((source.last, source.chain), (last, chain)),
            });
        }
        let target = self.verified().await?;
        if (target.last, target.chain) != (last, chain) {
            return Err(CopyError::TargetDiffers {
                session: self.session.clone(),
                difference: describe_difference((target.last, target.chain), (last, chain)),
            });
        }
        Ok(())
    }

    /// The target's log must be how this one begins, before anything is written beside it.
    async fn check_prefix(&self) -> Result<(), CopyError> {
        if self.target_last == Seq::ZERO {
            return Ok(());
        }
        let both = self.target_last.min(self.end);
        let (here, chain) = self.chain(self.from, both, CopyError::Source).await?;
        if here == self.target_last {
            return match self.verified().await?.chain == chain {
                true => Ok(()),
                false => Err(self.other_session(here)),
            };
        }
        let (_, begins) = self.chain(self.to, here, CopyError::Target).await?;
        if begins != chain {
            return Err(self.other_session(here));
        }
        Err(CopyError::TargetAhead {
            session: self.session.clone(),
            source_end: here,
            target_end: self.target_last,
        })
    }

    /// The last link of the first facts of a log, and the position of the last of them.
    async fn chain(
        &self,
        keeper: &CopyTarget,
        until: Seq,
        whose: fn(StoreError) -> CopyError,
    ) -> Result<(Seq, ChainLink), CopyError> {
        let mut log = read(keeper, self.session, until);
        let mut chain = ChainLink::genesis(self.session);
        while let Some(fact) = log.next().await.map_err(whose)? {
            chain = chain.next(&self.text(&fact)?);
        }
        Ok((log.position(), chain))
    }

    fn text(&self, fact: &RecordedFact) -> Result<Vec<u8>, CopyError> {
        codec::encode(fact).map_err(|error| {
            let context = format!("session {}, fact {}: {error}", self.session, fact.seq);
            CopyError::Source(StoreError::new(StoreErrorKind::Invalid, context))
        })
    }

    async fn verified(&self) -> Result<LogVerification, CopyError> {
        let verified = self.to.store.verify(self.session).await;
        verified.map_err(CopyError::Target)
    }

    fn other_session(&self, both: Seq) -> CopyError {
        CopyError::OtherSession {
            session: self.session.clone(),
            difference: format!("the first {both} facts are not the same"),
        }
    }

    /// Takes the next fact, and what it names.
    async fn push(&mut self, fact: RecordedFact) -> Result<(), CopyError> {
        let text = self.text(&fact)?;
        if fact.seq.0.is_multiple_of(MAX_CHECKED) {
            self.blobs.start_page();
        }
        let brought = self.blobs.copy_named(&fact.fact).await;
        brought.map_err(|BlobCopyError { sha256, error }| CopyError::Blob {
            session: self.session.clone(),
            sha256,
            error,
        })?;
        (self.report.chain, self.report.last) = (self.report.chain.next(&text), fact.seq);
        if fact.seq <= self.target_last {
            return Ok(());
        }
        let part = self.batches.push(Arc::new(fact), text.len());
        self.append(&part).await
    }

    async fn append(&mut self, part: &[Arc<RecordedFact>]) -> Result<(), CopyError> {
        let Some(first) = part.first() else {
            return Ok(());
        };
        let after = Seq(first.seq.0.saturating_sub(1));
        let append = self.to.store.append(self.session, self.epoch, after, part);
        append.await.map_err(CopyError::Target)?;
        self.report.facts = self.report.facts.saturating_add(part.len() as u64);
        Ok(())
    }
}

/// The first facts of a log.
fn read(keeper: &CopyTarget, session: &SessionId, until: Seq) -> LogReader {
    let most = usize::try_from(until.0).unwrap_or(usize::MAX);
    LogReader::new(keeper.store.clone(), session.clone(), Seq::ZERO, most)
}

/// Describes the difference between a store's report on a log and the facts that were read.
fn describe_difference((last, chain): (Seq, ChainLink), (read, was): (Seq, ChainLink)) -> String {
    format!("{last} facts with the chain {chain}, and {read} with {was} were read")
}
