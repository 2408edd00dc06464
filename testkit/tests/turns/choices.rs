//! Whether the model may, must or must not call tools, sample by sample.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use windlass_core::{ToolChoice, tool_choice};
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
