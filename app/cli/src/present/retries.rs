//! Retries of a model call, told once for a run of equal failures: rewritten in place at a terminal,
//! else in one line, with the number of them at the end.

use windlass_engine::core::{SampleCut, Timestamp};

use super::words::first_words;
use super::{print_notice, print_status};

/// Most characters of a failure.
const FAILURE: usize = 600;

/// Retries of the current model call.
#[derive(Debug, Default)]
pub(super) struct Retries {
    /// True if the line of a run is rewritten: standard error is a terminal.
    rewrites: bool,
    /// Attempts that one model call may have, as far as they are known.
    most: Option<u32>,
    /// Number of the current attempt.
    attempt: u32,
    /// Last failure, and how many there were of it in a row.
    run: Option<(String, u32)>,
}

impl Retries {
    pub(super) fn new(rewrites: bool) -> Self {
        Self { rewrites, ..Self::default() }
    }

    pub(super) fn on_turn(&mut self, attempts: u32) {
        self.most = Some(attempts);
    }

    pub(super) fn on_started(&mut self, attempt: u32) {
        self.attempt = attempt;
    }

    /// Tells of an attempt that failed and is repeated at this time.
    pub(super) fn on_cut(&mut self, cut: &SampleCut, due: Timestamp, now: Timestamp) {
        let failure = first_words(&cut.failure.message, FAILURE);
        let count = match self.run.take() {
            Some((last, count)) if last == failure => count.saturating_add(1),
            other => {
                self.run = other;
                self.end();
                1
            }
        };
        let next = self.attempt.saturating_add(1);
        let of = self.most.map(|most| format!(" of {most}")).unwrap_or_default();
        let wait = match due.0.saturating_sub(now.0).div_ceil(1_000) {
            0 | 1 => String::new(),
            seconds => format!(" in {seconds} s"),
        };
        let words = format!("! {failure}");
        let retries = format!("; retrying, attempt {next}{of}{wait}");
        match (self.rewrites, count) {
            (true, _) => print_status(&words, &retries),
            (false, 1) => print_notice(&format!("{words}{retries}")),
            (false, _) => {}
        }
        self.run = Some((failure, count));
    }

    /// Tells how often a failure occurred, once another thing happens.
    pub(super) fn end(&mut self) {
        if let Some((_, count @ 2..)) = self.run.take()
            && !self.rewrites
        {
            print_notice(&format!("  the same failure {count} times"));
        }
    }
}
