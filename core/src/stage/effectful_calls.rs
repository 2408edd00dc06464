//! Effectful calls: ended calls of a program that changed something.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::compaction::ItemFingerprint;
use crate::context;
use crate::id::CallId;
use crate::program::{CallOutcome, CallReport, leave_out};
use crate::session::is_zero;

/// Ended effectful calls of a program, as named to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectfulCalls {
    /// Named calls, in order.
    pub calls: Vec<EffectfulCall>,
    /// Number of omitted calls, in the middle of the list.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

/// An ended effectful call of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectfulCall {
    /// Id of the call.
    pub call: CallId,
    /// Fingerprint of its line in the prompt.
    pub line: ItemFingerprint,
    /// Outcome of the call.
    pub outcome: CallOutcome,
}

impl EffectfulCalls {
    /// Returns true if there are no calls.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds an ended call. The result does not depend on the order of the ends.
    pub(crate) fn add(&mut self, change: EffectfulCall) {
        let at = self.calls.partition_point(|one| one.call < change.call);
        self.calls.insert(at, change);
        leave_out(&mut self.calls, &mut self.more);
    }

    /// Returns the report on the calls; `None` if there are none.
    #[must_use]
    pub fn report(&self) -> Option<CallReport> {
        (!self.is_empty()).then(|| CallReport {
            calls: self.calls.iter().map(|one| one.call).collect(),
            more: self.more,
        })
    }

    /// Returns the fingerprint of the report's text.
    pub(crate) fn report_fingerprint(&self) -> ItemFingerprint {
        let named = self.calls.iter().map(|one| (one.line, one.outcome));
        context::call_report(named, self.more)
    }
}
