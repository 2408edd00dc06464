//! Recorded provider bodies, where they are at hand beside the workspace: what the decoder makes
//! of them is held against what their collection says of them. The bodies are no part of this
//! project: `WINDLASS_WIRE_CORPUS` names their folder, or they are at `shared/wire` beside the
//! checkout. Without them each test says that it was skipped.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may stop, and says what it skips"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use windlass_anthropic::{Events, uncached_input};
use windlass_core::{Assembled, Assembler, Caps, FailureKind, Item, StopReason, Usage};
use windlass_kit_http::{Decoder, Origin, SseCaps};
use windlass_ports::{ProviderError, Streaming, WireHeaders};

/// Bytes up to which a stream is split and cut at each of them.
const SMALL: usize = 16 * 1024;

/// How often a larger one is, at places evenly spread: to read it whole each time takes long.
const PLACES: usize = 256;

struct Case {
    id: String,
    row: Value,
    bytes: Vec<u8>,
}

/// The folder of the collection, or `None` where there is none. One that is named must be there.
fn folder() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("WINDLASS_WIRE_CORPUS") {
        return Some(PathBuf::from(named));
    }
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire");
    beside.join("index.jsonl").is_file().then_some(beside)
}

/// The cases of a kind, or `None` where the collection is absent.
fn cases(kind: &str) -> Option<Vec<Case>> {
    let Some(folder) = folder() else {
        eprintln!(
            "SKIPPED: no collection of wire bodies; WINDLASS_WIRE_CORPUS names its folder, and \
             none is at shared/wire beside the checkout"
        );
        return None;
    };
    let index = folder.join("index.jsonl");
    let index = std::fs::read_to_string(&index)
        .unwrap_or_else(|error| panic!("{}: {error}", index.display()));
    let rows = index
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let wanted = |row: &Value| row["kind"] == kind && row["api"] == "messages";
    let case = |row: Value| Case {
        id: row["id"].as_str().unwrap().to_owned(),
        bytes: std::fs::read(folder.join(row["file"].as_str().unwrap())).unwrap(),
        row,
    };
    let cases: Vec<Case> = rows.filter(wanted).map(case).collect();
    assert!(!cases.is_empty(), "the collection holds no {kind} of ours");
    Some(cases)
}

#[derive(Debug, Default, PartialEq)]
struct Decoded {
    text: String,
    reasoning: String,
    refusal: String,
    /// Text that streamed but belongs to no whole item.
    partial: String,
    /// What goes back unchanged.
    opaque: Vec<String>,
    calls: Vec<(String, String, String)>,
    ended: Option<(StopReason, Option<Usage>)>,
    error: Option<FailureKind>,
}

fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let events = Events::new("http://host/v1", "model");
    let mut decoder = Decoder::new(events, SseCaps::default());
    let origin = Origin::default();
    let mut events = Vec::new();
    let run = || -> Result<(), ProviderError> {
        for chunk in chunks {
            if decoder.push(chunk, &mut events, &origin)? == Streaming::End {
                return Ok(());
            }
        }
        decoder.end(&mut events, &origin)
    };
    let error = run().err().map(|error| error.kind);
    let mut assembler = Assembler::new(Caps::default());
    let mut out = Vec::new();
    for event in events {
        assembler.push(event, &mut out).unwrap();
    }
    let mut decoded = Decoded {
        error,
        partial: assembler.partial(),
        ..Decoded::default()
    };
    for assembled in out {
        match assembled {
            Assembled::Delta(_) => {}
            Assembled::Item(Item::Text { text }) => decoded.text.push_str(&text),
            Assembled::Item(Item::Refusal { text }) => decoded.refusal.push_str(&text),
            Assembled::Item(Item::Reasoning(item)) => {
                decoded.reasoning.push_str(&item.text);
                let payload = item.opaque.as_ref().map(|opaque| opaque.payload.clone());
                decoded.opaque.extend(payload);
            }
            Assembled::Item(Item::Call(call)) => decoded.calls.push((
                call.provider_id.clone(),
                call.name.clone(),
                call.arguments.clone(),
            )),
            Assembled::Ended { stop, usage, .. } => decoded.ended = Some((stop, usage)),
        }
    }
    assert!(
        decoded.error.is_none() || decoded.ended.is_none(),
        "both ended and failed"
    );
    decoded
}

fn whole(case: &Case) -> Decoded {
    decode([case.bytes.as_slice()])
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn json_or_text(text: &str) -> Value {
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

fn stop(finish: &str) -> StopReason {
    match finish {
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::ContentFilter,
        "pause_turn" => StopReason::Unfinished,
        _ => StopReason::Stop,
    }
}

/// What is wrong with a decoded answer, if anything.
fn differs(case: &Case, got: &Decoded) -> Option<String> {
    let alt = &case.row["accept_alt"];
    let first = differs_from(case, &case.row["expect"], got)?;
    if alt.is_null() {
        return Some(first);
    }
    differs_from(case, alt, got).map(|_| first)
}

fn differs_from(case: &Case, expect: &Value, got: &Decoded) -> Option<String> {
    let outcome = text(expect, "outcome");
    let mut accepted: Vec<&str> = case.row["accept_outcomes"]
        .as_array()
        .map_or(vec![outcome], |list| {
            list.iter().filter_map(Value::as_str).collect()
        });
    if accepted.contains(&"complete_without_stop") {
        accepted.push("complete");
    }
    let got_outcome = match (&got.ended, got.error) {
        (Some(_), _) => "complete",
        (None, Some(FailureKind::Truncated)) => "truncated",
        (None, Some(FailureKind::Protocol)) => "protocol_error",
        (None, Some(_)) => "error",
        (None, None) => "neither ended nor failed",
    };
    if !accepted.contains(&got_outcome) {
        return Some(format!("outcome {got_outcome}, not one of {accepted:?}"));
    }
    let Some((reason, usage)) = &got.ended else {
        return None;
    };
    if got.text != text(expect, "text") {
        return Some(format!("text {:?}, not {}", got.text, expect["text"]));
    }
    if got.refusal != text(expect, "refusal") {
        return Some(format!(
            "refusal {:?}, not {}",
            got.refusal, expect["refusal"]
        ));
    }
    if squeezed(&got.reasoning) != squeezed(text(expect, "reasoning")) {
        return Some(format!(
            "reasoning {:?}, not {}",
            got.reasoning, expect["reasoning"]
        ));
    }
    let wanted = stop(text(expect, "finish"));
    if *reason != wanted {
        return Some(format!("stopped for {reason:?}, not {wanted:?}"));
    }
    calls_differ(expect, got, reason).or_else(|| usage_differs(expect, usage.as_ref()))
}

fn calls_differ(expect: &Value, got: &Decoded, reason: &StopReason) -> Option<String> {
    let cut = *reason != StopReason::Stop;
    let mut wanted = Vec::new();
    for call in expect["tool_calls"].as_array().unwrap() {
        // Of an answer that was cut off, a call whose arguments are not whole is not given out.
        let arguments = text(call, "arguments");
        if cut && serde_json::from_str::<Value>(arguments).is_err() {
            continue;
        }
        wanted.push((
            text(call, "id"),
            text(call, "name"),
            json_or_text(arguments),
        ));
    }
    let calls = got.calls.iter();
    let calls: Vec<_> = calls
        .map(|(id, name, text)| (id.as_str(), name.as_str(), json_or_text(text)))
        .collect();
    (calls != wanted).then(|| format!("calls {calls:?}, not {wanted:?}"))
}

/// The collection has no reasoning tokens of this protocol; ours are as the provider says.
fn usage_differs(expect: &Value, got: Option<&Usage>) -> Option<String> {
    let wanted = &expect["usage"];
    let got = got.map(|usage| {
        [
            uncached_input(usage),
            usage.output,
            usage.total,
            usage.cached_input,
            usage.cache_write,
        ]
    });
    let names = [
        "input",
        "output",
        "total",
        "cached_input",
        "cache_write_input",
    ];
    let wanted = (!wanted.is_null()).then(|| names.map(|name| wanted[name].as_u64()));
    (got != wanted).then(|| format!("usage {got:?}, not {wanted:?}"))
}

/// Does something with each case, on as many threads as there are processors; what it finds wrong
/// fails the test.
fn each(cases: &[Case], check: impl Fn(&Case) -> Result<(), String> + Sync) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(what) = check(case) {
                        wrong.lock().unwrap().push(format!("{}: {what}", case.id));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    let (some, all) = (wrong.len(), cases.len());
    assert!(
        wrong.is_empty(),
        "{some} of {all} wrong:\n{}",
        wrong.join("\n")
    );
}

/// The places at which a stream is split and cut.
fn places(case: &Case) -> impl Iterator<Item = usize> {
    let length = case.bytes.len();
    let step = if length <= SMALL { 1 } else { length / PLACES };
    (0..length).step_by(step)
}

#[test]
fn streams_mean_what_they_say() {
    let Some(cases) = cases("stream") else { return };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &cases {
        *counts
            .entry(text(&case.row["expect"], "outcome"))
            .or_default() += 1;
    }
    each(&cases, |case| {
        differs(case, &whole(case)).map_or(Ok(()), Err)
    });
    println!("{} streams of messages: {counts:?}", cases.len());
}

#[test]
fn how_a_stream_was_cut_into_chunks_does_not_matter() {
    let Some(cases) = cases("stream") else { return };
    let runs = AtomicUsize::new(0);
    each(&cases, |case| {
        let whole = whole(case);
        for size in [1, 2, 3, 7] {
            if decode(case.bytes.chunks(size)) != whole {
                return Err(format!("by {size} it is another answer"));
            }
        }
        for at in places(case) {
            let (before, after) = case.bytes.split_at(at);
            if decode([before, after]) != whole {
                return Err(format!("split at {at} it is another answer"));
            }
            runs.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    let (all, runs) = (cases.len(), runs.into_inner());
    println!("{all} streams of messages by 1, 2, 3 and 7 bytes, and at {runs} single splits");
}

#[test]
fn a_broken_stream_is_never_a_shorter_answer() {
    let Some(cases) = cases("stream") else { return };
    let cuts = AtomicUsize::new(0);
    each(&cases, |case| {
        let whole = whole(case);
        for at in places(case) {
            let cut = decode([&case.bytes[..at]]);
            cuts.fetch_add(1, Ordering::Relaxed);
            if let Some(call) = cut.calls.iter().find(|call| !whole.calls.contains(call)) {
                return Err(format!("cut at {at} it has the call {call:?}"));
            }
            if let Some(back) = cut.opaque.iter().find(|one| !whole.opaque.contains(one)) {
                return Err(format!("cut at {at} it has the reasoning {back}"));
            }
            match (&cut.ended, cut.error) {
                (None, None) => return Err(format!("cut at {at} it neither ends nor fails")),
                (None, Some(_)) => {}
                // After the reason to stop nothing more comes but the word that it is over.
                (Some((reason, _)), _) => {
                    let same = cut.text == whole.text
                        && cut.reasoning == whole.reasoning
                        && cut.calls == whole.calls
                        && whole.ended.as_ref().is_some_and(|(of, _)| of == reason);
                    if !same {
                        return Err(format!("cut at {at} it passes for {cut:?}"));
                    }
                }
            }
        }
        Ok(())
    });
    let (all, cuts) = (cases.len(), cuts.into_inner());
    println!("{all} streams of messages cut at {cuts} places");
}

#[test]
fn refusals_are_classed_by_their_meaning() {
    let Some(cases) = cases("error_body") else {
        return;
    };
    each(&cases, |case| {
        let status = u16::try_from(case.row["http_status"].as_u64().unwrap()).unwrap();
        let headers = WireHeaders::default();
        let origin = Origin::new("http://host/v1", Vec::new(), true).answered(status, &headers);
        let error = origin.refused(&headers, &case.bytes);
        let wanted = match text(&case.row["expect"], "meaning") {
            "auth" => FailureKind::Authentication,
            "not_found" => FailureKind::NotFound,
            "context_overflow" => FailureKind::ContextOverflow,
            "invalid_request" => FailureKind::InvalidRequest,
            "rate_limit" => FailureKind::RateLimit,
            "quota" => FailureKind::Quota,
            "overloaded" => FailureKind::Overloaded,
            "server" => FailureKind::Server,
            other => panic!("{}: unknown meaning {other}", case.id),
        };
        let message = text(&case.row["expect"]["error"], "message");
        let head: String = message.chars().take(100).collect();
        let right = error.kind == wanted
            && error.context.contains(&head)
            && error.details.status == Some(status);
        let (kind, context) = (error.kind, error.context);
        right
            .then_some(())
            .ok_or(format!("{kind:?}, not {wanted:?}: {context}"))
    });
    println!("{} refusals of messages", cases.len());
}
