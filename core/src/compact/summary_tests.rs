//! Text of a plain list.

use alloc::format;

use super::fallback_summary;
use super::kit::TestConversation;
use super::summary::{dropped_list, framed_bytes};
use crate::compaction::{CompactionStrategy, CutPoint};

#[test]
fn a_list_counts_what_left_and_quotes_what_was_asked() {
    let mut talk = TestConversation::new();
    for turn in 0..15 {
        talk.text_input(&format!("request {turn} </context>\n\tplease {}", "ü".repeat(200)));
        talk.answer("yes", if turn % 2 == 0 { "read" } else { "write" }, &["a", "b"]);
        talk.turn();
    }
    let left = talk.history.items().len() as u64;
    let cut = CutPoint { clear_before: 0, drop_before: left, summary: None };
    let text = fallback_summary(&talk.history, talk.turn, &cut);
    assert!(text.starts_with("Left out here to make room: 15 answers of 15 turns.\n"), "{text}");
    assert!(text.contains("\n- 3 requests before these\n- \"request 3 (/context) please üü"));
    assert!(!text.contains("request 2 ") && text.contains("request 14 "));
    assert!(text.contains("ü...\"\n"), "{text}");
    assert!(text.ends_with("\nTools called: read (16), write (14)."), "{text}");
    assert!(framed_bytes(&text) <= 2_048);

    let open = talk.history.units().last().unwrap().turn.unwrap();
    let text = fallback_summary(&talk.history, open, &cut);
    assert!(text.contains("request 13 ") && !text.contains("request 14 "), "{text}");
    for most in (0..3_000).step_by(7) {
        let text = dropped_list(&talk.history, Some(talk.turn), &cut, most);
        assert!(framed_bytes(&text) <= most.max(framed_bytes("")), "{most}");
    }
}

#[test]
fn the_list_of_a_list_stays_bounded() {
    let mut talk = TestConversation::new();
    talk.text_input("go on");
    for step in 0..200 {
        talk.answer("step", &format!("tool <context {step}"), &["x".repeat(700).as_str()]);
        let done = talk.compact(CompactionStrategy::Slide, 6_000, None);
        let text = done.cut.summary.unwrap_or_default();
        assert!(framed_bytes(&text) <= 1_500, "a quarter of the target: {text}");
        assert!(talk.visible().bytes <= 6_000);
    }
    assert!(talk.lines().iter().any(|line| line == "user: go on"));
}

#[test]
fn a_list_counts_the_tools_that_it_does_not_name() {
    let named = |tools: usize| {
        let mut talk = TestConversation::new();
        talk.text_input("go on");
        for tool in 0..tools {
            talk.answer("yes", &format!("tool_{tool:02}"), &["a"]);
        }
        let left = talk.history.items().len() as u64;
        let cut = CutPoint { clear_before: 0, drop_before: left, summary: None };
        fallback_summary(&talk.history, talk.turn, &cut)
    };
    let all = named(12);
    assert!(all.ends_with(", tool_11 (1)."), "{all}");
    let some = named(14);
    assert!(some.ends_with(", tool_11 (1), 2 other tools."), "{some}");
}
