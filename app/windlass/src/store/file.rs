//! Store of plain files in a folder, and the blob store of every store in a folder.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_engine::ports::{LogStore, StoreError, StoreErrorKind};
use windlass_file::{FileBlobs, FileStore};

use super::{OpenStore, StoreScheme, StoreUrlError};

pub(super) fn scheme() -> StoreScheme {
    StoreScheme::path("file", |path| open_folder(path, |path| Ok(Arc::new(FileStore::open(path)?))))
}

/// Opens a store in a folder, with its blob store.
pub(super) async fn open_folder(
    path: PathBuf,
    open: fn(PathBuf) -> Result<Arc<dyn LogStore>, StoreError>,
) -> Result<OpenStore, StoreUrlError> {
    let blobs = Arc::new(FileBlobs::new(path.clone()));
    // Opening reads files and may wait for a lock, so it runs on a blocking thread.
    let opened = tokio::task::spawn_blocking(move || open(path)).await;
    let opened = opened.map_err(|error| {
        StoreError::new(StoreErrorKind::Io, format!("cannot open the store: {error}"))
    })?;
    Ok(OpenStore { store: opened?, blobs, shared: None })
}
