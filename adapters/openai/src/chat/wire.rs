//! The chunks of a Chat Completions stream, borrowed from the event. Unknown fields are skipped
//! without being built; choices other than the first are too.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use windlass_kit_http::json::{BorrowedText, WireUsage, repair, repair_arguments, repair_usage};

#[derive(Debug, Default, Deserialize)]
pub(super) struct ChatChunk<'a> {
    #[serde(borrow)]
    pub(super) id: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<BorrowedText<'a>>,
    #[serde(borrow, default)]
    pub(super) choices: FirstChoice<'a>,
    // In a box, since nearly no chunk has any, and a chunk is moved several times as it is read.
    pub(super) usage: Option<Box<WireUsage>>,
    #[serde(borrow)]
    pub(super) x_groq: Option<GroqExtension<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// Groq's own field, where it puts the usage on some models, and why a stream was stopped early.
#[derive(Debug, Default, Deserialize)]
pub(super) struct GroqExtension<'a> {
    pub(super) usage: Option<Box<WireUsage>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// Choice 0 of a chunk: the answer.
#[derive(Debug, Default)]
pub(super) struct FirstChoice<'a>(pub(super) Option<WireChoice<'a>>);

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireChoice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<WireDelta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<BorrowedText<'a>>,
    /// Usage, in the place where Moonshot sends it.
    pub(super) usage: Option<Box<WireUsage>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireDelta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) reasoning: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_text: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<ToolDelta<'a>>>,
    #[serde(borrow)]
    pub(super) annotations: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct ToolDelta<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) id: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionDelta<'a>>,
    /// Extra field of Gemini's compatible endpoint.
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow)]
    pub(super) name: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<BorrowedText<'a>>,
}

impl ChatChunk<'_> {
    /// Returns true if the chunk holds a text delta and nothing else: then every chunk of the same
    /// shape does.
    pub(super) fn only_text(&self) -> bool {
        let Self { id: _, model: _, choices, usage, x_groq, error } = self;
        let FirstChoice(Some(WireChoice {
            index: _,
            delta: Some(delta),
            finish_reason,
            usage: spent,
            error: broken,
        })) = choices
        else {
            return false;
        };
        let none =
            |text: &Option<BorrowedText<'_>>| text.as_ref().is_none_or(|text| text.0.is_empty());
        let given = |text: &Option<BorrowedText<'_>>| !none(text);
        usage.is_none()
            && spent.is_none()
            && x_groq.is_none()
            && error.is_none()
            && broken.is_none()
            && none(finish_reason)
            && given(&delta.content)
            && none(&delta.refusal)
            && none(&delta.reasoning_content)
            && none(&delta.reasoning)
            && none(&delta.reasoning_text)
            && none(&delta.thinking)
            && delta.reasoning_details.is_none()
            && delta.tool_calls.is_none()
            && delta.annotations.is_none()
    }
}

impl<'a> WireDelta<'a> {
    /// The readable reasoning of this chunk. Several servers send one text under two names, so
    /// the first that holds any counts.
    pub(super) fn take_reasoning(&mut self) -> Option<String> {
        let named = [
            self.reasoning_content.take(),
            self.reasoning.take(),
            self.reasoning_text.take(),
            self.thinking.take(),
        ];
        let named = named.into_iter().flatten().find(|text| !text.0.is_empty());
        named.map(BorrowedText::into_string).or_else(|| {
            let details: Value = serde_json::from_str(self.reasoning_details?.get()).ok()?;
            let text = |detail: &Value| {
                let text = detail.get("text").or_else(|| detail.get("summary"))?;
                Some(text.as_str()?.to_owned())
            };
            let texts: String = details.as_array()?.iter().filter_map(text).collect();
            (!texts.is_empty()).then_some(texts)
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for FirstChoice<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct FirstChoiceVisitor;
        impl<'de> Visitor<'de> for FirstChoiceVisitor {
            type Value = FirstChoice<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(FirstChoice(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                while let Some(choice) = list.next_element::<WireChoice<'de>>()? {
                    if choice.index.unwrap_or(0) == 0 {
                        while list.next_element::<IgnoredAny>()?.is_some() {}
                        return Ok(FirstChoice(Some(choice)));
                    }
                }
                Ok(FirstChoice(None))
            }
        }
        from.deserialize_any(FirstChoiceVisitor)
    }
}

/// Rewrites a whole completion as the one chunk that says all of it. Returns `None` for a JSON
/// object that is no completion.
///
/// The place of a call in its message is its index: two calls may have one id.
pub(super) fn completion_as_chunk(mut completion: Value) -> Option<Value> {
    let choices = completion.get_mut("choices")?.as_array_mut()?;
    let mut found = false;
    for choice in choices.iter_mut().filter_map(Value::as_object_mut) {
        let Some(mut message) = choice.remove("message").filter(Value::is_object) else {
            continue;
        };
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for (index, call) in (0_u64..).zip(calls.into_iter().flatten()) {
            if let Some(call) = call.as_object_mut() {
                call.insert("index".into(), index.into());
            }
        }
        choice.insert("delta".into(), message);
        found = true;
    }
    found.then_some(completion)
}

/// Rewrites a chunk whose fields are not of the documented types, as far as its meaning is clear.
pub(super) fn repair_chunk(mut chunk: Value) -> Value {
    repair(&mut chunk, &["id", "model"], &[]);
    if let Some(usage) = chunk.get_mut("usage") {
        repair_usage(usage);
    }
    if let Some(groq) = chunk.get_mut("x_groq") {
        if let Some(usage) = groq.get_mut("usage") {
            repair_usage(usage);
        }
        if !groq.is_object() {
            *groq = Value::Null;
        }
    }
    if let Some(choices) = chunk.get_mut("choices") {
        match choices {
            Value::Array(list) => list.iter_mut().for_each(repair_choice),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => *choices = Value::Null,
        }
    }
    chunk
}

fn repair_choice(choice: &mut Value) {
    if !choice.is_object() {
        *choice = Value::Object(serde_json::Map::new());
    }
    repair(choice, &["finish_reason"], &["index"]);
    if let Some(usage) = choice.get_mut("usage") {
        repair_usage(usage);
    }
    let Some(delta) = choice.get_mut("delta") else {
        return;
    };
    if !delta.is_object() {
        *delta = Value::Null;
        return;
    }
    let parts = delta.get_mut("content").and_then(Value::as_array_mut).map(std::mem::take);
    if let (Some(parts), Some(fields)) = (parts, delta.as_object_mut()) {
        let (mut text, mut thinking) = (String::new(), String::new());
        for part in &parts {
            match part.get("thinking") {
                Some(thought) => gather(thought, &mut thinking),
                None => gather(part, &mut text),
            }
        }
        fields.insert("content".into(), text.into());
        if !thinking.is_empty() {
            fields.insert("thinking".into(), thinking.into());
        }
    }
    let texts =
        ["content", "refusal", "reasoning_content", "reasoning", "reasoning_text", "thinking"];
    repair(delta, &texts, &[]);
    let Some(calls) = delta.get_mut("tool_calls") else {
        return;
    };
    match calls {
        Value::Array(calls) => {
            calls.retain(Value::is_object);
            for call in calls {
                repair(call, &["id"], &["index"]);
                if let Some(function) = call.get_mut("function") {
                    repair_arguments(function);
                    repair(function, &["name", "arguments"], &[]);
                    if !function.is_object() {
                        *function = Value::Null;
                    }
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            *calls = Value::Null;
        }
    }
}

/// Gathers the texts of a content part, or of a list of them.
fn gather(part: &Value, into: &mut String) {
    match part {
        Value::String(text) => into.push_str(text),
        Value::Array(parts) => parts.iter().for_each(|part| gather(part, into)),
        Value::Object(fields) => {
            if let Some(text) = fields.get("text") {
                gather(text, into);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
