//! A protocol of the test's own, made as the author of an adapter makes one: Chat Completions in
//! which a result says that its call failed, and a call may have a seal.

use serde_json::Value;
use windlass_core::FailureKind;
use windlass_testkit::http::{
    Dialect, EventEffect, ModelRequest, Protocol, ProtocolCapabilities, Refusal, Request,
    RequestPart,
};
use windlass_testkit::{Answer, Part};

/// The beginning of an event's data.
const DATA: &str = "data: ";

#[derive(Debug)]
pub(crate) struct Marked;

impl Protocol for Marked {
    fn name(&self) -> &str {
        "Chat Completions with marks"
    }

    fn serves(&self, request: &Request) -> bool {
        Dialect::Chat.serves(request)
    }

    fn capabilities(&self) -> ProtocolCapabilities {
        let mut able = Dialect::Chat.capabilities();
        able.failed_results = true;
        able.sealed_calls = true;
        able
    }

    fn events(&self, answer: &Answer) -> Vec<String> {
        let call = |(_, part): &(usize, &Part)| matches!(part, Part::Call { .. });
        let calls = answer.parts().iter().enumerate().filter(call);
        let seals: Vec<Option<&str>> = calls.map(|(at, _)| answer.seal(at)).collect();
        let events = Dialect::Chat.events(answer).into_iter();
        events.map(|event| sealed(&event, &seals).unwrap_or(event)).collect()
    }

    fn body(&self, answer: &Answer) -> Option<String> {
        Some(Dialect::Chat.body(answer))
    }

    fn effect(&self, event: &str) -> EventEffect {
        Dialect::Chat.effect(event)
    }

    fn failure_event(&self, kind: FailureKind, message: &str) -> Option<String> {
        Dialect::Chat.failure_event(kind, message)
    }

    fn refusals(&self, kind: FailureKind, message: &str) -> Vec<Refusal> {
        Dialect::Chat.refusals(kind, message)
    }

    fn read(&self, request: &Request) -> ModelRequest {
        let mut read = Dialect::Chat.read(request);
        let mut marks = tool_messages(request).map(|message| message["is_error"] == true);
        for part in &mut read.parts {
            if let RequestPart::Result { failed, .. } = part {
                *failed = marks.next().unwrap_or(false);
            }
        }
        read
    }

    fn fault(&self, request: &Request) -> Option<String> {
        let mut plain = request.clone();
        let messages = plain.json.as_mut().and_then(|body| body["messages"].as_array_mut());
        for message in messages.into_iter().flatten() {
            remove(message, "is_error");
            let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
            calls.into_iter().flatten().for_each(|call| remove(call, "seal"));
        }
        Dialect::Chat.fault(&plain)
    }
}

/// The event that opens a call, with its seal.
fn sealed(event: &str, seals: &[Option<&str>]) -> Option<String> {
    let mut chunk: Value = serde_json::from_str(event.strip_prefix(DATA)?).ok()?;
    let call = chunk.pointer_mut("/choices/0/delta/tool_calls/0")?;
    call["function"].get("name")?;
    let index = usize::try_from(call["index"].as_u64()?).ok()?;
    call["seal"] = (*seals.get(index)?)?.into();
    Some(format!("{DATA}{chunk}\n\n"))
}

fn tool_messages(request: &Request) -> impl Iterator<Item = &Value> {
    let messages = request.json.as_ref().and_then(|body| body["messages"].as_array());
    messages.into_iter().flatten().filter(|message| message["role"] == "tool")
}

fn remove(of: &mut Value, key: &str) {
    if let Some(object) = of.as_object_mut() {
        object.remove(key);
    }
}
