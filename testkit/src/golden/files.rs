//! Files of golden logs. This module reads and adds them, and never changes or removes one.
//!
//! `names` has a line for each log: its name and the SHA-256 of its digest file. So a removed log,
//! or another one under the same name, is reported. The list is only appended to.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{Golden, make};

/// File that lists the logs of a folder.
const NAMES: &str = "names";

/// Returns the folder of the golden logs of version 1, which is frozen.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/v1")
}

/// Error of reading golden logs.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file cannot be read.
    #[error("{path}: {why}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        why: io::Error,
    },
    /// A log has no digest file, or a digest file has no log.
    #[error("{path} is alone: a golden log is a .jsonl and a .digest of the same name")]
    Alone {
        /// Path of the file that exists.
        path: PathBuf,
    },
    /// The list cannot be parsed, or does not match the logs.
    #[error("{path}: {what}")]
    List {
        /// Path of the list.
        path: PathBuf,
        /// Description of the fault.
        what: String,
    },
}

/// Error of adding a golden log.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// The name is invalid.
    #[error("{0:?} is no name of a golden log: use a-z 0-9 _, beginning with a letter")]
    Name(String),
    /// The list cannot be parsed, or has this name already.
    #[error("{path}: {what}")]
    List {
        /// Path of the list.
        path: PathBuf,
        /// Description of the fault.
        what: String,
    },
    /// The log cannot be folded.
    #[error("the log cannot be a golden one: {0}")]
    Log(String),
    /// A file cannot be written, or exists already.
    #[error("{path} cannot be written: {why}. A golden log is never rewritten; take another name")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        why: io::Error,
    },
}

/// Reads all golden logs of a folder, in the order of their names.
///
/// # Errors
/// [`ReadError`] if a file cannot be read, lacks its other half, or does not match the list.
pub fn read(folder: &Path) -> Result<Vec<Golden>, ReadError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |why| ReadError::File { path, why }
    };
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).map_err(failed(folder))?;
    for entry in entries {
        let path = entry.map_err(failed(folder))?.path();
        if path.file_name().is_some_and(|name| name == NAMES) {
            continue;
        }
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
    let path = folder.join(NAMES);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(failed(&path))?,
    };
    match listed(&text).and_then(|listed| fits(&found, listed)) {
        Ok(()) => Ok(found),
        Err(what) => Err(ReadError::List { path, what }),
    }
}

/// Parses the list: the SHA-256 of the digest file for each name.
fn listed(text: &str) -> Result<BTreeMap<&str, &str>, String> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(String::from("it ends within a line"));
    }
    let mut listed = BTreeMap::new();
    for line in text.lines() {
        let (name, digest) =
            line.split_once(' ').ok_or_else(|| format!("{line:?} is no name and SHA-256"))?;
        if listed.insert(name, digest).is_some() {
            return Err(format!("{name} is listed twice"));
        }
    }
    Ok(listed)
}

/// Returns the SHA-256 of a text in hexadecimal, like `sha256sum`.
fn sha256(text: &str) -> String {
    let hash = Sha256::digest(text);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Checks that the logs are the listed ones, each with its original digest file.
fn fits(found: &[Golden], mut listed: BTreeMap<&str, &str>) -> Result<(), String> {
    for golden in found {
        match listed.remove(golden.name.as_str()) {
            Some(digest) if digest == sha256(&golden.digest) => {}
            Some(_) => {
                return Err(format!(
                    "{} has not the digest that it was added with: bring it back as it was",
                    golden.name
                ));
            }
            None => {
                return Err(format!(
                    "{} is not listed: a golden log is added by cargo xtask golden --add",
                    golden.name
                ));
            }
        }
    }
    match listed.first_key_value() {
        None => Ok(()),
        Some((name, _)) => {
            Err(format!("{name} is gone: a golden log is never removed, bring it back as it was"))
        }
    }
}

/// Adds a golden log. `from` names its origin in a few words. A failure leaves no file behind.
///
/// # Errors
/// [`AddError`] if the name exists or is invalid, the log does not fold, or a file cannot be
/// written.
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
    let log = folder.join(format!("{name}.jsonl"));
    let digest = log.with_extension("digest");
    create(&log, &golden.log)?;
    let rest = || {
        create(&digest, golden.digest.as_bytes())?;
        let line = format!("{name} {}\n", sha256(&golden.digest));
        list(&folder.join(NAMES), name, &line).inspect_err(|_| remove(&digest))
    };
    rest().inspect_err(|_| remove(&log))?;
    Ok(golden)
}

/// Writes a new file, completely or not at all.
fn create(path: &Path, bytes: &[u8]) -> Result<(), AddError> {
    let failed = |why| AddError::File { path: path.to_owned(), why };
    let new: io::Result<File> = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = new.map_err(failed)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.inspect_err(|_| remove(path)).map_err(failed)
}

/// Appends a line to the list, completely or not at all.
fn list(path: &Path, name: &str, line: &str) -> Result<(), AddError> {
    let failed = |why| AddError::File { path: path.to_owned(), why };
    let mut options = OpenOptions::new();
    let opened = options.read(true).append(true).create(true).open(path);
    let mut file = opened.map_err(failed)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    let off = |what| AddError::List { path: path.to_owned(), what };
    if listed(&text).map_err(off)?.contains_key(name) {
        return Err(off(format!(
            "{name} is listed already: bring it back as it was, or take another name"
        )));
    }
    let written = file.write_all(line.as_bytes());
    // Best effort: a reader rejects a list that ends within a line.
    let cut = |_: &io::Error| drop(file.set_len(text.len() as u64));
    let written = written.inspect_err(cut).and_then(|()| file.sync_all());
    written.map_err(failed)
}

/// Removes a file that was just written. Best effort: a reader reports a remaining half.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}
