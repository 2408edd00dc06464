//! Store in the embedded database sled.

use std::sync::Arc;

use windlass_sled::SledStore;

use super::{Backend, OpenBackend};
use crate::wiring::workspace::folder;

pub(super) const BACKEND: Backend = Backend {
    schemes: &["sled"],
    open: OpenBackend::Folder(|path| {
        Box::pin(folder(path, |path| Ok(Arc::new(SledStore::open(path)?))))
    }),
    open_damaged: Some(|path| {
        Box::pin(folder(path, |path| Ok(Arc::new(SledStore::open_damaged(path)?))))
    }),
};
