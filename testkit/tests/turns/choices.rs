//! Whether the model may, must or must not call tools, sample by sample.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use windlass_core::{History, ToolChoice, render, tool_choice};
use windlass_testkit::world::{Script, Transitions, run};

/// What holds in the sample that is out, where the settings ask for this.
fn holds(script: &str, choice: &ToolChoice) -> ToolChoice {
    let script: Script = script.parse().unwrap();
    let world = run(Transitions::CORE, &script).unwrap();
    let mut turn = world.session().turn().unwrap().clone();
    let settings = Arc::make_mut(&mut turn.settings);
    settings.options.tool_choice = choice.clone();
    tool_choice(&turn)
}

#[test]
fn a_call_that_is_asked_for_is_asked_for_once_so_that_the_turn_can_end() {
    let first = "send hello";
    let second = "send hello\ncall read {}\nend stop\ndone 0 ok";
    for choice in [ToolChoice::Required, ToolChoice::Tool(String::from("read"))] {
        assert_eq!(holds(first, &choice), choice);
        assert_eq!(holds(second, &choice), ToolChoice::Auto);
    }
    for choice in [ToolChoice::Auto, ToolChoice::None] {
        assert_eq!(holds(first, &choice), choice);
        assert_eq!(holds(second, &choice), choice);
    }
}

#[test]
fn a_tool_that_may_not_run_is_not_asked_for() {
    let plan = "open mode=plan\nsend hello";
    let named = |tool: &str| ToolChoice::Tool(String::from(tool));
    assert_eq!(holds(plan, &named("write")), ToolChoice::Auto);
    for choice in [named("read"), ToolChoice::Required] {
        assert_eq!(holds(plan, &choice), choice);
    }
}

/// The names of the tools that the first request of a script offers.
fn offered(script: &str) -> Vec<String> {
    let script: Script = script.parse().unwrap();
    let world = run(Transitions::CORE, &script).unwrap();
    let settings = &world.session().turn().unwrap().settings;
    let asked = render(&History::default(), settings, &std::collections::BTreeSet::new());
    asked.settings.tools.iter().map(|tool| tool.name.clone()).collect()
}

#[test]
fn a_request_offers_what_the_mode_and_the_permissions_let_run() {
    let all = offered("send hello");
    assert!(all.iter().any(|tool| tool == "write"), "{all:?}");
    assert_eq!(offered("open permissions=ask\nsend hello"), all);
    for narrow in ["mode=plan", "permissions=read_only"] {
        let offered = offered(&format!("open {narrow}\nsend hello"));
        assert!(offered.iter().any(|tool| tool == "read"), "{offered:?}");
        assert!(!offered.iter().any(|tool| tool == "write"), "{offered:?}");
    }
}
