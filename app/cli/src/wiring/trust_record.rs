//! Record of the instructions that the user has trusted, by path and content.
//!
//! It is in the user's state folder, never in a workspace. A file whose content changed is not
//! trusted any more.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::project_context::ProjectFile;
use super::user_state::state_folder;
use crate::exit::{ExitKind, Failure};

/// Name of the file in the state folder.
const NAME: &str = "trust.json";
/// Version of the format.
const VERSION: u32 = 1;

/// Decisions of the user about files of instructions.
#[derive(Debug)]
pub(crate) struct TrustRecord {
    path: PathBuf,
    files: BTreeMap<PathBuf, TrustEntry>,
}

/// Decision about one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustEntry {
    /// SHA-256 of the text that the decision is about, in hexadecimal.
    sha256: String,
    /// True if the text may be used.
    trusted: bool,
}

/// Form of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    version: u32,
    files: BTreeMap<PathBuf, TrustEntry>,
}

/// Trust in a file of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileTrust {
    Trusted,
    Refused,
    /// It was decided about, and is another text now.
    Changed,
    Unknown,
}

impl TrustRecord {
    /// Reads the record. A missing one is empty.
    pub(crate) fn load() -> Result<Self, Failure> {
        let path = state_folder()?.join(NAME);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self { path, files: BTreeMap::new() });
            }
            Err(error) => return Err(failed("read", &path, &error)),
        };
        let read: TrustFile =
            serde_json::from_slice(&text).map_err(|error| failed("read", &path, &error))?;
        match read.version {
            VERSION => Ok(Self { path, files: read.files }),
            other => Err(failed("read", &path, &format!("its version {other} is unknown"))),
        }
    }

    /// Returns the decision about a file as it is now.
    pub(crate) fn of(&self, file: &ProjectFile) -> FileTrust {
        match self.files.get(&file.path) {
            None => FileTrust::Unknown,
            Some(entry) if entry.sha256 != digest(&file.text) => FileTrust::Changed,
            Some(entry) if entry.trusted => FileTrust::Trusted,
            Some(_) => FileTrust::Refused,
        }
    }

    /// Records a decision about a file as it is now.
    pub(crate) fn decide(&mut self, file: &ProjectFile, trusted: bool) {
        let entry = TrustEntry { sha256: digest(&file.text), trusted };
        self.files.insert(file.path.clone(), entry);
    }

    /// Removes the decisions about these files and about all in this folder; returns their paths.
    pub(crate) fn remove(&mut self, folder: &Path, files: &[ProjectFile]) -> Vec<PathBuf> {
        let gone = |path: &PathBuf| {
            path.starts_with(folder) || files.iter().any(|file| file.path == *path)
        };
        let removed: Vec<PathBuf> = self.files.keys().filter(|path| gone(path)).cloned().collect();
        self.files.retain(|path, _| !gone(path));
        removed
    }

    /// Returns each decision: path, digest, and true if the text may be used.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Path, &str, bool)> {
        let entries = self.files.iter();
        entries.map(|(path, entry)| (path.as_path(), entry.sha256.as_str(), entry.trusted))
    }

    /// Writes the record as a whole, for its owner alone.
    pub(crate) fn save(&self) -> Result<(), Failure> {
        self.write().map_err(|error| failed("write", &self.path, &error))
    }

    fn write(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let beside = folder.join(format!("{NAME}.{}.new", std::process::id()));
        // A process of this number that died may have left one.
        let _ = fs::remove_file(&beside);
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&beside)?;
        let form = TrustFile { version: VERSION, files: self.files.clone() };
        let mut text = serde_json::to_vec_pretty(&form).map_err(io::Error::other)?;
        text.push(b'\n');
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&beside, &self.path)
    }
}

/// Returns the SHA-256 of a text, in hexadecimal.
fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn failed(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Failure {
    let words = format!(
        "cannot {what} the record of trusted folders {}: {error}; repair it, or remove it and trust \
         your folders again",
        path.display()
    );
    Failure::new(ExitKind::Failed, words)
}
