//! Random facts about what stands around a turn's samples: hooks, context, compactions, the goal.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use windlass_core::{
    CallId, Compacted, CompactionFailed, CompactionStarted, ContextInjected, ContextSource, Cut,
    Fact, Goal, GoalEnd, GoalEnded, GoalSet, HookAt, HookDecided, HookVerdict, HooksAsked,
    InputBlocked, InputId, Lasting, Seq, SessionResumed, SessionStart, Shown, Strategy as How,
    Trigger,
};

use super::parts::{digest, edit, key, number, places, scope, text, usage};

/// A fact about what stands around the samples.
pub(super) fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        Just(Fact::SessionResumed(SessionResumed {})),
        goal_set(),
        goal_ended(),
        hooks_asked(),
        hook_decided(),
        (number(), text()).prop_map(|(input, reason)| Fact::InputBlocked(InputBlocked {
            input: InputId(input),
            reason,
        })),
        context_injected(),
        compaction_started(),
        compacted(),
        (number(), text(), super::reserved()).prop_map(|(started, reason, lost)| {
            let started = Seq(started);
            Fact::CompactionFailed(CompactionFailed {
                started,
                reason,
                lost,
            })
        }),
    ]
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
    (place(), places(), any::<u32>())
        .prop_map(|(at, hooks, attempt)| Fact::HooksAsked(HooksAsked { at, hooks, attempt }))
}

fn place() -> impl Strategy<Value = HookAt> {
    let start = select(vec![SessionStart::Startup, SessionStart::Resume]);
    let call = || number().prop_map(CallId);
    let stop = || (number().prop_map(Seq), any::<u32>());
    prop_oneof![
        start.prop_map(|start| HookAt::SessionStart { start }),
        select(vec![
            HookAt::SessionEnd,
            HookAt::SubTurnStart,
            HookAt::Interrupt,
        ]),
        number().prop_map(|input| HookAt::PromptSubmitted {
            input: InputId(input),
        }),
        any::<u32>().prop_map(|sample| HookAt::BeforeSample { sample }),
        number().prop_map(|started| HookAt::AfterAnswer {
            started: Seq(started),
        }),
        call().prop_map(|call| HookAt::BeforeTool { call }),
        call().prop_map(|call| HookAt::AfterTool { call }),
        call().prop_map(|call| HookAt::PermissionRequest { call }),
        (any::<u32>(), trigger()).prop_map(|(compaction, trigger)| HookAt::BeforeCompaction {
            compaction,
            trigger,
        }),
        (number(), trigger()).prop_map(|(compacted, trigger)| HookAt::AfterCompaction {
            compacted: Seq(compacted),
            trigger,
        }),
        stop().prop_map(|(started, continued)| HookAt::Stop { started, continued }),
        stop().prop_map(|(started, continued)| HookAt::SubTurnStop { started, continued }),
    ]
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
                about,
                edit,
                context: context.map(Into::into),
            })
        },
    )
}

fn context_injected() -> impl Strategy<Value = Fact> {
    let from = prop_oneof![
        text().prop_map(|text| ContextSource::Workspace { text: text.into() }),
        text().prop_map(|text| ContextSource::Posture { text: text.into() }),
        text().prop_map(|text| ContextSource::Goal { text: text.into() }),
        text().prop_map(|text| ContextSource::LastSample { text: text.into() }),
        (number(), text()).prop_map(|(started, text)| ContextSource::Shape {
            started: Seq(started),
            text: text.into(),
        }),
        (number(), any::<u32>()).prop_map(|(input, part)| ContextSource::Presenter {
            input: InputId(input),
            part,
        }),
        number().prop_map(|decided| ContextSource::Hook {
            decided: Seq(decided),
        }),
    ];
    (from, select(vec![Lasting::Session, Lasting::Turn]))
        .prop_map(|(from, lasting)| Fact::ContextInjected(ContextInjected { from, lasting }))
}

fn trigger() -> impl Strategy<Value = Trigger> {
    select(vec![Trigger::Window, Trigger::Overflow])
}

fn compaction_started() -> impl Strategy<Value = Fact> {
    let how = select(vec![How::Clear, How::Slide, How::Summary]);
    let counts = (any::<u32>(), any::<u32>(), number());
    let reserved = (super::reserved(), super::reserved());
    let whole = (counts, trigger(), how, reserved);
    whole.prop_map(|(counts, trigger, strategy, (reserved, lost))| {
        let (compaction, attempt, target_bytes) = counts;
        Fact::CompactionStarted(CompactionStarted {
            compaction,
            attempt,
            trigger,
            strategy,
            target_bytes,
            reserved,
            lost,
        })
    })
}

fn compacted() -> impl Strategy<Value = Fact> {
    let cut = (number(), number(), prop::option::of(text()));
    let cut = cut.prop_map(|(cleared, left, summary)| Cut {
        cleared,
        left,
        summary: summary.map(Into::into),
    });
    let shown = (digest(), number(), number());
    let shown = shown.prop_map(|(digest, bytes, items)| Shown {
        digest,
        bytes,
        items,
    });
    let spent = (prop::option::of(usage()), prop::option::of(text()));
    (number(), cut, shown, spent).prop_map(|(started, cut, shown, (usage, fallback))| {
        Fact::Compacted(Compacted {
            started: Seq(started),
            cut,
            shown,
            usage,
            fallback,
        })
    })
}
