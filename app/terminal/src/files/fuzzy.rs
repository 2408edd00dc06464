//! Matches of a query in paths: its bytes in their order, better the closer they are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A path that can be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The path. Folders end with a slash.
    pub(super) path: String,
    lower: Box<str>,
    /// Start of the last name in `lower`.
    name: usize,
    letters: u64,
}

impl Entry {
    /// Creates an entry of a path.
    pub(super) fn new(path: String) -> Self {
        let lower = path.to_lowercase().into_boxed_str();
        let name = lower.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
        Self { letters: letters(&lower), path, lower, name }
    }
}

/// A query for paths.
pub(super) struct Query {
    lower: String,
    letters: u64,
}

impl Query {
    /// Creates a query of a text. Case does not count.
    pub(super) fn new(text: &str) -> Self {
        let text = text.strip_prefix("./").unwrap_or(text);
        let lower = text.to_lowercase();
        Self { letters: letters(&lower), lower }
    }

    /// Returns the best paths. Without letters, these are the ones directly in the folder.
    pub(super) fn best(&self, entries: &[Entry], most: usize) -> Vec<String> {
        if self.lower.is_empty() {
            let top =
                entries.iter().filter(|entry| !entry.path.trim_end_matches('/').contains('/'));
            return top.take(most).map(|entry| entry.path.clone()).collect();
        }
        let mut best = BinaryHeap::with_capacity(most + 1);
        for (at, entry) in entries.iter().enumerate() {
            if self.letters & !entry.letters != 0 {
                continue;
            }
            let Some(score) = score(self.lower.as_bytes(), entry.lower.as_bytes(), entry.name)
            else {
                continue;
            };
            let rank = Reverse((score, Reverse(entry.path.len()), Reverse(at)));
            if best.len() < most || best.peek().is_some_and(|worst| rank < *worst) {
                best.push(rank);
            }
            if best.len() > most {
                best.pop();
            }
        }
        let sorted = best.into_sorted_vec();
        sorted.into_iter().map(|Reverse((.., Reverse(at)))| entries[at].path.clone()).collect()
    }
}

/// Returns the score of a query, which is in lower case, in a name, if it has all its letters in
/// their order.
pub(crate) fn fuzzy(query: &str, name: &str) -> Option<i32> {
    score(query.as_bytes(), name.to_lowercase().as_bytes(), 0)
}

/// Scores a query in the name that starts at a byte of a path, or else in all of the path.
fn score(query: &[u8], path: &[u8], name: usize) -> Option<i32> {
    let within = |text: &[u8]| {
        let starts = if text.starts_with(query) { 16 } else { 0 };
        Some(subsequence(query, text)? + starts)
    };
    let in_name = within(&path[name..]).map(|score| score + 24);
    in_name.or_else(|| within(path))
}

/// Scores the bytes of the first match, from its end: those in a row and at word starts count more,
/// and each byte between them counts less.
fn subsequence(query: &[u8], text: &[u8]) -> Option<i32> {
    let mut bytes = text.iter();
    for want in query {
        bytes.find(|byte| *byte == want)?;
    }
    let mut at = text.len() - bytes.len();
    let (mut score, mut left, mut together) = (0, query.len(), false);
    while left > 0 && at > 0 {
        at -= 1;
        if text[at] != query[left - 1] {
            score -= 1;
            together = false;
            continue;
        }
        left -= 1;
        let starts = at == 0 || text[at - 1].is_ascii_punctuation() || text[at - 1] == b' ';
        score += 4 + if starts { 8 } else { 0 } + if together { 6 } else { 0 };
        together = true;
    }
    Some(score)
}

/// Returns a set of the letters in a text, in 64 bits.
fn letters(text: &str) -> u64 {
    text.bytes().fold(0, |all, byte| all | 1 << (byte % 64))
}
