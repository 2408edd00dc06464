//! `edit_file`: an exact piece of text in a file replaced by another.

use memchr::memmem::Finder;
use rustix::fs::Stat;
use serde::Deserialize;
use windlass_core::{Observation, ObservationStatus};
use windlass_ports::FileChange;

use super::kept::{self, ContentBefore};
use super::{FileToolContext, edit_report, failure, whole};
use crate::fault::{CallFailure, bounded};
use crate::open;
use crate::planned::planned;
use crate::replace::{FileReplacement, writable};
use crate::root::{MissingFolders, ResolvedPath};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EditArguments {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    replace_all: bool,
}

pub(super) fn run(
    arguments: &EditArguments,
    bench: &FileToolContext<'_>,
) -> Result<Observation, CallFailure> {
    let edit = match PreparedEdit::of(arguments, bench) {
        Err(CallFailure::Message(words)) => return Ok(failure(&words, bench)),
        edit => edit?,
    };
    let put = FileReplacement {
        target: &edit.target,
        content: &edit.after,
        before: Some(edit.stat),
        like: None,
        unchanged: true,
        key: bench.key,
        stop: bench.stop,
    };
    kept::replace(&put, ContentBefore::Read(&edit.before), bench)?;
    let around = edit_report::around(&edit.after, edit.first, arguments.new.len());
    let text = format!("edited `{}`: {}\n{around}", arguments.path, edit.places());
    Ok(bounded(ObservationStatus::Done, &text, bench.config.room()))
}

/// Says what would be edited where.
pub(super) fn plan(
    arguments: &EditArguments,
    bench: &FileToolContext<'_>,
) -> Result<Observation, CallFailure> {
    let edit = match PreparedEdit::of(arguments, bench) {
        Err(CallFailure::Message(words)) => return Ok(failure(&words, bench)),
        edit => edit?,
    };
    writable(&edit.target, &edit.stat)?;
    let would = format!(
        "edit `{}`: {}; {} bytes become {} bytes.",
        arguments.path,
        edit.places(),
        edit.stat.st_size,
        edit.after.len()
    );
    Ok(planned(&would, bench.config.room()))
}

/// Returns what would be edited.
pub(super) fn preview(
    arguments: &EditArguments,
    bench: &FileToolContext<'_>,
) -> Option<FileChange> {
    let edit = PreparedEdit::of(arguments, bench).ok()?;
    let before = Some(String::from_utf8(edit.before).ok()?);
    Some(FileChange { before, after: String::from_utf8(edit.after).ok()? })
}

/// An edit that is ready to be written.
struct PreparedEdit {
    target: ResolvedPath,
    stat: Stat,
    before: Vec<u8>,
    after: Vec<u8>,
    count: usize,
    /// Position of the first match.
    first: usize,
    /// Line of the first match, counted from 1.
    line: usize,
}

impl PreparedEdit {
    fn of(arguments: &EditArguments, bench: &FileToolContext<'_>) -> Result<Self, CallFailure> {
        let EditArguments { path, old, new, replace_all } = arguments;
        if old == new {
            return Err(CallFailure::Message(String::from(
                "`old` and `new` are the same: nothing to do",
            )));
        }
        if old.is_empty() {
            return Err(CallFailure::Message(String::from(
                "`old` is empty: give the exact text to replace, or use write_file",
            )));
        }
        let place = bench.root.resolve(path, MissingFolders::Refuse)?;
        let (file, stat) = open::file(&place)?;
        let content = whole(file, path, bench)?;
        let places: Vec<usize> = Finder::new(old).find_iter(&content).collect();
        let first = match places.as_slice() {
            [] => return Err(edit_report::missing(path, &content, old)),
            [first] => *first,
            [first, ..] if *replace_all => *first,
            [_, ..] => return Err(edit_report::repeated(path, &content, &places)),
        };
        let after = replaced(&content, &places, old.len(), new.as_bytes());
        let most = bench.config.file_bytes;
        if after.len() as u64 > most {
            return Err(CallFailure::Message(format!(
                "`{path}` would become larger than {most} bytes"
            )));
        }
        let line = edit_report::line_of(&content, first);
        Ok(Self { target: place, stat, before: content, after, count: places.len(), first, line })
    }

    fn places(&self) -> String {
        let line = self.line;
        match self.count {
            1 => format!("1 place, at line {line}"),
            n => format!("{n} places, the first at line {line}"),
        }
    }
}

fn replaced(content: &[u8], places: &[usize], old_len: usize, new: &[u8]) -> Vec<u8> {
    let mut after = Vec::with_capacity(content.len());
    let mut from = 0;
    for place in places {
        after.extend_from_slice(content.get(from..*place).unwrap_or_default());
        after.extend_from_slice(new);
        from = place + old_len;
    }
    after.extend_from_slice(content.get(from..).unwrap_or_default());
    after
}
