//! `read_file`: a page of a text file, by lines, with how to go on.

use std::io::Read;

use serde::Deserialize;
use windlass_core::{Observation, ObservationStatus};

use super::{FileToolContext, parse};
use crate::fault::CallFailure;
use crate::lines::{BoundedLines, looks_binary};
use crate::open;
use crate::root::MissingFolders;
use crate::text::{VisibleText, floor, push_line, width};

/// Bytes beyond a page in which lines are counted: enough to report the length of most files.
const COUNTED: u64 = 64 * 1024 * 1024;

/// The longest remark on a line that is cut, with its line end, in bytes.
const CUT: usize = 64;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadArguments {
    path: String,
    #[serde(default = "first")]
    offset: u64,
    #[serde(default)]
    limit: Option<u64>,
}

fn first() -> u64 {
    1
}

/// Lines of a page that a call asks for without a limit.
const PAGE_LINES: u64 = 2_000;

/// Content of a file for a program, which computes with it and reads no remarks.
pub(crate) struct FileContent {
    /// All of it.
    pub(crate) bytes: Vec<u8>,
    /// Most bytes of it that an observation shows.
    pub(crate) room: usize,
}

/// Result of reading for a program.
pub(crate) enum ProgramRead {
    /// The whole file, which the call asked for.
    Whole(FileContent),
    /// The page that the call asked for, with a remark only if it is shorter.
    Page(Observation),
}

/// Reads a file for a program: all of it, unless the call asks for a page.
pub(crate) fn for_program(
    arguments: &str,
    bench: &FileToolContext<'_>,
) -> Result<ProgramRead, CallFailure> {
    bench.stop.check()?;
    let arguments: ReadArguments = parse(arguments)?;
    let ReadArguments { path, offset, limit } = &arguments;
    if *offset != 1 || limit.is_some() {
        return page(&arguments, bench, PageRemarks::OnShortPage).map(ProgramRead::Page);
    }
    let place = bench.root.resolve(path, MissingFolders::Refuse)?;
    let (file, stat) = open::file(&place)?;
    let most = bench.config.file_bytes;
    let mut bytes = Vec::new();
    let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| CallFailure::Message(format!("cannot read `{path}`: {error}")))?;
    if bytes.len() as u64 > most {
        return Err(too_large(path, u64::try_from(stat.st_size).unwrap_or_default(), most));
    }
    if looks_binary(&bytes) {
        return Err(not_text(path, u64::try_from(stat.st_size).unwrap_or_default()));
    }
    Ok(ProgramRead::Whole(FileContent { bytes, room: bench.config.room() }))
}

/// The failure of a file that is too large to be read at once.
fn too_large(path: &str, bytes: u64, most: u64) -> CallFailure {
    CallFailure::Message(format!(
        "`{path}` has {bytes} bytes, and a call reads at most {most}: read it in pages, with offset \
         and limit in lines"
    ))
}

fn not_text(path: &str, bytes: u64) -> CallFailure {
    CallFailure::Message(format!(
        "`{path}` is not text ({bytes} bytes with zero bytes among them); look at it with the \
         shell, for example with `od` or `file`"
    ))
}

pub(super) fn run(
    arguments: &ReadArguments,
    bench: &FileToolContext<'_>,
) -> Result<Observation, CallFailure> {
    page(arguments, bench, PageRemarks::Always)
}

/// Condition of the remarks on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageRemarks {
    /// For a model, which reads them.
    Always,
    /// For a program, which gets the bare lines that it asks for.
    OnShortPage,
}

fn page(
    arguments: &ReadArguments,
    bench: &FileToolContext<'_>,
    remarks: PageRemarks,
) -> Result<Observation, CallFailure> {
    let ReadArguments { path, offset, limit } = arguments;
    let (offset, limit) = (*offset, limit.unwrap_or(PAGE_LINES));
    if offset == 0 || limit == 0 {
        return Err(CallFailure::Message(String::from(
            "offset and limit count from 1: offset 1 is the first line",
        )));
    }
    let place = bench.root.resolve(path, MissingFolders::Refuse)?;
    let (file, stat) = open::file(&place)?;
    let room = bench.config.room();
    // Broken bytes take three times their room, and still one line has to fit on a page.
    let mut lines = BoundedLines::new(file, room / 4);
    if lines
        .binary()
        .map_err(|error| CallFailure::Message(format!("cannot read `{path}`: {error}")))?
    {
        return Err(not_text(path, u64::try_from(stat.st_size).unwrap_or_default()));
    }
    let mut page = FilePage::default();
    let mut number: u64 = 0;
    let mut past: u64 = 0;
    while let Some(line) = lines.next(path, bench.stop)? {
        number += 1;
        if number < offset {
            continue;
        }
        let wanted = number - offset < limit && !page.full;
        if wanted && page.visible.text.len() + width(line.bytes) + CUT <= room {
            page.add_line(line.bytes, line.len, line.ended, number);
            continue;
        }
        page.short |= wanted;
        page.full = true;
        past = past.saturating_add(line.len);
        if past > COUNTED {
            return Ok(page.done(offset, &format!("more than {number}")));
        }
    }
    if number < offset && !(number == 0 && offset == 1) {
        return Err(CallFailure::Message(format!(
            "`{path}` has only {number} lines: use an offset of at most that"
        )));
    }
    let bare = remarks == PageRemarks::OnShortPage && !page.short && page.omitted == 0;
    if bare {
        let output_bytes = page.bytes;
        let text = page.visible.text;
        return Ok(Observation { output_bytes, ..Observation::new(ObservationStatus::Done, text) });
    }
    if number == 0 {
        return Ok(Observation::new(ObservationStatus::Done, "[the file is empty]"));
    }
    Ok(page.done(offset, &number.to_string()))
}

/// The page as far as it has been read.
#[derive(Debug, Default)]
struct FilePage {
    visible: VisibleText,
    last: u64,
    full: bool,
    /// True if a wanted line had no room.
    short: bool,
    omitted: u64,
    bytes: u64,
}

impl FilePage {
    fn add_line(&mut self, bytes: &[u8], len: u64, ended: bool, number: u64) {
        let whole = bytes.len() as u64 == len;
        let end = if whole { bytes.len() } else { floor(bytes, bytes.len().saturating_sub(4)) };
        self.visible.push(bytes.get(..end).unwrap_or_default());
        let cut = len.saturating_sub(end as u64);
        if cut > 0 {
            self.visible.text.push_str(&format!("[... {cut} more bytes of this line omitted]"));
        }
        if ended {
            self.visible.text.push('\n');
        }
        self.bytes = self.bytes.saturating_add(len).saturating_add(u64::from(ended));
        self.omitted = self.omitted.saturating_add(cut);
        self.last = number;
    }

    /// The observation. A file that is shown whole is shown without a word more.
    fn done(self, offset: u64, total: &str) -> Observation {
        let note = self.visible.note();
        let mut text = self.visible.text;
        let last = self.last;
        if self.full {
            let next = last + 1;
            let line = format!("[lines {offset} to {last} of {total}; go on with offset {next}]");
            push_line(&mut text, &line);
        } else if offset > 1 {
            push_line(&mut text, &format!("[lines {offset} to {last}, the last]"));
        }
        if let Some(note) = note {
            push_line(&mut text, &note);
        }
        Observation {
            status: ObservationStatus::Done,
            output: text,
            output_bytes: self.bytes,
            omitted_bytes: self.omitted,
            stored_output: None,
            exit_code: None,
            confinement: None,
            changes: Vec::new(),
            offers: Vec::new(),
        }
    }
}
