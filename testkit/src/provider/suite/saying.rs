//! Cases about whole answers: what was given is what is told, however it comes.

use std::future::Future;

use serde_json::json;
use windlass_core::{FailureKind, StopReason, Usage};
use windlass_ports::StreamState;

use super::ProviderFixture;
use super::talk::{Talk, classed, hello, read, told};
use crate::answer::Answer;
use crate::gate::Gate;
use crate::http::{Framing, Reply};
use crate::store::{Checked, Violation, ensure, run};

/// Sizes of pieces: each small one, and some around those of buffers.
const SIZES: &[usize] = &[1, 2, 3, 4, 5, 7, 11, 16, 61, 64, 255, 256, 1_024, 4_096];

/// How often a runtime looks for news of the network before nothing more is taken to come.
const LOOKS: usize = 32;

/// An answer that a small mistake in reading spoils: characters of several bytes, texts that look
/// like the protocol's own, numbers that must not be changed.
fn hard() -> Answer {
    Answer::new()
        .reasoning("überlegen:\n\ndata: [DONE]")
        .text("Größe 3 €, \u{1f9ca}\u{1f3ff}: {\"finish_reason\":\"stop\"}\r\n\t\"\\u0041\" \u{2028}end")
        .call_as("call_é", "look", "{\"n\": 1.0, \"n2\":12345678901234567890, \"t\":\"a\\nb\"}")
        .call("read_file", json!({ "path": "ä/\u{1f9ca}", "deep": [{ "x": null }] }))
        .tokens(1_000, 20)
        .pieces_of(3)
}

/// Each part of an answer is told: text, reasoning, a refusal, one call and several.
///
/// # Errors
/// A violation when one is not, or not as it was given.
pub fn an_answer_is_read_as_it_was_given(fixture: &dyn ProviderFixture) -> Checked {
    let refusal = "I do not do that.";
    let answers = [
        Answer::new().text("Hello."),
        Answer::new().text("x".repeat(40_000)).pieces_of(900),
        Answer::new().reasoning("Let me see.").text("There."),
        Answer::new().call("read_file", json!({ "path": "a" })),
        Answer::new()
            .text("Both.")
            .call("read_file", json!({ "path": "a" }))
            .call("read_file", json!({ "path": "b" }))
            .call("list_dir", json!({})),
        Answer::new().refusal(refusal),
        hard(),
        Answer::new().call_text("broken", "{\"a\":"),
    ];
    let able = fixture.protocol().capabilities();
    let said = if able.argument_text { answers.len() } else { answers.len() - 1 };
    run(async {
        for (at, answer) in answers.iter().take(said).enumerate() {
            let talk = Talk::new(fixture, Reply::answer(answer.clone()))?;
            talk.ask().await?.is(answer, &format!("answer {at}"))?;
            talk.was_asked(1, &format!("answer {at}"))?;
        }
        Ok(())
    })
}

/// The tokens that were used, the response's id and why the model stopped are told.
///
/// # Errors
/// A violation when they are not.
pub fn usage_and_the_reason_to_stop_are_told(fixture: &dyn ProviderFixture) -> Checked {
    let protocol = fixture.protocol();
    let able = protocol.capabilities();
    let usage = protocol.reported_usage(Usage {
        input: Some(120),
        output: Some(30),
        total: Some(150),
        cached_input: Some(64),
        cache_write: None,
        reasoning_output: Some(7),
    });
    let mut reasons = vec![
        StopReason::Stop,
        StopReason::Length,
        StopReason::ContentFilter,
        StopReason::Unfinished,
        StopReason::Other("suite_stop".into()),
    ];
    reasons.retain(|reason| able.stops(reason));
    run(async {
        for stop in reasons {
            let answer = Answer::new().text("Hello.").usage(usage).id("resp_7");
            let answer = answer.stop(stop.clone());
            let talk = Talk::new(fixture, Reply::answer(answer.clone()))?;
            let end = talk.ask().await?.is(&answer, "an answer with usage")?;
            ensure!(end.usage == Some(usage), "the usage {usage:?} is told as {:?}", end.usage);
            ensure!(end.stop == stop, "an answer that ended by {stop:?} is told as {:?}", end.stop);
            let id = end.response_id.as_deref();
            let wanted = able.response_ids.then_some("resp_7");
            ensure!(id == wanted, "the id resp_7 is told as {id:?}, where {wanted:?} is meant");
        }
        let answer = Answer::new().text("Hello.");
        let talk = Talk::new(fixture, Reply::answer(answer.clone()))?;
        let end = talk.ask().await?.is(&answer, "an answer without usage")?;
        ensure!(end.usage.is_none(), "no usage was given, and {:?} is told", end.usage);
        Ok(())
    })
}

/// Calls that share an id, or have none, are told all the same: what to make of them is not the
/// provider's to decide.
///
/// # Errors
/// A violation when one is missing.
pub fn calls_of_one_id_are_all_told(fixture: &dyn ProviderFixture) -> Checked {
    let answer =
        Answer::new().call_as("same", "one", "{\"a\":1}").call_as("same", "two", "{\"a\":2}");
    run(async {
        let talk = Talk::new(fixture, Reply::answer(answer.clone()))?;
        talk.ask().await?.is(&answer, "two calls of one id").map(drop)
    })
}

/// How the bytes of an answer were cut on their way does not matter (law 6): in pieces of each
/// size from one byte on, in each framing, it is the same answer.
///
/// # Errors
/// A violation when it is not.
pub fn pieces_of_any_size_make_the_same_answer(fixture: &dyn ProviderFixture) -> Checked {
    let answer = hard();
    run(async {
        for framing in [Framing::Chunked, Framing::Length, Framing::Close] {
            for size in SIZES {
                let reply = Reply::answer(answer.clone()).framed(framing);
                let talk = Talk::new(fixture, reply.split_every(*size))?;
                let what = format!("an answer in pieces of {size} ({framing:?})");
                talk.ask().await?.is(&answer, &what)?;
            }
        }
        Ok(())
    })
}

/// A gateway may answer with the protocol's plain JSON, although a stream was requested: it is the
/// whole answer, with its usage, its calls and its reason to stop, however it comes.
///
/// # Errors
/// A violation when it is not told as the stream of it would be, or half of it passes for it.
pub fn an_answer_may_come_as_one_body(fixture: &dyn ProviderFixture) -> Checked {
    let twins =
        Answer::new().call_as("same", "one", "{\"a\":1}").call_as("same", "two", "{\"a\":2}");
    let answers = [
        Answer::new().text("Hello.").tokens(12, 3).id("resp_7"),
        Answer::new().text("Cut").stop(StopReason::Length),
        twins,
        hard(),
    ];
    run(async {
        for answer in &answers {
            let Some(body) = fixture.protocol().body(answer) else {
                return Ok(());
            };
            for framing in [Framing::Chunked, Framing::Length, Framing::Close] {
                for size in [1, 7, 100_000] {
                    let what = format!("one body in pieces of {size} ({framing:?})");
                    let reply = json_body(&body).framed(framing).split_every(size);
                    let end = Talk::new(fixture, reply)?.ask().await?.is(answer, &what)?;
                    let streamed = Talk::new(fixture, Reply::answer(answer.clone()))?;
                    let streamed = streamed.ask().await?.is(answer, "the same answer, streamed")?;
                    ensure!(end == streamed, "{what} ends with {end:?} and not with {streamed:?}");
                }
            }
            let half = body.get(..body.len() - 1).unwrap_or_default();
            let talk = Talk::new(fixture, json_body(half).framed(Framing::Close))?;
            let error = talk.fails("one body without its end").await?;
            classed(&error, &[FailureKind::Truncated], true, "one body without its end")?;
        }
        for refusal in fixture.protocol().refusals(FailureKind::Overloaded, "too hot") {
            let error = Talk::new(fixture, json_body(&refusal.body))?.fails("an error").await?;
            classed(&error, &[FailureKind::Overloaded], true, "an error in one body")?;
        }
        Ok(())
    })
}

fn json_body(body: &str) -> Reply {
    Reply::raw(200, body).header("content-type", "application/json")
}

/// Lines may end by LF, CRLF or CR, and comments and empty lines may come between: the rules of
/// server-sent events.
///
/// # Errors
/// A violation when one of them changes the answer.
pub fn line_ends_and_keep_alives_change_nothing(fixture: &dyn ProviderFixture) -> Checked {
    let answer = hard();
    let events = fixture.protocol().events(&answer);
    let body = events.concat();
    let forms = [
        ("with CRLF", body.replace('\n', "\r\n")),
        ("with CR", body.replace('\n', "\r")),
        ("with comments", events.join(": keep-alive\n\n")),
        ("with empty lines", events.join("\n\n\n")),
        ("without spaces", body.replace("\ndata: ", "\ndata:")),
        ("with a byte order mark", format!("\u{feff}{body}")),
        ("with ids", events.join("id: 7\nretry: 10\n")),
    ];
    run(async {
        for (form, body) in &forms {
            for size in [1, 7, 100_000] {
                let reply = Reply::stream(body.as_bytes()).split_every(size);
                let talk = Talk::new(fixture, reply)?;
                talk.ask().await?.is(&answer, &format!("an answer {form}"))?;
            }
        }
        Ok(())
    })
}

/// A wait for more may be dropped wherever the bytes stand: nothing that has come is lost.
///
/// # Errors
/// A violation when something is.
pub fn a_wait_may_be_dropped_at_every_byte(fixture: &dyn ProviderFixture) -> Checked {
    let answer = Answer::new().text("hé").call("f", json!({ "a": "é" }));
    let length = fixture.protocol().events(&answer).concat().len();
    run(async {
        let gates: Vec<Gate> = (0..length).map(|_| Gate::new()).collect();
        let pausing = |reply: Reply, (at, gate): (usize, &Gate)| reply.pause_after(at, gate);
        let reply = Reply::answer(answer.clone());
        let talk = Talk::new(fixture, gates.iter().enumerate().fold(reply, pausing))?;
        let sampled = talk.provider.sample(hello()?).await;
        let mut stream = sampled.map_err(|error| Violation::new(error.to_string()))?;
        let (mut events, mut whole) = (Vec::new(), false);
        for (at, gate) in gates.iter().enumerate() {
            gate.reached().await;
            // Until a wait is dropped, since all that has come is read.
            while let Some(read) = until_quiet(stream.next(&mut events)).await {
                let failed = |error| {
                    Violation::new(format!("an answer of dropped waits, at byte {at}: {error}"))
                };
                if read.map_err(failed)? == StreamState::End {
                    whole = true;
                    break;
                }
            }
            gate.open();
            // The last event may be whole before its last byte.
            if whole {
                break;
            }
        }
        let told = if whole { told(events, Ok(()))? } else { read(stream, events).await? };
        told.spoken_in(talk.protocol).is(&answer, "an answer of dropped waits").map(drop)
    })
}

/// Waits until the network has nothing more for it, and drops it then.
async fn until_quiet<T>(wait: impl Future<Output = T>) -> Option<T> {
    let quiet = async {
        for _ in 0..LOOKS {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        done = wait => Some(done),
        () = quiet => None,
    }
}
