//! Checkpoints: the fold of a log, serialised to bytes that a store keeps beside the log.

use std::io::{self, Write};
use std::sync::{Arc, LazyLock};

use windlass_core::{CHECKPOINT_VERSION, Checkpoint, RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, StoreErrorKind, StoredCheckpoint};

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

/// Folds a session's whole log, `page` facts at a time, and compares it with the session's
/// checkpoint. Passes each fact to `each`.
///
/// # Errors
/// As [`load`](crate::load()). A wrong checkpoint is no error: see [`CheckpointAudit::fault`].
pub async fn audit(
    store: &dyn LogStore,
    id: &SessionId,
    page: usize,
    each: &mut (dyn FnMut(&RecordedFact) + Send),
) -> Result<CheckpointAudit, StartError> {
    let (mut kept, mut fault) = match find(store, id).await {
        CheckpointLookup::Valid(kept) => (Some(kept), None),
        CheckpointLookup::None => (None, None),
        CheckpointLookup::Unusable { at, why } => {
            (None, Some(format!("the checkpoint at position {at}: {why}")))
        }
    };
    let (mut folding, mut agrees) = (LogFold::new(id), None);
    let mut more = true;
    while more {
        let position = folding.position();
        let until = kept.as_ref().map(|kept| kept.last());
        let left = until.map_or(u64::MAX, |at| at.0.saturating_sub(position.0));
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        more = folding.read_each(store, page.max(1).min(left), each).await?;
        if until.is_some_and(|at| folding.position() == at) {
            let kept = kept.take();
            let same = kept.as_deref() == folding.folded();
            agrees = same.then_some(folding.position());
            if !same {
                let at = folding.position();
                fault =
                    Some(format!("the checkpoint at position {at} is not what the log folds to"));
            }
            // The page ended at the checkpoint, so more facts may follow.
            more = true;
        }
    }
    if let Some(kept) = kept {
        let at = kept.last();
        fault = Some(format!("the log ends before the checkpoint at position {at}"));
    }
    Ok(CheckpointAudit { loaded: folding.end()?, checkpoint: agrees, fault })
}
