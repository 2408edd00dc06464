//! Tests of outputs: names of calls, their location, the length of a page.

use alloc::sync::Arc;

use super::*;
use crate::compact::kit::settings;
use crate::item::CallItem;

fn call(sample: u64, id: &str) -> PromptItem {
    let call = CallItem {
        provider_id: String::from(id),
        name: String::from("read"),
        arguments: String::from("{}"),
        fault: None,
        rules: Vec::new(),
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: None,
        opaque: None,
        inline: false,
    };
    PromptItem::Call { sample: Seq(sample), id: id.into(), call: Arc::new(call) }
}

#[test]
fn a_text_quotes_any_id_as_json() {
    assert_eq!(read_output_call("@17"), r#"read_output {"call":"@17"}"#);
    assert_eq!(read_output_call("a\"b\\\n"), r#"read_output {"call":"a\"b\\"}"#);
    assert_eq!(CallId(17).reference(), "@17");
}

#[test]
fn an_id_of_the_conversation_precedes_a_position() {
    let mut history = History::default();
    for item in [call(3, "a"), call(3, "b"), call(9, "12"), call(9, "c")] {
        history.push_for_test(item);
    }
    let sample = |sample, index| Some(OutputLocation::Sample { sample: Seq(sample), index });
    let position = |at| Some(OutputLocation::Call(CallId(at)));
    for (name, location) in [
        ("a", sample(3, 0)),
        ("b", sample(3, 1)),
        ("12", sample(9, 0)),
        ("c", sample(9, 1)),
        ("@12", position(12)),
        ("13", position(13)),
        ("d", None),
        ("@", None),
        ("@-1", None),
    ] {
        assert_eq!(history.output_location(name), location, "{name}");
    }
}

#[test]
fn a_page_is_a_part_of_the_window() {
    let page = |tokens| {
        let mut settings = settings();
        settings.window.tokens = tokens;
        settings.output_page_bytes()
    };
    let pages = [0, 500, 2_000, 8_000, 200_000, 2_000_000].map(page);
    assert_eq!(pages, [32_512, 256, 1_056, 4_994, 130_994, 262_144]);
}

#[test]
fn programs_are_not_pointed_to_the_tool() {
    let mut settings = settings();
    assert!(!settings.offers_read_output());
    settings.tools.push(read_output_tool());
    assert!(settings.offers_read_output());
    settings.options.program = Some(crate::program::ProgramMode {
        runtime: String::from("any"),
        transport: crate::program::ProgramTransport::Call,
        limits: crate::program::ProgramLimits::default(),
        data: None,
        corrections: 0,
    });
    assert!(!settings.offers_read_output());
}
