//! What a body lacks of a conversation, found by comparing the two: nothing here knows how an
//! adapter decides.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};
use windlass_engine::core::{
    CallItem, LoweredPart, LoweringRecord, PromptItem, program_report_text,
};
use windlass_testkit::http::Dialect;

use crate::places::{Place, PlaceProtocol};

/// How many parts of each kind were lowered.
pub(crate) type Counts = BTreeMap<LoweredPart, u32>;

/// What a report says, by part.
pub(crate) fn by_part(lowered: &[LoweringRecord]) -> Counts {
    let mut counts = Counts::new();
    for one in lowered {
        *counts.entry(one.part).or_default() += one.count;
    }
    counts
}

/// What is said as context is: what nobody but the engine has to say.
fn context(item: &PromptItem) -> Option<Cow<'_, str>> {
    if let PromptItem::Context { text } = item {
        return Some(Cow::Borrowed(text));
    }
    if let PromptItem::CallReport { calls } = item {
        return Some(Cow::Owned(calls.text()));
    }
    if let PromptItem::ProgramReport { observation, .. } = item {
        return Some(Cow::Owned(program_report_text(observation)));
    }
    None
}

/// What a body lacks, by part.
pub(crate) fn lowered(place: &Place, items: &[PromptItem], body: &Value) -> Counts {
    let contexts: Vec<Cow<'_, str>> = items.iter().filter_map(context).collect();
    let contexts: Vec<&str> = contexts.iter().map(|text| &**text).collect();
    let seen = Seen::of(place.protocol, body, &contexts);
    let calls: Vec<(&str, &CallItem)> = items
        .iter()
        .filter_map(|item| {
            if let PromptItem::Call { id, call, .. } = item {
                return Some((&**id, &**call));
            }
            None
        })
        .collect();
    assert_eq!(calls.len(), seen.calls.len(), "a call is missing");
    let count = |of: fn(&PromptItem) -> bool| items.iter().filter(|item| of(item)).count();
    let mut lacks = Counts::new();
    let mut note = |what, count: usize| {
        if count > 0 {
            lacks.insert(what, u32::try_from(count).unwrap());
        }
    };
    let differ = |of: &dyn Fn(&(&str, &CallItem), &Call) -> bool| {
        calls.iter().zip(&seen.calls).filter(|(call, seen)| of(call, seen)).count()
    };
    // Gemini pairs calls without ids by their order.
    let is_other = |id: &str, seen: &Call| seen.id.as_ref().is_some_and(|own| own != id);
    note(LoweredPart::CallId, differ(&|(id, _), seen| is_other(id, seen)));
    note(LoweredPart::ToolName, differ(&|(_, call), seen| call.name != seen.name));
    note(LoweredPart::Arguments, differ(&|(_, call), seen| !seen.has(&call.arguments)));
    note(
        LoweredPart::CallOpaque,
        differ(&|(_, call), seen| {
            call.opaque.as_ref().is_some_and(|opaque| {
                let own: Option<Value> = serde_json::from_str(&opaque.payload).ok();
                seen.extra.is_null() || own.is_none_or(|own| seen.extra != own)
            })
        }),
    );
    let thoughts = count(|item| matches!(item, PromptItem::Reasoning { .. }));
    note(LoweredPart::Reasoning, thoughts - seen.thoughts);
    let images = items.iter().map(|item| item.images().len()).sum::<usize>();
    note(LoweredPart::Image, images - seen.images);
    let refusals = count(|item| matches!(item, PromptItem::Refusal { .. }));
    note(LoweredPart::Refusal, refusals - seen.refusals);
    note(LoweredPart::Context, contexts.len() - seen.contexts);
    lacks
}

/// What a body holds.
#[derive(Default)]
struct Seen {
    calls: Vec<Call>,
    thoughts: usize,
    images: usize,
    refusals: usize,
    contexts: usize,
}

struct Call {
    /// `None` for a call that is paired by its order.
    id: Option<String>,
    name: String,
    /// Text of the arguments, or the object itself where a protocol has one.
    arguments: Value,
    extra: Value,
}

impl Call {
    fn has(&self, arguments: &str) -> bool {
        match self.arguments.as_str() {
            Some(text) => text == arguments,
            None => {
                let object: Result<Map<String, Value>, _> = serde_json::from_str(arguments);
                object.is_ok_and(|object| self.arguments == Value::Object(object))
            }
        }
    }
}

impl Seen {
    fn of(protocol: PlaceProtocol, body: &Value, contexts: &[&str]) -> Self {
        let mut seen = Self::default();
        match protocol {
            PlaceProtocol::Kit(Dialect::Chat, _) => seen.chat(list(&body["messages"]), contexts),
            PlaceProtocol::Kit(Dialect::Responses, _) => seen.responses(list(&body["input"])),
            PlaceProtocol::Kit(Dialect::Messages, _) => seen.messages(list(&body["messages"])),
            PlaceProtocol::Gemini => seen.contents(list(&body["contents"])),
        }
        seen
    }

    fn chat(&mut self, messages: &[Value], contexts: &[&str]) {
        for message in messages {
            match text(&message["role"]) {
                "system" | "developer" => {
                    // What is none of it is the instructions.
                    let content = text(&message["content"]);
                    self.contexts += usize::from(contexts.contains(&content));
                }
                "user" => self.parts(&message["content"], "image_url"),
                _ => {}
            }
            let thought = !text(&message["reasoning_content"]).is_empty();
            self.thoughts +=
                usize::from(thought || !list(&message["reasoning_details"]).is_empty());
            self.refusals += usize::from(message["refusal"].is_string());
            for call in list(&message["tool_calls"]) {
                self.calls.push(Call {
                    id: Some(text(&call["id"]).into()),
                    name: text(&call["function"]["name"]).into(),
                    arguments: call["function"]["arguments"].clone(),
                    extra: call["extra_content"].clone(),
                });
            }
        }
    }

    fn responses(&mut self, items: &[Value]) {
        for item in items {
            match (text(&item["type"]), text(&item["role"])) {
                ("reasoning", _) => self.thoughts += 1,
                ("function_call", _) => self.calls.push(Call {
                    id: Some(text(&item["call_id"]).into()),
                    name: text(&item["name"]).into(),
                    arguments: item["arguments"].clone(),
                    extra: Value::Null,
                }),
                (_, "system" | "developer") => self.contexts += 1,
                ("function_call_output", _) => self.parts(&item["output"], "input_image"),
                (_, "user") => self.parts(&item["content"], "input_image"),
                (_, "assistant") => {
                    let refusal = |part: &&Value| part["type"] == "refusal";
                    self.refusals += list(&item["content"]).iter().filter(refusal).count();
                }
                _ => {}
            }
        }
    }

    fn messages(&mut self, messages: &[Value]) {
        for block in messages.iter().flat_map(|message| list(&message["content"])) {
            match text(&block["type"]) {
                "thinking" | "redacted_thinking" => self.thoughts += 1,
                "image" => self.images += 1,
                "tool_result" => self.parts(&block["content"], "image"),
                "tool_use" => self.calls.push(Call {
                    id: Some(text(&block["id"]).into()),
                    name: text(&block["name"]).into(),
                    arguments: block["input"].clone(),
                    extra: Value::Null,
                }),
                _ => {}
            }
        }
    }

    /// A signature of words stands for reasoning; that of a call is the call's own.
    fn contents(&mut self, contents: &[Value]) {
        for part in contents.iter().flat_map(|content| list(&content["parts"])) {
            let signature = &part["thoughtSignature"];
            self.images += usize::from(part.get("inlineData").is_some());
            match part.get("functionCall") {
                Some(call) => self.calls.push(Call {
                    id: call["id"].as_str().map(str::to_owned),
                    name: text(&call["name"]).into(),
                    arguments: call["args"].clone(),
                    extra: match signature.is_null() {
                        true => Value::Null,
                        false => serde_json::json!({ "thoughtSignature": signature }),
                    },
                }),
                None => self.thoughts += usize::from(signature.is_string()),
            }
        }
    }

    fn parts(&mut self, content: &Value, image: &str) {
        let images = list(content).iter().filter(|part| part["type"] == image);
        self.images += images.count();
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
