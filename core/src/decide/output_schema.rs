//! Output schema: handles an output that does not match the schema of the settings.
//!
//! The fact that ends the answer carries the fault; nothing here reads a schema.

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

/// Returns the fault if it counts: an output schema is set, and the answer could be the turn's last
/// one.
pub(crate) fn counted_fault(
    turn: &Turn,
    sampling: &Sampling,
    stop: &StopReason,
    fault: Option<String>,
) -> Option<String> {
    let asked = turn.settings.options.output_schema.is_some();
    fault.filter(|_| asked && sampling.answers(stop))
}

/// Longest schema, in bytes, that is shown with a fault.
const MAX_SCHEMA_BYTES: usize = 4_096;

/// Reports an invalid output to the model and re-asks, up to the configured number of times; then
/// ends the turn without an output. If the turn is to pause, or has used up another limit, it ends
/// for that reason.
pub(crate) fn re_ask(plan: &Plan, turn: &Turn, started: Seq, fault: &str) -> NextFact {
    if let Some(limit) = budget::exceeded(turn) {
        return NextFact::Fact(settle(plan, turn, TurnOutcome::Exhausted { limit }));
    }
    if turn.spent.re_asks >= turn.max_re_asks() {
        let fault = String::from(fault);
        return NextFact::Fact(settle(plan, turn, TurnOutcome::InvalidOutput { fault }));
    }
    if turn.pause.is_some() {
        return paused(plan, turn);
    }
    if let Some(limit) = budget::exhausted_limit(&plan.session, turn) {
        return NextFact::Fact(settle(plan, turn, TurnOutcome::Exhausted { limit }));
    }
    let text = fault_report(turn, fault);
    NextFact::Fact(Fact::ContextInjected(ContextInjected {
        from: ContextSource::InvalidOutput { started, text: text.into() },
        lifetime: ContextLifetime::Turn,
    }))
}

/// Returns the report on a fault for the model. The model may know only part of the schema, since a
/// provider may enforce part of it or none.
fn fault_report(turn: &Turn, fault: &str) -> String {
    let how = match &turn.settings.options.program {
        None => {
            "Give the whole answer again: one JSON value that fits the schema, with nothing before or \
             after it."
        }
        Some(_) => "Write one program that returns the answer: a value that fits the schema.",
    };
    let mut words = format!("The last answer cannot be used. {fault}\n{how}");
    let shape = turn.settings.options.output_schema.as_ref();
    if let Some(shape) = shape.filter(|shape| shape.schema.len() <= MAX_SCHEMA_BYTES) {
        words.push_str("\nThe schema: ");
        words.push_str(&shape.schema);
    }
    words
}
