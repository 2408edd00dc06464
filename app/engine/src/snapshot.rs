//! Snapshots: what a log folds to, as the bytes that a store keeps beside it.

use std::io::{self, Write};
use std::sync::{Arc, LazyLock};

use windlass_core::{FOLD_VERSION, Folded, Seq, SessionId};
use windlass_ports::{LogStore, Snapshot, StoreErrorKind};

use crate::error::StartError;
use crate::load::Folding;

/// Version of a snapshot: engine, fold and format.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let engine = env!("CARGO_PKG_VERSION");
    format!("windlass {engine}, fold {FOLD_VERSION}, json")
});

/// Snapshot of a session in a store.
pub(crate) enum Found {
    /// A snapshot that holds together.
    Whole(Box<Folded>),
    /// None of this version.
    None,
    /// One that should be whole and is not.
    Unusable {
        /// Position of the snapshot.
        at: Seq,
        /// Description of the fault.
        why: String,
    },
}

/// Looks for a snapshot. A store that fails at it keeps none.
pub(crate) async fn find(store: &dyn LogStore, id: &SessionId) -> Found {
    if store.capabilities().snapshots.is_none() {
        return Found::None;
    }
    let kept = match store.snapshot(id, &VERSION).await {
        Ok(Some(kept)) => kept,
        Ok(None) => return Found::None,
        Err(error) if error.kind == StoreErrorKind::Unknown => return Found::None,
        Err(error) => {
            tracing::warn!(session = %id, %error, "no snapshot: the whole log is read");
            return Found::None;
        }
    };
    let at = kept.seq;
    match read(id, &kept) {
        Ok(folded) => Found::Whole(folded),
        Err(why) => Found::Unusable { at, why },
    }
}

fn read(id: &SessionId, kept: &Snapshot) -> Result<Box<Folded>, String> {
    if kept.version != *VERSION {
        return Err(format!("it is of another version, {}", kept.version));
    }
    let folded: Box<Folded> =
        serde_json::from_slice(&kept.bytes).map_err(|error| error.to_string())?;
    if folded.session.id != *id {
        return Err(format!("it is one of session {}", folded.session.id));
    }
    if folded.last() != kept.seq {
        return Err(format!("it ends at position {}", folded.last()));
    }
    Ok(folded)
}

/// Result of storing a snapshot.
pub(crate) enum Kept {
    /// It is kept, with so many bytes.
    Bytes(usize),
    /// It is larger than the store keeps.
    TooLarge,
    /// The store did not keep it.
    Failed,
}

/// Keeps a snapshot of up to `limit` bytes.
pub(crate) async fn keep(store: Arc<dyn LogStore>, folded: Folded, limit: usize) -> Kept {
    let (id, seq) = (folded.session.id.clone(), folded.last());
    let mut bytes = Bounded {
        bytes: Vec::new(),
        limit,
    };
    if let Err(error) = serde_json::to_writer(&mut bytes, &folded) {
        tracing::debug!(session = %id, at = %seq, limit, %error, "no snapshot is kept");
        return Kept::TooLarge;
    }
    drop(folded);
    let snapshot = Snapshot {
        seq,
        version: VERSION.clone(),
        bytes: bytes.bytes,
    };
    match store.keep_snapshot(&id, &snapshot).await {
        Ok(()) => Kept::Bytes(snapshot.bytes.len()),
        Err(error) if error.kind == StoreErrorKind::TooLarge => Kept::TooLarge,
        Err(error) => {
            tracing::warn!(session = %id, at = %seq, %error, "no snapshot is kept");
            Kept::Failed
        }
    }
}

/// Takes up to so many bytes.
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for Bounded {
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

/// A log that was folded whole, and held against the snapshot that is kept of it.
#[derive(Debug)]
pub struct Audited {
    /// The folded log.
    pub loaded: Folded,
    /// The position of the snapshot that agrees with the log; `None` where none is kept that this
    /// engine would use.
    pub snapshot: Option<Seq>,
    /// Fault of the snapshot, if it has one: a defect of the engine or of the store.
    pub fault: Option<String>,
}

/// Folds a session's whole log, `page` facts at a time, and compares what a snapshot of it holds.
///
/// # Errors
/// As [`load`](crate::load()). A snapshot that is off is no error: see [`Audited::fault`].
pub async fn audit(
    store: &dyn LogStore,
    id: &SessionId,
    page: usize,
) -> Result<Audited, StartError> {
    let (mut kept, mut fault) = match find(store, id).await {
        Found::Whole(kept) => (Some(kept), None),
        Found::None => (None, None),
        Found::Unusable { at, why } => {
            (None, Some(format!("the snapshot at position {at}: {why}")))
        }
    };
    let (mut folding, mut agrees) = (Folding::new(id), None);
    let mut more = true;
    while more {
        let position = folding.position();
        let until = kept.as_ref().map(|kept| kept.last());
        let left = until.map_or(u64::MAX, |at| at.0.saturating_sub(position.0));
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        more = folding.read(store, page.max(1).min(left)).await?;
        if until.is_some_and(|at| folding.position() == at) {
            let kept = kept.take();
            let same = kept.as_deref() == folding.folded();
            agrees = same.then_some(folding.position());
            if !same {
                let at = folding.position();
                fault = Some(format!(
                    "the snapshot at position {at} is not what the log folds to"
                ));
            }
            // A page that ended with the snapshot says nothing of what follows.
            more = true;
        }
    }
    if let Some(kept) = kept {
        let at = kept.last();
        fault = Some(format!("the log ends before the snapshot at position {at}"));
    }
    Ok(Audited {
        loaded: folding.end()?,
        snapshot: agrees,
        fault,
    })
}
