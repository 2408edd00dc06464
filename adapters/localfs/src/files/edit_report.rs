//! Reports of `edit_file`: the lines around a success, and what a missing or repeated text is near.

use std::borrow::Cow;

use memchr::memmem::find;

use crate::fault::CallFailure;
use crate::text::floor;

/// Lines that are shown before and after an edit.
const AROUND: usize = 3;
/// Most lines of the new text that are shown at its start, and at its end.
const ENDS: usize = 4;
/// Most bytes of a line that are shown.
const LINE: usize = 160;
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

/// Explains a missing match, with the likeliest cause if one can be told.
pub(super) fn missing(path: &str, content: &[u8], old: &str) -> CallFailure {
    let windows = old.replace("\r\n", "\n").replace('\n', "\r\n");
    let unix = old.replace("\r\n", "\n");
    let hint = if find(content, windows.as_bytes()).is_some() {
        String::from("its lines end in \\r\\n, write them so")
    } else if find(content, unix.as_bytes()).is_some() {
        String::from("its lines end in \\n alone, write them so")
    } else if let Some(nearest) = nearest(content, old) {
        return CallFailure::Message(format!(
            "`old` does not occur in `{path}`; nothing was changed. {nearest}"
        ));
    } else {
        String::from("read the file and copy the text exactly, with its white space")
    };
    CallFailure::Message(format!("`old` does not occur in `{path}`: {hint}; nothing was changed"))
}

/// Describes the first text that differs from `old` in white space or case alone.
fn nearest(content: &[u8], old: &str) -> Option<String> {
    let content = String::from_utf8_lossy(content);
    let lines: Vec<&str> = content.lines().collect();
    let wanted: Vec<&str> = old.trim().lines().collect();
    let blanks = |text: &str| text.split_whitespace().collect::<String>();
    let case = |text: &str| text.to_lowercase();
    let both = |text: &str| blanks(text).to_lowercase();
    let (at, what) = first_match(&lines, &wanted, blanks)
        .map(|at| (at, "white space"))
        .or_else(|| first_match(&lines, &wanted, case).map(|at| (at, "upper and lower case")))
        .or_else(|| first_match(&lines, &wanted, both).map(|at| (at, "white space and case")))?;
    let shown = lines.iter().skip(at).take(wanted.len().min(AROUND));
    let shown = numbered(shown.map(|line| Cow::Borrowed(*line)), at);
    Some(format!("The text at line {} differs in {what} alone; it reads:\n{shown}", at + 1))
}

/// Returns the index of the first line from which on the wanted lines match, as `same` writes them.
fn first_match(lines: &[&str], wanted: &[&str], same: impl Fn(&str) -> String) -> Option<usize> {
    let wanted: Vec<String> = wanted.iter().map(|line| same(line)).collect();
    let lines: Vec<String> = lines.iter().map(|line| same(line)).collect();
    let (first, rest) = wanted.split_first()?;
    if wanted.iter().all(String::is_empty) {
        return None;
    }
    let Some((last, middle)) = rest.split_last() else {
        return lines.iter().position(|line| line.contains(first));
    };
    lines.windows(wanted.len()).position(|window| match window {
        [start, between @ .., end] => {
            start.ends_with(first) && end.starts_with(last) && between == middle
        }
        [] | [_] => false,
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
        numbered(part.map(|line| String::from_utf8_lossy(line)), from)
    };
    let (head, tail) = (first - 1 + ENDS, last.saturating_sub(ENDS));
    if tail <= head + 1 {
        return part(from, to);
    }
    format!("{}[... {} lines ...]\n{}", part(from, head), tail - head, part(tail, to))
}

/// Returns the lines with their numbers. `before` lines precede them.
fn numbered<'a>(lines: impl Iterator<Item = Cow<'a, str>>, before: usize) -> String {
    let mut shown = String::new();
    for (number, line) in (before + 1..).zip(lines) {
        let end = floor(line.as_bytes(), LINE);
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

    #[test]
    fn the_nearest_text_differs_in_white_space_or_case_alone() {
        let file = b"fn main() {\n\tlet Total = 1;\n\tprint(Total);\n}\n";
        let near = |old: &str| nearest(file, old);
        let reads = |what: &str, text: &str| {
            format!("The text at line 2 differs in {what} alone; it reads:\n{text}")
        };
        let line = "2: \tlet Total = 1;\n";
        assert_eq!(near("let  Total=1;"), Some(reads("white space", line)));
        assert_eq!(near("let total = 1;"), Some(reads("upper and lower case", line)));
        let two = format!("{line}3: \tprint(Total);\n");
        assert_eq!(
            near("    let total = 1;\n    print(Total);\n"),
            Some(reads("white space and case", &two))
        );
        assert_eq!(near("something else"), None);
        assert_eq!(near(" \n\t"), None);
    }
}
