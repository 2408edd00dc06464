//! `search`: the lines of files that a regular expression matches, in linear time.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use regex::bytes::{Regex, RegexBuilder};
use rustix::fs::FileType;
use serde::Deserialize;
use windlass_core::{Observation, ObservationStatus};

use super::{FileToolContext, list};
use crate::fault::CallFailure;
use crate::glob::Glob;
use crate::lines::BoundedLines;
use crate::open::{self, OpenEntry};
use crate::root::{MissingFolders, folder_at};
use crate::text::{VisibleText, floor, name, push_line};
use crate::tree::entries;

/// Most bytes of one line that are searched.
const SEARCHED: usize = 256 * 1024;
/// Most bytes of one line that are shown.
const SHOWN: usize = 400;
/// Largest depth of folders within folders.
const DEEPEST: usize = 64;
/// Entries of one folder.
const WIDEST: usize = 100_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchArguments {
    pattern: String,
    #[serde(default = "list::here")]
    path: String,
    #[serde(default)]
    include: Option<String>,
    #[serde(default)]
    ignore_case: bool,
}

pub(super) fn run(
    arguments: &SearchArguments,
    bench: &FileToolContext<'_>,
) -> Result<Observation, CallFailure> {
    let regex = RegexBuilder::new(&arguments.pattern)
        .case_insensitive(arguments.ignore_case)
        .size_limit(1 << 20)
        .build()
        .map_err(|error| {
            CallFailure::Message(format!(
                "the pattern does not read: {error}; it is a regular expression without \
                 look-around and back-references, escape what is meant literally"
            ))
        })?;
    let include = match &arguments.include {
        Some(pattern) => Some(Glob::new(pattern).map_err(|error| {
            CallFailure::Message(format!(
                "the file name pattern in `include` does not read: {error}"
            ))
        })?),
        None => None,
    };
    let mut search = FileSearch {
        bench,
        regex,
        include,
        text: String::new(),
        matches: 0,
        files: 0,
        unread: 0,
        full: false,
    };
    let place = bench.root.resolve(&arguments.path, MissingFolders::Refuse)?;
    let searched = match open::either(&place)? {
        OpenEntry::Folder(folder) => search.folder(&folder, "", DEEPEST),
        OpenEntry::File(file) => search.file(file, &arguments.path),
    };
    match searched {
        Ok(()) => Ok(search.done()),
        Err(CallFailure::Halted(halt)) => Ok(halt.observation(search.text)),
        Err(fault @ CallFailure::Message(_)) => Err(fault),
    }
}

struct FileSearch<'a> {
    bench: &'a FileToolContext<'a>,
    regex: Regex,
    include: Option<Glob>,
    text: String,
    matches: usize,
    files: u64,
    unread: u64,
    full: bool,
}

impl FileSearch<'_> {
    fn folder(&mut self, folder: &OwnedFd, prefix: &str, depth: usize) -> Result<(), CallFailure> {
        let found = match entries(folder, prefix, WIDEST, self.bench.stop) {
            Err(CallFailure::Message(_)) => {
                self.unread += 1;
                return Ok(());
            }
            found => found?,
        };
        self.unread = self.unread.saturating_add(found.more);
        for (entry, kind) in &found.entries {
            self.bench.stop.check()?;
            if self.full {
                return Ok(());
            }
            let path = format!("{prefix}{}", name(entry));
            let entry = OsStr::from_bytes(entry);
            if *kind == FileType::Directory {
                if entry == ".git" {
                    continue;
                }
                match folder_at(folder, entry) {
                    Ok(below) if depth > 0 => {
                        self.folder(&below, &format!("{path}/"), depth - 1)?;
                    }
                    Ok(_) | Err(_) => self.unread += 1,
                }
            } else if *kind == FileType::RegularFile && self.wanted(&path, entry) {
                match open::file_at(folder, entry) {
                    Ok((file, _)) => self.file(file, &path)?,
                    Err(_) => self.unread += 1,
                }
            }
        }
        Ok(())
    }

    fn wanted(&self, path: &str, entry: &OsStr) -> bool {
        let fits = |glob: &Glob| glob.fits(path.as_bytes(), entry.as_bytes());
        self.include.as_ref().is_none_or(fits)
    }

    fn file(&mut self, file: File, path: &str) -> Result<(), CallFailure> {
        let mut lines = BoundedLines::new(file, SEARCHED);
        match lines.binary() {
            Ok(false) => {}
            Ok(true) => return Ok(()),
            Err(_) => {
                self.unread += 1;
                return Ok(());
            }
        }
        self.files += 1;
        let mut number: u64 = 0;
        loop {
            let line = match lines.next(path, self.bench.stop) {
                Ok(Some(line)) => line.bytes,
                Ok(None) => return Ok(()),
                Err(CallFailure::Message(_)) => {
                    self.unread += 1;
                    return Ok(());
                }
                Err(fault @ CallFailure::Halted(_)) => return Err(fault),
            };
            number += 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let Some(hit) = self.regex.find(line) else {
                continue;
            };
            let shown = format!("{path}:{number}: {}\n", excerpt(line, hit.start()));
            let room = self.text.len() + shown.len() <= self.bench.config.room();
            if self.matches >= self.bench.config.matches || !room {
                self.full = true;
                return Ok(());
            }
            self.matches += 1;
            self.text.push_str(&shown);
        }
    }

    fn done(mut self) -> Observation {
        if self.matches == 0 && !self.full {
            let files = self.files;
            self.text = format!("[no line in {files} text files matches]");
        }
        if self.full {
            let note = format!(
                "[stopped after {} matches; there are more: narrow the pattern, the path or \
                 `include`]",
                self.matches
            );
            push_line(&mut self.text, &note);
        }
        if self.unread > 0 {
            let note = format!("[{} files or folders could not be searched]", self.unread);
            push_line(&mut self.text, &note);
        }
        Observation::new(ObservationStatus::Done, self.text)
    }
}

/// The part of a line around a match.
fn excerpt(line: &[u8], hit: usize) -> String {
    let start = if line.len() <= SHOWN { 0 } else { floor(line, hit.saturating_sub(SHOWN / 4)) };
    let rest = line.get(start..).unwrap_or_default();
    let end = floor(rest, SHOWN);
    let mut visible = VisibleText::default();
    if start > 0 {
        visible.text.push_str("[...] ");
    }
    visible.push(rest.get(..end).unwrap_or_default());
    if end < rest.len() {
        visible.text.push_str(" [...]");
    }
    visible.text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_holds_the_match_and_splits_no_character() {
        assert_eq!(excerpt("grün".as_bytes(), 0), "grün");
        let long = format!("{}needle{}", "ä".repeat(500), "ö".repeat(500));
        let shown = excerpt(long.as_bytes(), 1_000);
        assert!(shown.contains("needle") && shown.len() < SHOWN + 20, "{shown}");
        assert!(!shown.contains('\u{fffd}'), "{shown}");
        assert!(shown.starts_with("[...] ä") && shown.ends_with("ö [...]"), "{shown}");
    }
}
