//! Shape: an answer that does not have the shape that the settings ask for.
//!
//! What is wrong with it is a fact that comes with its end; nothing here reads a schema.

use alloc::format;
use alloc::string::String;

use super::Plan;
use super::turn::{paused, settle};
use crate::budget;
use crate::fact::{ContextInjected, ContextSource, Fact, Lasting};
use crate::id::Seq;
use crate::item::StopReason;
use crate::outcome::Outcome;
use crate::session::Turn;
use crate::stage::{Next, Sampling};

/// Returns the fault, if it counts: an output schema is set, and the answer could be the turn's
/// last one.
pub(crate) fn held(
    turn: &Turn,
    sampling: &Sampling,
    stop: &StopReason,
    fault: Option<String>,
) -> Option<String> {
    let asked = turn.settings.options.answer.is_some();
    fault.filter(|_| asked && sampling.answers(stop))
}

/// A schema that is longer than this, in bytes, is not shown with a fault.
const SCHEMA: usize = 4_096;

/// The model is told what is wrong with its answer and asked again, as often as the settings say;
/// then the turn ends without the answer. A turn that is to stop before the model is asked again, or
/// has used up another limit, ends for that reason.
pub(crate) fn mend(plan: &Plan, turn: &Turn, started: Seq, fault: &str) -> Next {
    if turn.spent.returns >= turn.returns() {
        let fault = String::from(fault);
        return Next::Fact(settle(plan, turn, Outcome::Misshapen { fault }));
    }
    if turn.pause.is_some() {
        return paused(plan, turn);
    }
    if let Some(limit) = budget::spent(turn) {
        return Next::Fact(settle(plan, turn, Outcome::Exhausted { limit }));
    }
    let text = words(turn, fault);
    Next::Fact(Fact::ContextInjected(ContextInjected {
        from: ContextSource::Shape {
            started,
            text: text.into(),
        },
        lasting: Lasting::Turn,
    }))
}

/// Returns the report on a fault for the model. The model may know only part of the schema, since a
/// provider may enforce a part of it or none.
fn words(turn: &Turn, fault: &str) -> String {
    let mut words = format!(
        "The last answer cannot be used. {fault}\nGive the whole answer again: one JSON value that \
         fits the schema, with nothing before or after it."
    );
    let shape = turn.settings.options.answer.as_ref();
    if let Some(shape) = shape.filter(|shape| shape.schema.len() <= SCHEMA) {
        words.push_str("\nThe schema: ");
        words.push_str(&shape.schema);
    }
    words
}
