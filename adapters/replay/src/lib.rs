#![doc = include_str!("../README.md")]

mod cassette;
mod difference;
mod error;
mod file;
#[doc(hidden)]
pub mod fuzzing;
mod matching;
mod recorder;
mod redaction;
mod replayer;

pub use cassette::{CASSETTE_VERSION, EXCHANGE_BYTES};
pub use error::ReplayError;
pub use file::CASSETTE_BYTES;
pub use recorder::Recorder;
pub use redaction::Redaction;
pub use replayer::{Replayer, UnmatchedRequest};
