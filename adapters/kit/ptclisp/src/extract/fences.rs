//! Finds blocks and elements in an answer. Nothing is copied: all results are ranges of bytes.

use std::ops::Range;

use super::ExtractError;

/// Label of an opening fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FenceLabel {
    Clojure,
    Lisp,
    Other,
}

impl FenceLabel {
    /// The tag as it is written.
    pub(super) fn name(self) -> &'static str {
        match self {
            FenceLabel::Clojure => "clojure",
            FenceLabel::Lisp => "lisp",
            FenceLabel::Other => "",
        }
    }
}

/// A block: its tag, and its lines without the last one's end.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) tag: FenceLabel,
    pub(super) content: Range<usize>,
}

/// Number of matches, and the first of them.
pub(super) struct BlockMatches<T> {
    count: usize,
    first: Option<T>,
}

impl<T> Default for BlockMatches<T> {
    fn default() -> BlockMatches<T> {
        BlockMatches { count: 0, first: None }
    }
}

impl<T> BlockMatches<T> {
    pub(super) fn add(&mut self, found: T) {
        self.count += 1;
        self.first.get_or_insert(found);
    }

    /// The one that was found, if any was.
    pub(super) fn only(self) -> Result<Option<T>, ExtractError> {
        match self.count {
            0 | 1 => Ok(self.first),
            count => Err(ExtractError::Several { count }),
        }
    }
}

/// The end of a line that begins at a byte, and the beginning of the next.
type LineEnd = fn(&str, usize) -> (usize, usize);

/// Lines that end with a newline, a carriage return, or both.
pub(super) fn any_line(text: &str, from: usize) -> (usize, usize) {
    match text[from..].find(['\n', '\r']) {
        None => (text.len(), text.len() + 1),
        Some(length) => {
            let end = from + length;
            let both = text[end..].starts_with("\r\n");
            (end, end + if both { 2 } else { 1 })
        }
    }
}

/// Lines that end with a newline.
pub(super) fn newline_line(text: &str, from: usize) -> (usize, usize) {
    let end = text[from..].find('\n').map_or(text.len(), |length| from + length);
    (end, end + 1)
}

/// Tells each block of a text. True if the last fence that was opened is not closed.
pub(super) fn blocks(text: &str, line_end: LineEnd, mut tell: impl FnMut(Block)) -> bool {
    let mut open: Option<(FenceLabel, usize)> = None;
    let mut last_end = 0;
    let mut start = 0;
    while start <= text.len() {
        let (end, next) = line_end(text, start);
        let line = text[start..end].trim();
        match open {
            None => open = opening(line).map(|tag| (tag, next)),
            Some((tag, content)) if closes(line) => {
                let content = if content == start { content..content } else { content..last_end };
                tell(Block { tag, content });
                open = None;
            }
            Some(_) => {}
        }
        last_end = end;
        start = next;
    }
    open.is_some()
}

fn opening(line: &str) -> Option<FenceLabel> {
    match line.strip_prefix("```")? {
        "clojure" => Some(FenceLabel::Clojure),
        "lisp" => Some(FenceLabel::Lisp),
        tag if tag.contains(super::clean::is_blank) => None,
        _ => Some(FenceLabel::Other),
    }
}

fn closes(line: &str) -> bool {
    matches!(line, "```" | "</clojure>" | "</lisp>")
}

/// Finds content between tags in angle brackets that begins with a parenthesis. Sets `others` if other content
/// stands between tags.
pub(super) fn elements(text: &str, others: &mut bool) -> BlockMatches<Range<usize>> {
    let mut found = BlockMatches::default();
    let mut from = 0;
    while let Some(opened) = tag(text, from, ["<clojure>", "<lisp>"]) {
        let Some(closed) = tag(text, opened.end, ["</clojure>", "</lisp>"]) else {
            break;
        };
        let content = opened.end..closed.start;
        if text[content.clone()].trim_start().starts_with('(') {
            found.add(content);
        } else {
            *others = true;
        }
        from = closed.end;
    }
    found
}

/// The first of two tags.
fn tag(text: &str, from: usize, tags: [&str; 2]) -> Option<Range<usize>> {
    text[from..].match_indices('<').find_map(|(at, _)| {
        let start = from + at;
        let tag = tags.iter().find(|tag| text[start..].starts_with(**tag))?;
        Some(start..start + tag.len())
    })
}

/// The range without the blanks at its ends.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let cut = part.trim_start();
    let start = range.start + (part.len() - cut.len());
    start..start + cut.trim_end().len()
}
