//! Removes secrets before they reach a cassette: values of sensitive headers, queries of URLs,
//! secrets by name.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use memchr::memmem;
use windlass_ports::{WireHeader, WireHeaders};

use crate::cassette::RecordedBytes;

/// Replacement for removed text.
pub(crate) const REDACTED: &str = "[redacted]";

/// Headers that say who asks, by name.
const HEADERS: &[&str] = &[
    "anthropic-organization-id",
    "openai-organization",
    "openai-project",
    "x-amz-security-token",
    "x-csrf-token",
];

/// Parts of header names that mark credentials.
const PARTS: &[&str] = &["auth", "api-key", "apikey", "cookie", "secret"];

/// The shortest value of a sensitive header that is looked for in bodies, too. A shorter one, such
/// as `1`, would be found in everything.
const SHORTEST: usize = 8;

/// Secrets to remove in addition to the usual ones: the values of sensitive headers, also where
/// they reappear in a body, and the queries of URLs.
#[derive(Clone, Default)]
pub struct Redaction {
    /// Each in the forms that it may take.
    needles: Vec<Vec<u8>>,
    headers: Vec<String>,
}

impl Redaction {
    /// Nothing but what always is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes out this text wherever it stands in a body, a URL or a header: as it is, as JSON
    /// writes it, or percent-encoded. An empty text is no secret.
    #[must_use]
    pub fn secret(mut self, text: impl AsRef<str>) -> Self {
        self.add(text.as_ref().as_bytes());
        self
    }

    /// Leaves out headers of this name, of requests and of responses.
    #[must_use]
    pub fn header(mut self, name: impl AsRef<str>) -> Self {
        self.headers.push(name.as_ref().to_ascii_lowercase());
        self
    }

    /// The same, and the values of the sensitive headers of a request.
    pub(crate) fn with(&self, headers: &WireHeaders) -> Self {
        let mut all = self.clone();
        for header in headers.iter().filter(|header| self.leaves_out(header)) {
            let last = header.value.rsplit(|byte| *byte == b' ').next();
            for value in [Some(&*header.value), last].into_iter().flatten() {
                if value.len() >= SHORTEST {
                    all.add(value);
                }
            }
        }
        all
    }

    /// A text without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// Returns the bytes without secrets.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        self.cut(bytes, 0, &self.found(bytes), &mut out);
        out
    }

    /// Chunks without secrets, cut as they were. A secret that lies across chunks leaves its mark
    /// in the first of them.
    pub(crate) fn chunks(&self, chunks: &[Bytes]) -> Vec<RecordedBytes> {
        let found = match self.needles.is_empty() {
            true => Vec::new(),
            false => self.found(&chunks.concat()),
        };
        let mut begin = 0_usize;
        let cut = |chunk: &Bytes| {
            let mut out = Vec::with_capacity(chunk.len());
            self.cut(chunk, begin, &found, &mut out);
            begin = begin.saturating_add(chunk.len());
            RecordedBytes(out.into())
        };
        match found.is_empty() {
            true => chunks.iter().cloned().map(RecordedBytes).collect(),
            false => chunks.iter().map(cut).collect(),
        }
    }

    /// The headers that may be kept.
    pub(crate) fn headers(&self, headers: &WireHeaders) -> Vec<(String, RecordedBytes)> {
        let kept = headers.iter().filter(|header| !self.leaves_out(header));
        kept.map(|header| {
            let value = self.bytes(&header.value);
            (header.name.clone(), RecordedBytes(value.into()))
        })
        .collect()
    }

    /// A URL without its query and secrets.
    pub(crate) fn url(&self, url: &str) -> String {
        let bare = url.split(['?', '#']).next().unwrap_or_default();
        let mut kept = self.text(bare);
        if url.len() > bare.len() {
            kept.push('?');
            kept.push_str(REDACTED);
        }
        kept
    }

    fn leaves_out(&self, header: &WireHeader) -> bool {
        let name = header.name.as_str();
        header.sensitive
            || HEADERS.contains(&name)
            || PARTS.iter().any(|part| name.contains(part))
            || self.headers.iter().any(|own| own == name)
    }

    fn add(&mut self, secret: &[u8]) {
        let mut forms = vec![secret.to_vec()];
        if let Ok(text) = std::str::from_utf8(secret) {
            let quoted = serde_json::Value::from(text).to_string();
            let inner = quoted.get(1..quoted.len().saturating_sub(1));
            let inner = inner.unwrap_or_default();
            forms.push(inner.into());
            forms.push(inner.replace('/', "\\/").into());
        }
        forms.push(percent(secret));
        for form in forms {
            if !form.is_empty() && !self.needles.contains(&form) {
                self.needles.push(form);
            }
        }
    }

    /// Returns the ranges of secrets in order, with overlaps merged.
    fn found(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut all: Vec<Range<usize>> = Vec::new();
        for needle in &self.needles {
            let finder = memmem::Finder::new(needle);
            let mut from = 0_usize;
            // By one byte each, since a secret may overlap itself.
            while let Some(at) = bytes.get(from..).and_then(|rest| finder.find(rest)) {
                let begin = from.saturating_add(at);
                all.push(begin..begin.saturating_add(needle.len()));
                from = begin.saturating_add(1);
            }
        }
        all.sort_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in all {
            match merged.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                Some(_) | None => merged.push(range),
            }
        }
        merged
    }

    /// Appends `bytes`, which begin at `begin` of what was searched, without what was found.
    fn cut(&self, bytes: &[u8], begin: usize, found: &[Range<usize>], out: &mut Vec<u8>) {
        let end = begin.saturating_add(bytes.len());
        let mut at = begin;
        let keep = |from: usize, to: usize| {
            let range = from.saturating_sub(begin)..to.saturating_sub(begin);
            bytes.get(range).unwrap_or_default()
        };
        let first = found.partition_point(|range| range.end <= begin);
        for range in found.iter().skip(first) {
            if range.start >= end {
                break;
            }
            out.extend_from_slice(keep(at, range.start.max(at)));
            if range.start >= begin {
                out.extend_from_slice(REDACTED.as_bytes());
            }
            at = range.end.min(end);
        }
        out.extend_from_slice(keep(at, end));
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redaction")
            .field("secrets", &self.needles.len())
            .field("headers", &self.headers)
            .finish()
    }
}

/// Each byte that a URL cannot hold as it is, as `%XX`.
fn percent(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(*byte),
            other => out.extend_from_slice(format!("%{other:02X}").as_bytes()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(redaction: &Redaction, cut: &[&'static str]) -> Vec<String> {
        let chunks: Vec<Bytes> = cut.iter().copied().map(Bytes::from).collect();
        let text = |piece: RecordedBytes| String::from_utf8(piece.0.to_vec()).unwrap();
        redaction.chunks(&chunks).into_iter().map(text).collect()
    }

    #[test]
    fn a_secret_is_found_across_chunks_and_the_cuts_stay() {
        let redaction = Redaction::new().secret("abcdef");
        assert_eq!(chunks(&redaction, &["xab", "c", "def", "y"]), ["x[redacted]", "", "", "y"]);
        assert_eq!(
            chunks(&redaction, &["abcdefabc", "def", "abc"]),
            ["[redacted][redacted]", "", "abc"]
        );
    }

    #[test]
    fn secrets_that_overlap_leave_nothing_of_either() {
        let redaction = Redaction::new().secret("aba").secret("bac");
        assert_eq!(redaction.text("xababac!"), "x[redacted]!");
    }

    #[test]
    fn a_secret_is_found_as_json_and_urls_write_it() {
        let redaction = Redaction::new().secret("p\"w/1 é");
        for text in [
            "p\"w/1 é",
            r#"{"a":"p\"w/1 é"}"#,
            r#"{"a":"p\"w\/1 é"}"#,
            "http://h/p%22w%2F1%20%C3%A9/x",
        ] {
            let kept = redaction.text(text);
            assert!(kept.contains(REDACTED) && !kept.contains("1"), "{kept}");
        }
    }

    #[test]
    fn what_is_empty_is_no_secret() {
        assert_eq!(Redaction::new().secret("").text("abc"), "abc");
    }

    #[test]
    fn a_query_is_only_said_to_have_been_there() {
        let redaction = Redaction::new();
        assert_eq!(redaction.url("http://h/v1?key=k"), "http://h/v1?[redacted]");
        assert_eq!(redaction.url("http://h/v1"), "http://h/v1");
    }

    #[test]
    fn headers_that_say_who_asks_are_left_out() {
        let mut headers = WireHeaders::default();
        for name in ["Authorization", "x-api-key", "cookie", "openai-organization"] {
            headers.push(name, "k", false);
        }
        headers.push("x-flagged", "k", true);
        headers.push("x-own", "k", false);
        headers.push("accept", "text/event-stream", false);
        let kept = Redaction::new().header("X-Own").headers(&headers);
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert_eq!(kept[0].0, "accept");
    }
}
