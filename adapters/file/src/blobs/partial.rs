//! An unfinished blob, in a file under a temporary name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use windlass_core::StoredOutput;

use crate::disk::{LogFile, write_all_at};

/// An unfinished blob. Dropping it removes the file.
pub(super) struct PartialBlob {
    file: Box<dyn LogFile>,
    path: PathBuf,
    hash: Sha256,
    bytes: u64,
    named: bool,
}

impl PartialBlob {
    pub(super) fn new(file: Box<dyn LogFile>, path: PathBuf) -> Self {
        Self { file, path, hash: Sha256::new(), bytes: 0, named: false }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        write_all_at(&*self.file, bytes, self.bytes)?;
        self.hash.update(bytes);
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        Ok(())
    }

    /// Makes the content durable and renames the file to its digest.
    pub(super) fn finish(
        mut self,
        name: impl FnOnce(&Path, &str) -> io::Result<()>,
    ) -> io::Result<StoredOutput> {
        self.file.sync()?;
        let kept = StoredOutput { sha256: hex(self.hash.clone()), bytes: self.bytes };
        name(&self.path, &kept.sha256)?;
        self.named = true;
        Ok(kept)
    }
}

impl Drop for PartialBlob {
    fn drop(&mut self) {
        if self.named {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            // It is swept away when the session keeps something again.
            tracing::warn!(%error, "an unfinished output could not be removed");
        }
    }
}

/// Formats a digest in hexadecimal.
pub(super) fn hex(hash: Sha256) -> String {
    let digest = hash.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
