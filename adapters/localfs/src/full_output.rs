//! The whole of an output that is too long to be shown: handed on, while it comes, to be kept.
//!
//! Another task waits for the store, and what may wait for that task is bounded: a slow store
//! slows the process down, as a slow reader does. A store that fails, or is too slow at the end,
//! costs the rest of the output and nothing else.

use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::JoinHandle;
use windlass_core::StoredOutput;
use windlass_ports::{BlobError, BlobErrorKind, OutputStore};

/// Parts of the output that may wait to be kept.
const WAITING: usize = 8;

/// The whole of an output.
#[derive(Debug)]
pub(crate) struct FullOutput {
    keeper: OutputStore,
    keeping: Option<OutputStorage>,
}

/// Result of storing the whole output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StorageResult {
    /// It is shown whole, or nobody keeps outputs.
    NotStored,
    /// It is kept, as far as the store keeps one output.
    Stored(StoredOutput),
    /// There is no room for it.
    Full,
    /// The store reported a failure.
    Failed,
    /// The store did not end in time.
    Late,
}

#[derive(Debug)]
struct OutputStorage {
    parts: mpsc::Sender<OutputChunk>,
    task: StorageTask,
}

#[derive(Debug)]
enum OutputChunk {
    Bytes(Vec<u8>),
    /// That was all of it.
    End,
}

/// A task that ends when nobody waits for it any more.
#[derive(Debug)]
struct StorageTask(JoinHandle<Result<StoredOutput, BlobError>>);

impl Drop for StorageTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl FullOutput {
    pub(crate) fn new(keeper: OutputStore) -> Self {
        Self { keeper, keeping: None }
    }

    /// Returns true once storing has begun.
    pub(crate) fn is_begun(&self) -> bool {
        self.keeping.is_some()
    }

    /// Begins to keep an output, with what has come of it.
    pub(crate) fn begin(&mut self, so_far: Vec<u8>) {
        let (parts, coming) = mpsc::channel(WAITING);
        let task = tokio::spawn(store_output(self.keeper.clone(), coming));
        self.keeping = Some(OutputStorage { parts, task: StorageTask(task) });
        self.push(&so_far);
    }

    /// Waits until there is room for the next part. Nothing is lost when the future is dropped.
    pub(crate) async fn ready(&self) {
        if let Some(keeping) = &self.keeping {
            // An error says that nothing more is kept, so there is nothing to wait for.
            let _ = keeping.parts.reserve().await;
        }
    }

    /// Hands on what has come, once it has begun.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if let Some(keeping) = &self.keeping {
            // There is room, since `ready` was waited for, or nothing more is kept.
            let sent = keeping.parts.try_send(OutputChunk::Bytes(bytes.to_vec()));
            if let Err(TrySendError::Full(_)) = sent {
                // An output with a hole in it is worse than none.
                keeping.task.0.abort();
            }
        }
    }

    /// Waits until the output is kept. When the future is dropped it is not.
    pub(crate) async fn finish(self) -> StorageResult {
        let Some(OutputStorage { parts, mut task }) = self.keeping else {
            return StorageResult::NotStored;
        };
        // An error says that the task has ended, and why is what it answers.
        let _ = parts.send(OutputChunk::End).await;
        let error = match (&mut task.0).await {
            Ok(Ok(kept)) => return StorageResult::Stored(kept),
            Ok(Err(error)) => error,
            Err(error) => {
                tracing::warn!(%error, "the store of outputs broke off");
                return StorageResult::Failed;
            }
        };
        let fate = match error.kind {
            BlobErrorKind::Disabled => return StorageResult::NotStored,
            BlobErrorKind::Full => StorageResult::Full,
            BlobErrorKind::NotFound | BlobErrorKind::Corrupt | BlobErrorKind::Io => {
                StorageResult::Failed
            }
        };
        tracing::warn!(%error, "an output could not be kept");
        fate
    }
}

impl StorageResult {
    /// Describes the omission of `omitted` of `total` bytes.
    pub(crate) fn describe_omission(&self, omitted: u64, total: u64) -> String {
        match self {
            Self::Stored(StoredOutput { bytes, .. }) if *bytes < total => format!(
                "[... {omitted} bytes omitted; only the first {bytes} bytes of the output are \
                 stored ...]\n"
            ),
            Self::NotStored | Self::Stored(_) => format!("[... {omitted} bytes omitted ...]\n"),
            Self::Full => lost(omitted, "there is no room to keep them"),
            Self::Failed => lost(omitted, "they could not be kept"),
            Self::Late => lost(omitted, "they could not be kept in time"),
        }
    }

    /// Returns true if the store failed to keep the output.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::NotStored | Self::Stored(_) => false,
            Self::Full | Self::Failed | Self::Late => true,
        }
    }

    /// Returns the name of the stored output.
    pub(crate) fn stored_output(&self) -> Option<StoredOutput> {
        match self {
            Self::Stored(kept) => Some(kept.clone()),
            Self::NotStored | Self::Full | Self::Failed | Self::Late => None,
        }
    }
}

fn lost(omitted: u64, why: &str) -> String {
    format!("[... {omitted} bytes omitted, and lost: {why} ...]\n")
}

/// Keeps what comes, up to its end. Without an end it is not kept.
async fn store_output(
    keeper: OutputStore,
    mut coming: mpsc::Receiver<OutputChunk>,
) -> Result<StoredOutput, BlobError> {
    let mut writer = keeper.begin().await?;
    loop {
        match coming.recv().await {
            Some(OutputChunk::Bytes(bytes)) => writer.write(&bytes).await?,
            Some(OutputChunk::End) => return writer.finish().await,
            None => {
                let context = "the run that the output belongs to was abandoned";
                return Err(BlobError::new(BlobErrorKind::Io, context));
            }
        }
    }
}
