//! A fact of each kind about calls, to fill logs with.

use std::sync::Arc;

use windlass_core::{
    ApprovalAnswered, ApprovalAsked, CallDecided, CallId, CallObserved, CallStarted, Decider,
    Digest, Fact, Kept, Lent, Observation, ObservationStatus, ReconcileStarted, Telling, Timestamp,
    Took, Verdict,
};

use super::facts::{edit, principal};

/// One of each kind, with `text` wherever it takes a text.
pub(super) fn call_with(text: &str) -> [Fact; 6] {
    let call = CallId(10);
    [
        Fact::CallDecided(CallDecided {
            call,
            verdict: Verdict::Deny,
            by: Decider::Policy,
            reason: text.into(),
            arguments: Digest::EMPTY,
        }),
        Fact::ApprovalAsked(ApprovalAsked {
            call,
            attempt: 1,
            arguments: Digest::EMPTY,
            deadline: Some(Timestamp(u64::MAX)),
        }),
        Fact::ApprovalAnswered(ApprovalAnswered {
            call,
            by: principal(text).into(),
            verdict: Verdict::Allow,
            reason: text.into(),
            arguments: Digest::EMPTY,
            edit: Some(edit(text)),
            key: Some(text.into()),
        }),
        Fact::CallStarted(CallStarted {
            call,
            attempt: 1,
            idempotency_key: text.into(),
            timeout_ms: u64::MAX,
            plan: true,
            lent: Some(Lent {
                samples: u32::MAX,
                tokens: u64::MAX,
                cost_micros: u64::MAX,
                turn_ms: u64::MAX,
            }),
        }),
        Fact::ReconcileStarted(ReconcileStarted {
            call,
            attempt: 1,
            idempotency_key: text.into(),
            timeout_ms: u64::MAX,
        }),
        Fact::CallObserved(CallObserved {
            call,
            observation: Arc::new(Observation {
                omitted_bytes: u64::MAX,
                kept: Some(Kept {
                    sha256: text.into(),
                    bytes: u64::MAX,
                }),
                ..Observation::new(ObservationStatus::Unknown, text)
            }),
            took: Some(Took {
                samples: u32::MAX,
                tokens: u64::MAX,
                cost_micros: u64::MAX,
            }),
            tells: Some(Telling {
                calls: vec![call],
                more: u32::MAX,
            }),
        }),
    ]
}
