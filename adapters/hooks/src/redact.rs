//! Redaction: what regular expressions match is taken out of an answer while it streams.
//!
//! The text is scanned from each character on, one after the other, by an automaton that says
//! after each byte whether a match may still come. While it may, the text is held back; so what
//! comes out depends on the text alone, and not on how it was cut. What is held is bounded: from a
//! text that could become a match for longer than that, all is taken out until it no longer can.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use windlass_core::Digest;
use windlass_ports::Redactor;

use crate::error::LoadError;

/// The most bytes of a part that are held back.
const HOLD: usize = 1_024;
/// Replacement for removed text.
const MARK: &str = "[redacted]";
/// Largest number of patterns.
const MOST: usize = 64;
/// The most memory that the patterns may compile to, in bytes.
const PATTERN_BYTES: usize = 4 * 1024 * 1024;

/// The patterns of a hooks file.
#[derive(Clone)]
pub(crate) struct Redaction {
    dfa: Arc<DFA>,
    name: String,
}

/// Takes out of an answer what the patterns of the hooks file match.
pub struct RegexRedactor {
    dfa: Arc<DFA>,
    parts: BTreeMap<u32, PartRedactor>,
}

/// One part of an answer, as far as it has come.
struct PartRedactor {
    cache: Cache,
    /// Received text that is neither shown nor removed yet.
    held: String,
    /// Bytes of it that have been scanned.
    at: usize,
    /// The automaton's state there.
    state: Option<LazyStateID>,
    /// The end of the last match; the automaton tells of it one byte later.
    matched: Option<usize>,
    /// The byte before what is held.
    before: Option<u8>,
    /// True while everything is removed, until the automaton excludes a match.
    swallows: bool,
}

/// Result of a scan.
enum ScanResult {
    /// More text is needed.
    More,
    /// No match begins here.
    Nothing,
    /// So many bytes match.
    Match(usize),
    /// A match may still come, and as much is held as may be.
    Full,
}

impl Redaction {
    /// Compiles patterns; `None` when there are none.
    pub(crate) fn new(patterns: &[String]) -> Result<Option<Self>, LoadError> {
        if patterns.is_empty() {
            return Ok(None);
        }
        if patterns.len() > MOST {
            let words = format!("redact: {} patterns, more than {MOST}", patterns.len());
            return Err(LoadError::new(words));
        }
        let digest =
            patterns.iter().fold(Digest::EMPTY, |digest, pattern| digest.part(pattern.as_bytes()));
        let patterns: Vec<String> = patterns.iter().map(|text| ascii_words(text)).collect();
        for (index, pattern) in patterns.iter().enumerate() {
            if pattern.is_empty() {
                return Err(LoadError::new(format!("redact[{index}]: it is empty")));
            }
            build(std::slice::from_ref(pattern)).map_err(|error| {
                let words = format!(
                    "redact[{index}]: {pattern:?} cannot be used: {error} (there is no \
                     look-around and no back-reference)"
                );
                LoadError::new(words).caused_by(error)
            })?;
        }
        let dfa = build(&patterns).map_err(|error| {
            LoadError::new(format!("redact: too much together: {error}")).caused_by(error)
        })?;
        Ok(Some(Self { dfa: Arc::new(dfa), name: format!("regex:{digest}") }))
    }

    /// The name of the patterns, which tells them from others and does not tell them.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Creates the redactor of one answer.
    pub(crate) fn redactor(&self) -> RegexRedactor {
        RegexRedactor { dfa: self.dfa.clone(), parts: BTreeMap::new() }
    }
}

fn build(patterns: &[String]) -> Result<DFA, Box<regex_automata::hybrid::BuildError>> {
    DFA::builder()
        .configure(DFA::config().match_kind(MatchKind::LeftmostFirst))
        .thompson(thompson::Config::new().nfa_size_limit(Some(PATTERN_BYTES)))
        .build_many(patterns)
        .map_err(Box::new)
}

/// The pattern with word boundaries of ASCII: those of Unicode cannot be told byte by byte.
fn ascii_words(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('b') if chars.peek() != Some(&'{') => out.push_str(r"(?-u:\b)"),
            Some(escaped) => out.extend([c, escaped]),
            None => out.push(c),
        }
    }
    out
}

impl Redactor for RegexRedactor {
    fn push(&mut self, slot: u32, text: &str) -> String {
        let dfa = &self.dfa;
        let part = self.parts.entry(slot).or_insert_with(|| PartRedactor::new(dfa));
        part.held.push_str(text);
        part.shown(dfa, PartState::Open)
    }

    fn end(&mut self, slot: u32) -> String {
        match self.parts.remove(&slot) {
            Some(mut part) => part.shown(&self.dfa, PartState::Complete),
            None => String::new(),
        }
    }

    fn redact(&self, text: &str) -> String {
        let mut part = PartRedactor::new(&self.dfa);
        part.held.push_str(text);
        part.shown(&self.dfa, PartState::Complete)
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redaction").finish_non_exhaustive()
    }
}

impl fmt::Debug for RegexRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegexRedactor").finish_non_exhaustive()
    }
}

/// State of a part: open or complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartState {
    Complete,
    Open,
}

impl PartRedactor {
    fn new(dfa: &DFA) -> Self {
        Self {
            cache: dfa.create_cache(),
            held: String::new(),
            at: 0,
            state: None,
            matched: None,
            before: None,
            swallows: false,
        }
    }

    /// Returns the text that may be shown. Less than [`HOLD`] bytes and a character remain held, or nothing at the
    /// end.
    fn shown(&mut self, dfa: &DFA, ended: PartState) -> String {
        let mut out = String::new();
        let mut start = 0;
        while start < self.held.len() {
            let length = match self.scan(dfa, start, ended) {
                ScanResult::More => break,
                ScanResult::Nothing if self.swallows => self.swallowed(start),
                ScanResult::Nothing => {
                    let first = self.first(start);
                    out.push_str(self.held.get(start..start + first).unwrap_or_default());
                    first
                }
                ScanResult::Match(length) => {
                    if !self.swallows {
                        out.push_str(MARK);
                    }
                    length
                }
                ScanResult::Full => {
                    out.push_str(MARK);
                    self.swallows = true;
                    continue;
                }
            };
            start += length;
            self.restart(start);
        }
        if self.swallows {
            let dropped = self.swallowed(start);
            self.at -= dropped;
            self.matched = self.matched.and_then(|end| end.checked_sub(dropped));
            start += dropped;
            self.before = self.last_before(start);
        }
        self.held.drain(..start);
        out
    }

    /// Scans on from `start`, where the automaton stands `at` bytes further.
    fn scan(&mut self, dfa: &DFA, start: usize, ended: PartState) -> ScanResult {
        let rest = self.held.as_bytes().get(start..).unwrap_or_default();
        let mut state = match self.state {
            Some(state) => state,
            None => {
                let config = start::Config::new().anchored(Anchored::Yes).look_behind(self.before);
                match dfa.start_state(&mut self.cache, &config) {
                    Ok(state) => state,
                    Err(_) => return ScanResult::Match(self.first(start)),
                }
            }
        };
        while let Some(byte) = rest.get(self.at) {
            if self.at >= HOLD && !self.swallows {
                self.state = Some(state);
                return ScanResult::Full;
            }
            // The automaton never gives up, since nothing of the kind is configured. If it did,
            // not a character would be shown unseen.
            let Ok(next) = dfa.next_state(&mut self.cache, state, *byte) else {
                return ScanResult::Match(self.first(start));
            };
            state = next;
            if state.is_match() {
                self.matched = Some(self.at);
            } else if state.is_dead() || state.is_quit() {
                return self.found();
            }
            self.at += 1;
        }
        self.state = Some(state);
        match ended {
            PartState::Open => ScanResult::More,
            PartState::Complete => {
                let last = dfa.next_eoi_state(&mut self.cache, state);
                if last.is_ok_and(|last| last.is_match()) {
                    self.matched = Some(self.at);
                }
                self.found()
            }
        }
    }

    fn found(&self) -> ScanResult {
        match self.matched {
            Some(length) if length > 0 && !self.swallows => ScanResult::Match(length),
            Some(_) | None => ScanResult::Nothing,
        }
    }

    /// Length of the character at `start`, in bytes.
    fn first(&self, start: usize) -> usize {
        let first = self.held.get(start..).and_then(|rest| rest.chars().next());
        first.map_or(1, char::len_utf8)
    }

    /// Number of bytes from `start` on that are removed because they may belong to a match: all whole characters
    /// that were scanned, except the one that only showed the end of the match.
    fn swallowed(&self, start: usize) -> usize {
        let told = self.matched.filter(|end| end + 1 == self.at);
        let end = start + told.unwrap_or(self.at);
        let whole = (start..=end).rev().find(|at| self.held.is_char_boundary(*at));
        whole.unwrap_or(start) - start
    }

    /// Begins a new scan at `start`.
    fn restart(&mut self, start: usize) {
        self.before = self.last_before(start);
        self.at = 0;
        self.state = None;
        self.matched = None;
        self.swallows = false;
    }

    fn last_before(&self, start: usize) -> Option<u8> {
        let last = start.checked_sub(1).and_then(|at| self.held.as_bytes().get(at));
        last.copied().or(self.before)
    }
}

#[cfg(test)]
mod tests;
