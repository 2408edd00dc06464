//! Store in the embedded database sled.

use std::sync::Arc;

use windlass_sled::SledStore;

use super::backend::{Backend, OpenBackend};
use super::open_folder;

pub(super) const BACKEND: Backend = Backend {
    schemes: &["sled"],
    open: OpenBackend::Folder(|path| {
        Box::pin(open_folder(path, |path| Ok(Arc::new(SledStore::open(path)?))))
    }),
    open_damaged: Some(|path| {
        Box::pin(open_folder(path, |path| Ok(Arc::new(SledStore::open_damaged(path)?))))
    }),
};
