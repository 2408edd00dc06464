//! Citations: the sources that a provider names for a text of the model.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// A source of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// Address of the source. The assembler records only those that [`is_link`](Self::is_link).
    pub url: String,
    /// Title of the source; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Cited part of the text; `None` means the whole text, or a part that the provider does not name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<TextSpan>,
}

/// Part of a text, from `start` up to but without `end`. In facts, both are offsets in bytes of UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextSpan {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset behind the last byte.
    pub end: u64,
}

/// Unit in which a provider counts the offsets of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanUnit {
    /// Bytes of UTF-8.
    Bytes,
    /// Unicode scalar values.
    Characters,
}

impl Citation {
    /// Most citations of one text.
    pub const MAX_PER_TEXT: usize = 128;
    /// Most bytes of an address.
    pub const MAX_URL_BYTES: usize = 2_048;
    /// Most bytes of a title; longer ones are shortened.
    pub const MAX_TITLE_BYTES: usize = 512;

    /// Returns true if the address is one of `http` or `https` without control characters and spaces.
    /// Only such an address may become a link.
    #[must_use]
    pub fn is_link(&self) -> bool {
        let scheme = |name: &str| {
            let begin = self.url.get(..name.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(name))
        };
        (scheme("https://") || scheme("http://"))
            && self.url.len() <= Self::MAX_URL_BYTES
            && !self.url.chars().any(|c| c.is_control() || c.is_whitespace())
    }
}

/// Most bytes of the addresses and titles of one text.
const MAX_BYTES: usize = 64 * 1024;

/// Citations of a text that streams.
#[derive(Debug, Clone, Default)]
pub(crate) struct CitationList {
    list: Vec<(Citation, SpanUnit)>,
    bytes: usize,
}

impl CitationList {
    /// Adds a citation that is new, is a link and fits. Returns its bytes, 0 without it.
    pub(crate) fn add(&mut self, mut citation: Citation, unit: SpanUnit) -> usize {
        shorten(&mut citation.title, Citation::MAX_TITLE_BYTES);
        let bytes = citation.url.len().saturating_add(citation.title.len());
        let full = self.list.len() >= Citation::MAX_PER_TEXT || self.bytes + bytes > MAX_BYTES;
        if full || !citation.is_link() || self.list.iter().any(|(known, _)| *known == citation) {
            return 0;
        }
        self.bytes += bytes;
        self.list.push((citation, unit));
        bytes
    }

    /// Returns the citations of the complete text. Spans become offsets in bytes; one that is empty, or
    /// not between two characters of the text, is left out.
    pub(crate) fn finish(self, text: &str) -> Arc<[Citation]> {
        let counted = self.list.iter().filter(|(_, unit)| *unit == SpanUnit::Characters);
        let counted = counted.filter_map(|(citation, _)| citation.span);
        let offsets = byte_offsets(text, counted.flat_map(|span| [span.start, span.end]).collect());
        let in_bytes = |span: TextSpan, unit| {
            let span = match unit {
                SpanUnit::Bytes => span,
                SpanUnit::Characters => {
                    TextSpan { start: *offsets.get(&span.start)?, end: *offsets.get(&span.end)? }
                }
            };
            let (start, end) = (usize::try_from(span.start).ok()?, usize::try_from(span.end).ok()?);
            text.get(start..end).is_some_and(|part| !part.is_empty()).then_some(span)
        };
        let list = self.list.into_iter().map(|(citation, unit)| {
            let span = citation.span.and_then(|span| in_bytes(span, unit));
            Citation { span, ..citation }
        });
        list.collect()
    }
}

/// Returns the offsets in bytes of offsets in characters, those that the text has.
fn byte_offsets(text: &str, wanted: BTreeSet<u64>) -> BTreeMap<u64, u64> {
    let mut wanted = wanted.into_iter().peekable();
    let mut found = BTreeMap::new();
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    for (count, at) in (0_u64..).zip(starts) {
        match wanted.peek() {
            None => break,
            Some(next) if *next == count => {
                found.insert(count, at as u64);
                wanted.next();
            }
            Some(_) => {}
        }
    }
    found
}

/// Shortens a text to a number of bytes, between two characters.
pub(crate) fn shorten(text: &mut String, most: usize) {
    text.truncate(text.floor_char_boundary(most));
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    fn cited(url: &str, span: Option<(u64, u64)>) -> Citation {
        let span = span.map(|(start, end)| TextSpan { start, end });
        Citation { url: url.into(), title: String::new(), span }
    }

    fn finished(text: &str, unit: SpanUnit, span: (u64, u64)) -> Option<&str> {
        let mut list = CitationList::default();
        list.add(cited("https://a.example/", Some(span)), unit);
        let span = list.finish(text)[0].span?;
        Some(&text[usize::try_from(span.start).unwrap()..usize::try_from(span.end).unwrap()])
    }

    #[test]
    fn spans_become_bytes_between_characters() {
        let text = "é😀 winch";
        assert_eq!(finished(text, SpanUnit::Characters, (0, 2)), Some("é😀"));
        assert_eq!(finished(text, SpanUnit::Characters, (3, 8)), Some("winch"));
        assert_eq!(finished(text, SpanUnit::Bytes, (2, 6)), Some("😀"));
        for (unit, span) in [
            (SpanUnit::Bytes, (0, 1)),
            (SpanUnit::Bytes, (3, 6)),
            (SpanUnit::Bytes, (2, 2)),
            (SpanUnit::Bytes, (6, 2)),
            (SpanUnit::Bytes, (0, u64::MAX)),
            (SpanUnit::Characters, (0, 9)),
            (SpanUnit::Characters, (5, 3)),
        ] {
            assert_eq!(finished(text, unit, span), None, "{unit:?} {span:?}");
        }
    }

    #[test]
    fn only_addresses_of_the_web_are_links() {
        for url in ["https://a.example/x?y=z#w", "HTTP://a.example"] {
            assert!(cited(url, None).is_link(), "{url}");
        }
        let long = format!("https://a.example/{}", "x".repeat(Citation::MAX_URL_BYTES));
        for url in
            ["", "javascript:alert(1)", "data:text/html,x", " https://a", "https://a\n", &long]
        {
            assert!(!cited(url, None).is_link(), "{url}");
        }
    }

    #[test]
    fn a_hundred_thousand_citations_take_bounded_room() {
        let mut list = CitationList::default();
        let mut bytes = 0;
        for at in 0..100_000 {
            let title = "ü".repeat(400);
            bytes += list.add(
                Citation { title, ..cited(&format!("https://a/{at}"), None) },
                SpanUnit::Bytes,
            );
            list.add(cited("https://a/0", None), SpanUnit::Bytes);
        }
        assert!(bytes <= MAX_BYTES);
        let list = list.finish("text");
        assert!(list.len() <= Citation::MAX_PER_TEXT && list.len() > 100);
        assert!(list.iter().all(|one| one.title.len() <= Citation::MAX_TITLE_BYTES));
    }
}
