//! Matches of a query in paths: its letters in their order, better the closer they are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A path that can be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The path. Folders end with a slash.
    pub(super) path: String,
    lower: Box<str>,
    letters: u64,
}

impl Entry {
    /// Creates an entry of a path.
    pub(super) fn new(path: String) -> Self {
        let lower = path.to_lowercase().into_boxed_str();
        Self { letters: letters(&lower), path, lower }
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
            if let Some(score) = score(&self.lower, &entry.lower) {
                best.push(Reverse((score, Reverse(entry.path.len()), Reverse(at))));
                if best.len() > most {
                    best.pop();
                }
            }
        }
        let sorted = best.into_sorted_vec();
        sorted.into_iter().map(|Reverse((.., Reverse(at)))| entries[at].path.clone()).collect()
    }
}

/// Returns the score of a query, which is in lower case, in a text, if it has all its letters in
/// their order.
pub(crate) fn fuzzy(query: &str, text: &str) -> Option<i32> {
    score(query, &text.to_lowercase())
}

/// Scores the shortest part that ends with the first match, or the query in the file name.
fn score(query: &str, text: &str) -> Option<i32> {
    let name = text.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
    let within = |start: usize| {
        Some(subsequence(query, &text[start..])? + start_bonus(query, &text[start..]))
    };
    let in_name = within(name).map(|score| score + 24);
    in_name.or_else(|| within(0))
}

fn start_bonus(query: &str, text: &str) -> i32 {
    if text.starts_with(query) { 16 } else { 0 }
}

/// Scores letters: each that follows the one before, starts a word, or comes after a gap.
fn subsequence(query: &str, text: &str) -> Option<i32> {
    let end = last_of_first_match(query, text)?;
    let mut score = 0;
    let mut wanted = query.chars().rev().peekable();
    let mut together = false;
    let mut letters = text[..end].chars().rev().peekable();
    while let (Some(letter), Some(want)) = (letters.next(), wanted.peek()) {
        if letter != *want {
            score -= 1;
            together = false;
            continue;
        }
        wanted.next();
        let starts = letters.peek().is_none_or(|before| !before.is_alphanumeric());
        score += 4 + if starts { 8 } else { 0 } + if together { 6 } else { 0 };
        together = true;
    }
    Some(score)
}

/// Returns the end of the first match from the left.
fn last_of_first_match(query: &str, text: &str) -> Option<usize> {
    if let Some(at) = text.find(query) {
        return Some(at + query.len());
    }
    let mut letters = text.char_indices();
    let mut end = 0;
    for want in query.chars() {
        let (at, letter) = letters.find(|(_, letter)| *letter == want)?;
        end = at + letter.len_utf8();
    }
    Some(end)
}

/// Returns a set of the letters in a text, in 64 bits.
fn letters(text: &str) -> u64 {
    text.bytes().fold(0, |all, byte| all | 1 << (byte % 64))
}
