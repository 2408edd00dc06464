//! Errors of writing and reading cassettes.

use std::io;
use std::path::PathBuf;

use crate::cassette::{CASSETTE_VERSION, CassetteError};
use crate::file::CASSETTE_BYTES;

/// Error of writing or reading a cassette.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A new one was to be made where there is a file.
    #[error("{} exists: record into a new file, append to it on purpose, or remove it", .0.display())]
    Exists(PathBuf),
    /// Somebody records into it at the moment.
    #[error("{} is being recorded into by somebody else: wait for it, or use another file", .0.display())]
    Locked(PathBuf),
    /// It is a folder, a FIFO, a device or the like.
    #[error("{} is no plain file: a cassette is one; name another", .0.display())]
    NotAFile(PathBuf),
    /// A newer version wrote it.
    #[error(
        "{} is a cassette of version {version}, and this program reads up to version \
         {CASSETTE_VERSION}: use a newer one, or record again",
        path.display()
    )]
    Newer {
        /// Path of the cassette.
        path: PathBuf,
        /// Version of the cassette.
        version: u32,
    },
    /// A line of it is not what a recorder writes.
    #[error(
        "line {line} of the cassette {} does not read: {source}; correct it, or record again",
        path.display()
    )]
    Malformed {
        /// Path of the cassette.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Parse error of the line.
        source: serde_json::Error,
    },
    /// It has no whole first line.
    #[error("{} is no cassette: its first line does not say its version; record again", .0.display())]
    NoHead(PathBuf),
    /// It is larger than what is read.
    #[error(
        "the cassette {} is larger than {CASSETTE_BYTES} bytes: record into several",
        .0.display()
    )]
    TooLarge(PathBuf),
    /// The operating system failed.
    #[error("{operation} the cassette {}: {source}", path.display())]
    Io {
        /// Operation that failed.
        operation: &'static str,
        /// Path of the cassette.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl ReplayError {
    pub(crate) fn of(fault: CassetteError, path: PathBuf) -> Self {
        match fault {
            CassetteError::Newer(version) => Self::Newer { path, version },
            CassetteError::Line(line, source) => Self::Malformed { path, line, source },
            CassetteError::NoHead => Self::NoHead(path),
        }
    }
}
