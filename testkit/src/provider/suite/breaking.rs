//! Cases about bodies that are not what the protocol says: repeated, empty, of another kind,
//! compressed, of broken text.

use serde_json::json;
use windlass_core::{FailureKind, Retry};

use super::ProviderFixture;
use super::talk::{Talk, Told, classed, given, parts};
use crate::answer::{Answer, Part};
use crate::http::{Framing, Reply};
use crate::store::{Checked, Violation, ensure, run};

/// An event that comes twice is told once, wherever the protocol lets a reader see that it is the
/// same: events with a number of their own, the opening of a call, the end.
///
/// # Errors
/// A violation when something is told twice, or a repetition makes another answer.
pub fn a_repeated_event_is_told_once(fixture: &dyn ProviderFixture) -> Checked {
    let answer =
        Answer::new().text("Hello.").call("f", json!({ "a": 1 })).tokens(10, 2).pieces_of(100);
    let protocol = fixture.protocol();
    let events = protocol.events(&answer);
    run(async {
        for (at, event) in events.iter().enumerate() {
            // A piece without a number says twice what it says.
            if protocol.effect(event).adds {
                continue;
            }
            let talk = Talk::new(fixture, Reply::answer(answer.clone()).repeat_event(at))?;
            let what = format!("an answer with {} twice", event.trim_end());
            talk.ask().await?.is(&answer, &what)?;
        }
        Ok(())
    })
}

/// An answer that lacks an event which opens or ends a part has all of its parts, or is an error. It is no
/// answer without that part, or with half of it.
///
/// # Errors
/// A violation when another answer is told.
pub fn an_event_that_is_missing_is_no_shorter_answer(fixture: &dyn ProviderFixture) -> Checked {
    let answer = Answer::new().text("Hello.").call("f", json!({ "a": 1 })).call("g", json!({}));
    let protocol = fixture.protocol();
    let events = protocol.events(&answer);
    run(async {
        for (at, event) in events.iter().enumerate() {
            // A piece that is missing leaves no trace.
            if protocol.effect(event).adds {
                continue;
            }
            let talk = Talk::new(fixture, Reply::answer(answer.clone()).omit_event(at))?;
            let told = talk.ask().await?;
            let (mut told, whole) = (parts(&told.items), told.end.is_ok());
            // A part without its end may come after later ones.
            told.sort_by_key(|part| format!("{part:?}"));
            let mut given = given(&answer, Some(protocol));
            given.sort_by_key(|part| format!("{part:?}"));
            ensure!(
                !whole || told == given,
                "an answer without {} passed for an answer: {told:?}",
                event.trim_end()
            );
        }
        Ok(())
    })
}

/// Data that cannot be read is an error: it may have been a part of the answer, which without it
/// is another one.
///
/// # Errors
/// A violation when it is passed over, or the answer without it passes for the answer.
pub fn data_that_cannot_be_read_is_an_error(fixture: &dyn ProviderFixture) -> Checked {
    let answer = Answer::new().text("A").text("B").text("C");
    let events = fixture.protocol().events(&answer);
    run(async {
        for (at, event) in events.iter().enumerate() {
            // An event that names itself a keep-alive may hold anything.
            let kept = event.split_once("data: {").filter(|(name, _)| !name.contains("ping"));
            let Some((name, data)) = kept else {
                continue;
            };
            let damaged = [
                format!("{name}data: {data}"),
                format!("{name}data: {{{}\n\n", data.trim_end().trim_end_matches('}')),
                format!("{name}data: [{{{}]\n\n", data.trim_end()),
                format!("{name}data: upstream closed\n\n"),
            ];
            for damaged in damaged {
                let mut body = events.clone();
                if let Some(event) = body.get_mut(at) {
                    event.clone_from(&damaged);
                }
                let what = format!("an answer with {damaged:?} in it");
                let error = Talk::new(fixture, Reply::stream(body.concat()))?.fails(&what).await?;
                classed(&error, &[FailureKind::Protocol], true, &what)?;
            }
        }
        Ok(())
    })
}

/// A provider that fails while it answers has not answered.
///
/// # Errors
/// A violation when what came before passes for an answer, or the error has the wrong class.
pub fn an_error_inside_an_answer_is_an_error(fixture: &dyn ProviderFixture) -> Checked {
    let answer = Answer::new().text("Half an ").text("answer");
    let cases = [(FailureKind::Server, "boiled over"), (FailureKind::Overloaded, "too hot")];
    run(async {
        for (kind, words) in cases {
            let Some(event) = fixture.protocol().failure_event(kind, words) else {
                continue;
            };
            for at in [0, 1, 3] {
                let reply = Reply::answer(answer.clone()).insert_event(at, &event);
                let what = format!("an answer with {words:?} before event {at}");
                let error = Talk::new(fixture, reply)?.fails(&what).await?;
                classed(&error, &[kind], true, &what)?;
                ensure!(
                    error.context.contains(words),
                    "{what} does not pass on what the server says: {error}"
                );
            }
        }
        Ok(())
    })
}

/// A success without a body, or with one that never begins, is no answer.
///
/// # Errors
/// A violation when it passes for one.
pub fn an_empty_answer_is_an_error(fixture: &dyn ProviderFixture) -> Checked {
    let bodies = ["", "\n\n", ": hold on\n\n", "event: ping\n\n"];
    run(async {
        for body in bodies {
            for framing in [Framing::Chunked, Framing::Length, Framing::Close] {
                let what = format!("the body {body:?} ({framing:?})");
                let reply = Reply::stream(body).framed(framing);
                let error = Talk::new(fixture, reply)?.fails(&what).await?;
                classed(&error, &[FailureKind::Truncated], true, &what)?;
            }
        }
        Ok(())
    })
}

/// A web page, a JSON text or a line of words with status 200 is no answer: asking again brings
/// the same.
///
/// # Errors
/// A violation when it passes for one.
pub fn a_page_is_no_answer(fixture: &dyn ProviderFixture) -> Checked {
    let replies = [
        Reply::html(),
        Reply::json(200, &json!({ "object": "list", "data": [] })),
        Reply::stream("<html><body>Sign in</body></html>"),
    ];
    run(async {
        for reply in replies {
            let what = format!("{reply:?}");
            let error = Talk::new(fixture, reply)?.fails(&what).await?;
            classed(&error, &[FailureKind::Protocol], false, &what)?;
        }
        Ok(())
    })
}

/// A length that says less than the answer has cuts it; one that says more than comes does not make
/// half an answer whole.
///
/// # Errors
/// A violation when less than the whole passes for an answer.
pub fn a_length_that_lies_is_no_answer(fixture: &dyn ProviderFixture) -> Checked {
    let answer = Answer::new().text("Hello.");
    let body = fixture.protocol().events(&answer).concat();
    let half = body.get(..body.len() / 2).unwrap_or_default();
    let cases = [
        ("too short a length", body.as_str(), body.len() / 2),
        ("too long a length, half the body", half, body.len()),
        ("no length, by its word", body.as_str(), 0),
    ];
    run(async {
        for (what, body, length) in cases {
            let reply = Reply::stream(body).framed(Framing::Close);
            let reply = reply.header("content-length", &length.to_string());
            let error = Talk::new(fixture, reply)?.fails(what).await?;
            classed(&error, &[FailureKind::Truncated], true, what)?;
        }
        let longer = Reply::stream(body.as_str()).framed(Framing::Close);
        let longer = longer.header("content-length", &(body.len() + 100).to_string());
        let told = Talk::new(fixture, longer)?.ask().await?;
        exact(told, &answer, "too long a length, the whole body")
    })
}

/// An answer that is compressed, or says so, is read right or not at all.
///
/// # Errors
/// A violation when something else than the answer passes for it.
pub fn what_is_compressed_is_no_answer(fixture: &dyn ProviderFixture) -> Checked {
    let answer = Answer::new().text("Hello.");
    let body = fixture.protocol().events(&answer).concat().into_bytes();
    let packed = gzip(&body);
    let half = packed.get(..packed.len() / 2).unwrap_or_default().to_vec();
    let cases = [
        ("compressed and said to be", packed.clone(), Some("gzip")),
        ("compressed and not said to be", packed.clone(), None),
        ("compressed and said to be so in another way", packed, Some("br")),
        ("half of what is compressed", half, Some("gzip")),
        ("not compressed and said to be", body.clone(), Some("gzip")),
        ("not compressed and said to be so unheard of", body, Some("x-suite")),
        ("noise that is said to be compressed", b"\x1f\x8b\xff\0\x80".to_vec(), Some("gzip")),
    ];
    run(async {
        for (what, bytes, said) in cases {
            for framing in [Framing::Chunked, Framing::Close] {
                let plain = Reply::stream(bytes.clone()).framed(framing);
                let reply = match said {
                    Some(coding) => plain.claiming_encoding(coding),
                    None => plain,
                };
                let told = Talk::new(fixture, reply)?.ask().await?;
                exact(told, &answer, &format!("an answer that is {what}"))?;
            }
        }
        Ok(())
    })
}

/// Bytes that are no UTF-8 make an error, or stand in the text as such: a word that fell out
/// silently would make another text.
///
/// # Errors
/// A violation when they fall out.
pub fn bytes_that_are_no_text_are_not_dropped(fixture: &dyn ProviderFixture) -> Checked {
    let answers = [Answer::new().text("aXb"), Answer::new().call_text("f", "{\"a\":\"aXb\"}")];
    run(async {
        for answer in &answers {
            for broken in [&b"\xff"[..], b"\xc3", b"\xf0\x9f", b"\xed\xa0\x80"] {
                let body = fixture.protocol().events(answer).concat().into_bytes();
                let body = spoiled(&body, broken);
                let talk = Talk::new(fixture, Reply::stream(body))?;
                let told = talk.ask().await?;
                if told.end.is_err() {
                    continue;
                }
                let shown = format!("{:?}", parts(&told.items));
                ensure!(
                    shown.contains("a\u{fffd}"),
                    "a text with the bytes {broken:x?} between a and b is told as {shown}"
                );
            }
        }
        Ok(())
    })
}

/// Replaces each `aXb` by a, the bytes, b.
fn spoiled(body: &[u8], broken: &[u8]) -> Vec<u8> {
    let (mut spoiled, mut rest) = (Vec::new(), body);
    while let Some(at) = rest.windows(3).position(|window| window == b"aXb") {
        let (before, after) = rest.split_at(at);
        spoiled.extend_from_slice(before);
        spoiled.push(b'a');
        spoiled.extend_from_slice(broken);
        spoiled.push(b'b');
        rest = after.get(3..).unwrap_or_default();
    }
    spoiled.extend_from_slice(rest);
    spoiled
}

/// Holds what was told to being the answer, or an error.
fn exact(told: Told, answer: &Answer, what: &str) -> Checked {
    let parts: Vec<Part> = parts(&told.items);
    match told.end {
        Ok(_) if parts == given(answer, None) => Ok(()),
        Ok(_) => Err(Violation::new(format!("{what} passed for {parts:?}"))),
        Err(error) => {
            let kinds = [FailureKind::Protocol, FailureKind::Truncated];
            let again = error.retry != Retry::Never;
            classed(&error, &kinds, again, what)
        }
    }
}

/// Bytes as a gzip file that stores them (RFC 1952, and RFC 1951 section 3.2.4).
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut chunks = bytes.chunks(65_535).peekable();
    while let Some(chunk) = chunks.next() {
        let length = u16::try_from(chunk.len()).unwrap_or(u16::MAX);
        file.push(u8::from(chunks.peek().is_none()));
        file.extend(length.to_le_bytes());
        file.extend((!length).to_le_bytes());
        file.extend_from_slice(chunk);
    }
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        }
    }
    file.extend((!sum).to_le_bytes());
    let length = u32::try_from(bytes.len() & 0xffff_ffff).unwrap_or_default();
    file.extend(length.to_le_bytes());
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_a_gzip_file_is_that_of_its_standard() {
        let file = gzip(b"123456789");
        let tail = file.get(file.len() - 8..).unwrap();
        assert_eq!(tail, [0x26, 0x39, 0xf4, 0xcb, 9, 0, 0, 0]);
    }

    #[test]
    fn every_mark_is_spoiled() {
        assert_eq!(spoiled(b"aXb-aXb", b"\xff"), b"a\xffb-a\xffb");
    }
}
