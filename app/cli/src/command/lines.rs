//! Lines of an import, read twice.
//!
//! An import is checked as a whole before any of it is written, without holding its facts in
//! memory. A file is read twice; input from a pipe is stored in an unnamed temporary file.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions};
use std::hash::BuildHasher as _;
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::{export_format, outputs};
use crate::exit::{ExitKind, Failure};

/// Longest line, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The lines of an import.
pub(super) struct ImportLines {
    input: Box<dyn BufRead + Send>,
    line: Vec<u8>,
    number: u64,
}

/// Source for reading facts a second time.
pub(super) enum SecondPass {
    File(PathBuf),
    Pipe(BufWriter<File>),
}

/// Opens the import.
pub(super) fn open(path: Option<&Path>) -> Result<(ImportLines, SecondPass), Failure> {
    let Some(path) = path else {
        return Ok((ImportLines::new(Box::new(BufReader::new(io::stdin()))), SecondPass::pipe()?));
    };
    let unreadable = |error| Failure::usage(format!("cannot read {}: {error}", path.display()));
    let file = File::open(path).map_err(unreadable)?;
    let again = match file.metadata().map_err(unreadable)?.is_file() {
        true => SecondPass::File(path.to_owned()),
        false => SecondPass::pipe()?,
    };
    Ok((ImportLines::new(Box::new(BufReader::new(file))), again))
}

impl ImportLines {
    fn new(input: Box<dyn BufRead + Send>) -> Self {
        Self { input, line: Vec::new(), number: 0 }
    }

    /// Advances to the next line that is not empty; false at the end.
    pub(super) fn next(&mut self) -> Result<bool, String> {
        loop {
            self.line.clear();
            self.number = self.number.saturating_add(1);
            let mut one = self.input.by_ref().take(LONGEST);
            let read = one.read_until(b'\n', &mut self.line);
            let read = read.map_err(|error| error.to_string())?;
            if read == 0 {
                return Ok(false);
            }
            if self.line.last() != Some(&b'\n') && read as u64 == LONGEST {
                return Err(format!("it is longer than {LONGEST} bytes"));
            }
            if !self.text().is_empty() {
                return Ok(true);
            }
        }
    }

    pub(super) fn text(&self) -> &[u8] {
        self.line.trim_ascii()
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns true if this line is a header.
    pub(super) fn is_head(&self) -> bool {
        self.text().starts_with(export_format::BEGINS)
    }

    /// Returns true if this line belongs to an output.
    pub(super) fn is_outputs(&self) -> bool {
        self.text().starts_with(outputs::BEGINS)
    }

    pub(super) fn wrong(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::usage(format!("line {} of the import: {why}. Nothing was written", self.number))
    }
}

impl SecondPass {
    fn pipe() -> Result<Self, Failure> {
        Ok(Self::Pipe(BufWriter::new(unnamed().map_err(|error| not_recorded(&error))?)))
    }

    /// Stores a line of a fact for the second pass.
    pub(super) fn record(&mut self, text: &[u8]) -> Result<(), Failure> {
        let Self::Pipe(file) = self else {
            return Ok(());
        };
        let kept = file.write_all(text).and_then(|()| file.write_all(b"\n"));
        kept.map_err(|error| not_recorded(&error))
    }

    /// Returns the lines again. A file starts with its header again.
    pub(super) fn lines(self) -> Result<ImportLines, Failure> {
        let read = || match self {
            Self::File(path) => File::open(path),
            Self::Pipe(file) => {
                let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.seek(SeekFrom::Start(0))?;
                Ok(file)
            }
        };
        let file = read().map_err(|error| not_recorded(&error))?;
        Ok(ImportLines::new(Box::new(BufReader::new(file))))
    }
}

fn not_recorded(error: &io::Error) -> Failure {
    let words = format!(
        "cannot buffer the import until it is checked: {error}. Nothing was written: make room \
         in {}, or import from a file",
        std::env::temp_dir().display()
    );
    Failure::new(ExitKind::Failed, words)
}

/// Creates a file that only this process can open, and that is deleted with it.
fn unnamed() -> io::Result<File> {
    let random = RandomState::new().hash_one(std::process::id());
    let name = format!("windlass-import-{}-{random:016x}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}
