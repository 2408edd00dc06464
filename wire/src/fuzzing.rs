//! What a fuzzer calls, and the tests over its seeds: properties of the parsers for any bytes.

use windlass_core::{Retry, StreamEvent};
use windlass_ports::{Streaming, WireHeaders};

use crate::decode::{Decoder, Dialect};
use crate::error::Origin;
use crate::secret::Secret;
use crate::sse::{SseCaps, SseEvent, SseParser};

/// Small, so that a fuzzer reaches them.
const CAPS: SseCaps = SseCaps {
    line: 48,
    event: 64,
    stream: 512,
    event_lines: 5,
    lines: 40,
    events: 12,
};

const SECRET: &str = "sk-secret-123";

/// The longest error that is shown, in characters: the words of a provider, each character of
/// them escaped at the worst, and ours around them.
const LONGEST: usize = 2 * 600 * 10 + 1_000;

/// A stream brings the same events however it is cut, within caps and beyond.
///
/// # Panics
/// When a property does not hold.
pub fn sse(data: &[u8]) {
    for caps in [SseCaps::default(), CAPS] {
        let whole = events(caps, std::iter::once(data));
        assert_eq!(whole, events(caps, data.chunks(1)), "{caps:?}");
        assert_eq!(whole, events(caps, pieces(data)), "{caps:?}");
        assert!(whole.0.len() as u64 <= caps.events);
        for (name, body) in &whole.0 {
            let lines = body.iter().filter(|byte| **byte == b'\n').count() as u64;
            assert!(lines < caps.event_lines);
            assert!(name.len() <= caps.line && body.len() <= caps.event);
        }
    }
}

/// The error of a refusal is bounded, shows no secret, and waits at most a day. The first two
/// bytes are the status.
///
/// # Panics
/// When a property does not hold.
pub fn error_body(data: &[u8]) {
    let (status, body) = match data {
        [high, low, body @ ..] => (u16::from_be_bytes([*high, *low]), body),
        _ => (500, data),
    };
    let mut headers = WireHeaders::default();
    let line = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
    for name in ["retry-after", "retry-after-ms", "location", "date"] {
        headers.push(name, line.to_vec(), false);
    }
    let origin = Origin::new("http://host/v1", vec![Secret::new(SECRET)], true);
    let error = origin.answered(status, &headers).refused(&headers, body);
    assert!(!error.context.contains(SECRET), "{}", error.context);
    assert!(error.context.chars().count() < LONGEST, "{}", error.context);
    assert!(!error.context.chars().any(char::is_control));
    assert_eq!(error.status, Some(status));
    if let Retry::AfterMs(ms) = error.retry {
        assert!(ms <= 24 * 60 * 60 * 1000);
    }
}

type Events = Vec<(Vec<u8>, Vec<u8>)>;

/// All events of a stream, and whether it went beyond its caps.
fn events<'a>(caps: SseCaps, chunks: impl Iterator<Item = &'a [u8]>) -> (Events, bool) {
    let mut parser = SseParser::new(caps);
    let mut events = Vec::new();
    let owned = |event: SseEvent<'_>| (event.name.to_vec(), event.data.to_vec());
    for chunk in chunks {
        let mut rest = chunk;
        loop {
            match parser.next(rest) {
                Err(_) => return (events, true),
                Ok((used, event)) => {
                    assert!(used <= rest.len());
                    let Some(event) = event else {
                        assert_eq!(used, rest.len());
                        break;
                    };
                    events.push(owned(event));
                    rest = rest.get(used..).unwrap_or_default();
                }
            }
        }
    }
    match parser.finish() {
        Err(_) => (events, true),
        Ok(last) => {
            events.extend(last.map(owned));
            (events, false)
        }
    }
}

/// An answer is the same however it is cut: for the decoders of the adapters.
///
/// # Panics
/// When it is not.
pub fn decoder<D: Dialect>(dialect: impl Fn() -> D, data: &[u8]) {
    let whole = decoded(dialect(), std::iter::once(data));
    assert_eq!(whole, decoded(dialect(), data.chunks(1)));
    assert_eq!(whole, decoded(dialect(), pieces(data)));
}

/// All events of an answer, and the error that it ends with, in words.
fn decoded<'a, D: Dialect>(
    dialect: D,
    chunks: impl Iterator<Item = &'a [u8]>,
) -> (Vec<StreamEvent>, Option<String>) {
    let origin = Origin::new("http://host/v1", vec![Secret::new(SECRET)], true);
    let mut decoder = Decoder::new(dialect, SseCaps::default());
    let mut out = Vec::new();
    for chunk in chunks {
        match decoder.push(chunk, &mut out, &origin) {
            Ok(Streaming::More) => {}
            Ok(Streaming::End) => return (out, None),
            Err(error) => return (out, Some(error.context)),
        }
    }
    let error = decoder.end(&mut out, &origin).err();
    (out, error.map(|error| error.context))
}

/// The bytes in pieces of sizes that follow from the bytes.
fn pieces(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let (piece, tail) = rest.split_at(rest.len().min(1 + usize::from(first % 13)));
        rest = tail;
        Some(piece)
    })
}
