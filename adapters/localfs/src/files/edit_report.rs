//! Reports of `edit_file`: the lines around a success, and what a missing or repeated text is near.

use std::borrow::Cow;

use memchr::memmem::find;

use super::edit_nearest::{NearestText, nearest};
use crate::fault::CallFailure;
use crate::text::floor;

/// Lines that are shown before and after an edit.
const AROUND: usize = 3;
/// Most lines of the new text that are shown at its start, and at its end.
const ENDS: usize = 4;
/// Most bytes of a line that are shown.
const LINE: usize = 160;
/// Most lines of the nearest text that are shown.
const REGION: usize = 40;
/// Most bytes of a line of the nearest text that are shown.
const REGION_LINE: usize = 1_000;
/// Most lines of matches that are named.
const NAMED: usize = 20;

/// Explains that the text occurs several times, with the lines.
pub(super) fn repeated(path: &str, content: &[u8], places: &[usize]) -> CallFailure {
    let named = places.iter().take(NAMED).map(|place| line_of(content, *place).to_string());
    let named = named.collect::<Vec<_>>().join(", ");
    let more = if places.len() > NAMED { ", and further ones" } else { "" };
    CallFailure::Message(format!(
        "`old` occurs {} times in `{path}`, at the lines {named}{more}: give more of the text \
         around the one that you mean, or set replace_all; nothing was changed",
        places.len()
    ))
}

/// Explains a missing match, with the likeliest cause or the nearest text of the file.
pub(super) fn missing(path: &str, content: &[u8], old: &str) -> CallFailure {
    let windows = old.replace("\r\n", "\n").replace('\n', "\r\n");
    let unix = old.replace("\r\n", "\n");
    let hint = if find(content, windows.as_bytes()).is_some() {
        String::from("its lines end in \\r\\n, write them so")
    } else if find(content, unix.as_bytes()).is_some() {
        String::from("its lines end in \\n alone, write them so")
    } else if let Some(nearest) = nearest_text(content, old) {
        return CallFailure::Message(format!(
            "`old` does not occur in `{path}`; nothing was changed. {nearest}"
        ));
    } else {
        String::from("read the file and copy the text exactly, with its white space")
    };
    CallFailure::Message(format!("`old` does not occur in `{path}`: {hint}; nothing was changed"))
}

/// Describes the nearest text of a file: its lines with their numbers.
pub(super) fn nearest_text(content: &[u8], old: &str) -> Option<String> {
    let content = String::from_utf8_lossy(content);
    let lines: Vec<&str> = content.lines().collect();
    let NearestText { from, count, differs } = nearest(&lines, old)?;
    let shown = lines.iter().skip(from).take(count.min(REGION));
    let shown = numbered(shown.map(|line| Cow::Borrowed(*line)), from, REGION_LINE);
    let more = match count.saturating_sub(REGION) {
        0 => String::new(),
        more => format!("[... {more} more lines]\n"),
    };
    let at = from + 1;
    Some(match differs {
        Some(what) => {
            format!("The text at line {at} differs in {what} alone; it reads:\n{shown}{more}")
        }
        None => format!(
            "The closest text begins at line {at} and reads:\n{shown}{more}Copy the text exactly if \
             it is what you mean."
        ),
    })
}

/// Shows the new text with the lines around it. `start` and `length` locate it in the content.
pub(super) fn around(content: &[u8], start: usize, length: usize) -> String {
    let mut lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    lines.pop_if(|line| line.is_empty());
    let end = start.saturating_add(length.saturating_sub(1));
    let (first, last) = (line_of(content, start), line_of(content, end));
    let (from, to) = (first.saturating_sub(1 + AROUND), lines.len().min(last + AROUND));
    let part = |from: usize, to: usize| {
        let part = lines.iter().skip(from).take(to.saturating_sub(from));
        numbered(part.map(|line| String::from_utf8_lossy(line)), from, LINE)
    };
    let (head, tail) = (first - 1 + ENDS, last.saturating_sub(ENDS));
    if tail <= head + 1 {
        return part(from, to);
    }
    format!("{}[... {} lines ...]\n{}", part(from, head), tail - head, part(tail, to))
}

/// Returns the lines with their numbers, at most `most` bytes of each. `before` lines precede them.
fn numbered<'a>(lines: impl Iterator<Item = Cow<'a, str>>, before: usize, most: usize) -> String {
    let mut shown = String::new();
    for (number, line) in (before + 1..).zip(lines) {
        let end = floor(line.as_bytes(), most);
        let cut = if end < line.len() { " [...]" } else { "" };
        shown.push_str(&format!("{number}: {}{cut}\n", line.get(..end).unwrap_or_default()));
    }
    shown
}

/// Returns the number of the line, from 1, of a byte.
pub(super) fn line_of(content: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', content.get(..at).unwrap_or_default()).count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_shown_at_its_ends() {
        let lines: String = (1..=40).map(|n| format!("line {n}\n")).collect();
        let start = lines.find("line 10\n").unwrap();
        let length = lines.find("line 31\n").unwrap() - start;
        let shown = around(lines.as_bytes(), start, length);
        assert!(shown.starts_with("7: line 7\n") && shown.ends_with("33: line 33\n"), "{shown}");
        assert!(shown.contains("13: line 13\n[... 13 lines ...]\n27: line 27\n"), "{shown}");
        let short = around(b"a\nb\nc\nd\ne\nf\ng\nh\n", 6, 1);
        assert_eq!(short, "1: a\n2: b\n3: c\n4: d\n5: e\n6: f\n7: g\n");
        assert_eq!(around(b"", 0, 0), "");
    }
}
