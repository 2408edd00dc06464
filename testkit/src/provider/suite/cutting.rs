//! Cases about answers that break off: at every byte, and never taken for an answer.

use serde_json::json;
use windlass_core::FailureKind;

use super::ProviderFixture;
use super::talk::{Talk, Told, classed, given, parts};
use crate::answer::{Answer, Part};
use crate::http::{Cut, Dialect, Framing, Reply};
use crate::store::{Checked, Violation, ensure, run};

/// The shortest answer of a call.
fn call() -> Answer {
    Answer::new().call("f", json!({ "a": 1 }))
}

/// A connection that closes in good order is no end of an answer: where its closing event is
/// missing, the answer is cut off, though nothing below the protocol says so.
///
/// # Errors
/// A violation when it passes for an answer.
pub fn a_connection_closed_at_any_byte_is_no_answer(fixture: &dyn ProviderFixture) -> Checked {
    let how = (Framing::Close, Cut::Fin);
    cut_everywhere(fixture, &call(), how, &[FailureKind::Truncated])
}

/// A body that ends before its framing says so is no answer.
///
/// # Errors
/// A violation when it passes for an answer.
pub fn a_body_cut_short_at_any_byte_is_no_answer(fixture: &dyn ProviderFixture) -> Checked {
    let (answer, how) = (Answer::new().text("Hi."), (Framing::Chunked, Cut::Fin));
    cut_everywhere(fixture, &answer, how, &[FailureKind::Truncated])
}

/// A connection that is reset leaves no answer, and no call that was not whole.
///
/// # Errors
/// A violation when it passes for an answer.
pub fn a_connection_reset_at_any_byte_is_no_answer(fixture: &dyn ProviderFixture) -> Checked {
    // A reset may take the head of the response with it.
    let kinds = [FailureKind::Truncated, FailureKind::Unavailable];
    cut_everywhere(fixture, &call(), (Framing::Chunked, Cut::Rst), &kinds)
}

fn cut_everywhere(
    fixture: &dyn ProviderFixture,
    answer: &Answer,
    (framing, cut): (Framing, Cut),
    kinds: &[FailureKind],
) -> Checked {
    let wire = Wire::of(fixture.dialect(), answer);
    run(async {
        let replies = (0..wire.length).map(|at| {
            let reply = Reply::answer(answer.clone()).framed(framing);
            reply.cut_after(at, cut)
        });
        let talk = Talk::new(fixture, replies.collect::<Vec<_>>())?;
        for at in 0..wire.length {
            let told = talk.ask().await?;
            let what = format!("an answer of {} bytes cut at {at}", wire.length);
            wire.holds(at, told, answer, kinds, &what)?;
        }
        talk.was_asked(wire.length, "answers that were cut")
    })
}

/// Where in the bytes of an answer something is whole.
struct Wire {
    length: usize,
    /// Bytes by which the answer is whole; what comes after only closes it.
    whole: usize,
    /// Bytes by which the arguments of the call are.
    call: usize,
}

impl Wire {
    fn of(dialect: Dialect, answer: &Answer) -> Self {
        let events = dialect.events(answer);
        let after = |count: usize| events.iter().take(count).map(String::len).sum::<usize>();
        let closing = match dialect {
            // The reason to stop; after it comes only the word that there is no more.
            Dialect::Chat | Dialect::Messages => events.len().saturating_sub(1),
            Dialect::Responses => events.len(),
        };
        let last = |word: &str| events.iter().rposition(|event| event.contains(word));
        let arguments = match dialect {
            Dialect::Chat => last("\"arguments\""),
            Dialect::Responses => last("response.function_call_arguments.delta"),
            Dialect::Messages => last("\"input_json_delta\""),
        };
        // Of the blank line that closes an event nothing is needed to know that its JSON is whole.
        Self {
            length: after(events.len()),
            whole: after(closing).saturating_sub(2),
            call: arguments.map_or(0, |at| after(at + 1).saturating_sub(2)),
        }
    }

    /// Holds what was told of an answer that was cut at a byte to what can be known by then.
    fn holds(
        &self,
        at: usize,
        told: Told,
        answer: &Answer,
        kinds: &[FailureKind],
        what: &str,
    ) -> Checked {
        let (told_parts, whole) = (parts(&told.items), given(answer));
        ensure!(whole.starts_with(&told_parts), "{what} is told as {told_parts:?}");
        let call = |part: &Part| matches!(part, Part::Call { .. });
        ensure!(
            at >= self.call || !told_parts.iter().any(call),
            "{what} tells a call whose arguments end at {}",
            self.call
        );
        match told.end {
            Ok(_) if at < self.whole => {
                Err(Violation::new(format!("{what} passed for an answer: {told_parts:?}")))
            }
            Ok(_) => {
                ensure!(told_parts == whole, "{what} passed for an answer with {told_parts:?}");
                Ok(())
            }
            Err(error) => classed(&error, kinds, true, what),
        }
    }
}
