//! Random facts of every kind, with any text and any number, for the codec.

mod around;
mod calling;
mod parts;

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use windlass_core::{
    Ancestor, CallId, CallItem, ContextPart, Delivery, Draft, Fact, Image, ImageMedia,
    InputAccepted, InputId, InputQueued, InterruptRequested, Item, ItemAdded, LimitKind, Lineage,
    Opaque, Outcome, ReasoningItem, Recorded, Reserved, Retry, SampleCut, SampleEnded,
    SampleFailure, SampleKind, SampleStarted, Seq, SessionOpened, SettingsChanged, Spent, Stands,
    StopReason, StopWhen, Timestamp, TurnId, TurnOpened, TurnSettled,
};

use super::random::{FAILURES, limits};
use parts::{
    asked, because, digest, interrupter, key, number, opaque, places, scope, session, settings,
    text, usage,
};

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
        (scope(), settings(), key()).prop_map(|(by, settings, key)| {
            Fact::SettingsChanged(SettingsChanged {
                by: Arc::new(by),
                settings: Arc::new(settings),
                key,
            })
        }),
        input_queued(),
        around::fact(),
        calling::fact(),
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
        interrupt_requested(),
        turn_settled(),
    ]
}

fn session_opened() -> impl Strategy<Value = Fact> {
    let lineage = prop_oneof![
        Just(Lineage::Root),
        (session(), number(), prop::collection::vec(ancestor(), 0..3)).prop_map(
            |(of, at, before)| Lineage::Fork {
                of,
                at: Seq(at),
                before,
            }
        ),
        (session(), number()).prop_map(|(of, call)| Lineage::Child {
            of,
            call: CallId(call),
        }),
    ];
    let whole = (scope(), prop::option::of(text()), settings(), lineage);
    whole.prop_map(|(owner, workspace, settings, lineage)| {
        Fact::SessionOpened(SessionOpened {
            owner: Arc::new(owner),
            workspace,
            settings: Arc::new(settings),
            lineage,
        })
    })
}

fn ancestor() -> impl Strategy<Value = Ancestor> {
    prop_oneof![
        (session(), number()).prop_map(|(of, at)| Ancestor::Fork { of, at: Seq(at) }),
        (session(), number()).prop_map(|(of, call)| Ancestor::Child {
            of,
            call: CallId(call),
        }),
    ]
}

fn image() -> impl Strategy<Value = Image> {
    let media = select(vec![
        ImageMedia::Png,
        ImageMedia::Jpeg,
        ImageMedia::Gif,
        ImageMedia::Webp,
    ]);
    (media, text(), any::<u64>()).prop_map(|(media, sha256, bytes)| Image {
        media,
        sha256,
        bytes,
    })
}

fn input_queued() -> impl Strategy<Value = Fact> {
    let delivery = select(vec![Delivery::Turn, Delivery::Steer, Delivery::FollowUp]);
    let part = (text(), text()).prop_map(|(from, text)| ContextPart {
        from,
        text: text.into(),
    });
    let context = prop::collection::vec(part, 0..3);
    let keys = (key(), key());
    let images = prop::collection::vec(image(), 0..3);
    let said = (text(), context, images);
    let whole = (scope(), said, delivery, keys, any::<bool>());
    whole.prop_map(|(scope, said, delivery, (key, keyed), dry_run)| {
        let (text, context, images) = said;
        Fact::InputQueued(InputQueued {
            scope: Arc::new(scope),
            text: text.into(),
            delivery,
            context,
            images,
            key,
            dry_run,
            keyed,
        })
    })
}

fn interrupt_requested() -> impl Strategy<Value = Fact> {
    let when = select(vec![StopWhen::Now, StopWhen::AfterStep]);
    (interrupter(), scope(), text(), when, key()).prop_map(|(by, scope, reason, when, key)| {
        Fact::InterruptRequested(InterruptRequested {
            by,
            scope: Arc::new(scope),
            reason,
            when,
            key,
        })
    })
}

fn turn_opened() -> impl Strategy<Value = Fact> {
    let whole = (because(), scope(), number(), limits(), any::<bool>(), key());
    whole.prop_map(|(because, scope, settings, limits, dry_run, key)| {
        Fact::TurnOpened(TurnOpened {
            because,
            scope: Arc::new(scope),
            settings: Seq(settings),
            limits,
            dry_run,
            key,
        })
    })
}

/// What is set aside for a sample.
fn reserved() -> impl Strategy<Value = Reserved> {
    (number(), number()).prop_map(|(tokens, cost_micros)| Reserved {
        tokens,
        cost_micros,
    })
}

fn sample_started() -> impl Strategy<Value = Fact> {
    let reserved = reserved();
    let kind = sample_kind();
    let whole = (
        any::<u32>(),
        any::<u32>(),
        because(),
        digest(),
        reserved,
        kind,
    );
    whole.prop_map(|(sample, attempt, because, digest, reserved, kind)| {
        Fact::SampleStarted(SampleStarted {
            sample,
            attempt,
            because,
            digest,
            reserved,
            kind,
        })
    })
}

fn sample_kind() -> impl Strategy<Value = SampleKind> {
    select(vec![
        SampleKind::Normal,
        SampleKind::MustReturn,
        SampleKind::Retry,
    ])
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
        asked(),
        prop::option::of(text()),
    );
    whole.prop_map(|(started, stop, usage, response_id, asked, fault)| {
        Fact::SampleEnded(SampleEnded {
            started: Seq(started),
            stop,
            usage,
            response_id,
            asked,
            fault,
        })
    })
}

fn sample_cut() -> impl Strategy<Value = Fact> {
    let retry = prop_oneof![
        Just(Retry::Never),
        Just(Retry::Now),
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
    let stands = prop_oneof![
        Just(Stands::Nothing),
        number().prop_map(|item| Stands::Through { item: Seq(item) }),
        Just(Stands::Said),
    ];
    let usage = prop::option::of(usage());
    let whole = (
        number(),
        failure,
        text(),
        stands,
        usage,
        prop::option::of(number()),
        asked(),
    );
    whole.prop_map(
        |(started, failure, partial, stands, usage, retry_at, asked)| {
            Fact::SampleCut(SampleCut {
                started: Seq(started),
                failure,
                partial,
                stands,
                usage,
                retry_at: retry_at.map(Timestamp),
                asked,
            })
        },
    )
}

fn turn_settled() -> impl Strategy<Value = Fact> {
    let limit = select(vec![
        LimitKind::Samples,
        LimitKind::CallsPerSample,
        LimitKind::Calls,
        LimitKind::Tokens,
        LimitKind::OutputTokens,
        LimitKind::WallClock,
        LimitKind::Cost,
        LimitKind::Continuations,
        LimitKind::Compactions,
        LimitKind::Context,
    ]);
    let outcome = prop_oneof![
        Just(Outcome::Completed),
        Just(Outcome::NoAnswer),
        Just(Outcome::Refused),
        text().prop_map(|fault| Outcome::Misshapen { fault }),
        (interrupter(), text()).prop_map(|(by, reason)| Outcome::Interrupted { by, reason }),
        text().prop_map(|reason| Outcome::Blocked { reason }),
        limit.prop_map(|limit| Outcome::Exhausted { limit }),
        (select(&FAILURES[..]), text())
            .prop_map(|(failure, message)| Outcome::Failed { failure, message }),
    ];
    let counts = (
        any::<[u32; 6]>(),
        number(),
        number(),
        usage(),
        calling::took(),
    );
    let spent = counts.prop_map(|(counts, cost_micros, estimated_tokens, usage, agents)| {
        let [
            samples,
            attempts,
            calls,
            continuations,
            compactions,
            returns,
        ] = counts;
        Spent {
            samples,
            attempts,
            calls,
            usage,
            estimated_tokens,
            cost_micros,
            continuations,
            compactions,
            returns,
            agents,
        }
    });
    let waiting = prop::collection::vec(number().prop_map(InputId), 0..3);
    (outcome, spent, waiting).prop_map(|(outcome, spent, waiting)| {
        Fact::TurnSettled(TurnSettled {
            outcome,
            spent,
            waiting,
        })
    })
}

fn opaques() -> impl Strategy<Value = Option<Opaque>> {
    prop::option::of((text(), text(), text(), text()).prop_map(opaque))
}

/// A call as a model, or a program, writes it.
fn call_item() -> impl Strategy<Value = CallItem> {
    let call = (
        text(),
        text(),
        text(),
        prop::option::of(text()),
        places(),
        opaques(),
        any::<bool>(),
    );
    call.prop_map(
        |(provider_id, name, arguments, fault, rules, opaque, spoken)| CallItem {
            provider_id,
            name,
            arguments,
            fault,
            rules,
            opaque,
            spoken,
        },
    )
}

fn item() -> impl Strategy<Value = Item> {
    prop_oneof![
        text().prop_map(|text| Item::Text { text: text.into() }),
        text().prop_map(|text| Item::Refusal { text: text.into() }),
        (text(), opaques()).prop_map(|(text, opaque)| {
            Item::Reasoning(Arc::new(ReasoningItem { text, opaque }))
        }),
        call_item().prop_map(|call| Item::Call(Arc::new(call))),
    ]
}
