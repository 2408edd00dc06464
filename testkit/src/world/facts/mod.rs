//! Facts of every kind: random ones, with any text and any number, for the codec; and one of each
//! with a text of the caller's, to fill logs with. Every kind is made in one place.

mod around;
mod calling;
mod parts;
mod sampling;

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use windlass_core::{
    Ancestor, CallId, CallItem, CallRules, ContextPart, Delivery, Draft, Fact, FilesRestored,
    Image, ImageMedia, InputAccepted, InputId, InputQueued, InterruptRequested, LimitKind, Lineage,
    Mode, Opaque, PermissionsNarrowed, RecordedFact, Seq, SessionOpened, SessionRenamed,
    SessionRewound, SettingsChanged, StopTiming, Timestamp, ToolEffect, ToolSpec, TurnId,
    TurnOpened, TurnOutcome, TurnSettled, TurnUsage,
};

pub(crate) use around::{compaction_with, goal_with, hook_with};
pub(crate) use calling::call_with;
pub(crate) use sampling::sample_with;

use super::random::{FAILURES, limits};
use parts::{
    because, interrupter, key, number, opaque, places, scope, session, settings, sha256, text,
    usage,
};

/// A fact of any kind, anywhere in a log.
pub fn recorded() -> impl Strategy<Value = RecordedFact> {
    let place = (session(), number(), prop::option::of(number()), number());
    (place, fact()).prop_map(|((session, seq, turn, ts), fact)| {
        let draft = Draft { turn: turn.map(TurnId), ts: Timestamp(ts), cause: None, fact };
        draft.number(&session, Seq(seq))
    })
}

fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        session_opened().boxed(),
        (scope(), settings(), key()).prop_map(|(by, settings, key)| {
            Fact::SettingsChanged(SettingsChanged {
                by: Arc::new(by),
                settings: Arc::new(settings),
                key,
            })
        }),
        narrowed().boxed(),
        session_renamed().boxed(),
        session_rewound().boxed(),
        files_restored().boxed(),
        input_queued().boxed(),
        around::fact().boxed(),
        calling::fact().boxed(),
        turn_opened().boxed(),
        (number(), prop::option::of(call_item())).prop_map(|(input, call)| {
            Fact::InputAccepted(InputAccepted { input: InputId(input), call: call.map(Arc::new) })
        }),
        sampling::fact().boxed(),
        interrupt_requested().boxed(),
        turn_settled().boxed(),
    ]
}

/// The settings of a session as a ceiling, with all of their parts.
fn narrowed() -> impl Strategy<Value = Fact> {
    settings().prop_map(|settings| {
        let effect = |tool: &ToolSpec| ToolEffect { tool: tool.name.clone(), effect: tool.effect };
        Fact::PermissionsNarrowed(PermissionsNarrowed {
            mode: Some(settings.mode),
            permissions: Some(settings.permissions),
            rules: settings.rules.clone(),
            withdrawn: settings.rules.clone(),
            hooks: settings.hooks.clone(),
            effects: settings.tools.iter().map(effect).collect(),
            again: settings.mode == Mode::Build,
            hold: settings.mode == Mode::Plan,
            matched: vec![CallRules { call: CallId(1), rules: vec![0], possible_rules: vec![1] }],
        })
    })
}

fn session_renamed() -> impl Strategy<Value = Fact> {
    (scope(), prop::option::of(text()), key()).prop_map(|(by, title, key)| {
        let (by, title) = (Arc::new(by), title.map(Arc::from));
        Fact::SessionRenamed(SessionRenamed { by, title, key })
    })
}

fn session_rewound() -> impl Strategy<Value = Fact> {
    let whole = (scope(), number(), around::visible(), prop::option::of(text()), key());
    whole.prop_map(|(by, to, visible, notice, key)| {
        Fact::SessionRewound(SessionRewound {
            by: Arc::new(by),
            to: Seq(to),
            visible,
            notice: notice.map(Arc::from),
            key,
        })
    })
}

fn files_restored() -> impl Strategy<Value = Fact> {
    let paths = prop::collection::vec(text(), 0..3);
    let whole = (scope(), number(), paths, 0..3_u32, text(), key());
    whole.prop_map(|(by, of, paths, more, notice, key)| {
        let (by, of, notice) = (Arc::new(by), TurnId(of), notice.into());
        Fact::FilesRestored(FilesRestored { by, of, paths, more, notice, key })
    })
}

fn session_opened() -> impl Strategy<Value = Fact> {
    let lineage = prop_oneof![
        Just(Lineage::Root),
        (session(), number(), prop::collection::vec(ancestor(), 0..3))
            .prop_map(|(of, at, ancestors)| Lineage::Fork { of, at: Seq(at), ancestors }),
        (session(), number()).prop_map(|(of, call)| Lineage::Child { of, call: CallId(call) }),
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
        (session(), number()).prop_map(|(of, call)| Ancestor::Child { of, call: CallId(call) }),
    ]
}

fn image() -> impl Strategy<Value = Image> {
    let media = select(vec![ImageMedia::Png, ImageMedia::Jpeg, ImageMedia::Gif, ImageMedia::Webp]);
    (media, text(), any::<u64>()).prop_map(|(media, sha256, bytes)| Image { media, sha256, bytes })
}

fn input_queued() -> impl Strategy<Value = Fact> {
    let delivery = select(vec![Delivery::Turn, Delivery::Steer, Delivery::FollowUp]);
    let part = (text(), text()).prop_map(|(from, text)| ContextPart { from, text: text.into() });
    let context = prop::collection::vec(part, 0..3);
    let keys = (key(), key(), prop::option::of(number().prop_map(CallId)));
    let images = prop::collection::vec(image(), 0..3);
    let said = (text(), context, images);
    let whole = (scope(), said, delivery, keys, any::<bool>(), prop::option::of(call_item()));
    whole.prop_map(|(scope, said, delivery, (key, keyed, result_of), dry_run, command)| {
        let (text, context, images) = said;
        Fact::InputQueued(InputQueued {
            scope: Arc::new(scope),
            text: text.into(),
            delivery,
            context,
            images,
            key,
            dry_run,
            command_key: keyed,
            result_of,
            command: command.map(Arc::new),
        })
    })
}

fn interrupt_requested() -> impl Strategy<Value = Fact> {
    let when = select(vec![StopTiming::Now, StopTiming::AfterStep]);
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
            reason: because,
            scope: Arc::new(scope),
            settings: Seq(settings),
            limits,
            dry_run,
            key,
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
        LimitKind::Cost,
        LimitKind::Continuations,
        LimitKind::Compactions,
        LimitKind::Context,
        LimitKind::SessionBytes,
    ]);
    let outcome = prop_oneof![
        Just(TurnOutcome::Completed),
        Just(TurnOutcome::NoAnswer),
        Just(TurnOutcome::Refused),
        text().prop_map(|fault| TurnOutcome::InvalidOutput { fault }),
        (interrupter(), text()).prop_map(|(by, reason)| TurnOutcome::Interrupted { by, reason }),
        text().prop_map(|reason| TurnOutcome::Blocked { reason }),
        limit.prop_map(|limit| TurnOutcome::Exhausted { limit }),
        (select(&FAILURES[..]), text())
            .prop_map(|(failure, message)| TurnOutcome::Failed { failure, message }),
    ];
    let counts = (any::<[u32; 6]>(), number(), number(), usage(), calling::took());
    let spent = counts.prop_map(|(counts, cost_micros, estimated_tokens, usage, agents)| {
        let [samples, attempts, calls, continuations, compactions, returns] = counts;
        TurnUsage {
            samples,
            attempts,
            calls,
            usage,
            estimated_tokens,
            cost_micros,
            continuations,
            compactions,
            re_asks: returns,
            agents,
        }
    });
    let waiting = prop::collection::vec(number().prop_map(InputId), 0..3);
    let detached = prop::collection::vec(number().prop_map(CallId), 0..3);
    let notice = prop::option::of(text().prop_map(Arc::from));
    let whole = (outcome, spent, waiting, detached, notice);
    whole.prop_map(|(outcome, spent, waiting, detached, notice)| {
        Fact::TurnSettled(TurnSettled { outcome, spent, waiting, detached, notice })
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
        (places(), places(), sha256(), any::<bool>()),
        opaques(),
        any::<bool>(),
    );
    call.prop_map(
        |(
            provider_id,
            name,
            arguments,
            fault,
            (rules, possible_rules, sha256, outside_sandbox),
            opaque,
            spoken,
        )| {
            CallItem {
                provider_id,
                name,
                arguments,
                fault,
                rules,
                possible_rules,
                outside_sandbox,
                sha256,
                opaque,
                inline: spoken,
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    use super::*;

    #[test]
    fn random_facts_have_every_kind() {
        let mut runner = TestRunner::deterministic();
        let facts = recorded();
        let kinds = (0..4_000).map(|_| facts.new_tree(&mut runner).unwrap().current());
        let kinds: BTreeSet<_> = kinds.map(|recorded| recorded.fact.kind()).collect();
        assert_eq!(kinds, Fact::KINDS.iter().copied().collect());
    }
}
