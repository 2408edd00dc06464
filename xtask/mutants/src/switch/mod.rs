//! All mutations of a file in one text, each behind a switch: a number that the built program reads
//! from its environment. So the core is built once and not once for each mutation.
//!
//! With no mutation switched on, the text means what the file means. What has no switch is said, and
//! is left to cargo-mutants: constants, fields of a struct, chains with `let`.

mod render;
mod sites;

use std::ops::Range;

use anyhow::Context as _;

use super::list::{Mutation, Place, Span};

/// Environment variable with the number of the active mutation.
pub(super) const VARIABLE: &str = "WINDLASS_MUTATION";

/// Code added to the root of the core, which is `no_std`, to read the switches.
pub(super) const READER: &str = r#"
extern crate std;

#[doc(hidden)]
#[allow(missing_docs)]
pub fn mutation() -> u32 {
    static NUMBER: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let read = || Some(std::env::var("WINDLASS_MUTATION").ok()?.parse().expect("a number"));
    *NUMBER.get_or_init(|| read().unwrap_or(0))
}
"#;

/// A mutation and its number, which is not 0.
pub(super) type Numbered<'a> = (u32, &'a Mutation);

/// A file with its mutations in it.
#[derive(Debug)]
pub(super) struct Switched {
    pub(super) text: String,
    /// Those that are in it.
    pub(super) numbers: Vec<u32>,
}

/// Puts `mutations` into the text of their file.
///
/// # Errors
/// When the text is not Rust.
pub(super) fn switch(text: &str, mutations: &[Numbered<'_>]) -> anyhow::Result<Switched> {
    let file = syn::parse_file(text).context("reading it as Rust")?;
    let lines = Lines::of(text);
    let sites = sites::find(&file, &lines, mutations);
    let numbers = sites.iter().flat_map(|site| &site.changes);
    Ok(Switched {
        numbers: numbers.map(|change| change.number).collect(),
        text: render::render(text, &sites),
    })
}

/// Returns the mark of a mutation in the text, which relates compiler errors to it.
fn mark(number: u32) -> String {
    format!("/*mutation {number}*/")
}

/// The mutations that are marked in a line.
pub(super) fn marks(line: &str) -> impl Iterator<Item = u32> + '_ {
    let after = line.split("/*mutation ").skip(1);
    after.filter_map(|rest| rest.split_once("*/")?.0.parse().ok())
}

/// Start of each line of a text.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let after = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(after).collect();
        Self { text, starts }
    }

    /// Returns the byte offset of a position, at most the length of the text.
    fn offset(&self, line: usize, column: usize) -> usize {
        let start = line.checked_sub(1).and_then(|nth| self.starts.get(nth));
        let start = start.copied().unwrap_or(self.text.len());
        let rest = self.text.get(start..).unwrap_or_default();
        let within = rest.char_indices().nth(column).map(|(at, _)| at);
        within.map_or(self.text.len(), |at| start + at)
    }

    /// Returns the byte range of a span by cargo-mutants.
    fn named(&self, span: Span) -> Range<usize> {
        let offset = |place: Place| self.offset(place.line, place.column.saturating_sub(1));
        offset(span.start)..offset(span.end)
    }

    /// Returns the byte range of a span by syn, which counts columns from 0.
    fn parsed(&self, span: proc_macro2::Span) -> Range<usize> {
        let (start, end) = (span.start(), span.end());
        self.offset(start.line, start.column)..self.offset(end.line, end.column)
    }
}

#[cfg(test)]
mod tests;
