//! What the cases share: bytes, sessions, and how an answer is held to what it must be.

use std::future::Future;
use std::time::Duration;

use windlass_core::{SessionId, StoredOutput};
use windlass_ports::{BlobError, BlobErrorKind, BlobStore};

use super::{Checked, Violation};

/// The longest a case may take. Far above what any takes: it only ends a store that hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Answers a violation unless the condition holds.
pub(super) fn ensure(holds: bool, words: impl FnOnce() -> String) -> Checked {
    if holds {
        return Ok(());
    }
    Err(Violation::new(words()))
}

/// Takes the value of what must succeed.
pub(super) fn done<T>(result: Result<T, BlobError>, what: &str) -> Result<T, Violation> {
    result.map_err(|error| Violation::new(format!("{what} failed with {:?}: {error}", error.kind)))
}

/// Holds what must be refused to the kind of its refusal.
pub(super) fn refused<T>(result: Result<T, BlobError>, kind: BlobErrorKind, what: &str) -> Checked {
    let Err(error) = result else {
        let words = format!("{what} succeeded and must be refused as {kind:?}");
        return Err(Violation::new(words));
    };
    ensure(error.kind == kind && !error.context.is_empty(), || {
        format!(
            "{what} must be refused as {kind:?} with words, and was as {:?}: {error}",
            error.kind
        )
    })
}

/// Keeps bytes, written in pieces of so many.
pub(super) async fn keep(
    blobs: &dyn BlobStore,
    session: &SessionId,
    bytes: &[u8],
    piece: usize,
) -> Result<StoredOutput, Violation> {
    let mut writer = done(blobs.begin(session).await, "beginning a blob")?;
    for piece in bytes.chunks(piece) {
        done(writer.write(piece).await, "writing to a blob")?;
    }
    done(writer.finish().await, "finishing a blob")
}

/// Holds a blob to its bytes, read in pages of so many.
pub(super) async fn holds(
    blobs: &dyn BlobStore,
    session: &SessionId,
    kept: &StoredOutput,
    bytes: &[u8],
    page: usize,
) -> Checked {
    let mut read = Vec::new();
    loop {
        let at = read.len() as u64;
        let more = blobs.read(session, &kept.sha256, at, page).await;
        let more = done(more, &format!("reading {} from {at} on", kept.sha256))?;
        let ends = more.len() < page;
        ensure(more.len() <= page, || format!("a read of {page} bytes answered {}", more.len()))?;
        read.extend(more);
        if ends {
            break;
        }
        ensure(read.len() <= bytes.len(), || {
            format!("of {} bytes that must be kept, more are read", bytes.len())
        })?;
    }
    ensure(read == bytes && kept.bytes == bytes.len() as u64, || {
        format!(
            "of {} bytes that must be kept, {} are said to be and {} others, or in another order, \
             were read",
            bytes.len(),
            kept.bytes,
            read.len()
        )
    })
}

/// Bytes in which no two stretches are alike.
pub(super) fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        // Numerical Recipes' generator: it only has to differ from place to place.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..count).map(|_| next()).collect()
}

/// A session's id.
pub(super) fn session(id: &str) -> Result<SessionId, Violation> {
    SessionId::new(id).map_err(|error| Violation::new(error.to_string()))
}

/// Runs a case on several threads, so that what it spawns runs at the same time.
pub(super) fn run(case: impl Future<Output = Checked>) -> Checked {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Violation::new(format!("no runtime for the case: {error}")))?;
    let bounded = async { tokio::time::timeout(PATIENCE, case).await };
    runtime.block_on(bounded).unwrap_or_else(|_| {
        Err(Violation::new(format!("the case did not end within {PATIENCE:?}: the store hangs")))
    })
}
