//! Tests of the parser of server-sent events.

use super::*;
use proptest::prelude::*;

fn parse(chunks: &[&[u8]], flush: bool) -> Vec<(String, String)> {
    let mut parser = SseParser::default();
    let mut events = Vec::new();
    let mut keep = |event: SseEvent<'_>| {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        events.push((text(event.name), text(event.data)));
    };
    for chunk in chunks {
        let mut rest = *chunk;
        loop {
            let (used, event) = parser.next(rest).unwrap();
            let Some(event) = event else { break };
            keep(event);
            rest = &rest[used..];
        }
    }
    if flush && let Some(event) = parser.finish().unwrap() {
        keep(event);
    }
    events
}

fn whole(text: &str) -> Vec<(String, String)> {
    parse(&[text.as_bytes()], false)
}

fn event(name: &str, data: &str) -> (String, String) {
    (name.into(), data.into())
}

#[test]
fn reads_every_line_end_and_a_byte_order_mark() {
    for text in [
        "data: a\n\ndata: b\n\n",
        "data: a\r\n\r\ndata: b\r\n\r\n",
        "data: a\r\rdata: b\r\r",
        "\u{feff}data:a\n\ndata:b\r\n\n",
    ] {
        assert_eq!(whole(text), [event("", "a"), event("", "b")], "{text:?}");
    }
}

#[test]
fn joins_lines_and_ignores_comments_and_unknown_fields() {
    let text = ": hi\nevent: x\ndata: 1\nfoo: 2\ndata\ndata:3\n\n";
    assert_eq!(whole(text), [event("x", "1\n\n3")]);
}

#[test]
fn an_event_without_data_is_none_and_its_name_is_forgotten() {
    assert_eq!(whole("event: x\n\ndata: 1\n\n"), [event("", "1")]);
}

#[test]
fn a_name_belongs_to_one_event() {
    assert_eq!(whole("event: x\ndata: 1\n\ndata: 2\n\n"), [event("x", "1"), event("", "2")]);
}

#[test]
fn keeps_id_and_retry() {
    let mut parser = SseParser::default();
    parser.next(b"id: 7\nretry: 250\ndata: x\n\n").unwrap();
    assert_eq!(parser.last_id(), b"7");
    assert_eq!(parser.retry_ms(), Some(250));
}

#[test]
fn an_unterminated_event_comes_only_at_the_end() {
    assert_eq!(parse(&[b"data: 1"], false), []);
    assert_eq!(parse(&[b"data: 1"], true), [event("", "1")]);
    assert_eq!(parse(&[b"data: 1\n"], true), [event("", "1")]);
    assert_eq!(parse(&[b"event: x\n"], true), []);
}

#[test]
fn everything_is_bounded() {
    let caps = SseCaps { line: 10, event: 6, stream: 40, ..SseCaps::default() };
    let mut parser = SseParser::new(caps);
    assert_eq!(parser.next(b"data: 123456\n\n"), Err(SseError::Line(10)));
    let mut parser = SseParser::new(caps);
    assert_eq!(parser.next(b":2345678901"), Err(SseError::Line(10)));
    let mut parser = SseParser::new(caps);
    assert_eq!(parser.next(b"data:1234\ndata:5678\n\n"), Err(SseError::Event(6)));
    let mut parser = SseParser::new(caps);
    assert_eq!(parser.next(&b":\n".repeat(21)), Err(SseError::Stream(40)));
}

/// Returns the number of events before the error, and the error.
fn refused(caps: SseCaps, text: &str, size: usize) -> (usize, Option<SseError>) {
    let mut parser = SseParser::new(caps);
    let mut events = 0;
    for chunk in text.as_bytes().chunks(size) {
        let mut rest = chunk;
        loop {
            match parser.next(rest) {
                Err(error) => return (events, Some(error)),
                Ok((_, None)) => break,
                Ok((used, Some(_))) => {
                    events += 1;
                    rest = &rest[used..];
                }
            }
        }
    }
    match parser.finish() {
        Err(error) => (events, Some(error)),
        Ok(last) => (events + usize::from(last.is_some()), None),
    }
}

#[test]
fn lines_and_events_are_counted_however_they_come() {
    let none = SseCaps::default();
    let three = |lines| SseCaps { lines, ..none };
    let block = |event_lines| SseCaps { event_lines, ..none };
    let events = |events| SseCaps { events, ..none };
    let one_each = "data: 1\n\ndata: 2\n\ndata: 3\n\n";
    let long = "event: x\r\n: c\r\ndata: 1\r\ndata: 2\r\n\r\ndata: 3\r\n\r\n";
    for (caps, text, wanted) in [
        (three(6), one_each, (3, None)),
        (three(5), one_each, (2, Some(SseError::Lines(5)))),
        (three(4), "data: 1\n\n\n\n\n", (1, Some(SseError::Lines(4)))),
        (three(1), "data: 1", (1, None)),
        (block(4), long, (2, None)),
        (block(3), long, (0, Some(SseError::EventLines(3)))),
        // Comments without a blank line count as lines of one event; a blank line resets the count.
        (block(2), ":\n:\n:\n", (0, Some(SseError::EventLines(2)))),
        (block(2), ":\n:\n\n:\n:\n\ndata: 1\n\n", (1, None)),
        (block(1), "event: x\ndata: 1\n\n", (0, Some(SseError::EventLines(1)))),
        (events(3), one_each, (3, None)),
        (events(2), one_each, (2, Some(SseError::Events(2)))),
        (events(1), "data: 1\n\ndata: 2", (1, Some(SseError::Events(1)))),
    ] {
        for size in [usize::MAX, 1, 2, 3, 7] {
            assert_eq!(refused(caps, text, size), wanted, "{text:?} by {size}");
        }
    }
}

#[test]
fn each_cap_is_said_in_words() {
    for (error, words) in [
        (SseError::Line(7), "a line of the stream is longer than 7 bytes"),
        (SseError::Event(7), "an event of the stream is larger than 7 bytes"),
        (SseError::Stream(7), "the stream is larger than 7 bytes"),
        (SseError::EventLines(7), "an event of the stream has more than 7 lines"),
        (SseError::Lines(7), "the stream has more than 7 lines"),
        (SseError::Events(7), "the stream has more than 7 events"),
    ] {
        assert_eq!(error.to_string(), words);
    }
}

#[test]
fn the_line_end_that_joins_two_lines_counts() {
    let caps = SseCaps { event: 6, ..SseCaps::of(40) };
    let mut parser = SseParser::new(caps);
    let (_, event) = parser.next(b"data:123\ndata:56\n\n").unwrap();
    assert_eq!(event.map(|event| event.data), Some(&b"123\n56"[..]));
    let mut parser = SseParser::new(caps);
    assert_eq!(parser.next(b"data:123\ndata:567\n\n"), Err(SseError::Event(6)));
    // Empty lines add their line ends.
    let mut parser = SseParser::new(caps);
    assert_eq!(parser.next(&b"data\n".repeat(8)), Err(SseError::Event(6)));
}

proptest! {
    #[test]
    fn how_it_was_cut_does_not_matter(
        lines in prop::collection::vec("(data|event|id|retry|:)?:? ?[a-c\u{e9}]{0,4}", 0..12),
        ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r", "\r\n", "\n\n"]), 12),
        size in 1_usize..9,
    ) {
        let text: String = lines.iter().zip(&ends).flat_map(|(l, e)| [l.as_str(), e]).collect();
        let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
        prop_assert_eq!(parse(&chunks, true), parse(&[text.as_bytes()], true));
    }
}
