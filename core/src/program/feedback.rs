//! Feedback: what the model is told of a program, in bounds, with the world's words marked as data.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::{ProgramEnd, ProgramOutcome};
use crate::call::ObservationStatus;
use crate::item::CallItem;
use crate::settings::EffectClass;

/// The most bytes of a value that are told.
const VALUE: usize = 16 << 10;
/// The most bytes of prints that are told.
const PRINTS: usize = 8 << 10;
/// The most bytes of one call's arguments.
const ARGUMENTS: usize = 300;
/// The most bytes of other words.
const WORDS: usize = 2 << 10;
/// The most calls that are named.
const CALLS: usize = 50;
/// The most names and repairs that are told.
const NAMES: usize = 50;
/// A schema that is longer than this, in bytes, is not shown.
const SCHEMA: usize = 4 << 10;
/// What stands around data.
const TAG: &str = "data";

/// A call that a program has made, as far as its model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// What the program asked for.
    pub call: Arc<CallItem>,
    /// What became of it; `None` where it was not over.
    pub status: Option<ObservationStatus>,
    /// What its tool does to the world; `None` where there is no such tool.
    pub effect: Option<EffectClass>,
}

/// What the model is told of a program that has ended: how, with what, what it printed, what lasts; and
/// of one that failed, which of its calls may have changed something, so that it is not repeated
/// blindly. `fault` is why what it returned does not fit the contract, whose schema is `schema`.
#[must_use]
pub fn feedback(
    outcome: &ProgramOutcome,
    fault: Option<&str>,
    schema: Option<&str>,
    made: &[Made],
) -> String {
    let mut words = match (&outcome.end, fault) {
        (ProgramEnd::Value { value }, None) => {
            format!("The program ended with this value:\n{}", data(value, VALUE))
        }
        (ProgramEnd::Return { value }, None) => {
            format!("The program returned:\n{}", data(value, VALUE))
        }
        (ProgramEnd::Value { value } | ProgramEnd::Return { value }, Some(fault)) => format!(
            "What the program returned cannot be used. {}\nIt returned:\n{}\nReturn the result \
             again, in the shape that is asked for.",
            cut(fault, WORDS),
            data(value, VALUE)
        ),
        (ProgramEnd::Fail { value }, _) => {
            format!("The program gave up:\n{}", data(value, VALUE))
        }
        (ProgramEnd::Fault(why), _) => {
            let why = format!("{why}");
            format!("The program failed:\n{}", data(&why, WORDS))
        }
    };
    if fault.is_some()
        && let Some(schema) = schema.filter(|schema| schema.len() <= SCHEMA)
    {
        words.push_str("\nThe schema: ");
        words.push_str(schema);
    }
    let failed = fault.is_some() || !outcome.end.lasts();
    if failed {
        effects(&mut words, made);
    }
    if !outcome.prints.is_empty() {
        words.push_str("\nIt printed:\n");
        words.push_str(&data(&outcome.prints.join("\n"), PRINTS));
    }
    if !outcome.repairs.is_empty() {
        words.push_str("\nPut right in its source: ");
        words.push_str(&list(&outcome.repairs, "; "));
        words.push('.');
    }
    if failed {
        words.push_str("\nNothing that it defined was kept.");
    } else if !outcome.defined.is_empty() {
        words.push_str("\nKept for the programs after it: ");
        words.push_str(&list(&outcome.defined, ", "));
        words.push('.');
    }
    words
}

/// What the calls of a program that failed have done.
fn effects(words: &mut String, made: &[Made]) {
    let may = |one: &&Made| match (one.effect, one.status) {
        (None | Some(EffectClass::ReadOnly), _) => false,
        (
            Some(EffectClass::Idempotent | EffectClass::Effectful),
            Some(ObservationStatus::Denied | ObservationStatus::NotStarted),
        ) => false,
        (
            Some(EffectClass::Idempotent | EffectClass::Effectful),
            None
            | Some(
                ObservationStatus::Done
                | ObservationStatus::Failed
                | ObservationStatus::Aborted
                | ObservationStatus::Unknown,
            ),
        ) => true,
    };
    let count = made.iter().filter(may).count();
    if count == 0 {
        return;
    }
    words.push_str(
        "\nBefore that it had made calls that change something. They are not undone: do not repeat \
         them, and go on from there.",
    );
    for one in made.iter().filter(may).take(CALLS) {
        let status = match one.status {
            Some(ObservationStatus::Done) => "done",
            Some(ObservationStatus::Failed) => "failed; it may have changed something",
            Some(
                ObservationStatus::Aborted
                | ObservationStatus::Unknown
                | ObservationStatus::Denied
                | ObservationStatus::NotStarted,
            )
            | None => "nobody knows whether it took effect",
        };
        let call = format!("{} {}", one.call.name, cut(&one.call.arguments, ARGUMENTS));
        words.push_str(&format!("\n- {}: {status}", inside(&call)));
    }
    if count > CALLS {
        let more = count.saturating_sub(CALLS);
        words.push_str(&format!("\n- and {more} more"));
    }
}

fn list(parts: &[String], between: &str) -> String {
    let mut words = String::new();
    for (at, part) in parts.iter().take(NAMES).enumerate() {
        if at > 0 {
            words.push_str(between);
        }
        words.push_str(&inside(&cut(part, ARGUMENTS)));
    }
    if parts.len() > NAMES {
        words.push_str(between);
        words.push_str("and more");
    }
    words
}

/// Text in a frame that it cannot leave: what stands in it is data, and no instruction.
fn data(text: &str, most: usize) -> String {
    format!("<{TAG}>\n{}\n</{TAG}>", inside(&cut(text, most)))
}

/// Text that ends no frame of data and begins none.
fn inside(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for (at, piece) in text.split('<').enumerate() {
        if at > 0 {
            kept.push('<');
            let name = piece.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
            let name = name.get(..TAG.len());
            if name.is_some_and(|name| name.eq_ignore_ascii_case(TAG)) {
                kept.push('\\');
            }
        }
        kept.push_str(piece);
    }
    kept
}

/// Head and tail of a text that is too long, with what was left out in numbers.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return String::from(text);
    }
    let (mut head, mut tail) = (most * 2 / 3, text.len().saturating_sub(most / 3));
    while !text.is_char_boundary(head) {
        head = head.saturating_sub(1);
    }
    while !text.is_char_boundary(tail) {
        tail = tail.saturating_add(1);
    }
    let left_out = tail.saturating_sub(head);
    format!(
        "{}\n[{left_out} bytes are left out here]\n{}",
        text.get(..head).unwrap_or_default(),
        text.get(tail..).unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::program::ProgramFault;

    fn outcome(end: ProgramEnd) -> ProgramOutcome {
        ProgramOutcome {
            end,
            prints: Vec::new(),
            memory: None,
            defined: Vec::new(),
            repairs: Vec::new(),
            steps: 1,
        }
    }

    fn made(name: &str, effect: EffectClass, status: ObservationStatus) -> Made {
        Made {
            call: Arc::new(CallItem {
                provider_id: String::new(),
                name: name.into(),
                arguments: "{\"n\":1}".into(),
                fault: None,
                rules: Vec::new(),
                opaque: None,
                spoken: false,
            }),
            status: Some(status),
            effect: Some(effect),
        }
    }

    #[test]
    fn a_program_that_failed_says_what_it_had_changed_and_nothing_else() {
        let fault = ProgramFault::new("type_error", "not a number");
        let calls = [
            made("read", EffectClass::ReadOnly, ObservationStatus::Done),
            made("pay", EffectClass::Effectful, ObservationStatus::Done),
            made("send", EffectClass::Effectful, ObservationStatus::Denied),
            made("put", EffectClass::Idempotent, ObservationStatus::Unknown),
        ];
        let words = feedback(&outcome(ProgramEnd::Fault(fault)), None, None, &calls);
        for there in ["- pay {\"n\":1}: done", "- put {\"n\":1}: nobody knows"] {
            assert!(words.contains(there), "{words}");
        }
        assert!(
            !words.contains("- read") && !words.contains("- send"),
            "{words}"
        );
        let value = ProgramEnd::Value { value: "1".into() };
        let words = feedback(&outcome(value), None, None, &calls);
        assert_eq!(
            words,
            "The program ended with this value:\n<data>\n1\n</data>"
        );
    }

    #[test]
    fn data_cannot_end_its_frame_and_is_bounded() {
        let text = "x </data> <DATA> < / data> <datum>";
        assert_eq!(
            data(text, 100),
            "<data>\nx <\\/data> <\\DATA> <\\ / data> <datum>\n</data>"
        );
        let value: Arc<str> = "\u{e4}".repeat(1 << 20).into();
        let mut all = outcome(ProgramEnd::Value { value });
        all.prints = alloc::vec!["y".repeat(1 << 20); 3];
        all.defined = alloc::vec!["z".repeat(1 << 10); 1_000];
        all.repairs = all.defined.clone();
        let words = feedback(&all, None, None, &[]);
        assert!(words.len() < 64 << 10, "{}", words.len());
    }
}
