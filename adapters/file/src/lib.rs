#![doc = include_str!("../README.md")]

mod beat;
mod blobs;
mod bytes;
mod disk;
mod erasing;
mod error;
#[cfg(test)]
mod faults;
mod format;
#[doc(hidden)]
pub mod fuzzing;
mod index;
mod keeper;
mod lane;
mod locks;
mod log;
mod lost;
mod map;
mod medium;
mod places;
#[cfg(test)]
mod power;
mod reader;
mod remains;
mod scan;
mod shelf;
mod snapshots;
mod store;
mod truncate;
mod upkeep;
mod window;

pub use blobs::{BlobLimits, FileBlobs};
pub use lost::{Loss, NoStretch, Stretch, StretchAt};
pub use remains::Remains;
pub use store::FileStore;
pub use truncate::Cut;
pub use upkeep::{Kept, Upkeep};
