//! The files of golden logs. They are read and added; nothing here changes one that is there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{Golden, make};

/// The golden logs of the first version of facts, as they come with the kit.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/v1")
}

/// Golden logs that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file cannot be read.
    #[error("{path}: {why}")]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A log without its digest, or the other way round.
    #[error("{path} is alone: a golden log is a .jsonl and a .digest of the same name")]
    Alone {
        /// Which one is there.
        path: PathBuf,
    },
}

/// A golden log that cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// The name does not do.
    #[error("{0:?} is no name of a golden log: use a-z 0-9 _, beginning with a letter")]
    Name(String),
    /// The log does not do.
    #[error("the log cannot be a golden one: {0}")]
    Log(String),
    /// A file cannot be written; also when it is there already.
    #[error("{path} cannot be written: {why}. A golden log is never rewritten; take another name")]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
}

/// Reads all golden logs of a folder, in the order of their names.
///
/// # Errors
/// [`ReadError`] when a file cannot be read, or has not its other half.
pub fn read(folder: &Path) -> Result<Vec<Golden>, ReadError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |why| ReadError::File { path, why }
    };
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).map_err(failed(folder))?;
    for entry in entries {
        let path = entry.map_err(failed(folder))?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        let (log, digest) = (path.with_extension("jsonl"), path.with_extension("digest"));
        match ending {
            Some("jsonl") if digest.is_file() => {}
            Some("digest") if log.is_file() => continue,
            Some(_) | None => return Err(ReadError::Alone { path }),
        }
        let name = path.file_stem().unwrap_or_default();
        found.push(Golden {
            name: name.to_string_lossy().into_owned(),
            log: fs::read(&log).map_err(failed(&log))?,
            digest: fs::read_to_string(&digest).map_err(failed(&digest))?,
        });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Adds a golden log. `from` says where it comes from, in a few words.
///
/// # Errors
/// [`AddError`] when the name is taken or is none, or the log does not fold.
pub fn add(folder: &Path, name: &str, log: &[u8], from: &str) -> Result<Golden, AddError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        return Err(AddError::Name(name.to_owned()));
    }
    let golden = Golden {
        name: name.to_owned(),
        log: log.to_owned(),
        digest: make(log, from).map_err(AddError::Log)?,
    };
    let path = folder.join(format!("{name}.jsonl"));
    create(&path, &golden.log)?;
    create(&path.with_extension("digest"), golden.digest.as_bytes())?;
    Ok(golden)
}

/// Writes a file that is not there yet.
fn create(path: &Path, bytes: &[u8]) -> Result<(), AddError> {
    let failed = |why| AddError::File {
        path: path.to_owned(),
        why,
    };
    let new: io::Result<File> = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = new.map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.sync_all().map_err(failed)
}
