//! Excerpts: the head and the tail of an output that is too long to be shown.
//!
//! A log does not contain the text of an excerpt but its form, so a change of this text needs a new
//! optional field in [`ResultForm`]: the requests of older logs must render as they did.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::Observation;
use crate::compaction::{MIN_RESULT_BYTES, ResultForm};
use crate::id::CallId;
use crate::output::read_output_call;

/// Longest id of a call that a note repeats. Providers accept any id; a long one would leave no room
/// for the output.
const MAX_ID_BYTES: usize = 40;

/// Returns an observation as the model sees it.
pub(crate) fn shown(
    observation: &Arc<Observation>,
    form: Option<ResultForm>,
    call: CallId,
) -> Arc<Observation> {
    let cut = form.and_then(|form| excerpt(observation, form, &call.reference()));
    cut.map_or_else(|| observation.clone(), Arc::new)
}

/// Returns the observation with head and tail of its output; `None` if the output is short enough.
/// `call` names the call: its position with the sign, or its id in the conversation.
pub(crate) fn excerpt(
    observation: &Observation,
    form: ResultForm,
    call: &str,
) -> Option<Observation> {
    let output = observation.output.as_str();
    let most = form.max_bytes.max(MIN_RESULT_BYTES);
    if form.max_bytes == 0 || output.len() as u64 <= most {
        return None;
    }
    let total = observation.output_bytes.max(output.len() as u64);
    // The note is never longer than with the largest number.
    let reserve = note(total, total, form, call).len() as u64;
    let room = usize::try_from(most.saturating_sub(reserve)).unwrap_or(usize::MAX);
    let head = output.get(..output.floor_char_boundary(room / 2)).unwrap_or_default();
    let rest = output.len().saturating_sub(room.saturating_sub(room / 2));
    let tail = output.get(output.ceil_char_boundary(rest)..).unwrap_or_default();
    let kept = head.len().saturating_add(tail.len()) as u64;
    let omitted = total.saturating_sub(kept);
    Some(Observation {
        status: observation.status,
        output: format!("{head}{}{tail}", note(omitted, total, form, call)),
        output_bytes: observation.output_bytes,
        omitted_bytes: omitted,
        stored_output: observation.stored_output.clone(),
        exit_code: observation.exit_code,
        confinement: observation.confinement.clone(),
        images: observation.images.clone(),
        changes: observation.changes.clone(),
        offers: observation.offers.clone(),
        lasting: observation.lasting.clone(),
    })
}

/// Returns the note between head and tail.
fn note(omitted: u64, total: u64, form: ResultForm, call: &str) -> String {
    let limit = match form.at_once {
        0 => String::new(),
        bytes => format!("; at most {bytes} are shown at once"),
    };
    let rest = match form.readable && call.len() <= MAX_ID_BYTES {
        true => format!("; the rest: {}", read_output_call(call)),
        false => String::new(),
    };
    format!("\n[... {omitted} of {total} bytes are left out here{limit}{rest} ...]\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::ObservationStatus;
    use crate::output::READ_OUTPUT_TOOL;

    fn form(max_bytes: u64) -> ResultForm {
        ResultForm { max_bytes, at_once: 9_000, readable: true }
    }

    fn done(output: impl Into<String>) -> Observation {
        Observation::new(ObservationStatus::Done, output)
    }

    #[test]
    fn an_output_within_its_limit_is_whole() {
        let output = "x".repeat(1_000);
        assert_eq!(excerpt(&done(output.clone()), form(1_000), "@7"), None);
        assert_eq!(excerpt(&done(output.clone()), form(0), "@7"), None);
        assert_eq!(excerpt(&done("x".repeat(320)), form(1), "@7"), None);
        assert!(excerpt(&done(output), form(999), "@7").is_some());
    }

    #[test]
    fn a_longer_one_shows_head_tail_and_length_within_its_limit() {
        for filler in ["x", "\u{fc}", "\u{1f600}"] {
            for most in [1, 320, 321, 700, 5_000] {
                let output = format!("head{}tail", filler.repeat(6_000));
                let cut = excerpt(&done(output.clone()), form(most), "c1").unwrap();
                assert!(cut.output.len() as u64 <= most.max(MIN_RESULT_BYTES), "{most}");
                assert!(cut.output.starts_with("head") && cut.output.ends_with("tail"));
                let says = format!("{} of {} bytes", cut.omitted_bytes, output.len());
                assert!(cut.output.contains(&says), "{}", cut.output);
                assert!(
                    cut.output.contains("the rest: read_output {\"call\":\"c1\"}"),
                    "{}",
                    cut.output
                );
                assert_eq!(cut.output_bytes, output.len() as u64);
            }
        }
    }

    #[test]
    fn a_cut_one_is_cut_again_with_one_note_and_its_true_length() {
        let first = excerpt(&done("x".repeat(50_000)), form(9_000), "@7").unwrap();
        let second = excerpt(&first, form(2_000), "c1").unwrap();
        assert_eq!(second.output.matches("bytes are left out here").count(), 1);
        assert!(second.output.contains("of 50000 bytes"), "{}", second.output);
        assert!(second.omitted_bytes > first.omitted_bytes);
    }

    #[test]
    fn the_tool_is_named_only_where_it_is_offered_and_there_is_room() {
        let without = ResultForm { readable: false, at_once: 0, ..form(600) };
        let cut = excerpt(&done("x".repeat(1_000)), without, "c1").unwrap();
        assert!(!cut.output.contains(READ_OUTPUT_TOOL) && !cut.output.contains("at most"));
        let long = "i".repeat(MAX_ID_BYTES + 1);
        let cut = excerpt(&done("x".repeat(1_000)), form(600), &long).unwrap();
        assert!(!cut.output.contains(READ_OUTPUT_TOOL), "{}", cut.output);
    }
}
