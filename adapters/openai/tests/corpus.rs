//! Recorded provider bodies, where they are at hand beside the workspace: what the decoders make
//! of them is held against what their collection says of them. The bodies are no part of this
//! project: `WINDLASS_WIRE_CORPUS` names their folder, or they are at `shared/wire` beside the
//! checkout. Without them each test says that it was skipped.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may stop, and says what it skips"
)]

#[path = "../../kit/http/tests/support/wire_corpus.rs"]
mod wire_corpus;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use windlass_core::{FailureKind, StopReason, Usage};
use windlass_kit_http::fuzzing::{StreamEnd, cuts};
use windlass_kit_http::{Decoder, ErrorContext, SseCaps, SseEvent, SseParser};
use windlass_openai::{Api, OpenAiDecoder};
use windlass_ports::{ProviderError, StreamState};

use wire_corpus::{
    Case, Decoded, assembled, calls_differ, cases, each, refusals_are_classed, squeezed, text,
};

/// Protocols of this adapter, and framing.
const OURS: &[&str] = &["chat", "responses", "sse"];

fn events(api: Api) -> OpenAiDecoder {
    OpenAiDecoder::new(api, "http://host/v1", "model")
}

fn decode(api: Api, bytes: &[u8], size: usize) -> Decoded {
    decode_pieces(api, bytes.chunks(size))
}

fn decode_pieces<'a>(api: Api, mut pieces: impl Iterator<Item = &'a [u8]>) -> Decoded {
    let mut decoder = Decoder::new(events(api), SseCaps::default());
    let origin = ErrorContext::default();
    let mut events = Vec::new();
    let mut run = || -> Result<(), ProviderError> {
        for chunk in &mut pieces {
            if decoder.push(chunk, &mut events, &origin)? == StreamState::End {
                return Ok(());
            }
        }
        decoder.end(&mut events, &origin)
    };
    let error = run().err().map(|error| error.kind);
    assembled(events, error)
}

fn api(case: &Case) -> Api {
    if case.row["api"] == "chat" { Api::Chat } else { Api::Responses }
}

fn stop(finish: &str) -> StopReason {
    match finish {
        "length" | "incomplete:max_output_tokens" => StopReason::Length,
        "content_filter" | "incomplete:content_filter" => StopReason::ContentFilter,
        _ => StopReason::Stop,
    }
}

/// What is wrong with a decoded answer, if anything.
fn differs(case: &Case, got: &Decoded) -> Option<String> {
    let expect = &case.row["expect"];
    let outcome = text(expect, "outcome");
    let accepted: Vec<&str> = case.row["accept_outcomes"]
        .as_array()
        .map_or(vec![outcome], |list| list.iter().filter_map(Value::as_str).collect());
    let got_outcome = match (&got.ended, got.error) {
        (Some((StopReason::Length | StopReason::ContentFilter | StopReason::Other(_), _)), _)
            if case.row["api"] == "responses" =>
        {
            "incomplete"
        }
        (Some(_), _) if outcome == "complete_without_finish" => outcome,
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
        return Some(format!("refusal {:?}, not {}", got.refusal, expect["refusal"]));
    }
    // Of this one the collection counts the delta and the whole item as two parts, because the
    // delta names its item by id alone. The id ties them together: it was said once.
    let twice = case.id == "responses-openai-021";
    let said = squeezed(text(expect, "reasoning"));
    if squeezed(&got.reasoning) != said && !(twice && squeezed(&got.reasoning).repeat(2) == said) {
        return Some(format!("reasoning {:?}, not {}", got.reasoning, expect["reasoning"]));
    }
    if outcome == "complete" || outcome == "incomplete" {
        let wanted = stop(text(expect, "finish"));
        if *reason != wanted {
            return Some(format!("stopped for {reason:?}, not {wanted:?}"));
        }
    }
    calls_differ(expect, got, reason).or_else(|| usage_differs(expect, usage.as_ref()))
}

fn usage_differs(expect: &Value, got: Option<&Usage>) -> Option<String> {
    let got = got.map(|usage| {
        [usage.input, usage.output, usage.total, usage.cached_input, usage.reasoning_output]
    });
    let names = ["input", "output", "total", "cached_input", "reasoning_output"];
    wire_corpus::usage_differs(expect, got, names)
}

#[test]
fn streams_mean_what_they_say() {
    let Some(cases) = cases("stream", OURS) else {
        return;
    };
    let mut counts = std::collections::BTreeMap::new();
    for case in &cases {
        let label = format!("{} {}", text(&case.row, "api"), text(&case.row["expect"], "outcome"));
        *counts.entry(label).or_insert(0) += 1;
    }
    each(&cases, |case| {
        let got = decode(api(case), &case.bytes, usize::MAX);
        differs(case, &got).map_or(Ok(()), Err)
    });
    println!("{} streams: {counts:?}", cases.len());
}

#[test]
fn how_a_stream_was_cut_into_chunks_does_not_matter() {
    let Some(cases) = cases("stream", OURS) else {
        return;
    };
    let mut runs = 0;
    for case in &cases {
        let whole = decode(api(case), &case.bytes, usize::MAX);
        for size in [1, 2, 3, 7] {
            assert_eq!(decode(api(case), &case.bytes, size), whole, "{} by {size}", case.id);
            runs += 1;
        }
    }
    println!("{runs} runs of {} streams", cases.len());
}

/// Streams up to this long are cut and split anew from their beginning at each byte; of longer
/// ones the decoder's state is kept, which takes a time that grows with the length alone.
const SHORT: usize = 2 * 1024;

/// A server whose streams all end with `[DONE]`.
const STRICT: &str = "https://api.openai.com/v1";

/// Whether an answer that a cut stream is taken for is one that its sender gave out as whole.
fn given_out(case: &Case, whole: &Decoded, cut: &Decoded) -> bool {
    if cut.text == whole.text && cut.calls == whole.calls && whole.ended.is_some() {
        return true;
    }
    // Some servers end without [DONE], so the end of a stream after a reason to finish is the
    // end of the answer. These send more after it, or an error.
    let quirks = case.row["quirks"].as_array().unwrap();
    let more = quirks.contains(&"content_after_finish".into());
    let is_whole = |call: &(String, String, String)| {
        serde_json::from_str::<Value>(&call.2).is_ok() && whole.calls.contains(call)
    };
    match whole.error {
        Some(_) => case.row["api"] == "chat" && cut.calls.is_empty(),
        None => more && whole.text.starts_with(&cut.text) && cut.calls.iter().all(is_whole),
    }
}

/// Holds what a cut stream brings against what the whole one brings.
fn holds(case: &Case, at: usize, whole: &Decoded, cut: &Decoded) {
    let id = &case.id;
    if cut.ended.is_some() {
        let given_out = given_out(case, whole, cut);
        assert!(given_out, "{id} cut at {at}: {cut:?}, not {whole:?}");
        return;
    }
    assert!(cut.error.is_some(), "{id} cut at {at}");
    // A call is whole once its item is, which Chat Completions never says.
    let mut calls = cut.calls.iter();
    let early = calls.find(|call| api(case) == Api::Chat || !whole.calls.contains(call));
    assert_eq!(early, None, "{id} cut at {at}");
}

/// Cuts a stream at each byte, as one of any server, and its beginning as that of a server that
/// always says that it is done: how often, how often the end was taken for that of an answer, and how often it was
/// decoded from its beginning.
fn cut_everywhere(case: &Case) -> [u64; 3] {
    let api = api(case);
    let bytes = &case.bytes;
    let whole = decode(api, bytes, usize::MAX);
    let counts = cuts(events(api), bytes, |at, end, events| {
        let error = (end == StreamEnd::Broken).then_some(FailureKind::Truncated);
        holds(case, at, &whole, &assembled(events.to_vec(), error));
    });
    let some = bytes.get(..4 * SHORT).unwrap_or(bytes);
    let strict = OpenAiDecoder::new(api, STRICT, "model");
    let strict = cuts(strict, some, |at, end, events| {
        if end == StreamEnd::Answer {
            let cut = assembled(events.to_vec(), None);
            assert_eq!(cut, whole, "{} cut at {at}", case.id);
        }
    });
    let anew = if bytes.len() <= SHORT { bytes.len() } else { 0 };
    for at in 0..anew {
        let (first, second) = bytes.split_at(at);
        let split = decode_pieces(api, [first, second].into_iter());
        assert_eq!(split, whole, "{} split at {at}", case.id);
        holds(case, at, &whole, &decode(api, first, usize::MAX));
    }
    [counts.cuts + strict.cuts, counts.answers, anew as u64]
}

#[test]
fn a_stream_cut_at_any_byte_is_never_another_answer() {
    let Some(cases) = cases("stream", OURS) else {
        return;
    };
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let work = || {
        let mut sum = [0; 3];
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            for (sum, count) in sum.iter_mut().zip(cut_everywhere(case)) {
                *sum += count;
            }
        }
        sum
    };
    let sums: Vec<[u64; 3]> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let sum = |at: usize| sums.iter().map(|sum| sum[at]).sum::<u64>();
    let (cuts, answers, anew) = (sum(0), sum(1), sum(2));
    println!(
        "{} streams: {cuts} cuts and as many splits in two, {answers} of the cuts after the \
         answer's end; {anew} of them decoded anew from the beginning",
        cases.len()
    );
    assert!(cuts > 0 && answers > 0 && anew > 0);
}

#[test]
fn framing_follows_the_standard() {
    let Some(cases) = cases("sse_framing", OURS) else {
        return;
    };
    let pairs = |expect: &Value| -> Vec<(String, String)> {
        let events = expect["events"].as_array().unwrap().iter();
        events.map(|event| (text(event, "event").into(), text(event, "data").into())).collect()
    };
    for case in &cases {
        for size in [usize::MAX, 1, 2, 3, 7] {
            let got = frames(&case.bytes, size);
            let flushed = &case.row["expect_if_flushed"];
            let right =
                got == pairs(&case.row["expect"]) || !flushed.is_null() && got == pairs(flushed);
            assert!(right, "{} by {size}: {got:?}", case.id);
        }
    }
    println!("{} framings", cases.len());
}

fn frames(bytes: &[u8], size: usize) -> Vec<(String, String)> {
    let mut parser = SseParser::new(SseCaps::default());
    let mut events = Vec::new();
    let mut keep = |event: SseEvent<'_>| {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let name = if event.name.is_empty() { b"message" } else { event.name };
        events.push((text(name), text(event.data)));
    };
    for chunk in bytes.chunks(size) {
        let mut rest = chunk;
        loop {
            let (used, event) = parser.next(rest).unwrap();
            let Some(event) = event else { break };
            keep(event);
            rest = &rest[used..];
        }
    }
    if let Some(event) = parser.finish().unwrap() {
        keep(event);
    }
    events
}

#[test]
fn refusals_are_classed_by_their_meaning() {
    let Some(cases) = cases("error_body", OURS) else {
        return;
    };
    refusals_are_classed(&cases);
    println!("{} refusals", cases.len());
}
