//! Facts about calls and the programs that make some.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use windlass_core::{
    ApprovalAnswered, ApprovalAsked, ApprovalGrant, ArgumentsDigest, BudgetGrant, BudgetUsage,
    CallDecided, CallId, CallItem, CallObserved, CallReport, CallResumed, CallStarted,
    CallSuspended, ChangedFile, Confinement, Decider, Digest, Fact, FileVersion, GrantLifetime,
    Image, ImageMedia, Observation, ObservationStatus, ProgramCalled, ProgramEnd, ProgramFault,
    ProgramOutcome, ProgramRun, ReconcileStarted, RetainedChange, Sha256, StoredOutput, Suspension,
    Timestamp, UserAnswer, UserQuestion, Verdict,
};

use super::parts::{arguments_digest, edit, key, number, result_form, scope, text};
use super::{call_item, image};
use crate::world::fixed;

/// A fact about a call.
pub(super) fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        call_decided(),
        approval_asked(),
        approval_answered(),
        call_started(),
        reconcile_started(),
        call_suspended(),
        call_resumed(),
        call_observed(),
        program_called(),
        program_run(),
    ]
}

fn program_called() -> impl Strategy<Value = Fact> {
    (number(), call_item()).prop_map(|(program, item)| {
        Fact::ProgramCalled(ProgramCalled { program: CallId(program), item: Arc::new(item) })
    })
}

fn program_run() -> impl Strategy<Value = Fact> {
    let texts = || prop::collection::vec(text(), 0..3);
    let memory = (prop::option::of(text()), prop::collection::vec(retained_change(), 0..3));
    let outcome = (program_end(), texts(), memory, texts(), texts(), any::<u64>());
    let outcome = outcome.prop_map(|(end, prints, (memory, retained), defined, repairs, steps)| {
        Arc::new(ProgramOutcome {
            end,
            prints,
            memory: memory.map(Arc::from),
            retained,
            defined,
            repairs,
            steps,
        })
    });
    let whole = (number(), outcome, prop::option::of(text()));
    whole.prop_map(|(program, outcome, fault)| {
        Fact::ProgramRun(ProgramRun { program: CallId(program), outcome, fault })
    })
}

fn retained_change() -> impl Strategy<Value = RetainedChange> {
    (text(), prop::option::of(text()))
        .prop_map(|(name, value)| RetainedChange { name: name.into(), value: value.map(Arc::from) })
}

fn program_end() -> impl Strategy<Value = ProgramEnd> {
    let value = || text().prop_map(Arc::<str>::from);
    let place = || prop::option::of(any::<u32>());
    let fault = (text(), text(), place(), place(), prop::option::of(text()));
    let fault = fault.prop_map(|(class, message, line, column, hint)| {
        ProgramEnd::Fault(ProgramFault { class, message, line, column, hint })
    });
    prop_oneof![
        value().prop_map(|value| ProgramEnd::Value { value }),
        value().prop_map(|value| ProgramEnd::Return { value }),
        value().prop_map(|value| ProgramEnd::Fail { value }),
        fault,
    ]
}

fn call_suspended() -> impl Strategy<Value = Fact> {
    let question = (text(), prop::collection::vec(text(), 0..3));
    let question = question.prop_map(|(question, choices)| UserQuestion { question, choices });
    let whole = (number(), text(), prop::option::of(question), any::<bool>(), any::<u64>());
    whole.prop_map(|(call, state, question, repeatable, deadline)| {
        let deadline = question.as_ref().map(|_| Timestamp(deadline));
        let suspension = Suspension { state: state.into(), question, repeatable };
        let suspension = Arc::new(suspension);
        Fact::CallSuspended(CallSuspended { call: CallId(call), suspension, deadline })
    })
}

fn call_resumed() -> impl Strategy<Value = Fact> {
    let whole = (number(), text(), any::<bool>(), scope(), key());
    whole.prop_map(|(call, text, declined, by, key)| {
        let answer = Arc::new(UserAnswer { text, declined });
        Fact::CallResumed(CallResumed { call: CallId(call), answer, by: Arc::new(by), key })
    })
}

fn call_decided() -> impl Strategy<Value = Fact> {
    let by = select(vec![Decider::Policy, Decider::Rule, Decider::Hook]);
    let whole = (number(), verdict(), by, text(), arguments_digest());
    whole.prop_map(|(call, verdict, by, reason, arguments)| {
        Fact::CallDecided(CallDecided { call: CallId(call), verdict, by, reason, arguments })
    })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    select(vec![Verdict::Allow, Verdict::Deny, Verdict::Ask])
}

fn approval_asked() -> impl Strategy<Value = Fact> {
    let whole = (number(), any::<u32>(), arguments_digest(), prop::option::of(number()));
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
    let grant = (any::<bool>(), any::<bool>(), text()).prop_map(|(used, always, text)| {
        let lifetime = if always { GrantLifetime::Always } else { GrantLifetime::Session };
        ApprovalGrant { used, lifetime, text }
    });
    let grant = prop::option::of(grant);
    let whole = (number(), scope(), verdict(), text(), arguments_digest(), edit, grant, key());
    whole.prop_map(|(call, by, verdict, reason, arguments, edit, grant, key)| {
        Fact::ApprovalAnswered(ApprovalAnswered {
            call: CallId(call),
            by: Arc::new(by),
            verdict,
            reason,
            arguments,
            edit,
            grant,
            key,
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
    let numbers = (any::<u32>(), number(), number(), number());
    let lent = numbers.prop_map(|(samples, tokens, cost_micros, turn_ms)| BudgetGrant {
        samples,
        tokens,
        cost_micros,
        turn_ms,
    });
    let lent = prop::option::of(lent);
    let flags = (any::<bool>(), any::<bool>());
    let whole = (number(), any::<u32>(), text(), number(), flags, lent);
    whole.prop_map(|(call, attempt, idempotency_key, timeout_ms, (plan, client), lent)| {
        Fact::CallStarted(CallStarted {
            call: CallId(call),
            attempt,
            idempotency_key,
            timeout_ms,
            plan,
            client,
            grant: lent,
        })
    })
}

/// What agents took.
pub(super) fn took() -> impl Strategy<Value = BudgetUsage> {
    let numbers = (any::<u32>(), number(), number());
    numbers.prop_map(|(samples, tokens, cost_micros)| BudgetUsage { samples, tokens, cost_micros })
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
    let kept = (text(), number()).prop_map(|(sha256, bytes)| StoredOutput { sha256, bytes });
    let sizes = (number(), number(), prop::option::of(any::<i32>()));
    let took = prop::option::of(took());
    let telling = (prop::collection::vec(number().prop_map(CallId), 0..3), 0..3_u32);
    let telling = telling.prop_map(|(calls, more)| CallReport { calls, more });
    let confined = (text(), text(), text()).prop_map(|(profile, tier, mechanisms)| {
        Arc::new(Confinement { profile, tier, mechanisms })
    });
    let kept = (prop::option::of(kept), prop::option::of(result_form()), any::<bool>());
    let by = prop::option::of(scope().prop_map(Arc::new));
    let shown = prop::collection::vec(image(), 0..3);
    let confined = (prop::option::of(confined), prop::collection::vec(changed_file(), 0..3), shown);
    let offers = prop::collection::vec(text(), 0..2);
    let kept = (kept, confined, (by, prop::option::of(text()), offers));
    let whole = (number(), status, text(), sizes, kept, took, prop::option::of(telling));
    whole.prop_map(|(call, status, output, sizes, kept, took, tells)| {
        let (output_bytes, omitted_bytes, exit_code) = sizes;
        let ((kept, form, detached), (confinement, changes, images), (by, key, offers)) = kept;
        Fact::CallObserved(CallObserved {
            call: CallId(call),
            observation: Arc::new(Observation {
                status,
                output,
                output_bytes,
                omitted_bytes,
                stored_output: kept,
                exit_code,
                confinement,
                images,
                changes,
                lasting: offers.first().cloned(),
                offers,
            }),
            usage: took,
            report: tells,
            form,
            detached,
            by,
            key,
        })
    })
}

fn changed_file() -> impl Strategy<Value = ChangedFile> {
    let version = || {
        prop_oneof![
            Just(FileVersion::Absent),
            (text(), number())
                .prop_map(|(sha256, bytes)| FileVersion::Stored(StoredOutput { sha256, bytes })),
            number().prop_map(|bytes| FileVersion::NotStored { bytes }),
        ]
    };
    let whole = (text(), version(), version(), prop::option::of(any::<u32>()));
    whole.prop_map(|(path, before, after, mode)| ChangedFile { path, before, after, mode })
}

/// One of each kind, with `text` wherever it takes a text.
pub(crate) fn call_with(text: &str) -> [Fact; 10] {
    let call = CallId(10);
    [
        Fact::CallDecided(CallDecided {
            call,
            verdict: Verdict::Deny,
            by: Decider::Policy,
            reason: text.into(),
            arguments: ArgumentsDigest::Digest(Digest::EMPTY),
        }),
        Fact::ApprovalAsked(ApprovalAsked {
            call,
            attempt: 1,
            arguments: ArgumentsDigest::Digest(Digest::EMPTY),
            deadline: Some(Timestamp(u64::MAX)),
        }),
        Fact::ApprovalAnswered(ApprovalAnswered {
            call,
            by: fixed::principal(text).into(),
            verdict: Verdict::Allow,
            reason: text.into(),
            arguments: ArgumentsDigest::Digest(Digest::EMPTY),
            edit: Some(fixed::edit(text)),
            grant: Some(ApprovalGrant {
                used: true,
                lifetime: GrantLifetime::Session,
                text: text.into(),
            }),
            key: Some(text.into()),
        }),
        Fact::CallStarted(CallStarted {
            call,
            attempt: 1,
            idempotency_key: text.into(),
            timeout_ms: u64::MAX,
            plan: true,
            client: true,
            grant: Some(BudgetGrant {
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
        Fact::CallSuspended(CallSuspended {
            call,
            suspension: Arc::new(Suspension {
                state: text.into(),
                question: Some(UserQuestion {
                    question: text.into(),
                    choices: vec![text.into(), String::new()],
                }),
                repeatable: true,
            }),
            deadline: Some(Timestamp(u64::MAX)),
        }),
        Fact::CallResumed(CallResumed {
            call,
            answer: Arc::new(UserAnswer { text: text.into(), declined: true }),
            by: fixed::principal(text).into(),
            key: Some(text.into()),
        }),
        Fact::CallObserved(CallObserved {
            call,
            observation: Arc::new(Observation {
                omitted_bytes: u64::MAX,
                stored_output: Some(StoredOutput { sha256: text.into(), bytes: u64::MAX }),
                exit_code: Some(i32::MIN),
                confinement: Some(Arc::new(Confinement {
                    profile: text.into(),
                    tier: text.into(),
                    mechanisms: text.into(),
                })),
                images: vec![Image {
                    media: ImageMedia::Webp,
                    sha256: text.into(),
                    bytes: u64::MAX,
                }],
                changes: vec![ChangedFile {
                    path: text.into(),
                    before: FileVersion::NotStored { bytes: u64::MAX },
                    after: FileVersion::Stored(StoredOutput { sha256: text.into(), bytes: 1 }),
                    mode: Some(u32::MAX),
                }],
                ..Observation::new(ObservationStatus::Unknown, text)
            }),
            usage: Some(BudgetUsage { samples: u32::MAX, tokens: u64::MAX, cost_micros: u64::MAX }),
            report: Some(CallReport { calls: vec![call], more: u32::MAX }),
            form: Some(fixed::RESULT_FORM),
            detached: true,
            by: Some(fixed::principal(text).into()),
            key: Some(text.into()),
        }),
        Fact::ProgramCalled(ProgramCalled {
            program: call,
            item: Arc::new(CallItem {
                provider_id: text.into(),
                name: text.into(),
                arguments: text.into(),
                fault: Some(text.into()),
                rules: vec![0, u32::MAX],
                possible_rules: vec![1],
                outside_sandbox: false,
                sha256: Some(Sha256([7; 32])),
                opaque: None,
                inline: false,
            }),
        }),
        Fact::ProgramRun(ProgramRun {
            program: call,
            outcome: Arc::new(ProgramOutcome {
                end: ProgramEnd::Return { value: text.into() },
                prints: vec![text.into()],
                memory: Some(text.into()),
                retained: vec![
                    RetainedChange::set(text, text),
                    RetainedChange { name: text.into(), value: None },
                ],
                defined: vec![text.into()],
                repairs: vec![text.into()],
                steps: u64::MAX,
            }),
            fault: Some(text.into()),
        }),
    ]
}
