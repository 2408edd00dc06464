//! Parsing of a model's summary: every form of its headings counts.
//!
//! Models write the requested headings as `## Goal`, `**Goal**`, `Goal:`, `1. Goal`, in another
//! order or in the language of the conversation. The result has one form, so that it returns to the
//! model as it was requested.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::summary::shorten;

/// Headings of a summary, in order.
const HEADINGS: [&str; 4] = ["Goal", "Done", "Open", "Facts"];

/// Most bytes of a model's answer to read.
const READ_BYTES: usize = 64 * 1024;

/// Last line of a section that was cut.
pub(super) const CUT_MARK: &str = "[cut here: the summary was too long]";

/// Form of a heading. The forms of one answer are not mixed: a line in another form is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeadingForm {
    /// `## Goal`.
    Hash,
    /// `**Goal**`.
    Bold,
    /// `Goal:`, or the name alone.
    Plain,
}

/// A line that may be a heading.
#[derive(Debug, Clone, Copy)]
struct HeadingLine<'a> {
    form: HeadingForm,
    /// Number of `#` signs.
    level: usize,
    name: &'a str,
    colon: bool,
    /// Text after the colon.
    rest: &'a str,
}

/// A heading of the summary.
struct Heading<'a> {
    line: usize,
    /// Index in [`HEADINGS`].
    section: usize,
    rest: &'a str,
}

/// Parses a model's summary: its sections under the four headings, in order, of which the goal is
/// not empty. Skips text before the first heading and a code fence around the whole.
///
/// A heading counts in any form and order. Headings in another language count by their order. A
/// summary that ends early lacks its last sections. Reads the first 64 KiB of an answer.
///
/// # Errors
/// The reason why the text is unusable.
pub fn parse_summary(text: &str) -> Result<String, String> {
    let text = text.get(..text.floor_char_boundary(READ_BYTES)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let headings = find_headings(&lines);
    let Some(first) = headings.first() else {
        return Err(String::from("the model's answer has none of the headings of a summary"));
    };
    let fences = lines.iter().take(first.line).filter(|line| is_fence(line)).count();
    let mut sections: [Option<String>; 4] = Default::default();
    let ends = headings.iter().skip(1).map(|heading| heading.line).chain([lines.len()]);
    let last = headings.len().saturating_sub(1);
    for (at, (heading, end)) in headings.iter().zip(ends).enumerate() {
        let own = lines.get(heading.line.saturating_add(1)..end).unwrap_or_default();
        let own = if at == last && fences % 2 == 1 { before_fence(own) } else { own };
        let mut section = String::new();
        for line in [heading.rest].iter().chain(own) {
            section.extend(line.chars().filter(|c| *c == '\t' || !c.is_control()));
            section.push('\n');
        }
        if let Some(place) = sections.get_mut(heading.section) {
            *place = Some(section);
        }
    }
    let [goal, ..] = &sections;
    if goal.as_ref().is_none_or(|goal| goal.trim().is_empty()) {
        return Err(String::from("the model's summary names no goal"));
    }
    let parts = HEADINGS.iter().zip(&sections).filter_map(|(name, section)| {
        let section = section.as_ref()?.trim();
        let section = if section.is_empty() { "None." } else { section };
        Some(format!("## {name}\n{section}"))
    });
    Ok(parts.collect::<Vec<_>>().join("\n"))
}

/// Returns the headings in the order of their lines: those with known names in the form that most
/// of them have, or else four in one form, by their order.
fn find_headings<'a>(lines: &[&'a str]) -> Vec<Heading<'a>> {
    let read: Vec<(usize, HeadingLine<'a>)> = lines
        .iter()
        .enumerate()
        .filter_map(|(line, text)| Some((line, HeadingLine::read(text)?)))
        .collect();
    let forms = [HeadingForm::Hash, HeadingForm::Bold, HeadingForm::Plain];
    let named = forms.map(|form| named_headings(&read, form));
    let most = named.into_iter().min_by_key(|headings| Reverse(headings.len()));
    match most {
        Some(headings) if !headings.is_empty() => headings,
        Some(_) | None => headings_by_order(&read),
    }
}

/// Returns the first heading of each name in this form.
fn named_headings<'a>(read: &[(usize, HeadingLine<'a>)], form: HeadingForm) -> Vec<Heading<'a>> {
    let mut headings: Vec<Heading<'a>> = Vec::new();
    for (line, heading) in read.iter().filter(|(_, heading)| heading.form == form) {
        let known = |section: &usize| headings.iter().all(|other| other.section != *section);
        if let Some(section) = heading.section().filter(known) {
            headings.push(Heading { line: *line, section, rest: heading.rest });
        }
    }
    headings
}

/// Returns exactly four headings in one form and level, in any language.
fn headings_by_order<'a>(read: &[(usize, HeadingLine<'a>)]) -> Vec<Heading<'a>> {
    let hash = (1..=6).map(|level| (HeadingForm::Hash, level));
    for (form, level) in hash.chain([(HeadingForm::Bold, 0), (HeadingForm::Plain, 0)]) {
        let alone = |heading: &HeadingLine<'_>| match form {
            HeadingForm::Hash => true,
            HeadingForm::Bold => heading.rest.is_empty(),
            HeadingForm::Plain => heading.rest.is_empty() && heading.colon,
        };
        let same = read.iter().filter(|(_, heading)| {
            heading.form == form && heading.level == level && alone(heading)
        });
        let found: Vec<&(usize, HeadingLine<'a>)> = same.collect();
        if found.len() == HEADINGS.len() {
            let headings = found.into_iter().enumerate();
            let headings = headings.map(|(section, (line, heading))| Heading {
                line: *line,
                section,
                rest: heading.rest,
            });
            return headings.collect();
        }
    }
    Vec::new()
}

impl<'a> HeadingLine<'a> {
    /// Reads a line: `None` for a list item or an empty line.
    fn read(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let text = line.trim_start_matches('#');
        let level = line.len().saturating_sub(text.len());
        let text = unnumbered(text.trim_matches(['#', ' ', '\t']));
        let mark = ["**", "__"].into_iter().find(|mark| text.starts_with(mark));
        let (name, rest) = match mark {
            Some(mark) => text.get(mark.len()..)?.split_once(mark)?,
            None => (text, ""),
        };
        let form = match (level, mark) {
            (1.., _) => HeadingForm::Hash,
            (0, Some(_)) => HeadingForm::Bold,
            (0, None) if text.starts_with(['-', '*', '+', '>', '|']) => return None,
            (0, None) => HeadingForm::Plain,
        };
        let (name, after) =
            name.split_once(COLONS).map_or((name, None), |(name, after)| (name, Some(after)));
        let colon = after.is_some() || rest.starts_with(COLONS);
        let inside = after.unwrap_or_default().trim();
        let rest = if inside.is_empty() { rest.trim_start_matches(COLONS).trim() } else { inside };
        let name = name.trim();
        (!name.is_empty()).then_some(Self { form, level, name, colon, rest })
    }

    /// Returns the section that its name means. A marked heading may have more words than the name.
    fn section(&self) -> Option<usize> {
        let is = |word: &str| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            HEADINGS.iter().position(|name| {
                let (name, word) = (name.trim_end_matches('s'), word.trim_end_matches(['s', 'S']));
                name.eq_ignore_ascii_case(word)
            })
        };
        match self.form {
            HeadingForm::Hash | HeadingForm::Bold => self.name.split_whitespace().find_map(is),
            HeadingForm::Plain if self.colon || self.rest.is_empty() => is(self.name),
            HeadingForm::Plain => None,
        }
    }
}

/// Colons of Western and of Chinese and Japanese text.
const COLONS: [char; 2] = [':', '\u{ff1a}'];

/// Returns the text without a number such as `1.` or `2)` before it.
fn unnumbered(text: &str) -> &str {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(['.', ')']) {
        Some(name) if rest.len() < text.len() => name.trim_start(),
        Some(_) | None => text,
    }
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// Returns the lines before the end of a code fence.
fn before_fence<'a, 'b>(lines: &'b [&'a str]) -> &'b [&'a str] {
    let end = lines.iter().rposition(|line| is_fence(line));
    lines.get(..end.unwrap_or(lines.len())).unwrap_or_default()
}

/// Cuts a summary to at most `most` bytes: whole lines from the end of its longest section, with a
/// mark in each section that was cut.
pub(super) fn cut_summary(summary: &str, most: usize) -> String {
    let mut sections: Vec<(Vec<&str>, bool)> = Vec::new();
    for line in summary.lines() {
        match sections.last_mut() {
            Some((lines, _)) if !line.starts_with("## ") => lines.push(line),
            Some(_) | None => sections.push((alloc::vec![line], false)),
        }
    }
    let size = |lines: &[&str]| lines.iter().fold(0, |sum: usize, line| sum + line.len() + 1);
    let mut sizes: Vec<usize> = sections.iter().map(|(lines, _)| size(lines)).collect();
    while sizes.iter().sum::<usize>() > most.saturating_add(1) {
        let long = sections.iter_mut().zip(&mut sizes);
        let long = long.filter(|((lines, _), _)| lines.len() > 1);
        let Some(((lines, cut), size)) = long.max_by_key(|(_, size)| **size) else {
            break;
        };
        let line = lines.pop().unwrap_or_default();
        *size = size.saturating_sub(line.len().saturating_add(1));
        if !core::mem::replace(cut, true) {
            *size = size.saturating_add(CUT_MARK.len()).saturating_add(1);
        }
    }
    let lines = sections
        .into_iter()
        .flat_map(|(lines, cut)| lines.into_iter().chain(cut.then_some(CUT_MARK)));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    shorten(&mut text, most);
    text
}
