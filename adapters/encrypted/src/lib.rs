#![doc = include_str!("../README.md")]

mod blob_format;
mod blobs;
mod cipher;
mod error;
mod fact;
mod folder;
mod master;
mod memory;
mod recent;
mod record;
mod rotate;
mod session_keys;
mod source;
mod storage;
mod store;

pub use blobs::EncryptedBlobs;
pub use error::KeyError;
pub use folder::FolderKeys;
pub use master::{InvalidMasterKey, MasterKey, MasterKeys};
pub use memory::MemoryKeys;
pub use rotate::{Rotation, rotate};
pub use session_keys::SessionKeys;
pub use source::{
    COMMAND_VARIABLE, FILE_VARIABLE, InvalidKeySource, KEY_VARIABLE, KeySource, MasterKeyError,
};
pub use storage::KeyStorage;
pub use store::EncryptedStore;
