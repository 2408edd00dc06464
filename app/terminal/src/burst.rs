//! Pastes of terminals that do not mark them, and answers of the terminal among the keys.
//!
//! Without bracketed paste, a paste arrives as keys, and its line breaks as Enter. A person leaves
//! tens of milliseconds between two keys; a terminal writes all at once. Nothing here reads a clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::keys::{Input, Key, KeyCode};

/// Longest time between two keys of a burst.
const GAP: Duration = Duration::from_millis(10);
/// Time that an Enter at the end of a burst waits for more.
const HOLD: Duration = Duration::from_millis(40);
/// Time after a paste within which the rest of it may arrive.
const REST: Duration = Duration::from_millis(100);
/// Fewest keys of a burst.
const FEWEST: usize = 3;
/// Characters from which on a burst without a line break is a paste.
const LONG: usize = 400;
/// Longest time between a question to the terminal and its answer.
const LATEST: Duration = Duration::from_secs(10);
/// Longest color in an answer, in characters.
const ANSWER: usize = 64;
/// Opening of an answer that has the background color.
const OPENING: &str = "\u{1B}]11;";

/// Inputs in the order of their arrival, with pastes put together.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Keys that may be of one burst, with the time of the last one.
    held: Vec<Key>,
    last: Option<Instant>,
    /// End of the last paste that was put together.
    pasted: Option<Instant>,
    ready: VecDeque<Input>,
    question: Option<Question>,
    answer: Option<String>,
}

/// A question to the terminal, and keys that may be its answer, with the time of the last one.
#[derive(Debug)]
struct Question {
    asked: Instant,
    held: Vec<Key>,
    last: Instant,
}

impl Arrivals {
    /// Expects an answer of the terminal (an OSC sequence with number 11) among the keys.
    pub(crate) fn ask(&mut self, now: Instant) {
        self.question = Some(Question { asked: now, held: Vec::new(), last: now });
    }

    /// Returns the terminal's answer once, without its number.
    pub(crate) fn answer(&mut self) -> Option<String> {
        self.answer.take()
    }

    /// Adds an input.
    pub(crate) fn push(&mut self, input: Input, now: Instant) {
        let Input::Key(key) = input else {
            self.settle(now);
            self.ready.push_back(input);
            return;
        };
        for key in self.beside_answer(key, now) {
            self.push_key(key, now);
        }
    }

    fn push_key(&mut self, key: Key, now: Instant) {
        if self.last.is_some_and(|last| now.duration_since(last) > self.wait().max(GAP)) {
            self.release();
        }
        if is_text(key) {
            self.held.push(key);
            self.last = Some(now);
        } else {
            self.release();
            self.ready.push_back(key.into());
        }
    }

    /// Returns the time at which `settle` is due, if no other key arrives before.
    pub(crate) fn due(&self) -> Option<Instant> {
        let asking = self.question.as_ref().filter(|question| !question.held.is_empty());
        asking.map(|question| question.last + HOLD).or_else(|| Some(self.last? + self.wait()))
    }

    /// Returns the next input whose kind is decided.
    pub(crate) fn next(&mut self) -> Option<Input> {
        self.ready.pop_front()
    }

    /// Decides about all inputs so far, as no more of their burst have arrived until `now`.
    pub(crate) fn settle(&mut self, now: Instant) {
        let held = self.question.as_mut().map(|question| std::mem::take(&mut question.held));
        for key in held.into_iter().flatten() {
            self.push_key(key, now);
        }
        self.release();
    }

    fn release(&mut self) {
        let (keys, last) = (std::mem::take(&mut self.held), self.last.take());
        let Some(last) = last.filter(|_| !keys.is_empty()) else {
            return;
        };
        let rest = self.pasted.is_some_and(|pasted| last.duration_since(pasted) < REST);
        match paste_of(&keys, rest) {
            Some(text) => {
                self.pasted = Some(last);
                self.ready.push_back(Input::Paste(text));
            }
            None => self.ready.extend(keys.into_iter().map(Input::Key)),
        }
    }

    /// Time that the held keys wait for more.
    fn wait(&self) -> Duration {
        match self.held.last() {
            Some(_) if self.held.len() < FEWEST => Duration::ZERO,
            Some(last) if is_newline(*last) => HOLD,
            Some(_) => GAP,
            None => Duration::ZERO,
        }
    }

    /// Takes the parts of an answer out of the keys.
    fn beside_answer(&mut self, key: Key, now: Instant) -> Vec<Key> {
        let Some(question) = self.question.as_mut().filter(|asked| now < asked.asked + LATEST)
        else {
            let held = self.question.take().map(|question| question.held);
            return held.into_iter().flatten().chain([key]).collect();
        };
        question.held.push(key);
        question.last = now;
        match answer_of(&question.held) {
            Answer::Part => return Vec::new(),
            Answer::Other => return std::mem::take(&mut question.held),
            Answer::Whole(text) => self.answer = Some(text),
        }
        self.question = None;
        Vec::new()
    }
}

/// Relation of keys to an answer.
enum Answer {
    Part,
    Whole(String),
    Other,
}

/// Reads keys as an answer: ESC ] 11 ; color, and ESC \ or BEL at its end.
fn answer_of(keys: &[Key]) -> Answer {
    let Some(text) = keys.iter().map(|key| bytes_of(*key)).collect::<Option<String>>() else {
        return Answer::Other;
    };
    let Some(color) = text.strip_prefix(OPENING) else {
        return if OPENING.starts_with(&text) { Answer::Part } else { Answer::Other };
    };
    let whole = color.strip_suffix('\u{7}').or_else(|| color.strip_suffix("\u{1B}\\"));
    let begun = color.strip_suffix('\u{1B}').unwrap_or(color);
    match whole {
        Some(color) if is_color(color) => Answer::Whole(color.to_owned()),
        None if is_color(begun) => Answer::Part,
        Some(_) | None => Answer::Other,
    }
}

/// Returns the bytes that are read as this key, for keys that an answer may contain.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other keys are alike")]
fn bytes_of(key: Key) -> Option<String> {
    match key.code {
        KeyCode::Char(letter) if key == Key::char(letter) => Some(letter.to_string()),
        KeyCode::Char(letter) if key == Key::alt(letter) => Some(format!("\u{1B}{letter}")),
        KeyCode::Char('g') if key == Key::ctrl('g') => Some('\u{7}'.to_string()),
        KeyCode::Esc => Some('\u{1B}'.to_string()),
        _ => None,
    }
}

fn is_color(text: &str) -> bool {
    let known = |letter: char| letter.is_ascii_hexdigit() || "rgb:/#".contains(letter);
    text.len() <= ANSWER && text.chars().all(known)
}

/// Returns the text of keys that are a paste, and nothing for keys that a person typed.
///
/// A paste has a line break before its end or is long. A few characters at once are those of an
/// input method, and text with one Enter at its end comes from a program that types.
/// The rest of a paste is one with any line break.
fn paste_of(keys: &[Key], rest: bool) -> Option<String> {
    let inner = keys.iter().rev().skip(1).any(|key| is_newline(*key));
    let ended = rest && keys.iter().any(|key| is_newline(*key));
    let burst = keys.len() >= FEWEST && (inner || keys.len() > LONG);
    (burst || ended).then(|| keys.iter().map(|key| character(*key)).collect())
}

fn character(key: Key) -> char {
    if is_newline(key) {
        return '\n';
    }
    key.typed().unwrap_or('\t')
}

fn is_text(key: Key) -> bool {
    key.typed().is_some() || is_newline(key) || key == Key::plain(KeyCode::Tab)
}

fn is_newline(key: Key) -> bool {
    key == Key::plain(KeyCode::Enter) || key == Key::ctrl('j')
}

#[cfg(test)]
mod tests;
