//! Diffs as lines with line numbers.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{ChangeTag, TextDiff};

use crate::text::{Line, Style};
use crate::theme::Theme;

/// Most bytes of the two texts together.
const BYTES: usize = 1024 * 1024;

/// Longest time to look for a diff.
const TIME: Duration = Duration::from_millis(200);

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// Returns the changes from one text to another. The first line has the path with counts of added and removed
/// lines. Of texts with more than 1 MiB, and of those that take too long to compare, it has counts of lines only.
#[must_use]
pub fn diff(before: &str, after: &str, path: &str, theme: &Theme) -> Vec<Line> {
    let head = Line::styled(path, theme.heading);
    let counts =
        || format!("{} lines before, {} after", before.lines().count(), after.lines().count());
    if before.len().saturating_add(after.len()) > BYTES {
        return vec![head.with(format!(" too large to compare: {}", counts()), theme.dim)];
    }
    let start = Instant::now();
    let changes = TextDiff::configure().timeout(TIME).diff_lines(before, after);
    if start.elapsed() > TIME {
        return vec![head.with(format!(" takes too long to compare: {}", counts()), theme.dim)];
    }
    let (mut added, mut removed) = (0_usize, 0_usize);
    for change in changes.iter_all_changes() {
        added += usize::from(change.tag() == ChangeTag::Insert);
        removed += usize::from(change.tag() == ChangeTag::Delete);
    }
    let head =
        head.with(format!(" +{added}"), theme.added).with(format!(" -{removed}"), theme.removed);
    let gutter = Gutter::new(before.lines().count().max(after.lines().count()), theme);
    let mut lines = vec![head];
    for (index, group) in changes.grouped_ops(CONTEXT).iter().enumerate() {
        if index > 0 {
            lines.push(gutter.gap());
        }
        for change in group.iter().flat_map(|op| changes.iter_changes(op)) {
            let number = change.new_index().or(change.old_index());
            lines.push(gutter.line(
                Side::of(change.tag()),
                number.map(|at| at + 1),
                change.value(),
            ));
            if change.missing_newline() {
                lines.push(gutter.note("no line break at the end"));
            }
        }
    }
    lines
}

/// Returns the lines of a unified diff in colors, with line numbers within its hunks.
#[must_use]
pub fn unified(text: &str, theme: &Theme) -> Vec<Line> {
    let most = text.lines().filter_map(hunk).map(|(old, new)| old.end.max(new.end)).max();
    let gutter = Gutter::new(most.unwrap_or(1), theme);
    let (mut old, mut new) = (0..0, 0..0);
    let mut lines = Vec::new();
    for line in text.lines() {
        let side = line.chars().next().map_or(Some(Side::Both), Side::marked);
        let within = side.filter(|side| match side {
            Side::Added => !new.is_empty(),
            Side::Removed => !old.is_empty(),
            Side::Both => !old.is_empty() && !new.is_empty(),
        });
        lines.push(match within {
            Some(side) => {
                let number = match side {
                    Side::Added => new.next(),
                    Side::Removed => old.next(),
                    Side::Both => old.next().and(new.next()),
                };
                gutter.line(side, number, line.get(1..).unwrap_or_default())
            }
            None => match hunk(line) {
                Some(next) => {
                    (old, new) = next;
                    Line::styled(line, theme.dim)
                }
                None if line.starts_with('\\') => gutter.note(line.trim_start_matches(['\\', ' '])),
                None => Line::styled(line, theme.heading),
            },
        });
    }
    lines
}

/// Text that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Added,
    Removed,
    Both,
}

impl Side {
    fn of(tag: ChangeTag) -> Self {
        match tag {
            ChangeTag::Insert => Self::Added,
            ChangeTag::Delete => Self::Removed,
            ChangeTag::Equal => Self::Both,
        }
    }

    fn marked(mark: char) -> Option<Self> {
        match mark {
            '+' => Some(Self::Added),
            '-' => Some(Self::Removed),
            ' ' => Some(Self::Both),
            _ => None,
        }
    }
}

/// Line numbers and marks before the text.
#[derive(Debug)]
struct Gutter<'a> {
    width: usize,
    theme: &'a Theme,
}

impl<'a> Gutter<'a> {
    fn new(most: usize, theme: &'a Theme) -> Self {
        Self { width: most.max(1).to_string().len(), theme }
    }

    fn line(&self, side: Side, number: Option<usize>, text: &str) -> Line {
        let (mark, style) = match side {
            Side::Added => ('+', self.theme.added),
            Side::Removed => ('-', self.theme.removed),
            Side::Both => (' ', self.theme.text),
        };
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        let text = text.trim_end_matches('\n').trim_end_matches('\r');
        self.number(&number).with(format!("{mark} {text}"), style)
    }

    fn gap(&self) -> Line {
        self.number("\u{22ee}")
    }

    fn note(&self, text: &str) -> Line {
        self.number("").with(format!("  {text}"), self.theme.dim)
    }

    fn number(&self, number: &str) -> Line {
        let dim: Style = self.theme.dim;
        Line::styled(format!("{number:>width$} ", width = self.width), dim)
    }
}

/// Parses the head of a hunk, such as `@@ -1,7 +1,8 @@`, as the ranges of line numbers before and after.
fn hunk(line: &str) -> Option<(Range<usize>, Range<usize>)> {
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let old = range(words.next()?.strip_prefix('-')?)?;
    Some((old, range(words.next()?.strip_prefix('+')?)?))
}

fn range(words: &str) -> Option<Range<usize>> {
    let (start, count) = words.split_once(',').unwrap_or((words, "1"));
    let (start, count): (usize, usize) = (start.parse().ok()?, count.parse().ok()?);
    Some(start..start.checked_add(count)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColorSupport, plain};
    use expect_test::expect;

    #[test]
    fn changes_have_numbers_and_context() {
        let before: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        let after =
            before.replace("line 5\n", "line five\nline\tmore\n").replace("line 30\n", "end");
        let lines = diff(&before, &after, "src/a.rs", &Theme::plain());
        expect![[r#"
            src/a.rs +3 -2
             2   line 2
             3   line 3
             4   line 4
             5 - line 5
             5 + line five
             6 + line       more
             7   line 6
             8   line 7
             9   line 8
             ⋮ 
            28   line 27
            29   line 28
            30   line 29
            30 - line 30
            31 + end
                 no line break at the end
        "#]]
        .assert_eq(&plain(&lines, ColorSupport::None));
        assert_eq!(diff("same\n", "same\n", "a", &Theme::plain()).len(), 1);
    }

    #[test]
    fn a_unified_diff_has_numbers_in_its_hunks_only() {
        let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -9,3 +9,3 @@ fn main() {\n same\n--- removed\n+++ added\n\n\\ No newline at end of file\n@@ -1 +1 @@\n-a\n+b\ntrailer\n@@ -x +1 @@\n";
        let theme = Theme::dark();
        let lines = unified(text, &theme);
        expect![[r#"
            diff --git a/x b/x
            --- a/x
            +++ b/x
            @@ -9,3 +9,3 @@ fn main() {
             9   same
            10 - -- removed
            10 + ++ added
            11   
                 No newline at end of file
            @@ -1 +1 @@
             1 - a
             1 + b
            trailer
            @@ -x +1 @@
        "#]]
        .assert_eq(&plain(&lines, ColorSupport::None));
        let styles: Vec<Style> = lines[5..7].iter().map(|line| line.spans[1].style).collect();
        assert_eq!(styles, [theme.removed, theme.added]);
    }

    #[test]
    fn large_texts_are_counted_and_hard_ones_end_in_time() {
        let large = "x\n".repeat(BYTES / 3);
        let lines = diff(&large, &large, "a", &Theme::plain());
        expect!["a too large to compare: 349525 lines before, 349525 after\n"]
            .assert_eq(&plain(&lines, ColorSupport::None));
        // Two texts with no order in common.
        let mixed = |seed: u64| -> String {
            let numbers = (1..50_000_u64).map(|n| (n * seed) % 4_099);
            numbers.map(|n| format!("{n:x}\n")).collect()
        };
        let start = Instant::now();
        let lines = diff(&mixed(7_919), &mixed(104_729), "a", &Theme::plain());
        assert!(!lines.is_empty() && start.elapsed() < 20 * TIME, "{:?}", start.elapsed());
    }
}
