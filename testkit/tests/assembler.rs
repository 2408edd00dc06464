//! The assembler, by example: what it makes of the events that servers really send. That
//! chunking does not matter and that caps hold is shown in `laws.rs`.

use windlass_core::{AssemblerLimits, AssemblerOutput, Item, StopReason, StreamEvent};
use windlass_testkit::laws::law_06_chunking_does_not_matter::{Answer, assemble};

fn answer(events: &[StreamEvent]) -> Answer {
    assemble(AssemblerLimits::default(), events)
}

fn text(slot: u32, text: &str) -> StreamEvent {
    let text = text.to_owned();
    StreamEvent::Text { slot, text }
}

fn call(slot: u32, arguments: &str) -> [StreamEvent; 3] {
    let text = arguments.to_owned();
    [
        StreamEvent::CallOpened { slot, id: String::from("c1"), name: String::from("read") },
        StreamEvent::CallArguments { slot, text },
        done(slot, None),
    ]
}

fn done(slot: u32, text: Option<&str>) -> StreamEvent {
    StreamEvent::Done { slot, text: text.map(str::to_owned), opaque: None }
}

fn opened(id: Option<&str>) -> StreamEvent {
    StreamEvent::Opened { response_id: id.map(str::to_owned), model: None }
}

fn finished() -> StreamEvent {
    StreamEvent::Finished { reason: StopReason::Stop }
}

fn said(text: &str) -> AssemblerOutput {
    AssemblerOutput::Item(Item::text(text))
}

#[test]
fn parts_are_put_together_slot_by_slot() {
    let events = [text(0, "a"), text(1, "x"), text(0, "b"), done(0, None), done(1, None)];
    assert_eq!(answer(&events).parts, [said("ab"), said("x")]);
}

#[test]
fn the_text_of_the_end_replaces_what_was_streamed() {
    let events = [text(0, "ab"), done(0, Some("abc"))];
    assert_eq!(answer(&events).parts, [said("abc")]);
}

#[test]
fn a_part_ends_once_and_nothing_is_added_to_it() {
    let events = [text(0, "a"), done(0, None), text(0, "b"), done(0, Some("c"))];
    let answer = answer(&events);
    assert_eq!(answer.parts, [said("a")]);
    assert_eq!(answer.shown.get(&0).map(String::as_str), Some("a"));
}

#[test]
fn what_is_partial_belongs_to_no_whole_item() {
    let events = [text(0, "who"), done(0, Some("whole")), text(1, "half")];
    assert_eq!(answer(&events).partial, "half");
}

#[test]
fn a_slot_keeps_its_kind() {
    let mut events = vec![text(0, "a")];
    events.extend(call(0, "{}"));
    assert_eq!(answer(&events).parts, [said("a")]);
}

#[test]
fn blank_arguments_are_an_empty_object() {
    for (arguments, expected) in [("", "{}"), (" ", "{}"), (r#"{"a":1}"#, r#"{"a":1}"#)] {
        let parts = answer(&call(0, arguments)).parts;
        let Some(AssemblerOutput::Item(Item::Call(item))) = parts.first() else {
            panic!("{parts:?} holds no call");
        };
        assert_eq!((item.name.as_str(), item.arguments.as_str()), ("read", expected));
    }
}

#[test]
fn the_latest_response_id_counts_and_none_takes_nothing_back() {
    let events = [opened(Some("r1")), opened(Some("r2")), opened(None), finished()];
    let response_id = Some(String::from("r2"));
    let stop = StopReason::Stop;
    let end = AssemblerOutput::Ended { stop, usage: None, response_id };
    assert_eq!(answer(&events).parts, [end]);
}

#[test]
fn an_end_without_a_beginning_is_ignored() {
    assert_eq!(answer(&[done(3, Some("a"))]).parts, []);
}

/// Some servers open a refusal with every answer and never fill it.
#[test]
fn an_empty_part_is_no_item() {
    let (slot, text) = (0, String::new());
    for event in [
        StreamEvent::Text { slot, text: text.clone() },
        StreamEvent::Refusal { slot, text: text.clone() },
        StreamEvent::Reasoning { slot, text: text.clone() },
    ] {
        assert_eq!(answer(&[event, done(0, None)]).parts, []);
    }
}
