//! Checkpoints: the fold of a log, serialised to bytes that a store keeps beside the log.

use std::io::{self, Write};
use std::sync::{Arc, LazyLock};

use windlass_core::{CHECKPOINT_VERSION, Checkpoint, RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, StoreError, StoreErrorKind, StoredCheckpoint, VerifiedLog};

use crate::error::StartError;
use crate::load::LogFold;

/// Version of a checkpoint: engine, fold and format.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let engine = env!("CARGO_PKG_VERSION");
    format!("windlass {engine}, fold {CHECKPOINT_VERSION}, json")
});

/// Checkpoint of a session in a store.
pub(crate) enum CheckpointLookup {
    /// Valid checkpoint.
    Valid(Box<Checkpoint>),
    /// No checkpoint of this version.
    None,
    /// Damaged checkpoint.
    Unusable {
        /// Position of the checkpoint.
        at: Seq,
        /// Description of the fault.
        why: String,
    },
}

/// Looks for a checkpoint. A store failure counts as none.
pub(crate) async fn find(store: &dyn LogStore, id: &SessionId) -> CheckpointLookup {
    if store.capabilities().max_checkpoint_bytes.is_none() {
        return CheckpointLookup::None;
    }
    let kept = match store.read_checkpoint(id, &VERSION).await {
        Ok(Some(kept)) => kept,
        Ok(None) => return CheckpointLookup::None,
        Err(error) if error.kind == StoreErrorKind::Unknown => return CheckpointLookup::None,
        Err(error) => {
            tracing::warn!(session = %id, %error, "no checkpoint: the whole log is read");
            return CheckpointLookup::None;
        }
    };
    let at = kept.seq;
    match read(id, &kept) {
        Ok(folded) => CheckpointLookup::Valid(folded),
        Err(why) => CheckpointLookup::Unusable { at, why },
    }
}

fn read(id: &SessionId, kept: &StoredCheckpoint) -> Result<Box<Checkpoint>, String> {
    if kept.version != *VERSION {
        return Err(format!("it is of another version, {}", kept.version));
    }
    // Checked once here, and not for each string.
    let text = std::str::from_utf8(&kept.bytes).map_err(|error| error.to_string())?;
    let folded: Box<Checkpoint> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if folded.session.id != *id {
        return Err(format!("it is one of session {}", folded.session.id));
    }
    if folded.last() != kept.seq {
        return Err(format!("it ends at position {}", folded.last()));
    }
    Ok(folded)
}

/// Result of storing a checkpoint.
pub(crate) enum CheckpointWrite {
    /// Stored, with this many bytes.
    Written(usize),
    /// Larger than the store accepts.
    TooLarge,
    /// The store failed.
    Failed,
}

/// Stores a checkpoint of up to `limit` bytes.
pub(crate) async fn write(
    store: Arc<dyn LogStore>,
    folded: Checkpoint,
    limit: usize,
) -> CheckpointWrite {
    let (id, seq) = (folded.session.id.clone(), folded.last());
    let mut bytes = BoundedBuffer { bytes: Vec::new(), limit };
    if let Err(error) = serde_json::to_writer(&mut bytes, &folded) {
        tracing::debug!(session = %id, at = %seq, limit, %error, "no checkpoint is stored");
        return CheckpointWrite::TooLarge;
    }
    drop(folded);
    let snapshot = StoredCheckpoint { seq, version: VERSION.clone(), bytes: bytes.bytes };
    match store.write_checkpoint(&id, &snapshot).await {
        Ok(()) => CheckpointWrite::Written(snapshot.bytes.len()),
        Err(error) if error.kind == StoreErrorKind::TooLarge => CheckpointWrite::TooLarge,
        Err(error) => {
            tracing::warn!(session = %id, at = %seq, %error, "no checkpoint is stored");
            CheckpointWrite::Failed
        }
    }
}

/// Buffer that accepts up to a limit of bytes.
struct BoundedBuffer {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for BoundedBuffer {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if more.len() > self.limit.saturating_sub(self.bytes.len()) {
            return Err(io::Error::other("it is larger than the store keeps"));
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Comparison of a fully folded log with its checkpoint.
#[derive(Debug)]
pub struct CheckpointAudit {
    /// The folded log.
    pub loaded: Checkpoint,
    /// Position of the checkpoint that agrees with the log; `None` if there is none that this
    /// engine would use.
    pub checkpoint: Option<Seq>,
    /// Fault of the checkpoint, if it has one: a defect of the engine or of the store.
    pub fault: Option<String>,
}

/// Verifies logs in their store, and returns each with its checkpoint and, if it has at most `limit`
/// facts, with its facts: what [`audit`] needs.
pub async fn verify_logs(
    store: &dyn LogStore,
    ids: &[SessionId],
    limit: usize,
) -> Vec<Result<VerifiedLog, StoreError>> {
    store.verify_logs(ids, limit, &VERSION).await
}

/// Folds a session's whole log and compares it with the session's checkpoint. Reads the facts that
/// `log` lacks, `page` at a time. Passes each fact to `each`.
///
/// # Errors
/// As [`load`](crate::load()). A wrong checkpoint is no error: see [`CheckpointAudit::fault`].
pub async fn audit(
    store: &dyn LogStore,
    id: &SessionId,
    page: usize,
    log: VerifiedLog,
    each: &mut (dyn FnMut(&RecordedFact) + Send),
) -> Result<CheckpointAudit, StartError> {
    let mut audit = Audit { fold: LogFold::new(id), kept: None, agrees: None, fault: None };
    if let Some(kept) = log.checkpoint {
        match read(id, &kept) {
            Ok(kept) => audit.kept = Some(kept),
            Err(why) => {
                audit.fault = Some(format!("the checkpoint at position {}: {why}", kept.seq));
            }
        }
    }
    for fact in &log.facts {
        audit.add(fact)?;
        each(fact);
    }
    // The log may have grown since, up to the checkpoint.
    let mut more = log.facts.is_empty() || audit.kept.is_some();
    while more {
        let page = page.max(1);
        let facts = store.read(id, audit.fold.position(), page).await?;
        for fact in &facts {
            audit.add(fact)?;
            each(fact);
        }
        more = facts.len() == page;
    }
    if let Some(kept) = audit.kept {
        let at = kept.last();
        audit.fault = Some(format!("the log ends before the checkpoint at position {at}"));
    }
    Ok(CheckpointAudit { loaded: audit.fold.end()?, checkpoint: audit.agrees, fault: audit.fault })
}

/// Log that is folded and compared with its checkpoint.
struct Audit {
    fold: LogFold,
    /// The checkpoint, until the fold has reached its position.
    kept: Option<Box<Checkpoint>>,
    agrees: Option<Seq>,
    fault: Option<String>,
}

impl Audit {
    fn add(&mut self, fact: &RecordedFact) -> Result<(), StartError> {
        self.fold.apply(fact)?;
        let Some(kept) = self.kept.take_if(|kept| kept.last() == fact.seq) else {
            return Ok(());
        };
        match Some(&*kept) == self.fold.folded() {
            true => self.agrees = Some(fact.seq),
            false => {
                let at = fact.seq;
                self.fault =
                    Some(format!("the checkpoint at position {at} is not what the log folds to"));
            }
        }
        Ok(())
    }
}
