//! The text of a plain list.

use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::kit::{TestConversation, settings};
use super::list::dropped_list;
use super::summary::framed_bytes;
use super::{LIST_BYTES, fallback_summary};
use crate::call::ObservationStatus::{Denied, Done, Failed};
use crate::compaction::{CompactionStrategy, CutPoint};
use crate::settings::{Concurrency, EffectClass, Settings, ToolSpec};

fn tool(name: &str, effect: EffectClass) -> ToolSpec {
    ToolSpec {
        name: String::from(name),
        description: String::new(),
        parameters: String::from("{\"type\":\"object\"}"),
        effect,
        concurrency: Concurrency::Parallel,
        timeout_ms: None,
        reconciles: false,
        client: false,
        deferred: false,
        agent: None,
        grammar: None,
    }
}

#[test]
fn a_list_names_what_was_changed_run_asked_and_answered() {
    let mut talk = TestConversation::new();
    talk.text_input("mend the parser");
    talk.call("read_file", r#"{"path":"src/seen.rs"}"#, Done, "text");
    talk.call("edit_file", r#"{"text":"x","path":"src/a.rs"}"#, Done, "edited");
    talk.call("edit_file", r#"{"path":"src/a.rs"}"#, Done, "edited");
    talk.call("edit_file", r#"{"path":"src/missed.rs"}"#, Failed, "no such text");
    talk.call("shell", r#"{"command":"cargo test"}"#, Failed, "two failures");
    talk.call("shell", r#"{"command":"cargo build"}"#, Done, "fine");
    talk.call("shell", r#"{"command":"rm -r /"}"#, Denied, "denied");
    talk.call("deploy", r#"{"to":"prod"}"#, Done, "done");
    talk.answer("The parser is mended.", "read_file", &[]);
    let tools = vec![
        tool("read_file", EffectClass::ReadOnly),
        tool("edit_file", EffectClass::Idempotent),
        tool("shell", EffectClass::Effectful),
        tool("deploy", EffectClass::Effectful),
    ];
    let settings = Settings { tools, ..settings() };
    let cut = CutPoint { drop_before: u64::MAX, ..CutPoint::default() };
    talk.turn();
    let text = fallback_summary(&talk.history, &settings, talk.turn, &cut);
    assert_eq!(
        text,
        "Left out here to make room: 9 answers of 1 turn.\n\
         Requests among it, shortened, the latest last:\n\
         - \"mend the parser\"\n\
         Files changed: src/a.rs (2).\n\
         Commands and changes, the latest last:\n\
         - edit_file {\"path\":\"src/missed.rs\"}: failed\n\
         - cargo test: exit code 101\n\
         - cargo build: done\n\
         - deploy {\"to\":\"prod\"}: done\n\
         Tools called: deploy (1), edit_file (3), read_file (1), shell (3).\n\
         The assistant said, shortened, the latest last:\n\
         - \"The parser is mended.\""
    );
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
    let cut = CutPoint { drop_before: left, ..CutPoint::default() };
    let text = fallback_summary(&talk.history, &settings(), talk.turn, &cut);
    assert!(text.starts_with("Left out here to make room: 15 answers of 15 turns.\n"), "{text}");
    assert!(text.contains("\n- 3 before these\n- \"request 3 (/context) please üü"));
    assert!(!text.contains("request 2 ") && text.contains("request 14 "));
    assert!(text.contains("ü...\"\n"), "{text}");
    assert!(text.contains("\nTools called: read (16), write (14)."), "{text}");
    assert!(framed_bytes(&text) <= LIST_BYTES);

    let open = talk.history.units().last().unwrap().turn.unwrap();
    let text = fallback_summary(&talk.history, &settings(), open, &cut);
    assert!(text.contains("request 13 ") && !text.contains("request 14 "), "{text}");
    for most in (0..3_000).step_by(7) {
        let text = dropped_list(&talk.history, &settings(), Some(talk.turn), &cut, most);
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
        let cut = CutPoint { drop_before: left, ..CutPoint::default() };
        fallback_summary(&talk.history, &settings(), talk.turn, &cut)
    };
    let all = named(12);
    assert!(all.contains(", tool_11 (1).\n"), "{all}");
    let some = named(14);
    assert!(some.contains(", tool_11 (1), 2 other tools.\n"), "{some}");
}
