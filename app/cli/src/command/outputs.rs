//! Outputs in an export: blobs of a log, as lines after its facts.
//!
//! A line is `{"output": SHA256, "of": BYTES, "at": OFFSET, "base64": PART}`. The parts of one
//! output are consecutive and have up to 192 KiB each.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use windlass_engine::core::{RecordedFact, SessionId};
use windlass_engine::ports::{BlobErrorKind, BlobStore, BlobWriter};

use super::closed;
use crate::exit::{ExitKind, Failure};
use crate::present::print_json;

/// Bytes of a part.
const PART: usize = 192 * 1024;

/// Prefix of such a line.
pub(super) const BEGINS: &[u8] = b"{\"output\":";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputPart {
    output: String,
    of: u64,
    at: u64,
    base64: String,
}

/// Outputs that facts name, without duplicates.
#[derive(Debug, Default)]
pub(super) struct OutputNames(BTreeSet<(String, u64)>);

impl OutputNames {
    pub(super) fn add(&mut self, fact: &RecordedFact) {
        let named = fact.fact.blobs();
        self.0.extend(named.map(|(sha256, bytes)| (sha256.to_owned(), bytes)));
    }

    pub(super) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the outputs that are stored.
    pub(super) async fn stored(
        &self,
        blobs: &dyn BlobStore,
        session: &SessionId,
    ) -> Result<Self, Failure> {
        let mut there = BTreeSet::new();
        for (sha256, bytes) in &self.0 {
            match blobs.read(session, sha256, 0, 1).await {
                Ok(_) => {
                    there.insert((sha256.clone(), *bytes));
                }
                Err(error) if error.kind == BlobErrorKind::NotFound => {}
                Err(error) => return Err(Failure::new(ExitKind::Store, error.to_string())),
            }
        }
        Ok(Self(there))
    }

    /// Prints all outputs, each after it was verified.
    pub(super) async fn print(
        &self,
        blobs: &dyn BlobStore,
        session: &SessionId,
    ) -> Result<(), Failure> {
        for (sha256, _) in &self.0 {
            let kept = blobs.verify(session, sha256).await;
            let kept = kept.map_err(|error| Failure::new(ExitKind::Store, error.to_string()))?;
            let mut at = 0;
            loop {
                let part = blobs.read(session, sha256, at, PART).await;
                let part =
                    part.map_err(|error| Failure::new(ExitKind::Store, error.to_string()))?;
                let text = serde_json::to_string(&OutputPart {
                    output: sha256.clone(),
                    of: kept.bytes,
                    at,
                    base64: STANDARD.encode(&part),
                });
                let text =
                    text.map_err(|error| Failure::new(ExitKind::Failed, error.to_string()))?;
                print_json(&text).map_err(closed)?;
                at = at.saturating_add(part.len() as u64);
                if at >= kept.bytes || part.is_empty() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn has(&self, sha256: &str) -> bool {
        self.0.iter().any(|(name, _)| name == sha256)
    }
}

/// Imports the lines of outputs, one after another.
pub(super) struct OutputImporter<'a> {
    pub(super) blobs: &'a dyn BlobStore,
    pub(super) session: &'a SessionId,
    pub(super) names: &'a OutputNames,
    /// Current output: its name, its length, and the number of bytes written.
    pub(super) current: Option<(String, u64, u64, Box<dyn BlobWriter>)>,
    /// Number of outputs written.
    pub(super) written: u64,
}

impl OutputImporter<'_> {
    /// Imports a line. `Err` describes the fault.
    pub(super) async fn push(&mut self, text: &[u8]) -> Result<(), String> {
        let part: OutputPart = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let bytes = STANDARD.decode(&part.base64).map_err(|error| error.to_string())?;
        if part.at == 0 {
            self.end()?;
            if !self.names.has(&part.output) {
                return Err(format!("the log names no output {:?}", part.output));
            }
            let begun = self.blobs.begin(self.session).await;
            let writer = begun.map_err(|error| error.to_string())?;
            self.current = Some((part.output.clone(), part.of, 0, writer));
        }
        let Some((name, of, at, writer)) = &mut self.current else {
            return Err("it is a part of an output whose first part is missing".to_owned());
        };
        if (&*name, *of, *at) != (&part.output, part.of, part.at) {
            return Err("it is not the next part".to_owned());
        }
        let written = writer.write(&bytes).await;
        written.map_err(|error| error.to_string())?;
        *at = at.saturating_add(bytes.len() as u64);
        if *at < *of {
            return Ok(());
        }
        let Some((name, of, _, writer)) = self.current.take() else {
            return Ok(());
        };
        let kept = writer.finish().await.map_err(|error| error.to_string())?;
        if kept.sha256 != name || kept.bytes != of {
            return Err(format!(
                "the output {name} came out as {} bytes of {}",
                kept.bytes, kept.sha256
            ));
        }
        self.written = self.written.saturating_add(1);
        Ok(())
    }

    /// Checks that the last output is complete.
    pub(super) fn end(&self) -> Result<(), String> {
        match &self.current {
            None => Ok(()),
            Some((name, of, at, _)) => {
                Err(format!("the output {name} ends after {at} of {of} bytes"))
            }
        }
    }
}
