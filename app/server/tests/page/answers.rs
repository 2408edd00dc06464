//! What the scripted model says in these tests.

use serde_json::json;
use windlass_server::windlass_engine::core::{FailureKind, Retry, StopReason, StreamEvent};
use windlass_testkit::Gate;
use windlass_testkit::provider::{ScriptedProvider, Step, call, fail, say};

/// An answer with most of what the page can show of Markdown.
pub(crate) const STORY: &str = "## What I found\n\nBoth places are **empty**, which is odd:\n\n\
    - `left` was full yesterday\n- `right` has been empty *for years*\n\n\
    ```rust\nassert_eq!(left.len() + right.len(), 0);\n```\n\n\
    > Somebody was here before us.\n\n\
    See [the manual](https://doc.rust-lang.org/std/) for more.\n\n1. Ask who has the key\n2. Look again";

/// What must never be anything but text.
pub(crate) const HOSTILE: &str = "<img src=x onerror=hit()></script><script>hit()</script> \
    \u{1b}[31mred\u{1b}[0m \u{202e}txt.exe\u{202c} \"><svg onload=hit()> {{hit()}} ${hit()}";

/// An answer in two halves with a gate between them, and one before its end.
pub(crate) fn two_halves(half: &Gate, end: &Gate) -> Step {
    let text = |text: &str| StreamEvent::Text { slot: 1, text: text.into() };
    let thought = |text: &str| StreamEvent::Reasoning { slot: 0, text: text.into() };
    let whole = |slot| StreamEvent::Done { slot, text: None, opaque: None };
    let (first, second) = ("The first half of it, ", "and then the second.");
    Step::default()
        .batch([thought("I think "), thought("before I speak.")])
        .batch([whole(0)])
        .batch(first.split_inclusive(' ').map(text))
        .then_gate(half)
        .batch(second.split_inclusive(' ').map(text))
        .then_gate(end)
        .batch([whole(1), StreamEvent::Finished { reason: StopReason::Stop }])
}

/// An answer that has said so much and goes on only once the gate is open.
pub(crate) fn said_so_far(text: &str, gate: &Gate) -> Step {
    let part = StreamEvent::Text { slot: 0, text: text.into() };
    let whole = StreamEvent::Done { slot: 0, text: None, opaque: None };
    let reason = StopReason::Stop;
    Step::default().batch([part]).then_gate(gate).batch([whole, StreamEvent::Finished { reason }])
}

/// An answer that the server says is this model's.
pub(crate) fn by_model(model: &str, text: &str) -> Step {
    let opened = StreamEvent::Opened { response_id: None, model: Some(model.into()) };
    let part = StreamEvent::Text { slot: 0, text: text.into() };
    let whole = StreamEvent::Done { slot: 0, text: None, opaque: None };
    let ended = StreamEvent::Finished { reason: StopReason::Stop };
    Step::default().batch([opened, part, whole, ended])
}

/// A model that is asked too much.
pub(crate) fn overloaded() -> Step {
    fail(FailureKind::Overloaded, Retry::Soon)
}

/// A model that calls a tool so many times, and then is done.
pub(crate) fn busy(calls: usize) -> ScriptedProvider {
    let steps = (0..calls).map(|step| call("look", json!({ "step": step })));
    ScriptedProvider::new(steps.chain([say("That was all.")]))
}
