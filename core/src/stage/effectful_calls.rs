//! Changes: the calls of a program that change something and are over.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::compaction::ItemFingerprint;
use crate::context;
use crate::id::CallId;
use crate::program::{CallOutcome, CallReport, leave_out};
use crate::session::is_zero;

/// The calls of a program that change something and are over, as far as they are named to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectfulCalls {
    /// Those that are named, in their order.
    pub calls: Vec<EffectfulCall>,
    /// Number of further ones, in the middle of these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

/// A call of a program that changes something and is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectfulCall {
    /// Id of the call.
    pub call: CallId,
    /// Its line in the prompt, in numbers.
    pub line: ItemFingerprint,
    /// Outcome of the call.
    pub outcome: CallOutcome,
}

impl EffectfulCalls {
    /// Returns `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// One more is over. The order in which they end does not show.
    pub(crate) fn add(&mut self, change: EffectfulCall) {
        let at = self.calls.partition_point(|one| one.call < change.call);
        self.calls.insert(at, change);
        leave_out(&mut self.calls, &mut self.more);
    }

    /// Returns those that the model is told of; `None` if there are none.
    #[must_use]
    pub fn report(&self) -> Option<CallReport> {
        (!self.is_empty()).then(|| CallReport {
            calls: self.calls.iter().map(|one| one.call).collect(),
            more: self.more,
        })
    }

    /// Returns the text that tells of them, in numbers.
    pub(crate) fn report_fingerprint(&self) -> ItemFingerprint {
        let named = self.calls.iter().map(|one| (one.line, one.outcome));
        context::call_report(named, self.more)
    }
}
