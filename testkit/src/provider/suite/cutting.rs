//! Cases about answers that break off: at every byte, whatever they hold, and never taken for an
//! answer.

use serde_json::json;
use windlass_core::FailureKind;

use super::ProviderFixture;
use super::talk::{Talk, Told, classed, given, parts};
use crate::answer::{Answer, Part};
use crate::http::{Cut, Framing, Protocol, Reply};
use crate::store::{Checked, Violation, ensure, run};

/// The shortest answers of text, of reasoning and of a call.
fn answers() -> [Answer; 3] {
    [
        Answer::new().text("Hi."),
        Answer::new().reasoning("Hm.").text("A"),
        Answer::new().call("f", json!({ "a": 1 })),
    ]
}

/// A connection that closes in good order is no end of an answer: where its closing event is
/// missing, the answer is cut off, though nothing below the protocol says so.
///
/// # Errors
/// A violation when it passes for an answer.
pub fn a_connection_closed_at_any_byte_is_no_answer(fixture: &dyn ProviderFixture) -> Checked {
    for answer in answers() {
        let how = (Framing::Close, Cut::Fin);
        cut_everywhere(fixture, &answer, how, &[FailureKind::Truncated])?;
    }
    Ok(())
}

/// A body that ends before its framing says so, by its chunks or by its length, is no answer.
///
/// # Errors
/// A violation when it passes for an answer.
pub fn a_body_cut_short_at_any_byte_is_no_answer(fixture: &dyn ProviderFixture) -> Checked {
    for answer in answers() {
        for framing in [Framing::Chunked, Framing::Length] {
            cut_everywhere(fixture, &answer, (framing, Cut::Fin), &[FailureKind::Truncated])?;
        }
    }
    Ok(())
}

/// A connection that is reset leaves no answer, and no call that was not whole.
///
/// # Errors
/// A violation when it passes for an answer.
pub fn a_connection_reset_at_any_byte_is_no_answer(fixture: &dyn ProviderFixture) -> Checked {
    // A reset may take the head of the response with it.
    let kinds = [FailureKind::Truncated, FailureKind::Unavailable];
    for answer in answers() {
        cut_everywhere(fixture, &answer, (Framing::Chunked, Cut::Rst), &kinds)?;
    }
    Ok(())
}

fn cut_everywhere(
    fixture: &dyn ProviderFixture,
    answer: &Answer,
    (framing, cut): (Framing, Cut),
    kinds: &[FailureKind],
) -> Checked {
    // The answer names its model, and its bytes are counted.
    let answer = &answer.clone().model(fixture.model());
    let wire = Wire::of(fixture.protocol(), answer);
    run(async {
        let replies = (0..wire.length).map(|at| {
            let reply = Reply::answer(answer.clone()).framed(framing);
            reply.cut_after(at, cut)
        });
        let talk = Talk::new(fixture, replies.collect::<Vec<_>>())?;
        for at in 0..wire.length {
            let told = talk.ask().await?;
            let what = format!(
                "an answer of {} bytes cut at {at} ({framing:?}, {:?})",
                wire.length,
                answer.parts()
            );
            wire.holds(at, told, &what)?
                .map_or(Ok(()), |error| classed(&error, kinds, true, &what))?;
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
    /// The parts of the answer.
    given: Vec<Part>,
}

impl Wire {
    fn of(protocol: &'static dyn Protocol, answer: &Answer) -> Self {
        let events = protocol.events(answer);
        // Of the blank line that closes an event nothing is needed to know that its JSON is whole.
        let after = |at: usize| {
            let bytes = events.iter().take(at + 1).map(String::len).sum::<usize>();
            bytes.saturating_sub(2)
        };
        let effects: Vec<_> = events.iter().map(|event| protocol.effect(event)).collect();
        let ends = effects.iter().position(|effect| effect.ends);
        let arguments = effects.iter().rposition(|effect| effect.arguments);
        Self {
            length: events.iter().map(String::len).sum(),
            whole: ends.map_or(usize::MAX, after),
            call: arguments.map_or(0, after),
            given: given(answer, Some(protocol)),
        }
    }

    /// Holds what was told of an answer that was cut at a byte to what can be known by then.
    /// Returns the error that it ended with, if it did.
    fn holds(
        &self,
        at: usize,
        told: Told,
        what: &str,
    ) -> Result<Option<windlass_ports::ProviderError>, Violation> {
        let told_parts = parts(&told.items);
        ensure!(self.given.starts_with(&told_parts), "{what} is told as {told_parts:?}");
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
                ensure!(
                    told_parts == self.given,
                    "{what} passed for an answer with {told_parts:?}"
                );
                Ok(None)
            }
            Err(error) => Ok(Some(error)),
        }
    }
}
