//! Facts of older and newer formats: three of each, in formats that no release wrote.

use windlass_core::{BodyTree, Fact, InvalidBody, Item, Upcast};

use super::*;

/// An engine that writes version 3, and reads the two before.
const LATER: BodyReader<'static> = BodyReader {
    current: FormatVersion { version: 3, minor: 0 },
    upcasts: &[
        Upcast { kind: "CompactionFailed", from: 1, apply: rename_why },
        Upcast { kind: "GoalEnded", from: 2, apply: nest_end },
        Upcast { kind: "HooksAsked", from: 1, apply: add_attempt },
        Upcast { kind: "HooksAsked", from: 2, apply: list_hooks },
    ],
};

fn rename_why(mut body: BodyTree) -> Result<BodyTree, InvalidBody> {
    let why = body.remove("why").ok_or_else(|| InvalidBody("it has no why".into()))?;
    body.insert("reason", why);
    Ok(body)
}

/// Version 2 had the end's fields in the body itself.
#[expect(clippy::unnecessary_wraps, reason = "an upcast may fail")]
fn nest_end(body: BodyTree) -> Result<BodyTree, InvalidBody> {
    Ok(BodyTree::Map(vec![("end".into(), body)]))
}

#[expect(clippy::unnecessary_wraps, reason = "an upcast may fail")]
fn add_attempt(mut body: BodyTree) -> Result<BodyTree, InvalidBody> {
    body.insert("attempt", BodyTree::Unsigned(1));
    Ok(body)
}

/// Version 2 had one hook.
fn list_hooks(mut body: BodyTree) -> Result<BodyTree, InvalidBody> {
    let hook = body.remove("hook").ok_or_else(|| InvalidBody("it has no hook".into()))?;
    body.insert("hooks", BodyTree::List(vec![hook]));
    Ok(body)
}

fn envelope(format: &str, kind: &str, body: &str) -> String {
    format!(r#"{{{format},"session":"s","seq":7,"turn":3,"ts":5,"kind":"{kind}","body":{body}}}"#)
}

/// Reads and writes a fact, whose text must not change, and returns the fact.
fn unchanged(text: &str, read: Result<RecordedFact, CodecError>) -> RecordedFact {
    let fact = read.unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(String::from_utf8(encode(&fact).unwrap()).unwrap(), text);
    fact
}

/// Reads a body as this engine writes it.
fn own(kind: &str, body: &str) -> Fact {
    decode(envelope(r#""v":1"#, kind, body).as_bytes()).unwrap().fact
}

#[test]
fn facts_of_older_versions_are_converted_and_keep_their_text() {
    let flat = r#"{"end":"met","call":4}"#;
    let goal = format!(r#"{{"end":{flat}}}"#);
    let hooks = r#"{"at":{"point":"session_end"},"hooks":[2],"attempt":1}"#;
    for (v, kind, old, new) in [
        (1, "CompactionFailed", r#"{"started":2,"why":"it is over"}"#, None),
        (2, "GoalEnded", flat, Some(goal.as_str())),
        (1, "HooksAsked", r#"{"at":{"point":"session_end"},"hook":2}"#, Some(hooks)),
        (2, "HooksAsked", r#"{"at":{"point":"session_end"},"hook":2,"attempt":1}"#, Some(hooks)),
        // A kind without a row has the same body.
        (1, "GoalEnded", flat, Some(goal.as_str())),
        (3, "HooksAsked", hooks, Some(hooks)),
    ] {
        let text = envelope(&format!(r#""v":{v}"#), kind, old);
        let fact = unchanged(&text, decode_as(text.as_bytes(), &LATER));
        let new = new.unwrap_or(r#"{"started":2,"reason":"it is over"}"#);
        assert_eq!(fact.fact, own(kind, new), "{text}");
        assert_eq!(fact.format.at, FormatVersion { version: v, minor: 0 });
    }
}

#[test]
fn an_older_body_without_its_form_is_no_envelope() {
    for (kind, body) in [
        ("CompactionFailed", r#"{"started":2,"reason":"it is over"}"#),
        ("CompactionFailed", r#"{"started":2,"why":"it is over","new":1}"#),
        ("HooksAsked", "[]"),
    ] {
        let text = envelope(r#""v":1"#, kind, body);
        let read = decode_as(text.as_bytes(), &LATER);
        assert!(matches!(read, Err(CodecError::Malformed(_))), "{text}: {read:?}");
    }
    let never = envelope(r#""v":0"#, "CompactionFailed", r#"{"started":2,"why":"over"}"#);
    for read in [decode(never.as_bytes()), decode_as(never.as_bytes(), &LATER)] {
        assert!(matches!(read, Err(CodecError::Malformed(_))), "{read:?}");
    }
}

/// Three facts of a newer minor version, with new fields at the top, within, and in a tagged part.
const NEWER: [(&str, &str, &str); 3] = [
    (
        "CompactionFailed",
        r#"{"started":2,"reason":"it is over","cost":1.0e2,"retry":{"at":[1,null]}}"#,
        r#"{"started":2,"reason":"it is over"}"#,
    ),
    (
        "ItemAdded",
        r#"{"new":"\u0041","started":2,"item":{"type":"call","provider_id":"c","name":"n","arguments":"{}","opaque":{"provider":"p","endpoint":"e","model":"m","payload":"{}","digest":"d"},"region":"eu"}}"#,
        r#"{"started":2,"item":{"type":"call","provider_id":"c","name":"n","arguments":"{}","opaque":{"provider":"p","endpoint":"e","model":"m","payload":"{}"}}}"#,
    ),
    (
        "SampleEnded",
        r#"{"started":2,"stop":"stop","usage":{"input_tokens":1,"energy_joules":18446744073709551616},"weights":[0.1]}"#,
        r#"{"started":2,"stop":"stop","usage":{"input_tokens":1}}"#,
    ),
];

#[test]
fn unknown_fields_of_a_newer_minor_version_are_ignored_and_kept() {
    for (kind, newer, known) in NEWER {
        let text = envelope(r#""v":1,"minor":9"#, kind, newer);
        let fact = unchanged(&text, decode(text.as_bytes()));
        assert_eq!(fact.fact, own(kind, known), "{text}");
        if let Fact::ItemAdded(added) = &fact.fact {
            assert!(matches!(added.item, Item::Call(_)));
        }
        // A copy under another id keeps them too, as a fork does.
        let copy = RecordedFact { session: SessionId::new("t").unwrap(), ..fact };
        let text = text.replace(r#""session":"s""#, r#""session":"t""#);
        unchanged(&text, Ok(copy));
    }
}

#[test]
fn the_same_fields_are_an_error_where_the_version_is_known() {
    for (kind, newer, _) in NEWER {
        let text = envelope(r#""v":1"#, kind, newer);
        let read = decode(text.as_bytes());
        assert!(matches!(read, Err(CodecError::Malformed(_))), "{text}: {read:?}");
    }
}

#[test]
fn a_newer_scope_is_not_read_as_a_wider_one() {
    let body = r#"{"by":{"kind":"principal","tenant":"t","principal":"p","only":"x"}}"#;
    let text = envelope(r#""v":1,"minor":9"#, "CompactionRequested", body);
    let read = decode(text.as_bytes());
    assert!(matches!(read, Err(CodecError::Malformed(_))), "{read:?}");
}

#[test]
fn a_newer_fact_is_one_line() {
    let text =
        envelope(r#""v":1,"minor":9"#, "CompactionFailed", "{\"started\":2,\n\"reason\":\"\"}");
    let read = decode(text.as_bytes());
    assert!(matches!(read, Err(CodecError::Malformed(_))), "{read:?}");
}

#[test]
fn what_cannot_be_read_names_the_version_to_use() {
    for (format, kind, words) in [
        (r#""v":2"#, "GoalEnded", "use a release that reads format 2.0"),
        (r#""v":2,"minor":4"#, "GoalMoved", "use a release that reads format 2.4"),
        (r#""v":1,"minor":3"#, "GoalMoved", "use a release that reads format 1.3"),
        (r#""v":1"#, "GoalMoved", concat!("use a release after ", env!("CARGO_PKG_VERSION"))),
    ] {
        let text = envelope(format, kind, "{}");
        let error = decode(text.as_bytes()).unwrap_err();
        assert!(matches!(error, CodecError::Newer { .. }), "{error:?}");
        let message = error.to_string();
        assert!(message.contains(words) && message.contains(kind), "{message}");
    }
}
