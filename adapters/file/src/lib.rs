#![doc = include_str!("../README.md")]

mod backend;
mod blobs;
mod bytes;
mod catalog;
mod checkpoints;
mod disk;
mod erasing;
mod error;
mod format;
#[doc(hidden)]
pub mod fuzzing;
mod index;
mod locks;
mod log;
mod maintainer;
mod maintenance;
mod open_segments;
mod paths;
mod probe;
mod reader;
mod repairs;
mod salvage;
mod scan;
mod segment_map;
mod store;
mod tail_poller;
mod truncate;
mod unattributed;
mod window;
mod witness;
mod writer;

pub use blobs::{BlobLimits, FileBlobs};
pub use maintenance::{MaintenancePolicy, MaintenanceReport};
pub use repairs::UnfinishedMaintenance;
pub use salvage::SalvagedData;
pub use store::FileStore;
pub use truncate::LogTruncation;
pub use unattributed::{DamageLocation, DamageRemoval, InvalidDamageLocation, UnattributedDamage};

#[cfg(test)]
mod tests;
