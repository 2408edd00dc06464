//! Pastes of terminals that do not mark them, told from keys by their arrival.
//!
//! Without marks, a paste arrives as keys, and its line breaks as Enter. A person leaves tens of
//! milliseconds between two keys; a terminal writes all at once. Nothing here reads a clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::decode::{Decoded, Decoder, Unfinished};
use crate::keys::{Input, Key, KeyCode};

/// Longest time between two keys of a burst that may be one of a person.
const GAP: Duration = Duration::from_millis(10);
/// Time that an Enter at the end of a burst waits for more.
const HOLD: Duration = Duration::from_millis(40);
/// Time that a paste waits for the rest of it.
const PASTE: Duration = Duration::from_millis(100);
/// Time after a paste within which a line break is still of it.
const REST: Duration = Duration::from_millis(250);
/// Time that an Esc waits for the rest of a sequence.
const ESCAPE: Duration = Duration::from_millis(25);
/// Time that a part of a sequence or a marked paste waits for the rest.
const STALLED: Duration = Duration::from_secs(3);
/// Fewest keys of a burst.
const FEWEST: usize = 3;
/// Characters from which on a burst without a line break is a paste.
const LONG: usize = 400;

/// Inputs in the order of their arrival, with pastes put together.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    decoder: Decoder,
    /// Time of the last bytes.
    arrived: Option<Instant>,
    /// Keys that may be of one burst, with the time of the last one.
    held: Vec<Key>,
    last: Option<Instant>,
    /// True with a line break among the held keys.
    broken: bool,
    /// True if the held keys are a paste.
    paste: bool,
    /// End of the last paste that was put together.
    pasted: Option<Instant>,
    ready: VecDeque<Input>,
    background: Option<String>,
}

impl Arrivals {
    /// Adds bytes that were read at a time.
    pub(crate) fn push(&mut self, bytes: &[u8], now: Instant) {
        self.settle(now);
        self.arrived = Some(now);
        let decoded = self.decoder.push(bytes);
        self.add_all(decoded, now);
    }

    /// Adds an input that no bytes told.
    pub(crate) fn add(&mut self, input: Input) {
        self.release();
        self.ready.push_back(input);
    }

    fn add_all(&mut self, decoded: Vec<Decoded>, now: Instant) {
        for one in decoded {
            match one {
                Decoded::Input(Input::Key(key)) if is_text(key) => {
                    // A paste has a line break before its end. A few characters at once are those
                    // of an input method, and text with one Enter at its end is typed by a program.
                    self.paste |= self.broken && self.held.len() + 1 >= FEWEST;
                    self.broken |= is_newline(key);
                    self.held.push(key);
                    self.last = Some(now);
                }
                Decoded::Input(input) => self.add(input),
                Decoded::Background(color) => self.background = Some(color),
            }
        }
    }

    /// Returns the background color that the terminal told, once.
    pub(crate) fn background(&mut self) -> Option<String> {
        self.background.take()
    }

    /// Returns the next input whose kind is decided.
    pub(crate) fn next(&mut self) -> Option<Input> {
        self.ready.pop_front()
    }

    /// Returns the time at which `settle` is due, if no more bytes arrive before.
    pub(crate) fn due(&self) -> Option<Instant> {
        [self.bytes_due(), self.keys_due()].into_iter().flatten().min()
    }

    /// Decides what is due.
    pub(crate) fn settle(&mut self, now: Instant) {
        if self.keys_due().is_some_and(|due| due <= now) {
            self.release();
        }
        if self.bytes_due().is_some_and(|due| due <= now) {
            let decoded = self.decoder.finish();
            self.add_all(decoded, now);
        }
    }

    fn bytes_due(&self) -> Option<Instant> {
        let wait = match self.decoder.unfinished()? {
            Unfinished::Key => ESCAPE,
            Unfinished::Sequence | Unfinished::Paste => STALLED,
        };
        Some(self.arrived? + wait)
    }

    fn keys_due(&self) -> Option<Instant> {
        let wait = match self.held.last() {
            _ if self.paste => PASTE,
            Some(_) if self.held.len() < FEWEST => Duration::ZERO,
            Some(last) if is_newline(*last) => HOLD,
            Some(_) => GAP,
            None => return None,
        };
        Some(self.last? + wait)
    }

    fn release(&mut self) {
        let (keys, paste) = (std::mem::take(&mut self.held), std::mem::take(&mut self.paste));
        let broken = std::mem::take(&mut self.broken);
        let Some(last) = self.last.take().filter(|_| !keys.is_empty()) else {
            return;
        };
        let rest = self.pasted.is_some_and(|pasted| last.duration_since(pasted) < REST);
        let ended = keys.last().copied().is_some_and(is_newline);
        if paste || (rest && broken) {
            self.pasted = Some(last);
            self.add_paste(&keys);
        } else if keys.len() > LONG {
            let (text, end) = keys.split_at(keys.len() - usize::from(ended));
            self.add_paste(text);
            self.ready.extend(end.iter().copied().map(Input::Key));
        } else {
            self.ready.extend(keys.into_iter().map(Input::Key));
        }
    }

    fn add_paste(&mut self, keys: &[Key]) {
        let text = keys.iter().copied().map(character).collect();
        self.ready.push_back(Input::Paste(text));
    }
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
