//! Text of a file that is nearest to a text which does not occur in it. Shown, never edited.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Most lines of a file that are compared.
const COMPARED: usize = 100_000;
/// Most lines of the missing text that are compared.
const WANTED: usize = 200;
/// Most places in the file that are compared line by line.
const PLACES: usize = 8;
/// Least likeness of a text that is worth showing, of 1000.
const LEAST: usize = 300;

/// Lines of a file that are nearest to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NearestText {
    /// Index of the first line.
    pub(super) from: usize,
    /// Number of lines.
    pub(super) count: usize,
    /// Difference that is certain.
    pub(super) differs: Option<&'static str>,
}

/// Finds the lines that differ from `old` in white space or case alone, or else the most alike ones.
pub(super) fn nearest(lines: &[&str], old: &str) -> Option<NearestText> {
    let wanted: Vec<&str> = old.trim().lines().collect();
    let blanks = |text: &str| text.split_whitespace().collect::<String>();
    let case = |text: &str| text.to_lowercase();
    let both = |text: &str| blanks(text).to_lowercase();
    let found = first_match(lines, &wanted, blanks)
        .map(|at| (at, "white space"))
        .or_else(|| first_match(lines, &wanted, case).map(|at| (at, "upper and lower case")))
        .or_else(|| first_match(lines, &wanted, both).map(|at| (at, "white space and case")));
    match found {
        Some((from, what)) => Some(NearestText { from, count: wanted.len(), differs: Some(what) }),
        None => most_alike(lines, &wanted),
    }
}

/// Returns the index of the first line from which on the wanted lines match, as `same` writes them.
fn first_match(lines: &[&str], wanted: &[&str], same: impl Fn(&str) -> String) -> Option<usize> {
    let wanted: Vec<String> = wanted.iter().map(|line| same(line)).collect();
    let lines: Vec<String> = lines.iter().map(|line| same(line)).collect();
    let (first, rest) = wanted.split_first()?;
    if wanted.iter().all(String::is_empty) {
        return None;
    }
    let Some((last, middle)) = rest.split_last() else {
        return lines.iter().position(|line| line.contains(first));
    };
    lines.windows(wanted.len()).position(|window| match window {
        [start, between @ .., end] => {
            start.ends_with(first) && end.starts_with(last) && between == middle
        }
        [] | [_] => false,
    })
}

/// Finds the lines that share most with the wanted ones. The longest wanted line chooses the places
/// that are compared as a whole.
fn most_alike(lines: &[&str], wanted: &[&str]) -> Option<NearestText> {
    let lines = lines.get(..COMPARED).unwrap_or(lines);
    let wanted: Vec<LinePairs> =
        wanted.iter().take(WANTED).map(|line| LinePairs::of(line)).collect();
    let (anchor, longest) = wanted.iter().enumerate().max_by_key(|(_, line)| line.0.len())?;
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let shared = longest.shared(&LinePairs::of(line));
        if shared > 0 {
            let worse = places.partition_point(|(other, _)| *other >= shared);
            places.insert(worse, (shared, at));
            places.truncate(PLACES);
        }
    }
    let all: usize = wanted.iter().map(|line| line.0.len()).sum();
    let alike = |from: usize| {
        let pairs = lines.iter().skip(from).zip(&wanted);
        let shared: usize = pairs.map(|(line, want)| want.shared(&LinePairs::of(line))).sum();
        shared * 1_000 / all.max(1)
    };
    let starts = places.iter().map(|(_, at)| at.saturating_sub(anchor));
    // The first one of the most alike.
    let (score, from) = starts
        .map(|from| (alike(from), from))
        .max_by_key(|(score, from)| (*score, std::cmp::Reverse(*from)))?;
    let count = wanted.len().min(lines.len().saturating_sub(from));
    (score >= LEAST).then_some(NearestText { from, count, differs: None })
}

/// Hashes of the pairs of neighbouring characters of a line, sorted; white space and case do not count.
struct LinePairs(Vec<u32>);

impl LinePairs {
    fn of(line: &str) -> Self {
        let letters: Vec<char> =
            line.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
        let mut pairs: Vec<u32> = letters.windows(2).map(hash).collect();
        if letters.len() == 1 {
            pairs.push(hash(&letters));
        }
        pairs.sort_unstable();
        Self(pairs)
    }

    /// Number of pairs that both lines have, less what the other one has beyond them, at least 0.
    fn shared(&self, other: &Self) -> usize {
        let (mut mine, mut theirs) = (self.0.as_slice(), other.0.as_slice());
        let mut both = 0_usize;
        while let ([first, rest @ ..], [second, others @ ..]) = (mine, theirs) {
            match first.cmp(second) {
                std::cmp::Ordering::Less => mine = rest,
                std::cmp::Ordering::Greater => theirs = others,
                std::cmp::Ordering::Equal => {
                    both += 1;
                    (mine, theirs) = (rest, others);
                }
            }
        }
        both.saturating_sub((other.0.len() - both) / 4)
    }
}

fn hash(letters: &[char]) -> u32 {
    let mut hasher = DefaultHasher::new();
    letters.hash(&mut hasher);
    u32::try_from(hasher.finish() >> 32).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: [&str; 9] = [
        "fn main() {",
        "    let Total = 1;",
        "    print(Total);",
        "}",
        "",
        "fn double(value: u32) -> u32 {",
        "    // Twice as much.",
        "    value.saturating_mul(2)",
        "}",
    ];

    fn found(old: &str) -> Option<(usize, usize, Option<&'static str>)> {
        nearest(&FILE, old).map(|found| (found.from, found.count, found.differs))
    }

    #[test]
    fn white_space_and_case_are_told_apart() {
        assert_eq!(found("let  Total=1;"), Some((1, 1, Some("white space"))));
        assert_eq!(found("let total = 1;"), Some((1, 1, Some("upper and lower case"))));
        let two = "  let total = 1;\n  print(Total);\n";
        assert_eq!(found(two), Some((1, 2, Some("white space and case"))));
    }

    #[test]
    fn the_most_alike_lines_are_found() {
        assert_eq!(found("fn double(value: u64) -> u64 {"), Some((5, 1, None)));
        let body = "fn double(v: u32) -> u32 {\n    // Twice.\n    v.saturating_mul(2)\n}";
        assert_eq!(found(body), Some((5, 4, None)));
        assert_eq!(found("value.wrapping_mul(2)"), Some((7, 1, None)));
        assert_eq!(found("class Server extends Worker"), None);
        assert_eq!(found(" \n\t"), None);
    }
}
