//! What random facts consist of.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use windlass_core::{
    ArgumentsDigest, Digest, Edit, InputId, InterruptSource, LoweredPart, LoweringAction,
    LoweringReason, LoweringRecord, Opaque, Reason, RequestRecord, RequestRoute, ResultForm, Scope,
    Seq, SessionId, Settings, Sha256, Temperature, ToolChoice, Usage, WebSearch,
};

use crate::world::random::posture;

pub(super) fn opaque(
    (provider, endpoint, model, payload): (String, String, String, String),
) -> Opaque {
    Opaque { provider, endpoint, model, payload }
}

pub(super) fn because() -> impl Strategy<Value = Reason> {
    prop_oneof![
        number().prop_map(|input| Reason::Input { input: InputId(input) }),
        Just(Reason::ToolResults),
        Just(Reason::Retry),
        Just(Reason::Unfinished),
        number().prop_map(|input| Reason::PendingInput { input: InputId(input) }),
        number().prop_map(|decided| Reason::HookContext { decided: Seq(decided) }),
        Just(Reason::Compacted),
        number().prop_map(|started| Reason::InvalidOutput { started: Seq(started) }),
        number().prop_map(|started| Reason::EmptyAnswer { started: Seq(started) }),
        number().prop_map(|request| Reason::CompactionRequested { request: Seq(request) }),
        number().prop_map(|set| Reason::Goal { set: Seq(set) }),
    ]
}

pub(super) fn interrupter() -> impl Strategy<Value = InterruptSource> {
    select(vec![
        InterruptSource::Person,
        InterruptSource::Parent,
        InterruptSource::Shutdown,
        InterruptSource::Deadline,
    ])
}

pub(super) fn scope() -> impl Strategy<Value = Scope> {
    let claims = prop::collection::btree_map(text(), text(), 0..3);
    prop_oneof![text().prop_map(Scope::system), (text(), text(), claims).prop_map(principal),]
}

fn principal((tenant, principal, claims): (String, String, BTreeMap<String, String>)) -> Scope {
    Scope::Principal { tenant, principal, claims }
}

pub(super) fn usage() -> impl Strategy<Value = Usage> {
    let count = || prop::option::of(number());
    let whole = (count(), count(), count(), count(), count(), count());
    whole.prop_map(|(input, output, total, cached_input, cache_write, reasoning_output)| Usage {
        input,
        output,
        total,
        cached_input,
        cache_write,
        reasoning_output,
    })
}

/// The settings of a posture, with what no simulated world looks at.
pub(super) fn settings() -> impl Strategy<Value = Settings> {
    let words = || prop::option::of(text());
    let choice = prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        text().prop_map(ToolChoice::Tool),
    ];
    let options = (choice, prop::option::of(any::<bool>()), words());
    let temperature = prop::option::of((0..=2_000_u16).prop_map(Temperature::from_thousandths));
    let rest = (words(), words(), words(), prop::option::of(number()), temperature);
    (posture(), options, rest).prop_map(|(posture, options, rest)| {
        let settings = posture.settings();
        let (choice, parallel_calls, reasoning_summary) = options;
        let (effort, redaction, base_url, max_output_tokens, temperature) = rest;
        let options = settings.options.clone().with(|it| {
            it.tool_choice = choice;
            it.parallel_calls = parallel_calls;
            it.web_search = reasoning_summary.clone().map(|domain| WebSearch {
                max_searches: Some(3),
                allowed_domains: vec![domain.clone()],
                blocked_domains: vec![domain],
            });
            it.reasoning_summary = reasoning_summary;
        });
        settings.with(|it| {
            it.effort = effort;
            it.temperature = temperature.flatten();
            it.redaction = redaction;
            it.base_url = base_url;
            it.max_output_tokens = max_output_tokens;
            it.options = options;
        })
    })
}

pub(super) fn session() -> impl Strategy<Value = SessionId> {
    "[A-Za-z0-9_][A-Za-z0-9._-]{0,63}"
        .prop_filter_map("a session id", |id| SessionId::new(&id).ok())
}

pub(super) fn digest() -> impl Strategy<Value = Digest> {
    text().prop_map(|text| Digest::EMPTY.part(text.as_bytes()))
}

pub(super) fn sha256() -> impl Strategy<Value = Option<Sha256>> {
    prop::option::of(any::<[u8; 32]>().prop_map(Sha256))
}

pub(super) fn arguments_digest() -> impl Strategy<Value = ArgumentsDigest> {
    (digest(), sha256()).prop_map(|(older, sha256)| {
        sha256.map_or(ArgumentsDigest::Digest(older), ArgumentsDigest::Sha256)
    })
}

/// Any text, with the characters that text forms stumble over.
pub(super) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::collection::vec(any::<char>(), 0..12).prop_map(String::from_iter),
        1 => select(vec!["", "null", "\"", "\\", "\n", "\0", "\u{2028}", "\u{feff}", "{}", "\u{1F980}"])
            .prop_map(String::from),
    ]
}

/// The key that something was said under, if it was under one.
pub(super) fn key() -> impl Strategy<Value = Option<String>> {
    prop::option::of(text())
}

/// Any number, with those at the edges.
pub(super) fn number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), select(vec![0, 1, (1 << 53) + 1, u64::MAX])]
}

/// Places in a list.
pub(super) fn places() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(any::<u32>(), 0..3)
}

pub(super) fn result_form() -> impl Strategy<Value = ResultForm> {
    let form = (number(), number(), any::<bool>());
    form.prop_map(|(max_bytes, at_once, readable)| ResultForm { max_bytes, at_once, readable })
}

pub(super) fn edit() -> impl Strategy<Value = Edit> {
    (text(), prop::option::of(text()), places(), places(), any::<bool>(), sha256()).prop_map(
        |(text, fault, rules, possible_rules, outside_sandbox, sha256)| Edit {
            text: text.into(),
            fault,
            rules,
            possible_rules,
            outside_sandbox,
            sha256,
        },
    )
}

pub(super) fn asked() -> impl Strategy<Value = Option<Box<RequestRecord>>> {
    let what = select(vec![
        LoweredPart::Reasoning,
        LoweredPart::Image,
        LoweredPart::Refusal,
        LoweredPart::CallId,
        LoweredPart::Arguments,
    ]);
    let how = select(vec![LoweringAction::Dropped, LoweringAction::Downgraded]);
    let why = select(vec![
        LoweringReason::Foreign,
        LoweringReason::Unsupported,
        LoweringReason::Invalid,
        LoweringReason::Missing,
    ]);
    let lowered = (what, how, why, 1..9_u32).prop_map(|(what, how, why, count)| LoweringRecord {
        part: what,
        action: how,
        reason: why,
        count,
    });
    let sent = select(vec![RequestRoute::Http, RequestRoute::Socket, RequestRoute::SocketDelta]);
    let whole = (
        (text(), text(), text()),
        sent,
        prop::option::of(text()),
        (number(), number()),
        prop::collection::vec(lowered, 0..3),
    );
    let asked = whole.prop_map(|(names, sent, instead, (bytes, kept_bytes), lowered)| {
        let (provider, model, endpoint) = names;
        Box::new(RequestRecord {
            provider,
            reported_model: instead.clone(),
            model,
            endpoint,
            route: sent,
            fallback_reason: instead,
            bytes,
            shared_prefix_bytes: kept_bytes,
            lowered,
        })
    });
    prop::option::of(asked)
}
