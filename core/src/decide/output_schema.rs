//! Shape: an answer that does not have the shape that the settings ask for.
//!
//! What is wrong with it is a fact that comes with its end; nothing here reads a schema.

use alloc::format;
use alloc::string::String;

use super::Plan;
use super::turn::{paused, settle};
use crate::budget;
use crate::fact::{ContextInjected, ContextLifetime, ContextSource, Fact};
use crate::id::Seq;
use crate::item::StopReason;
use crate::outcome::TurnOutcome;
use crate::session::Turn;
use crate::stage::{NextFact, Sampling};

/// Returns the fault, if it counts: an output schema is set, and the answer could be the turn's
/// last one.
pub(crate) fn counted_fault(
    turn: &Turn,
    sampling: &Sampling,
    stop: &StopReason,
    fault: Option<String>,
) -> Option<String> {
    let asked = turn.settings.options.output_schema.is_some();
    fault.filter(|_| asked && sampling.answers(stop))
}

/// A schema that is longer than this, in bytes, is not shown with a fault.
const MAX_SCHEMA_BYTES: usize = 4_096;

/// The model is told what is wrong with its answer and asked again, as often as the settings say;
/// then the turn ends without the answer. A turn that is to stop before the model is asked again, or
/// has used up another limit, ends for that reason.
pub(crate) fn re_ask(plan: &Plan, turn: &Turn, started: Seq, fault: &str) -> NextFact {
    if turn.spent.re_asks >= turn.max_re_asks() {
        let fault = String::from(fault);
        return NextFact::Fact(settle(plan, turn, TurnOutcome::InvalidOutput { fault }));
    }
    if turn.pause.is_some() {
        return paused(plan, turn);
    }
    if let Some(limit) = budget::exhausted_limit(turn) {
        return NextFact::Fact(settle(plan, turn, TurnOutcome::Exhausted { limit }));
    }
    let text = fault_report(turn, fault);
    NextFact::Fact(Fact::ContextInjected(ContextInjected {
        from: ContextSource::InvalidOutput {
            started,
            text: text.into(),
        },
        lifetime: ContextLifetime::Turn,
    }))
}

/// Returns the report on a fault for the model. The model may know only part of the schema, since a
/// provider may enforce a part of it or none.
fn fault_report(turn: &Turn, fault: &str) -> String {
    let mut words = format!(
        "The last answer cannot be used. {fault}\nGive the whole answer again: one JSON value that \
         fits the schema, with nothing before or after it."
    );
    let shape = turn.settings.options.output_schema.as_ref();
    if let Some(shape) = shape.filter(|shape| shape.schema.len() <= MAX_SCHEMA_BYTES) {
        words.push_str("\nThe schema: ");
        words.push_str(&shape.schema);
    }
    words
}
