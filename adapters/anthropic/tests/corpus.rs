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

#[path = "../../kit/http/tests/support/wire_corpus.rs"]
mod wire_corpus;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use windlass_anthropic::{MessagesDecoder, uncached_input};
use windlass_core::{FailureKind, StopReason, Usage};
use windlass_kit_http::{Decoder, ErrorContext, SseCaps};
use windlass_ports::{ProviderError, StreamState};

use wire_corpus::{
    Case, Decoded, assembled, calls_differ, cases, each, refusals_are_classed, squeezed, text,
};

/// Bytes up to which a stream is split and cut at each of them.
const SMALL: usize = 16 * 1024;

/// How often a larger one is, at places evenly spread: to read it whole each time takes long.
const PLACES: usize = 256;

fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let events = MessagesDecoder::new("http://host/v1", "model");
    let mut decoder = Decoder::new(events, SseCaps::default());
    let origin = ErrorContext::default();
    let mut events = Vec::new();
    let run = || -> Result<(), ProviderError> {
        for chunk in chunks {
            if decoder.push(chunk, &mut events, &origin)? == StreamState::End {
                return Ok(());
            }
        }
        decoder.end(&mut events, &origin)
    };
    let error = run().err().map(|error| error.kind);
    assembled(events, error)
}

fn whole(case: &Case) -> Decoded {
    decode([case.bytes.as_slice()])
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
        .map_or(vec![outcome], |list| list.iter().filter_map(Value::as_str).collect());
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
        return Some(format!("refusal {:?}, not {}", got.refusal, expect["refusal"]));
    }
    if squeezed(&got.reasoning) != squeezed(text(expect, "reasoning")) {
        return Some(format!("reasoning {:?}, not {}", got.reasoning, expect["reasoning"]));
    }
    let wanted = stop(text(expect, "finish"));
    if *reason != wanted {
        return Some(format!("stopped for {reason:?}, not {wanted:?}"));
    }
    calls_differ(expect, got, reason).or_else(|| usage_differs(expect, usage.as_ref()))
}

/// The collection has no reasoning tokens of this protocol; ours are as the provider says.
fn usage_differs(expect: &Value, got: Option<&Usage>) -> Option<String> {
    let got = got.map(|usage| {
        [uncached_input(usage), usage.output, usage.total, usage.cached_input, usage.cache_write]
    });
    let names = ["input", "output", "total", "cached_input", "cache_write_input"];
    wire_corpus::usage_differs(expect, got, names)
}

/// The places at which a stream is split and cut.
fn places(case: &Case) -> impl Iterator<Item = usize> {
    let length = case.bytes.len();
    let step = if length <= SMALL { 1 } else { length / PLACES };
    (0..length).step_by(step)
}

#[test]
fn streams_mean_what_they_say() {
    let Some(cases) = cases("stream", &["messages"]) else {
        return;
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &cases {
        *counts.entry(text(&case.row["expect"], "outcome")).or_default() += 1;
    }
    each(&cases, |case| differs(case, &whole(case)).map_or(Ok(()), Err));
    println!("{} streams of messages: {counts:?}", cases.len());
}

#[test]
fn how_a_stream_was_cut_into_chunks_does_not_matter() {
    let Some(cases) = cases("stream", &["messages"]) else {
        return;
    };
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
    let Some(cases) = cases("stream", &["messages"]) else {
        return;
    };
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
    let Some(cases) = cases("error_body", &["messages"]) else {
        return;
    };
    refusals_are_classed(&cases);
    println!("{} refusals of messages", cases.len());
}
