//! What is recorded, and what becomes of it when it is replayed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

mod common;

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use common::{Canned, CannedEnd, canned, get, ok, post, read, sent};
use windlass_core::Retry;
use windlass_ports::{Wire, WireErrorKind, WireHeaders, WireRequest};
use windlass_replay::{Recorder, Redaction, ReplayError, Replayer};

fn recorder(dir: &tempfile::TempDir, canned: Canned, redaction: Redaction) -> Recorder {
    Recorder::new(Arc::new(canned), dir.path().join("c"), redaction).unwrap()
}

fn replayer(dir: &tempfile::TempDir) -> Replayer {
    Replayer::open(dir.path().join("c")).unwrap()
}

fn text(dir: &tempfile::TempDir) -> String {
    std::fs::read_to_string(dir.path().join("c")).unwrap()
}

#[tokio::test]
async fn chunks_are_replayed_as_they_were_cut_also_inside_a_character() {
    let dir = tempfile::tempdir().unwrap();
    let chunks: [&[u8]; 5] = [b"data: caf\xc3", b"\xa9\n", b"", b"\n\xff\x00", b"end"];
    let inner = canned([ok(&chunks, CannedEnd::Whole)]);
    let recorder = recorder(&dir, inner, Redaction::new());
    let live = read(recorder.send(post("/v1/x", "{}")).await.unwrap()).await;
    assert_eq!(recorder.recorded(), 1);
    let replayer = replayer(&dir);
    let replayed = read(replayer.send(post("/v1/x", "{}")).await.unwrap()).await;
    assert_eq!(live, replayed);
    assert_eq!(replayed.chunks, chunks);
    assert!(replayer.unmatched_requests().is_empty() && replayer.unused().is_empty());
}

#[tokio::test]
async fn no_secret_is_in_the_cassette() {
    let dir = tempfile::tempdir().unwrap();
    let echo = b"you are sk-very-secret-1, \"the \\\"boss\\\"\", sk-very-".as_slice();
    let inner = canned([ok(&[echo, b"secret-1 again"], CannedEnd::Whole)
        .with("set-cookie", "session=cookie-secret")
        .with("openai-organization", "org-secret")
        .with("x-echo", "sk-very-secret-1")
        .with("x-request-id", "req_1")]);
    let recorder = recorder(&dir, inner, Redaction::new().secret("the \"boss\""));
    let mut headers = WireHeaders::default();
    headers.push("authorization", "Bearer sk-very-secret-1", true);
    headers.push("x-gate", "open-sesame", true);
    headers.push("api-key", "azure-secret", false);
    headers.push("accept", "text/event-stream", false);
    let request = WireRequest {
        url: "http://h/v1/x?key=query-secret".into(),
        headers,
        ..post("/", r#"{"a":"sk-very-secret-1","b":"the \"boss\"","c":"open-sesame"}"#)
    };
    let live = read(recorder.send(request.clone()).await.unwrap()).await;
    assert_eq!(live.chunks[0], echo, "what is passed on is as it was");
    let text = text(&dir);
    for secret in ["very-secret", "sesame", "boss", "cookie-secret", "org-secret"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(!text.contains("azure") && !text.contains("query-secret"), "{text}");
    assert!(text.contains("req_1") && text.contains("text/event-stream"), "{text}");
    let mode = std::fs::metadata(dir.path().join("c")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // With the same secrets the request is the same; its answer is the one without them.
    let replayer = replayer(&dir).redacting(Redaction::new().secret("the \"boss\""));
    let replayed = read(replayer.send(request).await.unwrap()).await;
    let said = replayed.chunks.concat();
    assert_eq!(
        String::from_utf8(said).unwrap(),
        "you are [redacted], \"[redacted]\", [redacted] again"
    );
}

#[tokio::test]
async fn equal_requests_are_answered_in_order_and_each_once() {
    let dir = tempfile::tempdir().unwrap();
    let inner =
        canned(["one", "two", "three"].map(|word| ok(&[word.as_bytes()], CannedEnd::Whole)));
    let recorder = recorder(&dir, inner, Redaction::new());
    // The first ends last, and is the first all the same.
    let first = recorder.send(post("/v1/x", r#"{"a":1,"b":2}"#)).await.unwrap();
    read(recorder.send(post("/v1/x", r#"{"a":1,"b":2}"#)).await.unwrap()).await;
    read(recorder.send(post("/v1/x", r#"{"a":2}"#)).await.unwrap()).await;
    read(first).await;
    let replayer = replayer(&dir);
    let ask = async |body: &str| {
        let answer = replayer.send(post("/v1/x", body)).await;
        answer.map(|answer| answer.body)
    };
    assert_eq!(replayer.unused().len(), 3);
    let mut words = Vec::new();
    for body in [r#"{"b": 2, "a": 1}"#, r#"{"a":2}"#, r#"{"a":1,"b":2}"#] {
        words.push(sent(ask(body).await.unwrap()).await);
    }
    assert_eq!(words, ["one", "three", "two"]);
    let Err(error) = ask(r#"{"a":1,"b":2}"#).await else {
        panic!("a recording was used twice");
    };
    assert_eq!(error.kind, WireErrorKind::Unrecorded);
    assert!(error.context.contains("(exchange 1, 2) have been used"), "{error}");
}

#[tokio::test]
async fn a_miss_names_the_nearest_recording_and_the_first_difference() {
    let dir = tempfile::tempdir().unwrap();
    let inner = canned([ok(&[b"a"], CannedEnd::Whole), ok(&[b"b"], CannedEnd::Whole)]);
    let recorder = recorder(&dir, inner, Redaction::new());
    for body in [
        r#"{"model":"m","input":["hello"],"key":"k1"}"#,
        r#"{"model":"m","input":["hello","there"],"key":"k2"}"#,
    ] {
        read(recorder.send(post("/v1/x", body)).await.unwrap()).await;
    }
    let replayer = replayer(&dir);
    let asked = r#"{"model":"m","input":["hello","you"],"key":"k2"}"#;
    let error = replayer.send(post("/v1/x", asked)).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (WireErrorKind::Unrecorded, Retry::Never));
    for word in [
        "no recording of POST /v1/x",
        "exchange 2",
        "at /input/1: recorded \"there\", asked \"you\"",
        "--record",
    ] {
        assert!(error.context.contains(word), "{word}: {error}");
    }
    assert_eq!(replayer.unmatched_requests()[0].nearest, Some(2));
    assert_eq!(replayer.unused(), ["1: POST /v1/x", "2: POST /v1/x"]);
    let error = replayer.send(get("/v1/models")).await.unwrap_err();
    assert!(error.context.contains("what is recorded is of POST /v1/x"), "{error}");
    assert_eq!(replayer.unmatched_requests().len(), 2);
    // What is ignored does not part them.
    let replayer = Replayer::open(dir.path().join("c")).unwrap().ignoring(["/input/1"]);
    let answer = replayer.send(post("/v1/x", asked)).await.unwrap();
    assert_eq!(sent(answer.body).await, "b");
}

#[tokio::test]
async fn what_broke_off_breaks_off_again_and_what_failed_fails_again() {
    let dir = tempfile::tempdir().unwrap();
    let inner = canned([
        ok(&[b"half"], CannedEnd::Broken),
        common::unreachable(),
        ok(&[b"some", b"more"], CannedEnd::Whole),
    ]);
    let recorder = recorder(&dir, inner, Redaction::new());
    read(recorder.send(post("/v1/x", "1")).await.unwrap()).await;
    recorder.send(post("/v1/x", "2")).await.unwrap_err();
    let mut dropped = recorder.send(post("/v1/x", "3")).await.unwrap();
    dropped.body.chunk().await.unwrap();
    drop(dropped);
    let replayer = replayer(&dir);
    let broken = read(replayer.send(post("/v1/x", "1")).await.unwrap()).await;
    assert_eq!(broken.chunks, [b"half"]);
    assert_eq!(broken.end, Some((WireErrorKind::Broken, "connection reset".into())));
    let failed = replayer.send(post("/v1/x", "2")).await.unwrap_err();
    assert_eq!((failed.kind, failed.retry), (WireErrorKind::Unreachable, Retry::Soon));
    let dropped = read(replayer.send(post("/v1/x", "3")).await.unwrap()).await;
    assert_eq!(dropped.chunks, [b"some"]);
    let (kind, words) = dropped.end.unwrap();
    assert_eq!(kind, WireErrorKind::Unrecorded);
    assert!(words.contains("stopped listening"), "{words}");
}

#[tokio::test]
async fn an_exchange_that_is_too_large_stops_the_recording_and_not_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let large = vec![b'x'; windlass_replay::EXCHANGE_BYTES];
    let inner = canned([
        ok(&[b"small"], CannedEnd::Whole),
        ok(&[&large, b"y"], CannedEnd::Whole),
        ok(&[b"after"], CannedEnd::Whole),
    ]);
    let recorder = recorder(&dir, inner, Redaction::new());
    read(recorder.send(post("/v1/x", "1")).await.unwrap()).await;
    let passed = read(recorder.send(post("/v1/x", "2")).await.unwrap()).await;
    assert_eq!(passed.chunks.concat().len(), large.len() + 1);
    assert!(recorder.fault().unwrap().contains("exchange 2"), "{recorder:?}");
    read(recorder.send(post("/v1/x", "3")).await.unwrap()).await;
    assert_eq!(recorder.recorded(), 1);
    assert_eq!(replayer(&dir).unused(), ["1: POST /v1/x"]);
}

#[tokio::test]
async fn a_cassette_is_made_anew_or_appended_to_on_purpose() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    let inner = || Arc::new(canned([ok(&[b"a"], CannedEnd::Whole)]));
    let first = Recorder::append(inner(), &path, Redaction::new()).unwrap();
    read(first.send(post("/v1/x", "1")).await.unwrap()).await;
    let busy = Recorder::append(inner(), &path, Redaction::new());
    assert!(matches!(busy, Err(ReplayError::Locked(_))), "{busy:?}");
    drop(first);
    let exists = Recorder::new(inner(), &path, Redaction::new());
    assert!(matches!(exists, Err(ReplayError::Exists(_))), "{exists:?}");
    let second = Recorder::append(inner(), &path, Redaction::new()).unwrap();
    read(second.send(post("/v1/x", "2")).await.unwrap()).await;
    assert_eq!(replayer(&dir).unused(), ["1: POST /v1/x", "2: POST /v1/x"]);
}

#[tokio::test]
async fn a_torn_last_line_is_told_of_and_cut_off_by_who_appends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    let inner = || Arc::new(canned([ok(&[b"a"], CannedEnd::Whole), ok(&[b"b"], CannedEnd::Whole)]));
    {
        let recorder = Recorder::new(inner(), &path, Redaction::new()).unwrap();
        for body in ["1", "2"] {
            read(recorder.send(post("/v1/x", body)).await.unwrap()).await;
        }
    }
    let whole = std::fs::read(&path).unwrap();
    let second = whole[..whole.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    for cut in second..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let replayer = replayer(&dir);
        assert_eq!(replayer.unused(), ["1: POST /v1/x"], "cut at {cut}");
        assert_eq!(replayer.torn_bytes(), cut - second);
    }
    let recorder = Recorder::append(inner(), &path, Redaction::new()).unwrap();
    assert_eq!(recorder.cut_bytes(), whole.len() - 1 - second);
    read(recorder.send(post("/v1/x", "3")).await.unwrap()).await;
    assert_eq!(replayer(&dir).unused(), ["1: POST /v1/x", "2: POST /v1/x"]);
    assert_eq!(replayer(&dir).torn_bytes(), 0);
}

#[test]
fn what_is_no_cassette_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |text: &str| {
        let path = dir.path().join("c");
        std::fs::write(&path, text).unwrap();
        let before = Recorder::append(Arc::new(canned([])), &path, Redaction::new());
        if !text.is_empty() {
            before.unwrap_err();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        std::fs::write(&path, text).unwrap();
        Replayer::open(&path).unwrap_err().to_string()
    };
    assert!(refused("{\"cassette\":2}\nwhat is this\n").contains("version 2"));
    assert!(refused("{\"cassette\":1}\nnonsense\n{}\n").contains("line 2"));
    assert!(refused("{\"cassette\":1").contains("no cassette"));
    assert!(refused("").contains("no cassette"));
    assert!(refused("# A page\n").contains("line 1"));
    let none = Replayer::open(dir.path().join("none")).unwrap_err();
    assert!(none.to_string().contains("none"), "{none}");
}

#[test]
fn who_appends_closes_the_cassette_to_all_but_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    let widen = || std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let append = || Recorder::append(Arc::new(canned([])), &path, Redaction::new());
    for text in ["", "{\"cassette\":1}\n"] {
        std::fs::write(&path, text).unwrap();
        widen();
        append().unwrap();
        assert_eq!(mode(), 0o600, "{text:?}");
    }
    std::fs::write(&path, "my notes\n").unwrap();
    widen();
    append().unwrap_err();
    assert_eq!(mode(), 0o644, "what is no cassette is left as it is");
}

/// Whoever opens a FIFO waits for its other end, which never comes here.
#[test]
fn what_is_no_plain_file_is_refused_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    let owner = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, owner).unwrap();
    let folder = dir.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    for path in [fifo.as_path(), &folder, "/dev/null".as_ref()] {
        let read = Replayer::open(path).map(|_| ());
        let appended = Recorder::append(Arc::new(canned([])), path, Redaction::new()).map(|_| ());
        for refused in [read, appended] {
            assert!(
                matches!(refused, Err(ReplayError::NotAFile(_))),
                "{}: {refused:?}",
                path.display()
            );
        }
    }
}
