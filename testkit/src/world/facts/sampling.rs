//! Facts about samples: random ones, and one of each kind with a text of the caller's.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use windlass_core::{
    CallItem, Citation, Digest, Fact, FailureKind, Item, ItemAdded, LoweredPart, LoweringAction,
    LoweringReason, LoweringRecord, Opaque, Reason, ReasoningItem, RequestRecord, RequestRoute,
    Reservation, Retained, Retry, SampleCut, SampleEnded, SampleFailure, SampleKind, SampleStarted,
    Seq, Sha256, StopReason, TextSpan, Timestamp, Usage,
};

use super::parts::{asked, because, digest, number, text, usage};
use super::{call_item, opaques};
use crate::world::random::FAILURES;

/// A fact about a sample.
pub(super) fn fact() -> impl Strategy<Value = Fact> {
    let item = (number(), item().boxed(), any::<bool>());
    prop_oneof![
        sample_started().boxed(),
        item.prop_map(|(started, item, surplus)| {
            let started = Seq(started);
            Fact::ItemAdded(ItemAdded { started, item, surplus })
        }),
        sample_ended().boxed(),
        sample_cut().boxed(),
    ]
}

/// What is set aside for a sample.
pub(super) fn reserved() -> impl Strategy<Value = Reservation> {
    (number(), number()).prop_map(|(tokens, cost_micros)| Reservation { tokens, cost_micros })
}

fn sample_started() -> impl Strategy<Value = Fact> {
    let reserved = reserved();
    let kind = sample_kind();
    let bound = prop::option::of(number());
    let whole = (any::<u32>(), any::<u32>(), because(), digest(), reserved, bound, kind);
    whole.prop_map(|(sample, attempt, because, digest, reserved, output_bound, kind)| {
        Fact::SampleStarted(SampleStarted {
            sample,
            attempt,
            reason: because,
            digest,
            reserved,
            output_bound,
            kind,
        })
    })
}

fn sample_kind() -> impl Strategy<Value = SampleKind> {
    select(vec![SampleKind::Normal, SampleKind::MustReturn, SampleKind::ReAsk])
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
        prop::option::of(reserved()),
        prop::option::of(text()),
        asked(),
        prop::option::of(text()),
    );
    whole.prop_map(|(started, stop, usage, estimate, response_id, asked, fault)| {
        Fact::SampleEnded(SampleEnded {
            started: Seq(started),
            stop,
            usage,
            estimate,
            response_id,
            request: asked,
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
    let failure = (select(&FAILURES[..]), text(), retry, status, prop::option::of(text()));
    let failure = failure.prop_map(|(kind, message, retry, status, request_id)| SampleFailure {
        status,
        request_id,
        ..SampleFailure::new(kind, retry, message)
    });
    let stands = prop_oneof![
        Just(Retained::Nothing),
        number().prop_map(|item| Retained::Through { item: Seq(item) }),
        Just(Retained::Text),
    ];
    let usage = (prop::option::of(usage()), prop::option::of(reserved()));
    let cause = prop::option::of(super::interrupter());
    let retry_at = prop::option::of(number());
    let whole = (number(), failure, text(), (stands, cause), usage, retry_at, asked());
    whole.prop_map(
        |(started, failure, partial, (stands, stopped_by), (usage, estimate), retry_at, asked)| {
            Fact::SampleCut(SampleCut {
                started: Seq(started),
                failure,
                partial,
                retained: stands,
                stopped_by,
                usage,
                estimate,
                retry_at: retry_at.map(Timestamp),
                request: asked,
            })
        },
    )
}

fn item() -> impl Strategy<Value = Item> {
    prop_oneof![
        text().prop_map(Item::text),
        (text(), text(), opaques()).prop_map(|(text, title, opaque)| cited(&text, title, opaque)),
        text().prop_map(|text| Item::Refusal { text: text.into() }),
        (text(), opaques()).prop_map(|(text, opaque)| {
            let searches = vec![text.clone()];
            Item::Reasoning(Arc::new(ReasoningItem { text, opaque, searches }))
        }),
        call_item().prop_map(|call| Item::Call(Arc::new(call))),
    ]
}

fn cited(text: &str, title: String, opaque: Option<Opaque>) -> Item {
    let span = Some(TextSpan { start: 0, end: text.len() as u64 });
    let citation = Citation { url: format!("https://{text}"), title, span };
    let (citations, opaque) = (Arc::from([citation]), opaque.map(Arc::new));
    Item::Text { text: text.into(), citations, opaque }
}

pub(crate) fn sample_with(text: &str) -> Vec<Fact> {
    let opaque = Opaque {
        provider: text.into(),
        endpoint: text.into(),
        model: text.into(),
        payload: text.into(),
    };
    let call = CallItem {
        provider_id: text.into(),
        name: text.into(),
        arguments: text.into(),
        fault: Some(text.into()),
        rules: vec![0, u32::MAX],
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: Some(Sha256([7; 32])),
        opaque: Some(opaque.clone()),
        inline: false,
    };
    let reasoning = ReasoningItem {
        text: text.into(),
        opaque: Some(opaque.clone()),
        searches: vec![text.into()],
    };
    let items = [
        Item::text(text),
        cited(text, text.into(), Some(opaque)),
        Item::Refusal { text: text.into() },
        Item::Reasoning(Arc::new(reasoning)),
        Item::Call(Arc::new(call)),
    ];
    let started = Seq(6);
    let mut facts = vec![Fact::SampleStarted(SampleStarted {
        sample: 1,
        attempt: u32::MAX,
        reason: Reason::Retry,
        digest: Digest::EMPTY.part(text.as_bytes()),
        reserved: Reservation { tokens: 1, cost_micros: u64::MAX },
        output_bound: Some(u64::MAX),
        kind: SampleKind::Normal,
    })];
    facts.extend(items.map(|item| Fact::ItemAdded(ItemAdded { started, item, surplus: false })));
    facts.push(Fact::SampleEnded(SampleEnded {
        started,
        stop: StopReason::Other(text.into()),
        usage: Some(Usage { input: Some(u64::MAX), ..Usage::default() }),
        estimate: Some(Reservation { tokens: 1, cost_micros: 0 }),
        response_id: Some(text.into()),
        request: Some(Box::new(RequestRecord {
            provider: text.into(),
            model: text.into(),
            reported_model: Some(text.into()),
            endpoint: text.into(),
            route: RequestRoute::SocketDelta,
            fallback_reason: Some(text.into()),
            bytes: u64::MAX,
            shared_prefix_bytes: u64::MAX,
            lowered: vec![LoweringRecord {
                part: LoweredPart::Reasoning,
                action: LoweringAction::Dropped,
                reason: LoweringReason::Foreign,
                count: u32::MAX,
            }],
        })),
        fault: Some(text.into()),
    }));
    facts.push(Fact::SampleCut(SampleCut {
        started,
        failure: SampleFailure {
            status: Some(503),
            request_id: Some(text.into()),
            ..SampleFailure::new(FailureKind::Overloaded, Retry::AfterMs(7), text)
        },
        partial: text.into(),
        retained: Retained::Through { item: Seq(7) },
        stopped_by: None,
        usage: Some(Usage::default()),
        estimate: Some(Reservation { tokens: 1, cost_micros: 0 }),
        retry_at: Some(Timestamp(u64::MAX)),
        request: None,
    }));
    facts
}
