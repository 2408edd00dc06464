//! Compaction, case by case.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::apply::{SHORT_BYTES, apply, clear_observation};
use super::kit::{SUMMARY_TEXT, TestConversation, follows_grammar, settings, steps};
use super::survey::Survey;
use super::{LIST_BYTES, plan_compaction};
use crate::call::{Observation, ObservationStatus, StoredOutput};
use crate::compaction::CompactionStrategy::{Clear, Slide, Summary};
use crate::compaction::CutPoint;
use crate::fact::ContextLifetime;
use crate::history::ConversationUnitKind;
use crate::render::PromptItem;

fn outputs(talk: &TestConversation) -> Vec<usize> {
    let results = talk.history.items().iter().filter_map(|item| match item {
        PromptItem::Result { observation, .. } => Some(observation.output.len()),
        PromptItem::User { .. }
        | PromptItem::Image { .. }
        | PromptItem::Context { .. }
        | PromptItem::Text { .. }
        | PromptItem::Refusal { .. }
        | PromptItem::Reasoning { .. }
        | PromptItem::Call { .. }
        | PromptItem::CallReport { .. } => None,
    });
    results.collect()
}

#[test]
fn what_fits_stays_as_it_is() {
    let talk = steps(3);
    for strategy in [Clear, Slide, Summary] {
        let sketch = talk.plan(strategy, talk.visible().bytes);
        assert_eq!((sketch.cut_point.clear_before, sketch.cut_point.drop_before), (0, 0));
        assert_eq!((&sketch.cut_point.summary, &sketch.summary_prompt), (&None, &None));
        let done = sketch.finish(&talk.history, talk.turn, Some(String::from("unasked")));
        assert_eq!((done.visible, done.fallback), (talk.visible(), None));
    }
}

#[test]
fn the_oldest_results_are_cleared_and_no_more_than_must_be() {
    let mut talk = steps(10);
    let (before, kinds) = (talk.visible(), talk.kinds());
    let done = talk.compact(Clear, before.bytes - 2_000, None);
    let short: Vec<bool> = outputs(&talk).iter().map(|len| *len < 1_000).collect();
    let expected: Vec<bool> = (0..10).map(|step| step < 3).collect();
    assert_eq!(short, expected);
    assert_eq!((done.cut.drop_before, done.cut.summary), (0, None));
    assert_eq!((talk.kinds(), talk.visible().items), (kinds, before.items));
    assert!(talk.visible().bytes <= before.bytes - 2_000);
}

#[test]
fn the_results_of_the_latest_two_answers_outlast_older_parts() {
    let mut talk = steps(10);
    let done = talk.compact(Clear, 2_800, None);
    assert!(done.cut.drop_before > 0 && talk.visible().bytes <= 2_800, "{:?}", talk.lines());
    let outputs = outputs(&talk);
    let whole = outputs.iter().filter(|len| **len == 1_000).count();
    assert_eq!(whole, 2, "{outputs:?}");
    assert!(outputs.len() > 2 && outputs.len() < 10, "{outputs:?}");
}

#[test]
fn the_results_of_the_latest_answer_are_cleared_before_the_turn_is_given_up() {
    for strategy in [Clear, Slide, Summary] {
        let mut talk = steps(4);
        let output = "y".repeat(5_000);
        talk.answer("all at once", "read", &[&output, &output, "short"]);
        let sketch = talk.plan(strategy, 7_000);
        let done = sketch.finish(&talk.history, talk.turn, None);
        talk.record(&done);
        assert!(talk.visible().bytes <= 7_000, "{strategy:?} {:?}", talk.lines());
        let last = outputs(&talk).split_off(outputs(&talk).len() - 3);
        assert!(last[0] < SHORT_BYTES, "the first is enough: {last:?}");
        assert_eq!(last[1..], [5_000, 5]);
    }
}

#[test]
fn the_oldest_parts_leave_and_no_more_than_must() {
    let mut talk = steps(10);
    let (lines, before) = (talk.lines(), talk.visible().bytes);
    let done = talk.compact(Slide, before - 2_950, None);
    let after = talk.lines();
    assert_eq!(after[..2], lines[..2], "the request and the lasting context");
    assert!(after[2].starts_with("context: <context from=\"summary of what"));
    assert_eq!(done.cut.drop_before, 2 + 3 * 4);
    assert_eq!(after[3..], lines[14..]);
    let text = done.cut.summary.unwrap();
    assert_eq!(&*text, "Left out here to make room: 3 answers of 1 turn.\nTools called: read (3).");
    assert_eq!(done.fallback, None);
}

#[test]
fn at_the_start_of_a_turn_the_last_answer_of_the_turn_before_stays() {
    let mut talk = steps(3);
    talk.answer("done", "none", &[]);
    talk.turn();
    talk.compact(Slide, 500, None);
    let lines = talk.lines();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].starts_with("context: <context from=\"AGENTS.md"));
    assert!(lines[1].starts_with("context: <context from=\"summary"));
    assert_eq!(lines[3], "text: done");
}

#[test]
fn lasting_context_stays_until_a_later_one_of_its_name() {
    let mut talk = TestConversation::new();
    let cases = [
        ("rules", "one", ContextLifetime::Session),
        ("rules", "two", ContextLifetime::Session),
        ("rules", "passing", ContextLifetime::Turn),
        ("other", "three", ContextLifetime::Session),
    ];
    for (from, text, lasting) in cases {
        talk.input("old", Some((from, text, lasting)));
        talk.answer(&"x".repeat(500), "none", &[]);
        talk.turn();
    }
    talk.input("new", Some(("editor", "open", ContextLifetime::Turn)));
    talk.answer("end", "none", &[]);
    talk.compact(Slide, 600, None);
    let lines = talk.lines().join("\n");
    for stays in ["\ntwo", "\nthree", "\nopen", "user: new", "text: end"] {
        assert!(lines.contains(stays), "{stays}: {lines}");
    }
    for leaves in ["\none", "\npassing", "user: old", "xxx"] {
        assert!(!lines.contains(leaves), "{leaves}: {lines}");
    }
}

#[test]
fn what_a_hook_says_for_the_session_stays_and_so_does_the_goal_of_the_turn() {
    let mut talk = TestConversation::new();
    talk.goal("an old goal");
    talk.hook("for ever", ContextLifetime::Session);
    talk.hook("for now", ContextLifetime::Turn);
    talk.answer(&"x".repeat(1_000), "none", &[]);
    talk.turn();
    talk.goal("a new goal");
    talk.hook("and this", ContextLifetime::Turn);
    talk.hook("for ever too", ContextLifetime::Session);
    talk.answer("end", "none", &[]);
    let done = talk.compact(Slide, 900, None);
    let lines = talk.lines().join("\n");
    for stays in ["for ever\n", "a new goal", "and this", "for ever too"] {
        assert!(lines.contains(stays), "{stays}: {lines}");
    }
    assert!(!lines.contains("for now") && !lines.contains("xx"), "{lines}");
    let list = done.cut.summary.unwrap();
    assert!(list.contains("- \"an old goal\""), "{list}");
}

#[test]
fn results_that_are_cleared_already_count_once() {
    let talk = steps(6);
    let survey = Survey::of(&talk.history, Some(talk.turn));
    let cut = CutPoint { clear_before: 14, drop_before: 0, summary: None };
    let further = survey.clear_before(&cut, usize::MAX, survey.bytes(&cut) - 1);
    assert_eq!(further, 2 + 4 * 4, "the next result");
    assert_eq!(survey.clear_before(&cut, 14, 0), 14);
}

#[test]
fn three_hundred_steps_stay_within_the_target_with_the_request_in_every_request() {
    for strategy in [Clear, Slide, Summary] {
        let mut talk = steps(0);
        for step in 0..300 {
            talk.answer(&format!("step {step}"), "read", &[&"x".repeat(700)]);
            if talk.visible().bytes > 9_000 {
                talk.compact(strategy, 6_000, Some(SUMMARY_TEXT));
                assert!(talk.visible().bytes <= 6_000, "{strategy:?} {step}");
            }
            let request = PromptItem::User { text: "do it all".into() };
            assert!(talk.history.items().iter().any(|item| *item == request));
        }
    }
}

#[test]
fn nothing_leaves_where_its_list_would_be_as_large() {
    for strategy in [Clear, Slide, Summary] {
        let mut talk = TestConversation::new();
        talk.text_input("a");
        talk.answer("b", "none", &[]);
        talk.turn();
        talk.text_input(&"c".repeat(5_000));
        talk.answer("d", "none", &[]);
        let before = talk.visible();
        assert_eq!(talk.compact(strategy, 10, None).visible, before);
        assert_eq!(talk.compact(strategy, 0, None).visible, before);
    }
}

#[test]
fn clearing_keeps_what_became_of_the_call() {
    let statuses = [
        (ObservationStatus::Done, "only reads may run again"),
        (ObservationStatus::Failed, "only reads may run again"),
        (ObservationStatus::Denied, "denied"),
        (ObservationStatus::Aborted, "stopped"),
        (ObservationStatus::Unknown, "Nobody knows"),
        (ObservationStatus::NotStarted, "never started"),
    ];
    for (status, says) in statuses {
        let kept = StoredOutput { sha256: "0".repeat(64), bytes: 9_000 };
        let long = Observation {
            exit_code: None,
            status,
            output: "x".repeat(SHORT_BYTES + 1),
            output_bytes: 9_000,
            omitted_bytes: 8_800,
            stored_output: Some(kept.clone()),
        };
        let short = clear_observation(&long).unwrap();
        assert_eq!((short.status, short.stored_output.clone()), (status, Some(kept)));
        assert_eq!((short.output_bytes, short.omitted_bytes), (9_000, 9_000));
        assert!(short.output.contains("257 bytes") && short.output.contains(says));
        assert_eq!(clear_observation(&short), None, "twice is once");
    }
    assert_eq!(
        clear_observation(&Observation::new(ObservationStatus::Done, "x".repeat(SHORT_BYTES))),
        None
    );
}

#[test]
fn a_cut_that_would_split_a_part_leaves_it_whole() {
    let talk = steps(5);
    let items = talk.history.items();
    for left in 0..=items.len() as u64 + 3 {
        for summary in [None, Some(Arc::from("short"))] {
            let cut = CutPoint { clear_before: left, drop_before: left, summary };
            let (kept, units) = apply(items, talk.history.units(), None, &cut);
            assert!(follows_grammar(kept.iter()), "{left}");
            let steps =
                units.iter().filter(|unit| unit.kind == ConversationUnitKind::Sample).count();
            let gone = (left.saturating_sub(2) / 4).min(5) as usize;
            assert_eq!(steps, 5 - gone, "{left}");
        }
    }
}

#[test]
fn an_empty_conversation_and_absurd_targets_are_no_trouble() {
    let empty = TestConversation::new();
    for strategy in [Clear, Slide, Summary] {
        for target in [0, 1, u64::MAX] {
            let done = empty.plan(strategy, target).finish(&empty.history, empty.turn, None);
            assert_eq!(done.visible, empty.visible());
            let sketch = plan_compaction(
                &steps(3).history,
                &Arc::new(settings()),
                empty.turn,
                strategy,
                target,
            );
            let list = sketch.cut_point.summary.unwrap_or_default();
            assert!(list.len() as u64 <= LIST_BYTES);
        }
    }
}
