//! Keys of vi: a normal mode over the same buffer.

use std::ops::Range;

use crate::cells;
use crate::composer::buffer::Buffer;
use crate::composer::words::{self, Kind};
use crate::keys::{Key, KeyCode};

/// Largest count before a command.
const COUNT: usize = 9_999;

/// Mode, and the parts of a command so far.
#[derive(Debug, Default)]
pub(super) struct Vim {
    normal: bool,
    count: Option<usize>,
    /// `d`, `c` or `y`, with the count before it.
    operator: Option<(char, usize)>,
    /// `g`, or `i` and `a` after an operator.
    prefix: Option<char>,
}

/// Result of a key in normal mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VimKey {
    /// The key was applied.
    Done,
    /// The cursor is to move to the row above, or to an older text.
    Up,
    /// The cursor is to move to the row below, or to a newer text.
    Down,
    /// The key means nothing here.
    Unknown,
}

/// Part of the text that a motion covers.
enum Motion {
    /// From the cursor to this position.
    To(usize),
    /// From the cursor to the end of the cell at this position.
    Onto(usize),
    /// All lines from the cursor's to that of this position.
    Lines(usize),
}

impl Vim {
    /// Returns true outside of insert mode.
    pub(super) fn is_normal(&self) -> bool {
        self.normal
    }

    /// Returns the name of the mode.
    pub(super) fn mode(&self) -> &'static str {
        if self.normal { "NORMAL" } else { "INSERT" }
    }

    /// Enters insert mode.
    pub(super) fn insert(&mut self) {
        *self = Self::default();
    }

    /// Leaves insert mode or an unfinished command. Returns false in normal mode.
    pub(super) fn escape(&mut self, buffer: &mut Buffer) -> bool {
        let unfinished = self.count.is_some() || self.operator.is_some() || self.prefix.is_some();
        let inserted = !self.normal;
        *self = Self { normal: true, ..Self::default() };
        if inserted && buffer.cursor() > buffer.line_start(buffer.cursor()) {
            buffer.go(buffer.left());
        }
        inserted || unfinished
    }

    /// Applies a key in normal mode.
    pub(super) fn key(&mut self, buffer: &mut Buffer, key: Key) -> VimKey {
        let Some(letter) = letter_of(key) else {
            return VimKey::Unknown;
        };
        let result = self.letter(buffer, letter);
        let at = buffer.cursor();
        let beyond = at == buffer.line_end(at) && at > buffer.line_start(at);
        if self.normal && beyond && result == VimKey::Done {
            buffer.go(buffer.left());
        }
        result
    }

    fn letter(&mut self, buffer: &mut Buffer, letter: char) -> VimKey {
        if let Some(digit) = letter.to_digit(10).filter(|digit| *digit > 0 || self.count.is_some())
        {
            self.count = Some((self.count.unwrap_or(0) * 10 + digit as usize).min(COUNT));
            return VimKey::Done;
        }
        let begins = match letter {
            'g' => self.prefix.is_none(),
            'i' | 'a' => self.prefix.is_none() && self.operator.is_some(),
            'd' | 'c' | 'y' => self.operator.is_none() && self.prefix.is_none(),
            _ => false,
        };
        match (begins, letter) {
            (true, 'd' | 'c' | 'y') => {
                self.operator = Some((letter, self.count.take().unwrap_or(1)))
            }
            (true, _) => self.prefix = Some(letter),
            (false, _) => return self.command(buffer, letter),
        }
        VimKey::Done
    }

    /// Runs a whole command, which ends with this letter.
    fn command(&mut self, buffer: &mut Buffer, letter: char) -> VimKey {
        let Self { count, operator, prefix, .. } = *self;
        *self = Self { normal: true, ..Self::default() };
        let times = (count.unwrap_or(1) * operator.map_or(1, |(_, count)| count)).min(COUNT);
        let Some((operator, _)) = operator else {
            return match (prefix, motion(buffer, prefix, letter, count, times)) {
                (_, Some(motion)) => go(buffer, &motion, letter, times),
                (None, None) => self.simple(buffer, letter, times),
                (Some(_), None) => VimKey::Unknown,
            };
        };
        let at = buffer.cursor();
        let word = operator == 'c' && letter == 'w' && prefix.is_none();
        let on_word = words::kind(buffer.raw(), at) != Kind::Space;
        let motion = match (prefix, letter) {
            (Some('i' | 'a'), 'w') => {
                return self.operate(buffer, operator, inner_word(buffer, prefix));
            }
            (Some('i' | 'a'), _) => None,
            (None, letter) if letter == operator => Some(Motion::Lines(below(buffer, times - 1))),
            _ if word && on_word => Some(Motion::Onto(word_end(buffer, times))),
            _ => motion(buffer, prefix, letter, count, times),
        };
        let Some(motion) = motion else {
            return VimKey::Unknown;
        };
        match motion {
            Motion::To(to) => self.operate(buffer, operator, within(buffer, letter, at, to)),
            Motion::Onto(to) => {
                let end = cells::next(buffer.raw(), to);
                self.operate(buffer, operator, at.min(end)..at.max(end))
            }
            Motion::Lines(to) => self.operate_lines(buffer, operator, at.min(to)..at.max(to)),
        }
    }

    fn operate(&mut self, buffer: &mut Buffer, operator: char, part: Range<usize>) -> VimKey {
        let start = part.start;
        match operator {
            'y' => buffer.copy(part, false),
            _ => buffer.cut(part),
        }
        buffer.go(start);
        self.normal = operator != 'c';
        VimKey::Done
    }

    fn operate_lines(&mut self, buffer: &mut Buffer, operator: char, part: Range<usize>) -> VimKey {
        let lines = buffer.line_start(part.start)..buffer.line_end(part.end);
        match operator {
            'y' => buffer.copy(lines, true),
            'd' => buffer.cut_lines(lines),
            _ => {
                buffer.copy(lines.clone(), true);
                let cut = buffer.cut.clone();
                buffer.cut(lines);
                buffer.cut = cut;
                self.normal = false;
            }
        }
        VimKey::Done
    }

    fn simple(&mut self, buffer: &mut Buffer, letter: char, times: usize) -> VimKey {
        let at = buffer.cursor();
        let (start, end) = (buffer.line_start(at), buffer.line_end(at));
        match letter {
            'x' => buffer.cut(at..repeat(at, times, |at| cells::next(buffer.raw(), at).min(end))),
            'D' | 'C' => buffer.cut(at..end),
            'p' | 'P' => put(buffer, letter == 'p', times),
            'u' => (0..times).for_each(|_| {
                buffer.undo();
            }),
            'o' => open(buffer, end, end + 1),
            'O' => open(buffer, start, start),
            'I' => buffer.go(caret(buffer)),
            'A' => buffer.go(end),
            'a' => buffer.go(buffer.right().min(end)),
            'i' => {}
            _ => return VimKey::Unknown,
        }
        self.normal = !"CoOIAai".contains(letter);
        VimKey::Done
    }
}

/// Returns the letter of a key in normal mode.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other keys are alike")]
fn letter_of(key: Key) -> Option<char> {
    if key.ctrl || key.alt {
        return None;
    }
    match key.code {
        KeyCode::Char(letter) => Some(letter),
        KeyCode::Left | KeyCode::Backspace => Some('h'),
        KeyCode::Right => Some('l'),
        KeyCode::Home => Some('0'),
        KeyCode::End => Some('$'),
        KeyCode::Delete => Some('x'),
        _ => None,
    }
}

/// Returns the part of the text that a motion covers, or nothing if the letter is none.
fn motion(
    buffer: &Buffer,
    prefix: Option<char>,
    letter: char,
    count: Option<usize>,
    times: usize,
) -> Option<Motion> {
    let (text, at) = (buffer.raw(), buffer.cursor());
    let (start, end) = (buffer.line_start(at), buffer.line_end(at));
    if prefix == Some('g') {
        return (letter == 'g').then(|| Motion::Lines(line(buffer, count.unwrap_or(1))));
    }
    Some(match letter {
        'h' => Motion::To(repeat(at, times, |at| cells::previous(text, at).max(start))),
        'l' => Motion::To(repeat(at, times, |at| cells::next(text, at).min(end))),
        'w' => Motion::To(repeat(at, times, |at| word_start(text, at))),
        'b' => Motion::To(repeat(at, times, |at| word_back(text, at))),
        'e' => Motion::Onto(word_end(buffer, times)),
        '0' => Motion::To(start),
        '^' => Motion::To(caret(buffer)),
        '$' => Motion::To(buffer.line_end(below(buffer, times - 1))),
        'j' => Motion::Lines(below(buffer, times)),
        'k' => Motion::Lines(repeat(at, times, |at| buffer.line_start(at).saturating_sub(1))),
        'G' => Motion::Lines(line(buffer, count.unwrap_or(usize::MAX))),
        _ => return None,
    })
}

/// Moves the cursor by a motion.
fn go(buffer: &mut Buffer, motion: &Motion, letter: char, times: usize) -> VimKey {
    match (letter, motion) {
        ('j', _) => {
            let moved = (1..times).all(|_| buffer.down());
            return if moved { VimKey::Down } else { VimKey::Done };
        }
        ('k', _) => {
            let moved = (1..times).all(|_| buffer.up());
            return if moved { VimKey::Up } else { VimKey::Done };
        }
        (_, Motion::To(to) | Motion::Onto(to) | Motion::Lines(to)) => buffer.go(*to),
    }
    VimKey::Done
}

/// Returns the part that an operator covers. A word at the end of a line ends there.
fn within(buffer: &Buffer, letter: char, at: usize, to: usize) -> Range<usize> {
    let end = buffer.line_end(at);
    let to = if letter == 'w' && to > end { end.max(at) } else { to };
    at.min(to)..at.max(to)
}

fn repeat(at: usize, times: usize, step: impl Fn(usize) -> usize) -> usize {
    let mut at = at;
    for _ in 0..times {
        let next = step(at);
        if next == at {
            break;
        }
        at = next;
    }
    at
}

fn word_start(text: &str, at: usize) -> usize {
    let kind = words::kind(text, at);
    let after = words::forward(text, at, |other| other == kind && kind != Kind::Space);
    words::forward(text, after, |other| other == Kind::Space)
}

fn word_back(text: &str, at: usize) -> usize {
    let end = words::backward(text, at, |other| other == Kind::Space);
    let kind = words::kind(text, cells::previous(text, end));
    words::backward(text, end, |other| other == kind)
}

/// Returns the last cell of a word so many words further.
fn word_end(buffer: &Buffer, times: usize) -> usize {
    let text = buffer.raw();
    repeat(buffer.cursor(), times, |at| {
        let next = cells::next(text, at);
        let start = words::forward(text, next, |other| other == Kind::Space);
        let kind = words::kind(text, start);
        let end = words::forward(text, start, |other| other == kind);
        cells::previous(text, end).max(at)
    })
}

fn inner_word(buffer: &Buffer, prefix: Option<char>) -> Range<usize> {
    let (text, at) = (buffer.raw(), buffer.cursor());
    let kind = words::kind(text, at);
    let line = buffer.line_start(at)..buffer.line_end(at);
    let start = words::backward(text, at, |other| other == kind).max(line.start);
    let end = words::forward(text, at, |other| other == kind).min(line.end);
    let around = words::forward(text, end, |other| other == Kind::Space).min(line.end);
    start..if prefix == Some('a') { around } else { end.max(start) }
}

/// Returns the first position in the cursor's line that is not white space.
fn caret(buffer: &Buffer) -> usize {
    let at = buffer.cursor();
    let start = buffer.line_start(at);
    words::forward(buffer.raw(), start, |kind| kind == Kind::Space).min(buffer.line_end(at))
}

/// Returns a position in the line so many lines below.
fn below(buffer: &Buffer, lines: usize) -> usize {
    let length = buffer.raw().len();
    repeat(buffer.cursor(), lines, |at| (buffer.line_end(at) + 1).min(length))
}

/// Returns the start of a line by its number from 1, or of the last line.
fn line(buffer: &Buffer, number: usize) -> usize {
    let starts = buffer.raw().match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(starts).take(number.max(1)).last().unwrap_or(0)
}

/// Inserts an empty line and puts the cursor into it.
fn open(buffer: &mut Buffer, at: usize, cursor: usize) {
    buffer.go(at);
    buffer.insert("\n");
    buffer.go(cursor);
}

fn put(buffer: &mut Buffer, after: bool, times: usize) {
    let at = buffer.cursor();
    if buffer.cut.lines {
        let (start, end) = (buffer.line_start(at), buffer.line_end(at));
        let lines = vec![buffer.cut.raw.as_str(); times].join("\n");
        let (to, text) =
            if after { (end, format!("\n{lines}")) } else { (start, format!("{lines}\n")) };
        buffer.put_at(to, &text);
        buffer.go(if after { end + 1 } else { start });
    } else {
        let to = if after { buffer.right().min(buffer.line_end(at)) } else { at };
        let text = buffer.cut.raw.repeat(times);
        buffer.put_at(to, &text);
        if !text.is_empty() {
            buffer.go(buffer.left());
        }
    }
}
