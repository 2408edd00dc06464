//! Store in the embedded database sled.

use std::sync::Arc;

use windlass_sled::SledStore;

use super::StoreScheme;
use super::file::open_folder;

pub(super) fn scheme() -> StoreScheme {
    StoreScheme::path("sled", |path| open_folder(path, |path| Ok(Arc::new(SledStore::open(path)?))))
        .with_damaged(|path| open_folder(path, |path| Ok(Arc::new(SledStore::open_damaged(path)?))))
}
