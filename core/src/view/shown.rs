//! Texts for people: what is shown of arguments and of other foreign text. Pure.
//!
//! No character that steers a terminal, hides, or turns text round is in the result.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Blanks in a row that are shown as they are.
const MAX_BLANKS: usize = 16;
/// Marks over one character that are shown as they are.
const MAX_MARKS: usize = 4;
/// Empty lines in a row that are shown as they are.
const MAX_EMPTY_LINES: usize = 2;
/// Most lines of a text that are shown.
const MAX_LINES: usize = 120;
/// Most characters of a text that are shown.
const MAX_CHARS: usize = 8_000;
/// Most characters of a line that are shown.
const MAX_LINE_CHARS: usize = 2_000;

/// Returns true if a character steers a terminal, does not show, or turns text round.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Blanks other than the space.
            '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
            // Soft hyphen, joiners, marks of direction, separators, invisible operators.
            | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Fillers.
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
            | '\u{16fe4}' | '\u{1d159}'
            // Joiners of hieroglyphs, and what is no character.
            | '\u{13430}'..='\u{1345f}' | '\u{fdd0}'..='\u{fdef}' | '\u{fffe}' | '\u{ffff}'
            // Variation selectors, byte order mark, annotations, tags, private use.
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e000}'..='\u{f8ff}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}')
}

/// Returns true for marks that are drawn over the character before them.
fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
        | '\u{eb1}' | '\u{eb4}'..='\u{ebc}' | '\u{ec8}'..='\u{ece}' | '\u{f71}'..='\u{f84}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1cd0}'..='\u{1cf9}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{2de0}'..='\u{2dff}' | '\u{302a}'..='\u{302f}'
        | '\u{3099}' | '\u{309a}' | '\u{a66f}'..='\u{a67d}' | '\u{a8e0}'..='\u{a8f1}'
        | '\u{fe20}'..='\u{fe2f}' | '\u{1d165}'..='\u{1d169}' | '\u{1d242}'..='\u{1d244}')
}

/// Writes characters, and spells out those that do not show or that would cover others.
struct Spelling {
    out: String,
    /// Marks in a row. A mark without a character to stand on counts as one too many.
    marks: usize,
}

impl Spelling {
    fn new() -> Self {
        Self { out: String::new(), marks: MAX_MARKS }
    }

    fn push(&mut self, c: char) {
        self.marks = match c {
            c if is_mark(c) => self.marks.saturating_add(1),
            ' ' => MAX_MARKS,
            _ => 0,
        };
        if is_hidden(c) || self.marks > MAX_MARKS {
            self.out.extend(c.escape_default());
        } else {
            self.out.push(c);
        }
    }

    /// Writes a text as it is.
    fn push_plain(&mut self, text: &str) {
        self.marks = MAX_MARKS;
        self.out.push_str(text);
    }
}

/// Spells out the characters of a text that do not show, and marks without end on one character.
/// Line breaks and tabs stay.
#[must_use]
pub fn spelled_out(text: &str) -> String {
    let mut spelling = Spelling::new();
    for c in text.chars() {
        match c {
            '\n' => spelling.push_plain("\n"),
            '\t' => spelling.push_plain("\t"),
            c => spelling.push(c),
        }
    }
    spelling.out
}

/// Returns the lines of a decoded text for a person who decides by it.
///
/// Hidden characters are spelled out, long runs of blanks and of empty lines are counted instead of
/// shown, and of a long text its beginning and its end are shown with the length of the rest.
#[must_use]
pub fn shown_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut empty = 0_usize;
    for line in text.split('\n') {
        if line.trim_matches([' ', '\t', '\r']).is_empty() {
            empty = empty.saturating_add(1);
            continue;
        }
        add_empty(&mut lines, empty);
        empty = 0;
        lines.push(cut_line(&counted_blanks(line)));
    }
    add_empty(&mut lines, empty);
    cut(lines)
}

fn add_empty(lines: &mut Vec<String>, count: usize) {
    if count > MAX_EMPTY_LINES {
        lines.push(format!("[{count} empty lines]"));
    } else {
        lines.extend((0..count).map(|_| String::new()));
    }
}

/// Spells out a line, and counts long runs of blanks.
fn counted_blanks(line: &str) -> String {
    let mut spelling = Spelling::new();
    let mut blanks = String::new();
    for c in line.chars() {
        if matches!(c, ' ' | '\t') {
            blanks.push(c);
            continue;
        }
        add_blanks(&mut spelling, &blanks);
        blanks.clear();
        spelling.push(c);
    }
    add_blanks(&mut spelling, &blanks);
    spelling.out
}

fn add_blanks(spelling: &mut Spelling, blanks: &str) {
    if blanks.len() > MAX_BLANKS {
        spelling.push_plain(&format!(" [{} blanks] ", blanks.len()));
    } else if !blanks.is_empty() {
        spelling.push_plain(blanks);
    }
}

/// Returns the beginning and the end of a long line.
fn cut_line(line: &str) -> String {
    let count = line.chars().count();
    if count <= MAX_LINE_CHARS {
        return String::from(line);
    }
    let side = MAX_LINE_CHARS / 2;
    let head: String = line.chars().take(side).collect();
    let tail: String = line.chars().skip(count.saturating_sub(side)).collect();
    let hidden = count.saturating_sub(side.saturating_mul(2));
    format!("{head} [{hidden} characters are not shown] {tail}")
}

/// Returns the first and the last lines of a long text.
fn cut(lines: Vec<String>) -> Vec<String> {
    let size = |line: &String| line.chars().count().saturating_add(1);
    let all: usize = lines.iter().map(size).sum();
    if lines.len() <= MAX_LINES && all <= MAX_CHARS {
        return lines;
    }
    let within = |lines: &mut dyn Iterator<Item = &String>| {
        let mut left = MAX_CHARS / 2;
        let fits = |line: &&String| {
            let rest = left.checked_sub(size(line));
            left = rest.unwrap_or(0);
            rest.is_some()
        };
        lines.take(MAX_LINES / 2).take_while(fits).count()
    };
    let head = within(&mut lines.iter());
    let tail = within(&mut lines.iter().rev()).min(lines.len().saturating_sub(head));
    let end = lines.len().saturating_sub(tail);
    let hidden = lines.get(head..end).unwrap_or_default();
    if hidden.is_empty() {
        return lines;
    }
    let characters: usize = hidden.iter().map(size).sum();
    let count = hidden.len();
    let note = format!("[{count} lines with {characters} characters are not shown]");
    let mut shown: Vec<String> = lines.get(..head).unwrap_or_default().to_vec();
    shown.push(note);
    shown.extend_from_slice(lines.get(end..).unwrap_or_default());
    shown
}

/// Returns the lines that replacing one text by another removes and adds, marked with `-` and `+`.
/// Lines that both texts begin or end with are left out, but for the nearest.
#[must_use]
pub fn diff_lines(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let shortest = old.len().min(new.len());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = shortest.saturating_sub(head);
    let tail =
        old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let mut lines = Vec::new();
    let context = |lines: &mut Vec<String>, text: Option<&&str>| {
        lines.extend(text.map(|text| format!(" {text}")));
    };
    context(&mut lines, head.checked_sub(1).and_then(|at| old.get(at)));
    let middle = |all: &[&str], mark: char| -> Vec<String> {
        let end = all.len().saturating_sub(tail);
        let changed = all.get(head..end).unwrap_or_default();
        changed.iter().map(|line| format!("{mark}{line}")).collect()
    };
    lines.extend(middle(&old, '-'));
    lines.extend(middle(&new, '+'));
    context(&mut lines, old.get(old.len().saturating_sub(tail)).filter(|_| tail > 0));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_do_not_push_the_dangerous_half_away() {
        let text = format!("git log{}; rm -rf .", " ".repeat(9_000));
        assert_eq!(shown_lines(&text), ["git log [9000 blanks] ; rm -rf ."]);
        let text = format!("git log{}rm -rf .", "\n".repeat(9_000));
        assert_eq!(shown_lines(&text), ["git log", "[8999 empty lines]", "rm -rf ."]);
        let text = format!("git log{}rm -rf .", " \t\r\n".repeat(9_000));
        assert_eq!(shown_lines(&text).last().unwrap(), "rm -rf .");
        assert!(shown_lines(&text).len() < 5);
    }

    #[test]
    fn hidden_characters_are_spelled_out() {
        for c in [
            '\u{1b}',
            '\u{7f}',
            '\u{9b}',
            '\u{8}',
            '\u{202e}',
            '\u{2066}',
            '\u{200b}',
            '\u{200d}',
            '\u{feff}',
            '\u{3164}',
            '\u{115f}',
            '\u{ffa0}',
            '\u{2800}',
            '\u{e0041}',
            '\u{e01ef}',
            '\u{ad}',
            '\u{2028}',
            '\u{a0}',
            '\u{3000}',
            '\u{fe0f}',
            '\u{13430}',
            '\u{16fe4}',
            '\u{1d173}',
            '\u{fffe}',
            '\u{85}',
            '\u{e001}',
        ] {
            let code = format!("a\\u{{{:x}}}b", u32::from(c));
            assert_eq!(spelled_out(&format!("a{c}b")), code);
            assert_eq!(shown_lines(&format!("a{c}b")), [code]);
        }
        assert_eq!(spelled_out("a\r"), "a\\r");
        assert_eq!(spelled_out("grün 漢字\t\n"), "grün 漢字\t\n");
    }

    #[test]
    fn marks_do_not_cover_what_is_near() {
        assert_eq!(spelled_out("e\u{301}\u{323} n\u{303}"), "e\u{301}\u{323} n\u{303}");
        assert_eq!(spelled_out("\u{338}x \u{338}"), "\\u{338}x \\u{338}");
        let flood = format!("a{}b", "\u{301}".repeat(1_000));
        let shown = spelled_out(&flood);
        assert_eq!(shown.matches('\u{301}').count(), 4);
        assert_eq!(shown.matches("\\u{301}").count(), 996);
        assert_eq!(shown_lines(&flood)[0].matches('\u{301}').count(), 4);
    }

    #[test]
    fn head_and_tail_of_a_long_text_show() {
        let lines: Vec<String> = (0..5_000).map(|nth| format!("line {nth}")).collect();
        let shown = shown_lines(&lines.join("\n"));
        assert_eq!(shown.first().unwrap(), "line 0");
        assert_eq!(shown.last().unwrap(), "line 4999");
        assert!(shown.iter().any(|line| line.contains("lines with")), "{shown:?}");
        assert!(shown.len() <= MAX_LINES + 1);
        let shown = shown_lines(&format!("begin{}end", "x".repeat(1_000_000)));
        assert!(shown[0].starts_with("begin") && shown[0].ends_with("end"));
        assert!(
            shown[0].contains("[998008 characters are not shown]"),
            "{}",
            &shown[0][900..1_100]
        );
        let long = format!("{0}\n{0}\n{0}\n{0}\n{0}\nend", "y".repeat(1_999));
        let shown = shown_lines(&long);
        assert_eq!(shown.last().unwrap(), "end");
        assert!(shown.len() < 6, "{shown:?}");
    }

    #[test]
    fn a_difference_shows_what_changes() {
        assert_eq!(diff_lines("a\nb\nc\nd", "a\nb\nx\nd"), [" b", "-c", "+x", " d"]);
        assert_eq!(diff_lines("a", "b"), ["-a", "+b"]);
        assert_eq!(diff_lines("a\nb", "a\nb"), [" b"]);
        assert_eq!(diff_lines("a\na", "a"), [" a", "-a"]);
    }
}
