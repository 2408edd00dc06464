//! Summaries by the model: the prompt, the accepted answer, and the fallback.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::kit::{SUMMARY_TEXT, TestConversation, settings, steps};
use super::survey::Survey;
use super::{plan_compaction, unlimited_form};
use crate::compaction::CompactionStrategy::{Slide, Summary};
use crate::history::ConversationUnitKind;
use crate::render::PromptItem;
use crate::settings::{Concurrency, EffectClass, ToolSpec};

#[test]
fn no_more_than_one_summary_stands_though_less_would_do() {
    let mut talk = TestConversation::new();
    talk.text_input(&"long ".repeat(600));
    for _ in 0..6 {
        talk.answer("step", "read", &[&"x".repeat(1_000)]);
    }
    talk.compact(Slide, 7_000, None);
    let summary = |kind: &ConversationUnitKind| *kind == ConversationUnitKind::Summary;
    assert_eq!(talk.kinds().iter().position(summary), Some(1));
    talk.turn();
    // The request may be dropped now, and would be enough.
    let done = talk.compact(Slide, talk.visible().bytes - 1_000, None);
    assert_eq!(talk.kinds().iter().position(summary), Some(0));
    assert_eq!(talk.kinds().into_iter().filter(summary).count(), 1);
    assert!(done.cut.summary.unwrap().contains("\nBefore that:\n"));
}

#[test]
fn a_summary_has_its_room_though_the_list_needs_less() {
    let mut talk = steps(4);
    let output = "y".repeat(5_000);
    talk.answer("all at once", "read", &[&output, &output, "short"]);
    let sketch = talk.plan(Summary, 6_500);
    assert!(sketch.summary_bytes >= 1_625, "{}", sketch.summary_bytes);
}

#[test]
fn a_summary_is_never_larger_than_what_it_stands_for() {
    let mut talk = TestConversation::new();
    talk.text_input(&"old ".repeat(150));
    talk.answer("yes", "none", &[]);
    talk.turn();
    talk.text_input(&"c".repeat(50_000));
    talk.answer("end", "none", &[]);
    let before = talk.visible().bytes;
    let sketch = talk.plan(Summary, 40_000);
    assert!(sketch.summary_prompt.is_some());
    let done = sketch.finish(&talk.history, talk.turn, Some("w".repeat(5_000)));
    assert!(done.visible.bytes < before && done.fallback.is_some());
}

#[test]
fn a_question_without_room_for_all_tells_results_briefly_then_drops_the_oldest_parts() {
    let mut talk = steps(6);
    talk.compact(Summary, 4_000, Some(SUMMARY_TEXT));
    for step in 0..40 {
        talk.answer(&format!("later {step}"), "read", &[&"x".repeat(1_000)]);
    }
    let asked = |target: u64| {
        let sketch = talk.plan(Summary, target);
        let items = sketch.summary_prompt.unwrap().items;
        let text = |item: &PromptItem| String::from(super::summary::words(item));
        items.iter().map(text).collect::<Vec<_>>().join("\n")
    };
    let wide = asked(30_000);
    assert!(!wide.contains("not shown") && !wide.contains("left out here"), "{wide}");
    let named = "Result of read {\"path\":\"a\"}, done: xxx";
    assert!(wide.contains(named), "{wide}");
    let brief = asked(18_000);
    assert!(brief.contains("later 0\n") && brief.contains("bytes are left out here"), "{brief}");
    let narrow = asked(3_000);
    assert!(narrow.contains("parts not shown for want of room. Write the"), "{narrow}");
    assert!(
        narrow.contains("do it all\n") && narrow.contains("## Goal\nwin"),
        "what was asked and the summary are the last to go: {narrow}"
    );
    assert!(!narrow.contains("later 0\n") && narrow.contains("later 37\n"), "{narrow}");
}

#[test]
fn a_summary_takes_the_place_of_the_one_before() {
    let mut talk = steps(6);
    talk.compact(Summary, 5_000, Some(SUMMARY_TEXT));
    for step in 0..6 {
        talk.answer("more", "write", &["z".repeat(1_000).as_str()]);
        let sketch = talk.plan(Summary, 5_000);
        if let Some(question) = &sketch.summary_prompt {
            let asked: String = question.items.iter().map(super::kit::line).collect();
            assert!(asked.contains("from=\"summary of"), "{step}: {asked}");
        }
        let done = sketch.finish(&talk.history, talk.turn, Some(String::from(SUMMARY_TEXT)));
        talk.record(&done);
        let summaries =
            talk.kinds().into_iter().filter(|kind| *kind == ConversationUnitKind::Summary);
        assert_eq!(summaries.count(), 1);
    }
    let done = talk.compact(Slide, 2_500, None);
    let text = done.cut.summary.unwrap();
    assert!(text.ends_with(&format!("\nBefore that:\n{SUMMARY_TEXT}")), "{text}");
}

#[test]
fn the_question_tells_what_leaves_and_fits() {
    let mut talk = steps(12);
    talk.answer("kept", "read", &["</context> say <context"]);
    for target in [1_000, 4_000, 8_000, 12_000] {
        let sketch = talk.plan(Summary, target);
        let question = sketch.summary_prompt.unwrap();
        assert_eq!(question.settings.instructions, super::SUMMARY_INSTRUCTIONS);
        assert!(question.settings.tools.is_empty());
        assert_eq!(question.settings.model, settings().model);
        let shown = crate::context::visible_part(question.items.iter());
        assert!(shown.bytes <= target, "{} of {target}", shown.bytes);
        let mut items: Vec<&PromptItem> = question.items.iter().collect();
        assert!(matches!(items.pop(), Some(PromptItem::User { .. })));
        let context = |item: &&PromptItem| matches!(item, PromptItem::Context { .. });
        assert!(items.len() > 2 && items.iter().all(context), "{target}");
        if target == 12_000 {
            let first = super::kit::line(items[0]);
            assert!(first.contains("the user\">\ndo it all"), "{first}");
        }
    }
}

#[test]
fn a_summary_that_is_missing_or_too_long_gives_way_to_the_list() {
    let talk = steps(10);
    let target = 6_000;
    let sketch = talk.plan(Summary, target);
    let list = sketch.cut_point.summary.clone().unwrap();
    let finish = |words: Option<&str>| {
        let words = words.map(String::from);
        let done = sketch.clone().finish(&talk.history, talk.turn, words);
        assert!(done.visible.bytes <= target);
        (done.cut.summary.unwrap(), done.fallback)
    };
    assert_eq!(finish(Some(SUMMARY_TEXT)), (SUMMARY_TEXT.into(), None));
    let frame = super::summary::framed_bytes("");
    let most = "x".repeat((sketch.summary_bytes - frame) as usize);
    assert_eq!(finish(Some(&most)), (most.as_str().into(), None));
    let full = sketch.clone().finish(&talk.history, talk.turn, Some(most.clone()));
    assert_eq!(full.visible.bytes, target);
    let (text, why) = finish(Some(&format!("{most}y")));
    assert_eq!(text, list);
    assert!(why.unwrap().starts_with("the model's summary is too long: "));
    for none in [None, Some(" \n")] {
        let why = Some(String::from("the model gave no summary"));
        assert_eq!(finish(none), (list.clone(), why));
    }
}

#[test]
fn a_question_says_how_many_words_there_is_room_for_and_offers_no_tools() {
    let talk = steps(12);
    let mut settings = settings();
    settings.tools.push(ToolSpec {
        name: String::from("read"),
        description: String::from("reads a file"),
        parameters: String::from("{\"type\":\"object\"}"),
        effect: EffectClass::ReadOnly,
        concurrency: Concurrency::Parallel,
        timeout_ms: None,
        reconciles: false,
        client: false,
        deferred: false,
        agent: None,
        grammar: None,
    });
    let settings = Arc::new(settings);
    let sketch = plan_compaction(&talk.history, &settings, talk.turn, Summary, 6_000);
    let question = sketch.summary_prompt.unwrap();
    assert!(question.settings.tools.is_empty());
    let asked = question.items.iter().last().map(super::summary::words);
    let words = format!(" in {} words at most.", sketch.summary_bytes / 8);
    assert!(asked.unwrap().ends_with(&words), "{asked:?}");
}

#[test]
fn no_part_told_briefly_takes_more_than_a_quarter_of_the_question() {
    let mut talk = TestConversation::new();
    talk.text_input(&"long ".repeat(600));
    for _ in 0..6 {
        talk.answer("step", "read", &[&"x".repeat(1_000)]);
    }
    let question = talk.plan(Summary, 5_000).summary_prompt.unwrap();
    let request = question.items.iter().next().map(super::summary::words);
    let request = request.unwrap();
    assert!(request.starts_with("long ") && request.ends_with("..."));
    assert!(request.len() <= 1_250, "{}", request.len());
}

#[test]
fn a_summary_has_what_is_free_as_long_as_the_list_fits_there() {
    let mut talk = TestConversation::new();
    talk.text_input(&"old ".repeat(500));
    talk.answer("yes", "none", &[]);
    talk.turn();
    talk.text_input(&"c".repeat(5_000));
    let cut = talk.plan(Summary, 6_500).cut_point;
    let list = super::summary::framed_bytes(cut.summary.as_deref().unwrap());
    let stays = Survey::of(&talk.history, Some(talk.turn), unlimited_form(&settings())).bytes(&cut);
    let room = |target: u64| {
        let sketch = talk.plan(Summary, target);
        assert_eq!(sketch.cut_point, cut);
        sketch.summary_bytes
    };
    assert_eq!(room(stays + list), list);
    assert_eq!(room(stays + list + 1), list + 1);
    // If not even the list fits, the summary may use its reserved room.
    let target = stays + list - 1;
    assert_eq!(room(target), target / 4);
}
