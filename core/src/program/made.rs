//! Made calls: what the calls of a failed program gave and changed, as its report lists it.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::call_report::{CallOutcome, ReportedCall, ReportedCalls, call_line};
use super::feedback::list;
use super::frame::{framed, head, head_and_tail, inside};
use crate::call::{Observation, ObservationStatus};
use crate::item::CallItem;
use crate::settings::EffectClass;

/// Least bytes of a shown output; where they do not suffice for all, the middle ones are left out.
const LEAST: usize = 200;

/// A call of a program, as needed for its report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCallRecord {
    /// Request of the program.
    pub call: Arc<CallItem>,
    /// True if a run of it started that does more than describe its effect.
    pub started: bool,
    /// True if a dry run described its effect instead of running it.
    pub planned: bool,
    /// Result of the call; `None` if it had not ended.
    pub observation: Option<Arc<Observation>>,
    /// Effect class of its tool; `None` if there is no such tool.
    pub effect: Option<EffectClass>,
}

impl ProgramCallRecord {
    fn line(&self) -> String {
        call_line(&self.call.name, &self.call.arguments)
    }

    /// Returns the output of a call that succeeded. A call that changes something may also read: a
    /// command does.
    fn read(&self) -> Option<&Observation> {
        let seen = self.observation.as_deref()?;
        let reads = self.effect == Some(EffectClass::ReadOnly) || !seen.output.is_empty();
        let known = self.started && self.effect.is_some();
        (known && reads && seen.status == ObservationStatus::Done).then_some(seen)
    }

    /// Returns the outcome of a call that may have changed something. A call that never started had
    /// no effect.
    fn change(&self) -> Option<CallOutcome> {
        let status = self.observation.as_ref().map(|seen| seen.status);
        match (self.effect, CallOutcome::of(self.started, status)) {
            (None | Some(EffectClass::ReadOnly), _) | (_, CallOutcome::NotStarted) => None,
            (
                Some(EffectClass::Idempotent | EffectClass::Effectful),
                outcome @ (CallOutcome::Done | CallOutcome::Failed | CallOutcome::Unknown),
            ) => Some(outcome),
        }
    }
}

/// Adds the outputs of the calls, in at most `most` bytes: the first and the last ones, each
/// with its head and its tail.
pub(super) fn add_reads(words: &mut String, made: &[ProgramCallRecord], most: usize) {
    let mut reads: Vec<(String, &Observation)> = Vec::new();
    for one in made {
        if let Some(seen) = one.read() {
            let line = one.line();
            // Of equal calls the last one tells the most.
            reads.retain(|(known, _)| *known != line);
            reads.push((line, seen));
        }
    }
    if reads.is_empty() {
        return;
    }
    let (all, fit) = (reads.len(), (most / LEAST).max(1));
    while reads.len() > fit {
        reads.remove(reads.len() / 2);
    }
    let left_out = all.saturating_sub(reads.len());
    let each = most / reads.len();
    let mut parts: Vec<String> = reads.iter().map(|(line, seen)| read(line, seen, each)).collect();
    if left_out > 0 {
        parts.insert(parts.len().div_ceil(2), format!("- and {left_out} more"));
    }
    words.push_str("\nBefore that its calls had given:\n");
    words.push_str(&framed(&inside(&parts.join("\n"))));
}

fn read(line: &str, seen: &Observation, most: usize) -> String {
    let line = head(line, most / 2);
    let shown = head_and_tail(&seen.output, most.saturating_sub(line.len()));
    let (all, bytes) = (seen.output_bytes, shown.len() as u64);
    match bytes < all {
        true => format!("- {line}, which gave {all} bytes:\n{shown}"),
        false => format!("- {line}:\n{shown}"),
    }
}

/// Adds the effects of the calls, in at most `most` bytes.
pub(super) fn add_effects(words: &mut String, made: &[ProgramCallRecord], most: usize) {
    let mut told = ReportedCalls::default();
    for one in made {
        if let Some(outcome) = one.change() {
            told.push(ReportedCall { call: one.line().into(), outcome });
        }
    }
    if told.calls.is_empty() {
        return;
    }
    words.push_str(
        "\nBefore that it had made calls that change something. They are not undone: do not repeat \
         them, and go on from there.\n",
    );
    words.push_str(&told.lines(most));
}

/// Adds the calls that a dry run only planned, in at most `most` bytes.
pub(super) fn add_planned(words: &mut String, made: &[ProgramCallRecord], most: usize) {
    let planned = made.iter().filter(|one| one.planned);
    let lines: Vec<String> = planned.map(ProgramCallRecord::line).collect();
    if !lines.is_empty() {
        words.push_str("\nThis is a dry run. These calls were planned, and changed nothing:\n");
        words.push_str(&list(&lines, "\n", most));
    }
}
