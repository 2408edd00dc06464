//! Access of the cases to what a store keeps: its bytes, and damage to them. The fixture reaches below
//! the store; for one in a folder, [`damage_files`] and [`bytes_of`] do.

use std::fs;
use std::io;
use std::path::Path;

use windlass_core::{Seq, SessionId};
use windlass_ports::Durability;

use super::violation::Violation;

/// Data below a store, as a fixture reaches it.
#[derive(Debug)]
pub enum Inspection<T> {
    /// The fixture reaches it.
    Found(T),
    /// The store has no such thing, for this reason. The case prints it and passes.
    Skipped(&'static str),
    /// The fixture does not implement the method. The case fails, unless the store declares
    /// [`Durability::Memory`].
    Missing,
}

impl<T> Inspection<T> {
    /// Takes the data; `None` if the case is skipped, which it prints.
    ///
    /// # Errors
    /// A violation if the fixture has no such method and the store declares more than
    /// [`Durability::Memory`].
    pub(super) fn found(
        self,
        case: &str,
        method: &str,
        declared: Durability,
    ) -> Result<Option<T>, Violation> {
        match self {
            Self::Found(data) => Ok(Some(data)),
            Self::Skipped(why) => {
                skip(case, why);
                Ok(None)
            }
            Self::Missing if declared == Durability::Memory => {
                skip(case, "the store keeps nothing outside of the process");
                Ok(None)
            }
            Self::Missing => Err(Violation::new(format!(
                "the store declares {declared:?}, and the fixture does not reach what it keeps: \
                 implement StoreFixture::{method}, or return Inspection::Skipped with the reason"
            ))),
        }
    }
}

/// Prints that a case was skipped, and why.
#[expect(clippy::print_stderr, reason = "a skipped case is named where tests are read")]
pub(super) fn skip(case: &str, why: &str) {
    eprintln!("skipped {case}: {why}");
}

/// Damage to one stored fact.
#[derive(Debug, Clone, Copy)]
pub struct FactDamage<'a> {
    /// Session of the fact.
    pub session: &'a SessionId,
    /// Position of the fact.
    pub seq: Seq,
    /// Part of the fact's text that no other fact has.
    pub text: &'a str,
    /// Kind of the damage.
    pub kind: FactDamageKind,
}

/// Kind of damage to one stored fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactDamageKind {
    /// A byte of its text is changed.
    Changed,
    /// The record that holds it is removed, with the facts that share the record.
    Removed,
}

/// Changes a byte in the middle of each occurrence of a text in the files of a folder.
///
/// # Errors
/// Those of the file system; `NotFound` when no file has the text.
pub fn damage_files(folder: &Path, text: &str) -> io::Result<()> {
    let mut changed = 0_u32;
    for_each_file(folder, &mut |path| {
        let mut bytes = fs::read(path)?;
        let places = occurrences(&bytes, text.as_bytes());
        if places.is_empty() {
            return Ok(());
        }
        for place in places {
            if let Some(byte) = bytes.get_mut(place + text.len() / 2) {
                // A letter stays a letter, so that the text still parses.
                *byte ^= 1;
                changed += 1;
            }
        }
        fs::write(path, bytes)
    })?;
    match changed {
        0 => Err(io::Error::new(io::ErrorKind::NotFound, format!("no file has the text {text:?}"))),
        _ => Ok(()),
    }
}

/// Returns the bytes of all files in a folder and its folders.
///
/// # Errors
/// Those of the file system.
pub fn bytes_of(folder: &Path) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    for_each_file(folder, &mut |path| {
        match fs::read(path) {
            Ok(bytes) => all.extend(bytes),
            // It went away in between.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(())
    })?;
    Ok(all)
}

/// Positions at which bytes have a text.
pub(super) fn occurrences(bytes: &[u8], text: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(text.len().max(1)).enumerate();
    windows.filter(|(_, window)| *window == text).map(|(at, _)| at).collect()
}

fn for_each_file(folder: &Path, act: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => for_each_file(&entry.path(), act)?,
            kind if kind.is_file() => act(&entry.path())?,
            _ => {}
        }
    }
    Ok(())
}
