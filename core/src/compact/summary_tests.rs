//! Parsing of summaries, and the text of a plain list.

use alloc::format;
use alloc::string::String;

use super::kit::TestConversation;
use super::summary::{dropped_list, framed_bytes};
use super::{fallback_summary, parse_summary};
use crate::compaction::{CompactionStrategy, CutPoint};

const GOOD: &str = "## Goal\nShip it.\n## Done\n- one\n- two\n## Open\nNone.\n## Facts\nsrc/a.rs";

#[test]
fn reads_a_summary_however_it_is_dressed() {
    let dressed = [
        String::from(GOOD),
        format!("Here it is:\n\n{GOOD}\n"),
        format!("```markdown\n{GOOD}\n```\nI hope that helps."),
        format!("```\nnot this\n```\n{GOOD}"),
        GOOD.replace('\n', "\r\n"),
        GOOD.replace("## Goal", "  ## GOAL:  "),
        GOOD.replace("None.", "\u{7}"),
        GOOD.replace("\n##", "\n\n\n##"),
    ];
    for text in dressed {
        assert_eq!(parse_summary(&text).as_deref(), Ok(GOOD), "{text}");
        assert_eq!(parse_summary(GOOD).as_deref(), Ok(GOOD));
    }
    let open = format!("```\nnot this\n```\n{GOOD}\n```sh\nls\n```\nend");
    assert!(parse_summary(&open).unwrap().ends_with("ls\n```\nend"));
    let fenced = format!("```\n{GOOD}\n```sh\nls\n```\n```\nbye");
    assert_eq!(parse_summary(&fenced), Ok(format!("{GOOD}\n```sh\nls\n```")));
}

#[test]
fn says_why_a_summary_cannot_be_used() {
    let cases = [
        (String::new(), "the heading `## Goal` is missing"),
        (String::from("I cannot do that."), "the heading `## Goal` is missing"),
        (GOOD.replace("## Facts", "Facts"), "the heading `## Facts` is missing"),
        (GOOD.replace("## Open", "### Open"), "`## Open` is missing before `## Facts`"),
        (format!("{GOOD}\n## Done\nmore"), "the heading `## Done` stands twice"),
        (format!("{GOOD}\n## Facts\nmore"), "the heading `## Facts` stands twice"),
        (GOOD.replace("Ship it.", " "), "the summary names no goal"),
        (format!("{GOOD}{}", "x".repeat(17_000)), "the summary is too long: 17"),
        ("x".repeat(70_000), "the summary is too long: 70000 bytes"),
    ];
    for (text, why) in cases {
        let error = parse_summary(&text).unwrap_err();
        assert!(error.contains(why), "{error} / {why}");
    }
}

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
fn a_summary_may_be_as_long_as_it_may_be_and_no_longer() {
    let answer = |bytes: usize| format!("{}\n{GOOD}", "x".repeat(bytes - 1 - GOOD.len()));
    assert_eq!(parse_summary(&answer(64 * 1024)).as_deref(), Ok(GOOD));
    assert!(parse_summary(&answer(64 * 1024 + 1)).is_err());
    let summary = |bytes: usize| format!("{GOOD}{}", "x".repeat(bytes - GOOD.len()));
    let longest = summary(16 * 1024);
    assert_eq!(parse_summary(&longest), Ok(longest.clone()));
    assert!(parse_summary(&summary(16 * 1024 + 1)).is_err());
}

#[test]
fn a_heading_that_stands_twice_is_named_though_others_are_missing() {
    assert_eq!(
        parse_summary("## Goal\nwin\n## Goal\nwin again"),
        Err(String::from("the heading `## Goal` stands twice"))
    );
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
