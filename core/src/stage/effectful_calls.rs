//! Effectful calls: ended calls of a program that changed something.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::compaction::ItemFingerprint;
use crate::context;
use crate::id::CallId;
use crate::program::{CallOutcome, CallReport, LEAST_CALLS, leave_out};
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

    /// Returns the first and the last calls, as many as have room in `most` bytes.
    pub(crate) fn within(&self, most: u64) -> Self {
        let mut named = self.clone();
        while named.calls.len() > LEAST_CALLS && named.bytes() > most {
            named.leave_out();
        }
        named
    }

    /// Returns so many of the first and the last calls.
    pub(crate) fn first_and_last(&self, count: usize) -> Self {
        let mut named = self.clone();
        while named.calls.len() > count {
            named.leave_out();
        }
        named
    }

    fn leave_out(&mut self) {
        self.calls.remove(self.calls.len() / 2);
        self.more = self.more.saturating_add(1);
    }

    fn bytes(&self) -> u64 {
        self.calls.iter().map(|one| one.line.bytes).sum()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_calls_are_named_where_room_is_short() {
        let mut all = EffectfulCalls::default();
        for id in 1..=10 {
            let line = ItemFingerprint { bytes: 100, ..context::reported_call("pay {}") };
            all.add(EffectfulCall { call: CallId(id), line, outcome: CallOutcome::Done });
        }
        let few = all.within(450);
        let named: Vec<u64> = few.calls.iter().map(|one| one.call.0).collect();
        assert_eq!((&named[..], few.more), (&[1, 2, 9, 10][..], 6));
        assert_eq!(all.first_and_last(4), few);
        assert_eq!(all.within(0).calls.len(), LEAST_CALLS);
        assert_eq!(all.within(1_000), all);
    }
}
