//! Results after a cut: cleared, or with head and tail only.
//!
//! Logs contain the cut, not these texts. A change of a text needs a new optional field in the cut.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::call::{Observation, ObservationStatus, excerpt};
use crate::compaction::{CutPoint, MIN_RESULT_BYTES, ResultForm};
use crate::context::IMAGE_BYTES;
use crate::output::read_output_call;

/// Results up to this many bytes are not worth clearing.
pub(super) const SHORT_BYTES: usize = 256;

/// Returns the result of the item at `at` after a cut; `None` if it stays as it is. `call` is the
/// id of its call.
pub(super) fn shorten(
    observation: &Observation,
    call: &str,
    at: usize,
    cut: &CutPoint,
) -> Option<Observation> {
    match (cut.results, (at as u64) < cut.clear_before) {
        (None, false) => None,
        (None, true) => {
            let long = bytes(observation) > SHORT_BYTES as u64;
            long.then(|| cleared(observation, plain_text(observation)))
        }
        (Some(form), false) => excerpt(observation, form, call),
        (Some(form), true) => clear(observation, call, form),
    }
}

/// Returns the observation without its output; `None` if that gains nothing, as for a result that
/// is cleared already.
pub(super) fn clear(
    observation: &Observation,
    call: &str,
    form: ResultForm,
) -> Option<Observation> {
    let long = bytes(observation) > SHORT_BYTES as u64;
    let nothing_left = observation.omitted_bytes >= observation.output_bytes.max(1);
    if !long || (nothing_left && observation.images.is_empty()) {
        return None;
    }
    let text = text(observation, call, form);
    ((text.len() as u64) < bytes(observation)).then(|| cleared(observation, text))
}

/// Returns the bytes that the images of an observation count as.
pub(super) fn image_bytes(observation: &Observation) -> u64 {
    IMAGE_BYTES.saturating_mul(observation.images.len() as u64)
}

/// Returns the bytes that the output and the images of an observation count as.
fn bytes(observation: &Observation) -> u64 {
    image_bytes(observation).saturating_add(observation.output.len() as u64)
}

/// Returns the most bytes of a result that is not cleared.
pub(super) fn limit(form: ResultForm) -> u64 {
    match form.max_bytes {
        0 => u64::MAX,
        bytes => bytes.max(MIN_RESULT_BYTES),
    }
}

fn cleared(observation: &Observation, text: String) -> Observation {
    Observation {
        status: observation.status,
        output: text,
        output_bytes: observation.output_bytes,
        omitted_bytes: observation.output_bytes.max(observation.omitted_bytes),
        stored_output: observation.stored_output.clone(),
        exit_code: observation.exit_code,
        confinement: observation.confinement.clone(),
        images: Vec::new(),
        changes: observation.changes.clone(),
        offers: observation.offers.clone(),
        lasting: observation.lasting.clone(),
    }
}

/// Returns the text in place of an output, with the way to read it again. It does not invite the
/// model to repeat effects, nor to read all of a long output again.
fn text(observation: &Observation, call: &str, form: ResultForm) -> String {
    let bytes = observation.output_bytes.max(observation.output.len() as u64);
    let limit = match form.at_once {
        0 => String::new(),
        most => format!(", at most {most} bytes at once"),
    };
    let advice = match observation.status {
        ObservationStatus::Done | ObservationStatus::Failed if form.readable => {
            format!("What it did stands. To read it again: {}{limit}.", read_output_call(call))
        }
        ObservationStatus::Done | ObservationStatus::Failed => {
            format!("What it did stands; only reads may run again{limit}.")
        }
        ObservationStatus::Denied
        | ObservationStatus::Aborted
        | ObservationStatus::Unknown
        | ObservationStatus::NotStarted => String::from(fate(observation.status)),
    };
    let images = match observation.images.len() {
        0 => String::new(),
        1 => String::from(" and an image"),
        many => format!(" and {many} images"),
    };
    format!("[{bytes} bytes of output{images} were cleared to make room. {advice}]")
}

/// Returns the text in place of an output as engines wrote it that cut no result.
fn plain_text(observation: &Observation) -> String {
    let bytes = observation.output.len();
    let advice = match observation.status {
        ObservationStatus::Done | ObservationStatus::Failed => {
            "What it did stands; only reads may run again."
        }
        ObservationStatus::Denied
        | ObservationStatus::Aborted
        | ObservationStatus::Unknown
        | ObservationStatus::NotStarted => fate(observation.status),
    };
    format!("[{bytes} bytes of output were cleared to make room. {advice}]")
}

fn fate(status: ObservationStatus) -> &'static str {
    match status {
        ObservationStatus::Done | ObservationStatus::Failed => "The call ran.",
        ObservationStatus::Denied => "The call was denied and did not run.",
        ObservationStatus::Aborted => "The call was stopped while it ran.",
        ObservationStatus::Unknown => {
            "Nobody knows whether the call took effect: look before you run it again."
        }
        ObservationStatus::NotStarted => "The call never started.",
    }
}
