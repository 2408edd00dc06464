//! Fenced blocks in a text: the lines between two fences of three backticks.

/// A fenced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FencedBlock<'a> {
    /// Label of the opening fence.
    pub label: &'a str,
    /// Position of the content in the text, in bytes.
    pub start: usize,
    /// Lines between the fences, with their ends.
    pub content: &'a str,
    /// False if no fence closes the block: then its content is the rest of the text.
    pub closed: bool,
}

/// Rules that make a line a fence. Blanks around a line do not count.
#[derive(Debug, Clone, Copy)]
pub struct FenceRules {
    /// Characters that end a line. A carriage return and a newline are one end.
    pub line_ends: &'static [char],
    /// Returns the label of a line from its text after three backticks; `None` if the line opens no block.
    pub label: fn(&str) -> Option<&str>,
    /// Lines that close a block.
    pub closing: &'static [&'static str],
}

impl FenceRules {
    /// Rules of Markdown: a label has no backticks, except for those that make its fence longer.
    pub const MARKDOWN: Self = Self {
        line_ends: &['\n'],
        label: |rest| match rest.trim_start_matches('`').contains('`') {
            true => None,
            false => Some(rest.trim()),
        },
        closing: &["```"],
    };

    /// Returns the end of the line that begins at `from`, and the beginning of the next line.
    fn line(&self, text: &str, from: usize) -> (usize, usize) {
        let rest = text.get(from..).unwrap_or_default();
        match rest.find(self.line_ends) {
            None => (text.len(), text.len()),
            Some(length) => {
                let is_pair = rest.get(length..).is_some_and(|end| end.starts_with("\r\n"));
                (from + length, from + length + if is_pair { 2 } else { 1 })
            }
        }
    }
}

/// Returns the blocks of a text in order. Only the last one can be open.
///
/// ```
/// use windlass_ports::{FenceRules, fenced_blocks};
///
/// let mut blocks = fenced_blocks("So:\n```js\nreturn 1\n```\n", FenceRules::MARKDOWN);
/// let block = blocks.next().ok_or("a block")?;
/// assert_eq!((block.label, block.content, block.closed), ("js", "return 1\n", true));
/// assert_eq!(blocks.next(), None);
/// # Ok::<(), &str>(())
/// ```
pub fn fenced_blocks(text: &str, rules: FenceRules) -> impl Iterator<Item = FencedBlock<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut open = None;
        while at < text.len() {
            let (end, next) = rules.line(text, at);
            let line = text.get(at..end).unwrap_or_default().trim();
            match open {
                None => {
                    let label = line.strip_prefix("```").and_then(rules.label);
                    open = label.map(|label| (label, next));
                }
                Some((label, start)) if rules.closing.contains(&line) => {
                    let content = text.get(start..at).unwrap_or_default();
                    at = next;
                    return Some(FencedBlock { label, start, content, closed: true });
                }
                Some(_) => {}
            }
            at = next;
        }
        let (label, start) = open?;
        let content = text.get(start..).unwrap_or_default();
        Some(FencedBlock { label, start, content, closed: false })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str) -> Vec<(&str, &str, bool)> {
        let blocks = fenced_blocks(text, FenceRules::MARKDOWN);
        blocks.map(|block| (block.label, block.content, block.closed)).collect()
    }

    #[test]
    fn a_block_has_its_label_and_its_lines() {
        assert_eq!(blocks("a\n  ``` js \r\nb\r\n ```\t\n"), [("js", "b\r\n", true)]);
        assert_eq!(blocks("```\n```"), [("", "", true)]);
        assert_eq!(blocks("```a\n```b\n```\n```c"), [("a", "```b\n", true), ("c", "", false)]);
        assert_eq!(blocks("```a\nb\nc"), [("a", "b\nc", false)]);
        for none in ["", "a", "see ```js", "```a``` is one line"] {
            assert_eq!(blocks(none), [], "{none}");
        }
        assert_eq!(blocks("````md\n1\n```"), [("`md", "1\n", true)]);
    }

    #[test]
    fn rules_say_which_lines_are_fences() {
        let rules = FenceRules {
            line_ends: &['\n', '\r'],
            label: |rest| Some(rest).filter(|rest| !rest.contains(' ')),
            closing: &["```", "</a>"],
        };
        let text = "``` a\r\n```a\r\n1\r2\r\n</a>\r```b\r";
        let blocks: Vec<FencedBlock<'_>> = fenced_blocks(text, rules).collect();
        let block = |label, start, content, closed| FencedBlock { label, start, content, closed };
        assert_eq!(blocks, [block("a", 13, "1\r2\r\n", true), block("b", 28, "", false)]);
        assert_eq!(&text[13..18], blocks[0].content);
    }
}
