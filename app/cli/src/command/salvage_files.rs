//! Saves the data that a repair removes: facts as one envelope in each line, and damaged bytes
//! unchanged in a second file.
//!
//! A file gets its name once it is complete and durable. A file that is there already stays; it may
//! be that of an interrupted repair, with the same data.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use windlass_file::SalvagedData;

use crate::exit::Failure;
use crate::present::print_error;

/// Files that receive the removed part of a log.
pub(super) struct SalvageFiles {
    path: PathBuf,
    facts: Option<SalvageFile>,
    damaged: Option<SalvageFile>,
}

/// File that is being written under another name, with its number of facts or bytes.
struct SalvageFile {
    path: PathBuf,
    part: PathBuf,
    file: BufWriter<File>,
    count: u64,
}

impl SalvageFiles {
    /// Creates the file at once, so that an unwritable path is reported before the repair begins.
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        Ok(Self { facts: Some(SalvageFile::new(path.to_owned())?), ..Self::of_bytes(path) })
    }

    /// Prepares only the file for damaged bytes.
    pub(super) fn of_bytes(path: &Path) -> Self {
        Self { path: path.to_owned(), facts: None, damaged: None }
    }

    /// Saves one piece of removed data.
    pub(super) fn save(&mut self, remains: &SalvagedData<'_>) -> Result<(), Failure> {
        match remains {
            SalvagedData::Fact(text) => {
                let facts = match &mut self.facts {
                    Some(facts) => facts,
                    none => none.insert(SalvageFile::new(self.path.clone())?),
                };
                facts.line(text, 1)
            }
            SalvagedData::Damaged { file, offset, bytes } => {
                let damaged = match &mut self.damaged {
                    Some(damaged) => damaged,
                    none => none.insert(SalvageFile::new(damaged_path(&self.path))?),
                };
                let line = serde_json::json!({
                    "file": file, "at": offset, "base64": STANDARD.encode(bytes),
                });
                damaged.line(line.to_string().as_bytes(), bytes.len() as u64)
            }
        }
    }

    /// Makes the saved data and the file names durable.
    pub(super) fn sync(&mut self) -> Result<(), Failure> {
        for written in self.facts.iter_mut().chain(&mut self.damaged) {
            let synced = written.sync();
            synced.map_err(|error| not_saved(&written.path, &error))?;
        }
        for written in self.facts.iter().chain(&self.damaged) {
            written.name().map_err(|error| not_saved(&written.path, &error))?;
        }
        Ok(())
    }

    /// Removes the unfinished files of a repair that removed nothing.
    pub(super) fn remove(&self) {
        for written in self.facts.iter().chain(&self.damaged) {
            match fs::remove_file(&written.part) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let shown = written.part.display();
                    print_error(&format!("cannot remove the unneeded file {shown}: {error}"));
                }
            }
        }
    }

    /// Returns the number of facts saved.
    pub(super) fn facts(&self) -> u64 {
        self.facts.as_ref().map_or(0, |facts| facts.count)
    }

    /// Returns the file of the damaged bytes, and their number.
    pub(super) fn damaged(&self) -> Option<(&Path, u64)> {
        let damaged = self.damaged.as_ref()?;
        Some((&damaged.path, damaged.count))
    }
}

impl SalvageFile {
    /// Creates a file that only the owner may read, since it contains session data.
    fn new(path: PathBuf) -> Result<Self, Failure> {
        let mut part = OsString::from(&path);
        part.push(".part");
        let part = PathBuf::from(part);
        let created = create(&part);
        let file = created.map_err(|error| not_saved(&path, &error))?;
        Ok(Self { path, part, file: BufWriter::new(file), count: 0 })
    }

    /// Gives the file its name, unless one with the same content has it.
    fn name(&self) -> io::Result<()> {
        if !self.path.try_exists()? {
            fs::rename(&self.part, &self.path)?;
        } else if is_same(&self.part, &self.path)? {
            fs::remove_file(&self.part)?;
        } else {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let folder = self.path.parent().filter(|folder| *folder != Path::new(""));
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }

    fn line(&mut self, line: &[u8], count: u64) -> Result<(), Failure> {
        let written = self.file.write_all(line);
        let written = written.and_then(|()| self.file.write_all(b"\n"));
        self.count += count;
        written.map_err(|error| not_saved(&self.path, &error))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }
}

/// Creates an unfinished file, in place of one that an interrupted repair left.
fn create(part: &Path) -> io::Result<File> {
    match fs::remove_file(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(part)
}

/// Returns true if two files have the same content.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (File::open(one)?, File::open(other)?);
    if !other.metadata()?.is_file() || one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (one, other) = (io::BufReader::new(one), io::BufReader::new(other));
    for (one, other) in one.bytes().zip(other.bytes()) {
        if one? != other? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the path of the file for damaged bytes: the same name with an extension.
pub(super) fn damaged_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".damaged");
    name.into()
}

fn not_saved(path: &Path, why: &io::Error) -> Failure {
    Failure::usage(format!(
        "cannot save the removed data in {}: {why}. Nothing was changed; name another file with \
         --save",
        path.display()
    ))
}
