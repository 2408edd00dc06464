//! Random facts about calls.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use windlass_core::{
    ApprovalAnswered, ApprovalAsked, CallDecided, CallId, CallObserved, CallStarted, Decider, Fact,
    Kept, Observation, ObservationStatus, ReconcileStarted, Timestamp, Verdict,
};

use super::parts::{digest, edit, number, scope, text};

/// A fact about a call.
pub(super) fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        call_decided(),
        approval_asked(),
        approval_answered(),
        call_started(),
        reconcile_started(),
        call_observed(),
    ]
}

fn call_decided() -> impl Strategy<Value = Fact> {
    let by = select(vec![Decider::Policy, Decider::Rule, Decider::Hook]);
    let whole = (number(), verdict(), by, text(), digest());
    whole.prop_map(|(call, verdict, by, reason, arguments)| {
        Fact::CallDecided(CallDecided {
            call: CallId(call),
            verdict,
            by,
            reason,
            arguments,
        })
    })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    select(vec![Verdict::Allow, Verdict::Deny, Verdict::Ask])
}

fn approval_asked() -> impl Strategy<Value = Fact> {
    let whole = (number(), any::<u32>(), digest(), prop::option::of(number()));
    whole.prop_map(|(call, attempt, arguments, deadline)| {
        Fact::ApprovalAsked(ApprovalAsked {
            call: CallId(call),
            attempt,
            arguments,
            deadline: deadline.map(Timestamp),
        })
    })
}

fn approval_answered() -> impl Strategy<Value = Fact> {
    let edit = prop::option::of(edit());
    let whole = (number(), scope(), verdict(), text(), digest(), edit);
    whole.prop_map(|(call, by, verdict, reason, arguments, edit)| {
        Fact::ApprovalAnswered(ApprovalAnswered {
            call: CallId(call),
            by: Arc::new(by),
            verdict,
            reason,
            arguments,
            edit,
        })
    })
}

fn reconcile_started() -> impl Strategy<Value = Fact> {
    let whole = (number(), any::<u32>(), text(), number());
    whole.prop_map(|(call, attempt, idempotency_key, timeout_ms)| {
        Fact::ReconcileStarted(ReconcileStarted {
            call: CallId(call),
            attempt,
            idempotency_key,
            timeout_ms,
        })
    })
}

fn call_started() -> impl Strategy<Value = Fact> {
    let whole = (number(), any::<u32>(), text(), number(), any::<bool>());
    whole.prop_map(|(call, attempt, idempotency_key, timeout_ms, plan)| {
        Fact::CallStarted(CallStarted {
            call: CallId(call),
            attempt,
            idempotency_key,
            timeout_ms,
            plan,
        })
    })
}

fn call_observed() -> impl Strategy<Value = Fact> {
    let status = select(vec![
        ObservationStatus::Done,
        ObservationStatus::Failed,
        ObservationStatus::Denied,
        ObservationStatus::Aborted,
        ObservationStatus::Unknown,
        ObservationStatus::NotStarted,
    ]);
    let kept = (text(), number()).prop_map(|(sha256, bytes)| Kept { sha256, bytes });
    let sizes = (number(), number());
    let whole = (number(), status, text(), sizes, prop::option::of(kept));
    whole.prop_map(
        |(call, status, output, (output_bytes, omitted_bytes), kept)| {
            Fact::CallObserved(CallObserved {
                call: CallId(call),
                observation: Arc::new(Observation {
                    status,
                    output,
                    output_bytes,
                    omitted_bytes,
                    kept,
                }),
            })
        },
    )
}
