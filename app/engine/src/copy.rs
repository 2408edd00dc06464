//! Copy: copies a session with its blobs from one store to another.
//!
//! Facts are copied byte for byte in their text form, so both logs have one chain. The blobs that a
//! fact names are copied before the fact. Repeating an interrupted copy resumes at the target's
//! end. Both stores must verify their logs to the chain of the facts that were read.

use std::sync::Arc;

use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{
    BlobError, BlobStore, ChainLink, LogReader, LogStore, LogVerification, StoreError,
    StoreErrorKind, codec,
};

use crate::append_batcher::AppendBatcher;
use crate::blob_names::{BlobCopy, BlobCopyError, BlobLocation};
use crate::offline::release;

/// Facts for which checked blob names are remembered.
const MAX_CHECKED: u64 = 512;

/// Log store with its blob store.
#[derive(Clone)]
pub struct CopyTarget {
    /// Store of the logs.
    pub store: Arc<dyn LogStore>,
    /// Store of long outputs.
    pub blobs: Arc<dyn BlobStore>,
}

impl CopyTarget {
    /// Returns the location of a session's blobs.
    pub(crate) fn blobs_of<'a>(&'a self, session: &'a SessionId) -> BlobLocation<'a> {
        BlobLocation { blobs: &self.blobs, session }
    }
}

/// Result of a copy. Both logs end with this chain link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyReport {
    /// Last position of the log.
    pub last: Seq,
    /// Number of facts that were written by this copy.
    pub facts: u64,
    /// Number of outputs and images that were written by this copy.
    pub blobs: u64,
    /// Number of named blobs that neither store has, or that the target cannot store.
    pub missing: u64,
    /// Last link of the chain.
    pub chain: ChainLink,
    /// Reason why the source was not claimed. The copy then reflects the log at the time of
    /// copying, and the source's writer may continue.
    pub unclaimed: Option<String>,
}

/// Error of copying a session. Written facts are kept, and repeating the copy continues it.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source store failed.
    #[error("{0}")]
    Source(StoreError),
    /// The target store failed.
    #[error("{0}")]
    Target(StoreError),
    /// The target has a session with this id whose log does not match the start of this one. It is
    /// unchanged.
    #[error("the target has another session {session}: {difference}. It was left alone")]
    OtherSession {
        /// Id of the session.
        session: SessionId,
        /// Description of the difference.
        difference: String,
    },
    /// The target's log contains all of this session and further facts. It is unchanged.
    #[error(
        "session {session} is ahead in the target: it has {target_end} facts there, and {source_end} here. \
         Nothing was copied; to get the rest, copy the other way"
    )]
    TargetAhead {
        /// Id of the session.
        session: SessionId,
        /// Last position of the source.
        source_end: Seq,
        /// Last position of the target.
        target_end: Seq,
    },
    /// A blob could not be copied.
    #[error("session {session}, stored output {sha256}: {error}")]
    Blob {
        /// Id of the session.
        session: SessionId,
        /// Name of the blob.
        sha256: String,
        /// Cause of the failure.
        error: BlobError,
    },
    /// The facts that were read differ from the source's own verification of that log.
    #[error(
        "session {session}: the facts read differ from those that its store verifies: {difference}. \
         Do not use the copy, and report this as a defect of the source store"
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
/// The source is claimed during the copy. If it cannot be claimed, because it is being written or
/// is read-only, its current facts are copied, and [`CopyReport::unclaimed`] has the reason. The
/// target is claimed, and its log must match the start of the source. Both stores verify their
/// logs, which must match the chain of the copied facts. Of a damaged source, the facts before the
/// damage are copied, and the damage is returned as the error.
///
/// # Errors
/// [`CopyError`]: a failing store, a different session with that id or a longer log in the target,
/// or a log that fails verification.
pub async fn copy(
    from: &CopyTarget,
    to: &CopyTarget,
    session: &SessionId,
) -> Result<CopyReport, CopyError> {
    // A claim would create a session that does not exist.
    let first = from.store.read(session, Seq::ZERO, 1).await;
    if first.map_err(CopyError::Source)?.is_empty() {
        let context = format!("there is no session {session} to copy");
        return Err(CopyError::Source(StoreError::new(StoreErrorKind::Unknown, context)));
    }
    let (epoch, unclaimed) = match from.store.claim(session).await {
        Ok(claim) => (Some(claim.epoch), None),
        Err(error) if is_readable_unclaimed(&error.kind) => (None, Some(error.to_string())),
        Err(error) => return Err(CopyError::Source(error)),
    };
    let copied = copy_claimed(from, to, session, unclaimed).await;
    if let Some(epoch) = epoch {
        release(from.store.as_ref(), session, epoch).await;
    }
    copied
}

/// Returns true if a session that cannot be claimed may still be read.
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
        | StoreErrorKind::WrongKey
        | StoreErrorKind::Unsupported
        | StoreErrorKind::Unavailable
        | StoreErrorKind::Io
        | StoreErrorKind::Ended => false,
    }
}

async fn copy_claimed(
    from: &CopyTarget,
    to: &CopyTarget,
    session: &SessionId,
    unclaimed: Option<String>,
) -> Result<CopyReport, CopyError> {
    // Verified before the copy, since a log that is being written continues to grow.
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
            | StoreErrorKind::WrongKey
            | StoreErrorKind::Full
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Unavailable
            | StoreErrorKind::Io
            | StoreErrorKind::Ended => return Err(CopyError::Source(error)),
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
    release(to.store.as_ref(), session, claim.epoch).await;
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
    /// Claim on the target.
    epoch: Epoch,
    /// Last position that the target had.
    target_last: Seq,
    /// Last position to copy: the source's last, or the last one before its damage.
    end: Seq,
    blobs: BlobCopy<'a>,
    batches: AppendBatcher,
    report: CopyReport,
}

impl CopyTask<'_> {
    async fn run(&mut self, source: Result<LogVerification, StoreError>) -> Result<(), CopyError> {
        match (self.check_prefix().await, &source) {
            (Ok(()), _) => {}
            // The damage is the fault here, not the facts that the target has beyond it.
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

    /// Checks that the target's log matches the start of the source, before any blob is written.
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

    /// Returns the last chain link of the first facts of a log, and the position of the last of
    /// them.
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

    /// Adds the next fact and copies the blobs that it names.
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

/// Reads the first facts of a log.
fn read(keeper: &CopyTarget, session: &SessionId, until: Seq) -> LogReader {
    let most = usize::try_from(until.0).unwrap_or(usize::MAX);
    LogReader::new(keeper.store.clone(), session.clone(), Seq::ZERO, most)
}

/// Describes the difference between a store's report on a log and the facts that were read.
fn describe_difference((last, chain): (Seq, ChainLink), (read, was): (Seq, ChainLink)) -> String {
    format!("{last} facts with the chain {chain}, and {read} with {was} were read")
}
