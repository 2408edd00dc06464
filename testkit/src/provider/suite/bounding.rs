//! Cases about answers that are too large, or have no end: an error, with no more taken than may
//! be.

use windlass_core::FailureKind;

use super::ProviderFixture;
use super::talk::{MOST, Talk, classed};
use crate::answer::Answer;
use crate::http::Reply;
use crate::store::{Checked, ensure, run};

/// What a server sends in these cases: far beyond the cap, and beyond all buffers on the way.
const FLOOD: u64 = 24 * 1024 * 1024;
/// What may be on its way when a provider hangs up: the buffers of both sockets.
const BUFFERS: u64 = 16 * 1024 * 1024;

/// A line that does not end is an error before it fills the memory.
///
/// # Errors
/// A violation when it is read on.
pub fn a_line_without_an_end_is_too_large(fixture: &dyn ProviderFixture) -> Checked {
    flooded(fixture, "data: {\"x\":\"", b'x', "a line without an end")
}

/// An event of many lines is an error too, though each of them is short.
///
/// # Errors
/// A violation when it is read on.
pub fn an_event_without_an_end_is_too_large(fixture: &dyn ProviderFixture) -> Checked {
    let line = format!("data: {}\n", "x".repeat(1_000));
    let event = line.repeat(4 * MOST / line.len());
    run(async {
        let reply = Reply::stream(event);
        let what = "an event without an end";
        let error = Talk::new(fixture, reply)?.fails(what).await?;
        classed(&error, &[FailureKind::TooLarge], false, what)
    })
}

/// An answer without an end, of events that each are small, is an error too.
///
/// # Errors
/// A violation when it is read on.
pub fn an_answer_without_an_end_is_too_large(fixture: &dyn ProviderFixture) -> Checked {
    let text = "x".repeat(4 * MOST);
    let answer = Answer::new().text(text).pieces_of(1_000);
    let mut events = fixture.protocol().events(&answer);
    // What closes the text of an answer may repeat all of it.
    events.retain(|event| event.len() < MOST / 2);
    run(async {
        let what = "an answer of many events";
        let error = Talk::new(fixture, Reply::stream(events.concat()))?.fails(what).await?;
        classed(&error, &[FailureKind::TooLarge], false, what)
    })?;
    flooded(fixture, ": hold on\n", b'\n', "empty lines without an end")?;
    flooded(fixture, "{\"x\":\"", b'x', "one body without an end")
}

/// The body of a refusal is read as far as it is of use: the status decides.
///
/// # Errors
/// A violation when it is read on, or hides the status.
pub fn a_refusal_without_an_end_is_read_in_part(fixture: &dyn ProviderFixture) -> Checked {
    run(async {
        let what = "a refusal without an end";
        let talk = Talk::new(fixture, Reply::filled("", b'x', FLOOD).status(500))?;
        let error = talk.fails(what).await?;
        classed(&error, &[FailureKind::Server], true, what)?;
        ensure!(
            error.details.status == Some(500),
            "{what} has the status {:?}",
            error.details.status
        );
        bounded(&talk, what).await
    })
}

fn flooded(fixture: &dyn ProviderFixture, before: &str, fill: u8, what: &str) -> Checked {
    run(async {
        let flood = Reply::filled(before, fill, FLOOD);
        let talk = Talk::new(fixture, flood.header("content-type", "text/event-stream"))?;
        let error = talk.fails(what).await?;
        classed(&error, &[FailureKind::TooLarge], false, what)?;
        bounded(&talk, what).await
    })
}

/// Holds the provider to having hung up before it was sent all.
async fn bounded(talk: &Talk, what: &str) -> Checked {
    talk.hung_up(0, what).await?;
    let sent = talk.server.requests().first().map_or(0, |asked| asked.sent);
    ensure!(
        sent <= MOST as u64 + BUFFERS,
        "{what}: {sent} bytes were taken, and {MOST} are the most"
    );
    Ok(())
}
