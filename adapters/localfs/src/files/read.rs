//! `read_file`: a page of a text file, by lines, with how to go on.

use serde::Deserialize;
use windlass_core::{Observation, ObservationStatus};

use super::FileToolContext;
use crate::fault::CallFailure;
use crate::lines::BoundedLines;
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
    #[serde(default = "page")]
    limit: u64,
}

fn first() -> u64 {
    1
}

fn page() -> u64 {
    2_000
}

pub(super) fn run(
    arguments: &ReadArguments,
    bench: &FileToolContext<'_>,
) -> Result<Observation, CallFailure> {
    let ReadArguments { path, offset, limit } = arguments;
    let (offset, limit) = (*offset, *limit);
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
        let size = stat.st_size;
        return Err(CallFailure::Message(format!(
            "`{path}` is not text ({size} bytes with zero bytes among them); look at it with the \
             shell, for example with `od` or `file`"
        )));
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
        }
    }
}
