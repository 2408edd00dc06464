//! What the arguments of a call mean. Pure.

use std::path::PathBuf;
use std::sync::Arc;

use super::disk::Overlooked;
use super::strace::{Arg, Call};

impl Call {
    pub(super) fn word(&self, at: usize) -> Option<&str> {
        match self.args.get(at)? {
            Arg::Word(word) => Some(word),
            Arg::Bytes(_) => None,
        }
    }

    /// The number of the open file that it is about.
    pub(super) fn fd(&self) -> i64 {
        self.word(0).and_then(|word| word.parse().ok()).unwrap_or(-1)
    }

    pub(super) fn number(&self, at: usize) -> Result<usize, Overlooked> {
        let number = self.word(at).and_then(|word| word.parse().ok());
        number.ok_or_else(|| Overlooked(format!("{} has no number at {at}", self.name)))
    }

    pub(super) fn bytes(&self, at: usize) -> Result<&Arc<[u8]>, Overlooked> {
        match self.args.get(at) {
            Some(Arg::Bytes(bytes)) => Ok(bytes),
            Some(Arg::Word(_)) | None => {
                Err(Overlooked(format!("{} has no bytes at {at}", self.name)))
            }
        }
    }

    pub(super) fn path_at(&self, at: usize) -> Result<PathBuf, Overlooked> {
        let path = String::from_utf8_lossy(self.bytes(at)?).into_owned();
        Ok(PathBuf::from(path))
    }
}
