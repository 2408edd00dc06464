//! Compaction, case by case.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::apply::apply;
use super::kit::{SUMMARY_TEXT, TestConversation, follows_grammar, settings, steps};
use super::results::{SHORT_BYTES, shorten};
use super::survey::Survey;
use super::{LIST_BYTES, plan_compaction, unlimited_form};
use crate::call::{Observation, ObservationStatus, StoredOutput};
use crate::compaction::CompactionStrategy::{Clear, Slide, Summary};
use crate::compaction::{CutPoint, MIN_RESULT_BYTES, ResultForm};
use crate::fact::ContextLifetime;
use crate::history::ConversationUnitKind;
use crate::output::READ_OUTPUT_TOOL;
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
        | PromptItem::CallReport { .. }
        | PromptItem::ProgramReport { .. } => None,
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
fn results_that_were_seen_are_cleared_before_parts_leave() {
    let mut talk = steps(10);
    let done = talk.compact(Clear, 2_400, None);
    assert_eq!((done.cut.drop_before, done.cut.summary), (0, None));
    let outputs = outputs(&talk);
    assert!(talk.visible().bytes <= 2_400, "{outputs:?}");
    assert_eq!(outputs.iter().filter(|len| **len < 1_000).count(), 9, "{outputs:?}");
    assert_eq!(outputs[9], 1_000, "nobody has seen it");
}

#[test]
fn results_that_nobody_has_seen_share_the_room_that_all_else_leaves() {
    for strategy in [Clear, Slide, Summary] {
        let mut talk = steps(4);
        let output = "y".repeat(50_000);
        talk.answer("all at once", "read", &[&output, "short", &output, &output]);
        talk.compact(strategy, 7_000, None);
        let (visible, lines) = (talk.visible().bytes, talk.lines());
        // A model's summary has its room beside them.
        let least = if strategy == Summary { 5_000 } else { 6_500 };
        assert!(visible <= 7_000 && visible > least, "{strategy:?} {visible} {lines:?}");
        let last = outputs(&talk).split_off(outputs(&talk).len() - 4);
        assert_eq!(last[1], 5, "the short one is whole: {last:?}");
        for at in [0, 2, 3] {
            assert!(last[at] > 1_000 && last[at].abs_diff(last[0]) < 10, "{last:?}");
        }
        for item in talk.history.items().iter() {
            if let PromptItem::Result { observation, .. } = item
                && observation.output_bytes == 50_000
            {
                assert!(observation.output.starts_with("yy") && observation.output.ends_with("yy"));
                assert!(observation.output.contains("of 50000 bytes"), "{}", observation.output);
            }
        }
    }
}

#[test]
fn many_results_that_nobody_has_seen_are_never_cleared() {
    for strategy in [Clear, Slide, Summary] {
        let mut talk = steps(4);
        let output = "y".repeat(50_000);
        let many: Vec<&str> = (0..20).map(|_| output.as_str()).collect();
        talk.answer("all at once", "read", &many);
        talk.compact(strategy, 3_000, None);
        let last = outputs(&talk).split_off(outputs(&talk).len() - 20);
        let least = MIN_RESULT_BYTES as usize;
        assert!(last.iter().all(|len| *len <= least && *len > least - 10), "{last:?}");
    }
}

#[test]
fn results_that_nobody_has_seen_outlast_their_turn() {
    for strategy in [Clear, Slide, Summary] {
        let mut talk = steps(4);
        let output = "y".repeat(50_000);
        talk.answer("stopped here", "read", &[&output, &output]);
        talk.turn();
        talk.text_input("and now?");
        talk.compact(strategy, 4_000, None);
        let outputs = outputs(&talk);
        let last = &outputs[outputs.len() - 2..];
        assert!(last.iter().all(|len| *len > 900), "{strategy:?} {outputs:?}");
        // An answer that is too large without its results leaves once its turn is over.
        let mut talk = steps(0);
        talk.answer(&"x".repeat(50_000), "read", &[&output]);
        talk.turn();
        talk.text_input("and now?");
        talk.compact(strategy, 4_000, None);
        assert!(talk.visible().bytes <= 4_000, "{strategy:?}");
    }
}

#[test]
fn what_was_seen_may_be_cleared_afterwards() {
    let mut talk = steps(0);
    let output = "y".repeat(50_000);
    talk.answer("all at once", "read", &[&output, &output]);
    talk.compact(Clear, 8_000, None);
    assert!(outputs(&talk).iter().all(|len| *len > 3_000));
    talk.answer("and more", "read", &[&output]);
    talk.compact(Clear, 8_000, None);
    let outputs = outputs(&talk);
    assert!(outputs[0] < SHORT_BYTES && outputs[1] < SHORT_BYTES, "{outputs:?}");
    assert!(outputs[2] > 7_000, "the room goes to what nobody has seen: {outputs:?}");
}

#[test]
fn the_oldest_parts_leave_and_no_more_than_must() {
    let mut talk = steps(10);
    let (lines, before) = (talk.lines(), talk.visible().bytes);
    let done = talk.compact(Slide, before - 2_050, None);
    let after = talk.lines();
    assert_eq!(after[..2], lines[..2], "the request and the lasting context");
    assert!(after[2].starts_with("context: <context from=\"summary of what"));
    assert_eq!(done.cut.drop_before, 2 + 3 * 4);
    assert_eq!(after[3..], lines[14..]);
    let text = done.cut.summary.unwrap();
    assert_eq!(
        &*text,
        "Left out here to make room: 3 answers of 1 turn.\nTools called: read (3).\n\
         The assistant said, shortened, the latest last:\n- \"step 0\"\n- \"step 1\"\n- \"step 2\""
    );
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
fn an_answer_with_a_lasting_result_stays_until_a_later_one_of_its_name() {
    let mut talk = TestConversation::new();
    let skills = [("one", 300), ("two", 300), ("one", 400), ("long", 40_000), ("other", 200)];
    for (number, (name, bytes)) in skills.into_iter().enumerate() {
        talk.text_input("old");
        let output = format!("skill {number} {}", "s".repeat(bytes));
        talk.lasting(&format!("skill {name}"), &output);
        talk.answer(&"x".repeat(500), "none", &[]);
        talk.turn();
    }
    talk.text_input("new");
    talk.answer("end", "none", &[]);
    for _ in 0..2 {
        let done = talk.compact(Slide, 1_700, None);
        let lines = talk.lines().join("\n");
        for stays in [1, 2, 4] {
            assert!(lines.contains(&format!("skill {stays} sss")), "{stays}: {lines}");
        }
        for leaves in ["skill 0", "skill 3", "user: old", "xxx", "were cleared"] {
            assert!(!lines.contains(leaves), "{leaves}: {lines}");
        }
        assert!(done.visible.bytes < 3_000, "{done:?}");
        assert!(follows_grammar(talk.history.items().iter()));
        talk.answer(&"x".repeat(2_000), "none", &[]);
        talk.turn();
        talk.text_input("newer");
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
    let form = unlimited_form(&settings());
    let survey = Survey::of(&talk.history, Some(talk.turn), form);
    let cut = CutPoint { clear_before: 14, results: Some(form), ..CutPoint::default() };
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

fn long_observation(status: ObservationStatus) -> Observation {
    Observation {
        status,
        output: "x".repeat(SHORT_BYTES + 1),
        output_bytes: 9_000,
        omitted_bytes: 8_800,
        stored_output: Some(StoredOutput { sha256: "0".repeat(64), bytes: 9_000 }),
        exit_code: None,
        confinement: None,
        images: Vec::new(),
        changes: Vec::new(),
        offers: Vec::new(),
        lasting: None,
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
    let form = unlimited_form(&settings());
    for (status, says) in statuses {
        let long = long_observation(status);
        // Without a form, as in older logs, the text names the bytes that were shown.
        for (results, bytes) in [(None, "257 bytes"), (Some(form), "9000 bytes")] {
            let cut = CutPoint { clear_before: 5, results, ..CutPoint::default() };
            let short = shorten(&long, "c1", 4, &cut).unwrap();
            assert_eq!((short.status, &short.stored_output), (status, &long.stored_output));
            assert_eq!((short.output_bytes, short.omitted_bytes), (9_000, 9_000));
            assert!(short.output.contains(bytes) && short.output.contains(says), "{short:?}");
            assert_eq!(shorten(&short, "c1", 4, &cut), None, "twice is once");
            assert_eq!(shorten(&long, "c1", 5, &cut), None, "it stays");
            let short = Observation::new(status, "x".repeat(SHORT_BYTES));
            assert_eq!(shorten(&short, "c1", 4, &cut), None);
        }
    }
}

#[test]
fn a_cleared_result_says_how_to_read_it_and_how_much_at_once() {
    let form = ResultForm { max_bytes: 0, at_once: 7_500, readable: true };
    let cut = CutPoint { clear_before: 1, results: Some(form), ..CutPoint::default() };
    let long = Observation::new(ObservationStatus::Done, "x".repeat(9_000));
    let text = |cut: &CutPoint| shorten(&long, "c1", 0, cut).unwrap().output;
    assert_eq!(
        text(&cut),
        "[9000 bytes of output were cleared to make room. What it did stands. To read it again: \
         read_output {\"call\":\"c1\"}, at most 7500 bytes at once.]"
    );
    let form = ResultForm { readable: false, ..form };
    let text = text(&CutPoint { results: Some(form), ..cut });
    assert!(
        !text.contains(READ_OUTPUT_TOOL) && text.contains("at most 7500 bytes at once"),
        "{text}"
    );
}

#[test]
fn a_cut_that_would_split_a_part_leaves_it_whole() {
    let talk = steps(5);
    let items = talk.history.items();
    for left in 0..=items.len() as u64 + 3 {
        for summary in [None, Some(Arc::from("short"))] {
            let cut =
                CutPoint { clear_before: left, drop_before: left, summary, ..CutPoint::default() };
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
