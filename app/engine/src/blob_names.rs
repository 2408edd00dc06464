//! Blob names: the blobs that a log names, and how they are copied from one session to another.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::{Fact, SessionId};
use windlass_ports::{BlobError, BlobErrorKind, BlobStore};

/// Bytes of a blob that are copied at a time.
const PART: usize = 256 * 1024;

/// Source or target of a copy.
#[derive(Clone, Copy)]
pub(crate) struct BlobLocation<'a> {
    pub(crate) blobs: &'a Arc<dyn BlobStore>,
    pub(crate) session: &'a SessionId,
}

/// Outputs and images on their way.
pub(crate) struct BlobCopy<'a> {
    from: BlobLocation<'a>,
    to: BlobLocation<'a>,
    /// Names checked since the last page; a log may repeat a name often.
    checked: BTreeSet<String>,
    /// Number of blobs that were written by this copy.
    pub(crate) written: u64,
    /// Number of named blobs that neither store has, or that the target cannot store.
    pub(crate) missing: u64,
}

/// Object that could not be copied.
#[derive(Debug)]
pub(crate) struct BlobCopyError {
    /// Name of the object.
    pub(crate) sha256: String,
    pub(crate) error: BlobError,
}

impl<'a> BlobCopy<'a> {
    pub(crate) fn new(from: BlobLocation<'a>, to: BlobLocation<'a>) -> Self {
        Self { from, to, checked: BTreeSet::new(), written: 0, missing: 0 }
    }

    /// Starts another page.
    pub(crate) fn start_page(&mut self) {
        self.checked.clear();
    }

    /// Copies the blobs that a fact names, unless the target has them.
    pub(crate) async fn copy_named(&mut self, fact: &Fact) -> Result<(), BlobCopyError> {
        for (sha256, bytes) in fact.blobs() {
            if !self.checked.insert(sha256.to_owned()) {
                continue;
            }
            match self.copy_blob(sha256, bytes).await {
                Ok(true) => self.written = self.written.saturating_add(1),
                Ok(false) => {}
                Err(error) => match error.kind {
                    BlobErrorKind::Disabled | BlobErrorKind::NotFound => {
                        self.missing = self.missing.saturating_add(1);
                    }
                    BlobErrorKind::Full | BlobErrorKind::Corrupt | BlobErrorKind::Io => {
                        let sha256 = sha256.to_owned();
                        return Err(BlobCopyError { sha256, error });
                    }
                },
            }
        }
        Ok(())
    }

    /// Copies one blob. Returns true if the source has it.
    async fn copy_blob(&self, sha256: &str, bytes: u64) -> Result<bool, BlobError> {
        let (from, to) = (self.from, self.to);
        match to.blobs.verify(to.session, sha256).await {
            Ok(kept) if kept.bytes == bytes => return Ok(false),
            Ok(_) => {}
            Err(error) if error.kind == BlobErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // Verified first, so that nothing is written under a wrong name.
        let kept = from.blobs.verify(from.session, sha256).await?;
        let mut writer = to.blobs.begin(to.session).await?;
        let mut at = 0;
        while at < kept.bytes {
            let part = from.blobs.read(from.session, sha256, at, PART).await?;
            if part.is_empty() {
                break;
            }
            at = at.saturating_add(part.len() as u64);
            writer.write(&part).await?;
        }
        let written = writer.finish().await?;
        if written != kept {
            let most = to.blobs.capabilities().max_bytes;
            let context = format!(
                "the target keeps {} bytes of it as {}, and it has {}; it keeps up to {most} bytes of one",
                written.bytes, written.sha256, kept.bytes
            );
            return Err(BlobError::new(BlobErrorKind::Corrupt, context));
        }
        Ok(true)
    }
}
