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
    assert_eq!(
        whole("event: x\ndata: 1\n\ndata: 2\n\n"),
        [event("x", "1"), event("", "2")]
    );
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
    let caps = SseCaps {
        line: 10,
        event: 6,
        stream: 40,
    };
    let mut parser = SseParser::new(caps);
    assert_eq!(parser.next(b"data: 123456\n\n"), Err(SseError::Line(10)));
    let mut parser = SseParser::new(caps);
    assert_eq!(parser.next(b":2345678901"), Err(SseError::Line(10)));
    let mut parser = SseParser::new(caps);
    assert_eq!(
        parser.next(b"data:1234\ndata:5678\n\n"),
        Err(SseError::Event(6))
    );
    let mut parser = SseParser::new(caps);
    assert_eq!(parser.next(&b":\n".repeat(21)), Err(SseError::Stream(40)));
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
