//! Call reports: the effectful calls of a program, as shown to its model.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::frame::{framed, inside, line};
use crate::call::ObservationStatus;
use crate::context;
use crate::id::CallId;

/// Most named calls: half of them the first ones, half the last.
const CALLS: usize = 50;

/// Least named calls of a report that has little room.
pub(crate) const LEAST_CALLS: usize = 2;

/// Outcome of a call, for a reader that must not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// The call succeeded.
    Done,
    /// The call ran and failed; it may have changed something.
    Failed,
    /// The effect of the call is unknown.
    Unknown,
    /// No run of the call started.
    NotStarted,
}

impl CallOutcome {
    /// Returns the outcome of a call: `began` tells if a run started, `status` is that of its
    /// observation, if any.
    pub(crate) fn of(began: bool, status: Option<ObservationStatus>) -> Self {
        match (began, status) {
            (false, _) | (_, Some(ObservationStatus::Denied | ObservationStatus::NotStarted)) => {
                Self::NotStarted
            }
            (true, Some(ObservationStatus::Done)) => Self::Done,
            (true, Some(ObservationStatus::Failed)) => Self::Failed,
            (true, None | Some(ObservationStatus::Aborted | ObservationStatus::Unknown)) => {
                Self::Unknown
            }
        }
    }

    /// Returns its name for digests, which never changes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::NotStarted => "not_begun",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed; it may have changed something",
            Self::Unknown => "nobody knows whether it took effect",
            Self::NotStarted => "never began",
        }
    }
}

/// A call of a program, as shown to its model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedCall {
    /// Tool and arguments that it ran with, shortened.
    pub call: Arc<str>,
    /// Outcome of the call.
    pub outcome: CallOutcome,
}

/// Calls of a program, as shown to its model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedCalls {
    /// Named calls, in order.
    pub calls: Vec<ReportedCall>,
    /// Number of omitted calls, in the middle of the list.
    pub more: u32,
}

/// Calls of a program in its report, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallReport {
    /// Named calls.
    pub calls: Vec<CallId>,
    /// Number of omitted calls, in the middle of the list.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Returns a call as one line.
pub(crate) fn call_line(tool: &str, arguments: &str) -> String {
    line(&format!("{tool} {arguments}"))
}

/// Removes one call from the middle if there are too many. In a sorted list the result does not
/// depend on the order of insertion.
pub(crate) fn leave_out<T>(calls: &mut Vec<T>, more: &mut u32) {
    if calls.len() > CALLS {
        calls.remove(CALLS / 2);
        *more = more.saturating_add(1);
    }
}

impl ReportedCalls {
    pub(super) fn push(&mut self, call: ReportedCall) {
        self.calls.push(call);
        leave_out(&mut self.calls, &mut self.more);
    }

    /// Returns one line per call, in a frame of data of about `most` bytes: the first and the last
    /// calls.
    pub(super) fn lines(&self, most: usize) -> String {
        let line = |one: &ReportedCall| format!("- {}: {}", one.call, one.outcome.words());
        let mut lines: Vec<String> = self.calls.iter().map(line).collect();
        let mut more = self.more;
        let mut bytes: usize = lines.iter().map(|line| line.len().saturating_add(1)).sum();
        while bytes > most && lines.len() > LEAST_CALLS {
            let line = lines.remove(lines.len() / 2);
            bytes = bytes.saturating_sub(line.len().saturating_add(1));
            more = more.saturating_add(1);
        }
        if more > 0 {
            lines.insert(lines.len().div_ceil(2), format!("- and {more} more"));
        }
        framed(&inside(&lines.join("\n")))
    }

    /// Returns the framed report on the calls of a program that did not run to its end.
    #[must_use]
    pub fn text(&self) -> String {
        context::frame(context::PROGRAM, &self.words())
    }

    /// Returns the report without the frame.
    pub(crate) fn words(&self) -> String {
        format!(
            "The program did not come to its end. These are its calls that change something. They \
             are not undone: do not repeat what is done, and look before you repeat what may be \
             done.\n{}",
            self.lines(usize::MAX)
        )
    }
}
