//! Entry points for the fuzzer and for the tests over its seeds: properties of the parsers that
//! hold for all inputs.

use windlass_core::{Retry, StreamEvent};
use windlass_ports::{StreamState, WireHeaders};

use crate::decode::{Decoder, Dialect};
use crate::error::ErrorContext;
use crate::secret::Secret;
use crate::sse::{SseCaps, SseEvent, SseParser};

/// Caps that are small, so that a fuzzer reaches them.
const CAPS: SseCaps =
    SseCaps { line: 48, event: 64, stream: 512, event_lines: 5, lines: 40, events: 12 };

const SECRET: &str = "sk-secret-123";

/// Longest error message, in characters: the provider's message with each character escaped to its
/// longest form, and the text around it.
const LONGEST: usize = 2 * 600 * 10 + 1_000;

/// Checks that a stream gives the same events for any chunks, within its caps and beyond.
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

/// Checks that the error of an error response is bounded, shows no secret, and waits at most a day.
/// The first two bytes are the status.
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
    let error = origin().answered(status, &headers).refused(&headers, body);
    assert!(!error.context.contains(SECRET), "{}", error.context);
    assert!(error.context.chars().count() < LONGEST, "{}", error.context);
    assert!(!error.context.chars().any(char::is_control));
    assert_eq!(error.details.status, Some(status));
    if let Retry::AfterMs(ms) = error.retry {
        assert!(ms <= 24 * 60 * 60 * 1000);
    }
}

type EventList = Vec<(Vec<u8>, Vec<u8>)>;

/// Returns all events of a stream, and true if it exceeded its caps.
fn events<'a>(caps: SseCaps, chunks: impl Iterator<Item = &'a [u8]>) -> (EventList, bool) {
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

/// Size of the window in which a stream is split at each byte.
const WINDOW: usize = 16;

/// Statistics of splitting a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CutStatistics {
    /// Number of bytes at which the stream was ended, and split into two pieces.
    pub cuts: u64,
    /// Number of splits that ended an answer.
    pub answers: u64,
}

/// Kind of a stream's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// End of an answer.
    Answer,
    /// Error after some events.
    Broken,
}

/// Ends a stream at each of its bytes, and splits it there into two pieces. Two pieces must give
/// the same events as one and leave the decoder in the same state, so that later events are equal
/// too. `ended` receives all events of an end that is no plain error, and the byte offset.
///
/// # Panics
/// When a property does not hold.
pub fn cuts<D>(
    dialect: D,
    data: &[u8],
    mut ended: impl FnMut(usize, StreamEnd, &[StreamEvent]),
) -> CutStatistics
where
    D: Dialect + Clone + PartialEq + std::fmt::Debug,
{
    let origin = origin();
    let mut decoder = Decoder::new(dialect, SseCaps::default());
    let mut before = Vec::new();
    let mut counts = CutStatistics::default();
    let push = |decoder: &mut Decoder<D>, bytes: &[u8], out: &mut Vec<StreamEvent>| {
        let pushed = decoder.push(bytes, out, &origin);
        pushed.map_err(|error| error.context)
    };
    for (window, bytes) in data.chunks(WINDOW).enumerate() {
        let mut whole = decoder.clone();
        let mut brought = Vec::new();
        let mut goes_on = push(&mut whole, bytes, &mut brought);
        if goes_on == Ok(StreamState::More) {
            goes_on = push(&mut whole, b"", &mut brought);
        }
        for at in 0..bytes.len() {
            let (first, second) = bytes.split_at(at);
            let byte = window * WINDOW + at;
            counts.cuts += 1;
            let mut cut = decoder.clone();
            let mut events = Vec::new();
            let mut streaming = push(&mut cut, first, &mut events);
            if streaming == Ok(StreamState::More) {
                let mut ending = cut.clone();
                let mut last = events.clone();
                let end = match ending.end(&mut last, &origin) {
                    Ok(()) => StreamEnd::Answer,
                    Err(_) => StreamEnd::Broken,
                };
                counts.answers += u64::from(end == StreamEnd::Answer);
                if end == StreamEnd::Answer || last != events {
                    ended(byte, end, &[before.as_slice(), &last].concat());
                }
                streaming = push(&mut cut, second, &mut events);
            }
            if streaming == Ok(StreamState::More) {
                streaming = push(&mut cut, b"", &mut events);
            }
            assert_eq!((&streaming, &events), (&goes_on, &brought), "split at {byte}");
            if streaming == Ok(StreamState::More) {
                assert!(cut == whole, "split at {byte}: {cut:?}, not {whole:?}");
            }
        }
        before.append(&mut brought);
        if goes_on != Ok(StreamState::More) {
            break;
        }
        decoder = whole;
    }
    counts
}

/// Checks that an answer is the same for any chunks, for the decoders of the adapters.
///
/// # Panics
/// When it is not.
pub fn decoder<D: Dialect>(dialect: impl Fn() -> D, data: &[u8]) {
    let whole = decoded(dialect(), std::iter::once(data));
    assert_eq!(whole, decoded(dialect(), data.chunks(1)));
    assert_eq!(whole, decoded(dialect(), pieces(data)));
}

fn origin() -> ErrorContext {
    ErrorContext::new("http://host/v1", vec![Secret::new(SECRET)], true)
}

/// Returns all events of an answer, and the error that ends it, as text.
fn decoded<'a, D: Dialect>(
    dialect: D,
    chunks: impl Iterator<Item = &'a [u8]>,
) -> (Vec<StreamEvent>, Option<String>) {
    let origin = origin();
    let mut decoder = Decoder::new(dialect, SseCaps::default());
    let mut out = Vec::new();
    for chunk in chunks {
        match decoder.push(chunk, &mut out, &origin) {
            Ok(StreamState::More) => {}
            Ok(StreamState::End) => return (out, None),
            Err(error) => return (out, Some(error.context)),
        }
    }
    let error = decoder.end(&mut out, &origin).err();
    (out, error.map(|error| error.context))
}

/// Splits the bytes into pieces whose sizes derive from the bytes.
fn pieces(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let (piece, tail) = rest.split_at(rest.len().min(1 + usize::from(first % 13)));
        rest = tail;
        Some(piece)
    })
}
