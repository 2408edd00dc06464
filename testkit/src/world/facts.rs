//! Random facts of every kind, with any text and any number, for the codec.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use windlass_core::{
    Because, CallDecided, CallId, CallItem, CallObserved, CallStarted, Decider, Delivery, Digest,
    Draft, Fact, InputAccepted, InputId, InputQueued, InterruptRequested, Interrupter, Item,
    ItemAdded, LimitKind, Lineage, Observation, ObservationStatus, Opaque, Outcome, ReasoningItem,
    Recorded, Retry, SampleCut, SampleEnded, SampleFailure, SampleStarted, Scope, Seq, SessionId,
    SessionOpened, SettingsChanged, Spent, StopReason, Timestamp, TurnId, TurnOpened, TurnSettled,
    Usage, Verdict,
};

use super::random::{FAILURES, limits, posture};

/// A fact of any kind, anywhere in a log.
pub fn recorded() -> impl Strategy<Value = Recorded> {
    let place = (session(), number(), prop::option::of(number()), number());
    (place, fact()).prop_map(|((session, seq, turn, ts), fact)| {
        let draft = Draft {
            turn: turn.map(TurnId),
            ts: Timestamp(ts),
            fact,
        };
        draft.number(&session, Seq(seq))
    })
}

fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        session_opened(),
        posture().prop_map(|posture| Fact::SettingsChanged(SettingsChanged {
            settings: Arc::new(posture.settings()),
        })),
        input_queued(),
        turn_opened(),
        number().prop_map(|input| Fact::InputAccepted(InputAccepted {
            input: InputId(input),
        })),
        sample_started(),
        (number(), item()).prop_map(|(started, item)| Fact::ItemAdded(ItemAdded {
            started: Seq(started),
            item,
        })),
        sample_ended(),
        sample_cut(),
        call_decided(),
        call_started(),
        call_observed(),
        (interrupter(), text()).prop_map(|(by, reason)| {
            Fact::InterruptRequested(InterruptRequested { by, reason })
        }),
        turn_settled(),
    ]
}

fn session_opened() -> impl Strategy<Value = Fact> {
    let lineage = prop_oneof![
        Just(Lineage::Root),
        (session(), number()).prop_map(|(of, at)| Lineage::Fork { of, at: Seq(at) }),
        (session(), number()).prop_map(|(of, call)| Lineage::Child {
            of,
            call: CallId(call),
        }),
    ];
    let whole = (scope(), prop::option::of(text()), posture(), lineage);
    whole.prop_map(|(owner, workspace, posture, lineage)| {
        Fact::SessionOpened(SessionOpened {
            owner: Arc::new(owner),
            workspace,
            settings: Arc::new(posture.settings()),
            lineage,
        })
    })
}

fn input_queued() -> impl Strategy<Value = Fact> {
    let whole = (scope(), text(), prop::option::of(text()), any::<bool>());
    whole.prop_map(|(scope, text, key, dry_run)| {
        Fact::InputQueued(InputQueued {
            scope: Arc::new(scope),
            text: text.into(),
            delivery: Delivery::Turn,
            key,
            dry_run,
        })
    })
}

fn turn_opened() -> impl Strategy<Value = Fact> {
    let whole = (because(), scope(), number(), limits(), any::<bool>());
    whole.prop_map(|(because, scope, settings, limits, dry_run)| {
        Fact::TurnOpened(TurnOpened {
            because,
            scope: Arc::new(scope),
            settings: Seq(settings),
            limits,
            dry_run,
        })
    })
}

fn sample_started() -> impl Strategy<Value = Fact> {
    let whole = (any::<u32>(), any::<u32>(), because(), digest());
    whole.prop_map(|(sample, attempt, because, digest)| {
        Fact::SampleStarted(SampleStarted {
            sample,
            attempt,
            because,
            digest,
        })
    })
}

fn sample_ended() -> impl Strategy<Value = Fact> {
    let stop = prop_oneof![
        select(vec![
            StopReason::Stop,
            StopReason::Length,
            StopReason::ContentFilter,
            StopReason::Unfinished,
        ]),
        text().prop_map(StopReason::Other),
    ];
    let whole = (
        number(),
        stop,
        prop::option::of(usage()),
        prop::option::of(text()),
    );
    whole.prop_map(|(started, stop, usage, response_id)| {
        Fact::SampleEnded(SampleEnded {
            started: Seq(started),
            stop,
            usage,
            response_id,
        })
    })
}

fn sample_cut() -> impl Strategy<Value = Fact> {
    let retry = prop_oneof![
        Just(Retry::Never),
        Just(Retry::Soon),
        number().prop_map(Retry::AfterMs),
    ];
    let status = prop::option::of(any::<u16>());
    let failure = (
        select(&FAILURES[..]),
        text(),
        retry,
        status,
        prop::option::of(text()),
    );
    let failure = failure.prop_map(|(kind, message, retry, status, request_id)| SampleFailure {
        status,
        request_id,
        ..SampleFailure::new(kind, retry, message)
    });
    let whole = (number(), failure, text(), prop::option::of(number()));
    whole.prop_map(|(started, failure, partial, retry_at)| {
        Fact::SampleCut(SampleCut {
            started: Seq(started),
            failure,
            partial,
            retry_at: retry_at.map(Timestamp),
        })
    })
}

fn call_decided() -> impl Strategy<Value = Fact> {
    let verdict = select(vec![Verdict::Allow, Verdict::Deny]);
    (number(), verdict, text(), digest()).prop_map(|(call, verdict, reason, arguments)| {
        Fact::CallDecided(CallDecided {
            call: CallId(call),
            verdict,
            by: Decider::Policy,
            reason,
            arguments,
        })
    })
}

fn call_started() -> impl Strategy<Value = Fact> {
    let whole = (number(), any::<u32>(), text(), number());
    whole.prop_map(|(call, attempt, idempotency_key, timeout_ms)| {
        Fact::CallStarted(CallStarted {
            call: CallId(call),
            attempt,
            idempotency_key,
            timeout_ms,
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
    let whole = (number(), status, text(), number(), number());
    whole.prop_map(|(call, status, output, output_bytes, omitted_bytes)| {
        Fact::CallObserved(CallObserved {
            call: CallId(call),
            observation: Arc::new(Observation {
                status,
                output,
                output_bytes,
                omitted_bytes,
            }),
        })
    })
}

fn turn_settled() -> impl Strategy<Value = Fact> {
    let limit = select(vec![
        LimitKind::Samples,
        LimitKind::CallsPerSample,
        LimitKind::Calls,
        LimitKind::Tokens,
        LimitKind::OutputTokens,
        LimitKind::WallClock,
    ]);
    let outcome = prop_oneof![
        Just(Outcome::Completed),
        Just(Outcome::NoAnswer),
        Just(Outcome::Refused),
        (interrupter(), text()).prop_map(|(by, reason)| Outcome::Interrupted { by, reason }),
        text().prop_map(|reason| Outcome::Blocked { reason }),
        limit.prop_map(|limit| Outcome::Exhausted { limit }),
        (select(&FAILURES[..]), text())
            .prop_map(|(failure, message)| Outcome::Failed { failure, message }),
    ];
    let counts = (any::<u32>(), any::<u32>(), any::<u32>(), usage());
    (outcome, counts).prop_map(|(outcome, (samples, attempts, calls, usage))| {
        let spent = Spent {
            samples,
            attempts,
            calls,
            usage,
        };
        Fact::TurnSettled(TurnSettled { outcome, spent })
    })
}

fn item() -> impl Strategy<Value = Item> {
    let opaque = || prop::option::of((text(), text(), text(), text()).prop_map(opaque));
    let call = (text(), text(), text(), prop::option::of(text()), opaque());
    prop_oneof![
        text().prop_map(|text| Item::Text { text: text.into() }),
        text().prop_map(|text| Item::Refusal { text: text.into() }),
        (text(), opaque()).prop_map(|(text, opaque)| {
            Item::Reasoning(Arc::new(ReasoningItem { text, opaque }))
        }),
        call.prop_map(|(provider_id, name, arguments, fault, opaque)| {
            Item::Call(Arc::new(CallItem {
                provider_id,
                name,
                arguments,
                fault,
                opaque,
            }))
        }),
    ]
}

fn opaque((provider, endpoint, model, payload): (String, String, String, String)) -> Opaque {
    Opaque {
        provider,
        endpoint,
        model,
        payload,
    }
}

fn because() -> impl Strategy<Value = Because> {
    prop_oneof![
        number().prop_map(|input| Because::Opened {
            input: InputId(input),
        }),
        Just(Because::ToolResults),
        Just(Because::Retry),
        Just(Because::Unfinished),
    ]
}

fn interrupter() -> impl Strategy<Value = Interrupter> {
    select(vec![
        Interrupter::Person,
        Interrupter::Shutdown,
        Interrupter::Deadline,
    ])
}

fn scope() -> impl Strategy<Value = Scope> {
    let claims = prop::collection::btree_map(text(), text(), 0..3);
    prop_oneof![
        text().prop_map(Scope::system),
        (text(), text(), claims).prop_map(principal),
    ]
}

fn principal((tenant, principal, claims): (String, String, BTreeMap<String, String>)) -> Scope {
    Scope::Principal {
        tenant,
        principal,
        claims,
    }
}

fn usage() -> impl Strategy<Value = Usage> {
    let count = || prop::option::of(number());
    let whole = (count(), count(), count(), count(), count());
    whole.prop_map(
        |(input, output, total, cached_input, reasoning_output)| Usage {
            input,
            output,
            total,
            cached_input,
            reasoning_output,
        },
    )
}

fn session() -> impl Strategy<Value = SessionId> {
    "[A-Za-z0-9_][A-Za-z0-9._-]{0,63}"
        .prop_filter_map("a session id", |id| SessionId::new(&id).ok())
}

fn digest() -> impl Strategy<Value = Digest> {
    text().prop_map(|text| Digest::EMPTY.part(text.as_bytes()))
}

/// Any text, with the characters that text forms stumble over.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::collection::vec(any::<char>(), 0..12).prop_map(String::from_iter),
        1 => select(vec!["", "null", "\"", "\\", "\n", "\0", "\u{2028}", "\u{feff}", "{}", "\u{1F980}"])
            .prop_map(String::from),
    ]
}

/// Any number, with those at the edges.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), select(vec![0, 1, (1 << 53) + 1, u64::MAX])]
}
