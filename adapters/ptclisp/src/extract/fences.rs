//! Rules of fences, and elements in an answer. Nothing is copied: all results are ranges of bytes.

use std::ops::Range;

use windlass_ports::FenceRules;

use super::ExtractError;

/// Labels of blocks that are programs.
pub(super) const TAGS: [&str; 2] = ["clojure", "lisp"];

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

/// Rules of fences in answers.
pub(crate) const ANSWER: FenceRules = FenceRules {
    line_ends: &['\n', '\r'],
    label: |rest| Some(rest).filter(|rest| !rest.contains(super::clean::is_blank)),
    closing: &["```", "</clojure>", "</lisp>"],
};

/// Rules of fences in the history: only newlines end lines.
pub(super) const HISTORY: FenceRules = FenceRules { line_ends: &['\n'], ..ANSWER };

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
        if super::is_list(&text[content.clone()]) {
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
