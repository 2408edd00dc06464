//! Facts about the parts around a turn's samples: hooks, context, compactions, the goal.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use windlass_core::{
    CallId, Compacted, CompactionFailed, CompactionRequested, CompactionStarted,
    CompactionStrategy as How, CompactionTrigger, ContextInjected, ContextLifetime, ContextSource,
    CutPoint, Digest, Fact, Goal, GoalEnd, GoalEnded, GoalSet, HookDecided, HookOccurrence,
    HookPoint, HookVerdict, HooksAsked, InputBlocked, InputEdited, InputId, InputMoved,
    InputWithdrawn, Reservation, Seq, SessionResumed, SessionStart, Usage, VisiblePart,
};

use serde_json::json;

use super::parts::{digest, edit, key, number, places, result_form, scope, text, usage};
use crate::world::fixed;

/// A fact about the parts around the samples.
pub(super) fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        Just(Fact::SessionResumed(SessionResumed {})),
        goal_set(),
        goal_ended(),
        hooks_asked().boxed(),
        hook_decided().boxed(),
        (number(), text()).prop_map(|(input, reason)| Fact::InputBlocked(InputBlocked {
            input: InputId(input),
            reason,
        })),
        queued().boxed(),
        context_injected().boxed(),
        compaction_requested().boxed(),
        compaction_started().boxed(),
        compacted().boxed(),
        (number(), text(), super::sampling::reserved()).prop_map(|(started, reason, lost)| {
            let started = Seq(started);
            Fact::CompactionFailed(CompactionFailed { started, reason, lost })
        }),
    ]
}

/// A user changes what waits.
fn queued() -> impl Strategy<Value = Fact> {
    let whole = (scope(), number(), text(), prop::option::of(number()), key());
    (whole, 0..3_u8).prop_map(|((by, input, text, before, key), which)| {
        let (by, input, before) = (Arc::new(by), InputId(input), before.map(InputId));
        match which {
            0 => Fact::InputEdited(InputEdited { by, input, text: text.into(), key }),
            1 => Fact::InputMoved(InputMoved { by, input, before, key }),
            _ => Fact::InputWithdrawn(InputWithdrawn { by, input, key }),
        }
    })
}

fn goal_set() -> impl Strategy<Value = Fact> {
    let goal = (text(), any::<u32>()).prop_map(|(text, turns)| {
        let text = text.into();
        Arc::new(Goal { text, turns })
    });
    (scope(), prop::option::of(goal), key()).prop_map(|(by, goal, key)| {
        let by = Arc::new(by);
        Fact::GoalSet(GoalSet { by, goal, key })
    })
}

fn goal_ended() -> impl Strategy<Value = Fact> {
    let end = prop_oneof![
        number().prop_map(|call| GoalEnd::Met { call: CallId(call) }),
        Just(GoalEnd::Exhausted),
        text().prop_map(|reason| GoalEnd::Stopped { reason }),
    ];
    end.prop_map(|end| Fact::GoalEnded(GoalEnded { end }))
}

fn hooks_asked() -> impl Strategy<Value = Fact> {
    (place(), places(), any::<u32>(), any::<bool>()).prop_map(|(at, hooks, attempt, all)| {
        Fact::HooksAsked(HooksAsked { at, hooks, attempt, all })
    })
}

/// An occurrence of any hook point, read from an object that holds the fields of all of them.
fn place() -> impl Strategy<Value = HookOccurrence> {
    let start = select(vec![SessionStart::Startup, SessionStart::Resume]);
    let numbers = (any::<[u32; 3]>(), any::<[u64; 4]>());
    let whole = (select(HookPoint::ALL), start, trigger(), numbers);
    whole.prop_map(|(point, start, trigger, (counts, places))| {
        let [sample, compaction, continued] = counts;
        let [input, started, call, compacted] = places;
        let all = json!({
            "point": point, "start": start, "trigger": trigger, "sample": sample,
            "compaction": compaction, "continued": continued, "input": input,
            "started": started, "call": call, "compacted": compacted,
        });
        serde_json::from_value(all).unwrap_or(HookOccurrence::Interrupt)
    })
}

fn hook_decided() -> impl Strategy<Value = Fact> {
    let verdict = select(vec![
        HookVerdict::Pass,
        HookVerdict::Allow,
        HookVerdict::Ask,
        HookVerdict::Deny,
        HookVerdict::Halt,
        HookVerdict::Failed,
        HookVerdict::Overrun,
    ]);
    let which = (number(), any::<u32>(), text());
    let said = (verdict, text(), digest());
    let gave = (prop::option::of(edit()), prop::option::of(text()));
    (which, said, gave).prop_map(
        |((asked, hook, name), (verdict, reason, about), (edit, context))| {
            Fact::HookDecided(HookDecided {
                asked: Seq(asked),
                hook,
                name,
                verdict,
                reason,
                subject: about,
                edit,
                context: context.map(Into::into),
            })
        },
    )
}

fn context_injected() -> impl Strategy<Value = Fact> {
    let from = prop_oneof![
        text().prop_map(|text| ContextSource::Workspace { text: text.into() }),
        text().prop_map(|text| ContextSource::Permissions { text: text.into() }),
        text().prop_map(|text| ContextSource::Goal { text: text.into() }),
        text().prop_map(|text| ContextSource::LastSample { text: text.into() }),
        (number(), text()).prop_map(|(started, text)| ContextSource::InvalidOutput {
            started: Seq(started),
            text: text.into(),
        }),
        (number(), text()).prop_map(|(started, text)| ContextSource::EmptyAnswer {
            started: Seq(started),
            text: text.into(),
        }),
        (number(), any::<u32>())
            .prop_map(|(input, part)| ContextSource::Presenter { input: InputId(input), part }),
        number().prop_map(|decided| ContextSource::Hook { decided: Seq(decided) }),
    ];
    (from, select(vec![ContextLifetime::Session, ContextLifetime::Turn])).prop_map(
        |(from, lasting)| Fact::ContextInjected(ContextInjected { from, lifetime: lasting }),
    )
}

fn trigger() -> impl Strategy<Value = CompactionTrigger> {
    select(vec![CompactionTrigger::Window, CompactionTrigger::Overflow, CompactionTrigger::Manual])
}

fn compaction_requested() -> impl Strategy<Value = Fact> {
    let focus = prop::option::of(text());
    (scope(), focus, prop::option::of(text())).prop_map(|(by, focus, key)| {
        let focus = focus.map(Into::into);
        Fact::CompactionRequested(CompactionRequested { by: by.into(), focus, key })
    })
}

fn compaction_started() -> impl Strategy<Value = Fact> {
    let how = select(vec![How::Clear, How::Slide, How::Summary]);
    let counts = (any::<u32>(), any::<u32>(), number());
    let reserved = (super::sampling::reserved(), super::sampling::reserved());
    let whole = (counts, trigger(), how, prop::option::of(text()), reserved);
    whole.prop_map(|(counts, trigger, strategy, model, (reserved, lost))| {
        let (compaction, attempt, target_bytes) = counts;
        Fact::CompactionStarted(CompactionStarted {
            compaction,
            attempt,
            trigger,
            strategy,
            target_bytes,
            model,
            reserved,
            lost,
        })
    })
}

pub(super) fn visible() -> impl Strategy<Value = VisiblePart> {
    let shown = (digest(), number(), number());
    shown.prop_map(|(digest, bytes, items)| VisiblePart { digest, bytes, items })
}

fn compacted() -> impl Strategy<Value = Fact> {
    let results = prop::option::of(result_form());
    let cut = (number(), number(), prop::option::of(text()), results, any::<bool>());
    let cut = cut.prop_map(|(cleared, left, summary, results, reports)| CutPoint {
        clear_before: cleared,
        drop_before: left,
        summary: summary.map(Into::into),
        results,
        reports,
    });
    let shown = visible();
    let unmeasured = prop::option::of(any::<u32>());
    let spent = (prop::option::of(usage()), unmeasured, prop::option::of(text()));
    (number(), cut, shown, spent).prop_map(
        |(started, cut, visible, (usage, unmeasured, fallback))| {
            let started = Seq(started);
            Fact::Compacted(Compacted { started, cut, visible, usage, unmeasured, fallback })
        },
    )
}

pub(crate) fn goal_with(text: &str) -> [Fact; 2] {
    let goal = Goal { text: text.into(), turns: u32::MAX };
    [
        Fact::GoalSet(GoalSet {
            by: fixed::principal(text).into(),
            goal: Some(goal.into()),
            key: Some(text.into()),
        }),
        Fact::GoalEnded(GoalEnded { end: GoalEnd::Stopped { reason: text.into() } }),
    ]
}

pub(crate) fn hook_with(text: &str) -> [Fact; 3] {
    [
        Fact::HooksAsked(HooksAsked {
            at: HookOccurrence::PromptSubmitted { input: InputId(3) },
            hooks: vec![0, u32::MAX],
            attempt: 1,
            all: true,
        }),
        Fact::HookDecided(HookDecided {
            asked: Seq(5),
            hook: 0,
            name: text.into(),
            verdict: HookVerdict::Deny,
            reason: text.into(),
            subject: Digest::EMPTY.part(text.as_bytes()),
            edit: Some(fixed::edit(text)),
            context: Some(text.into()),
        }),
        Fact::ContextInjected(ContextInjected {
            from: ContextSource::Workspace { text: text.into() },
            lifetime: ContextLifetime::Session,
        }),
    ]
}

pub(crate) fn compaction_with(text: &str) -> [Fact; 4] {
    let started = Seq(6);
    [
        Fact::CompactionRequested(CompactionRequested {
            by: fixed::principal(text).into(),
            focus: Some(text.into()),
            key: Some(text.into()),
        }),
        Fact::CompactionStarted(CompactionStarted {
            compaction: 1,
            attempt: 1,
            trigger: CompactionTrigger::Window,
            strategy: How::Summary,
            target_bytes: u64::MAX,
            model: Some(text.into()),
            reserved: Reservation { tokens: 1, cost_micros: u64::MAX },
            lost: Reservation::default(),
        }),
        Fact::Compacted(Compacted {
            started,
            cut: CutPoint {
                clear_before: 1,
                drop_before: u64::MAX,
                summary: Some(text.into()),
                results: Some(fixed::RESULT_FORM),
                reports: true,
            },
            visible: VisiblePart::EMPTY,
            usage: Some(Usage::default()),
            unmeasured: Some(u32::MAX),
            fallback: Some(text.into()),
        }),
        Fact::CompactionFailed(CompactionFailed {
            started,
            reason: text.into(),
            lost: Reservation::default(),
        }),
    ]
}
