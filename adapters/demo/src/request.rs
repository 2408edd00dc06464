//! What a request asks, in either dialect. Pure, and tolerant: what the script has no use for is
//! passed over.

use serde_json::Value;

use crate::answer::MODEL;

/// The dialect of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
}

/// What a request asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The last words of the user.
    pub(crate) prompt: String,
    /// The calls since then, in order.
    pub(crate) steps: Vec<Step>,
    /// Calls of the whole conversation.
    pub(crate) calls: usize,
    /// The tools on offer.
    pub(crate) tools: Vec<String>,
    /// Whether the answer is to be streamed.
    pub(crate) stream: bool,
    /// Whether a Chat stream is to end with its usage.
    pub(crate) include_usage: bool,
}

/// A call of this turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    id: String,
    /// The tool.
    pub(crate) name: String,
    /// What it returned; empty when the conversation does not say.
    pub(crate) output: String,
}

/// Why a request is not answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is not what the protocol says.
    Malformed(String),
    /// It asks for another model.
    UnknownModel(String),
}

impl Asked {
    /// Reads a request.
    pub(crate) fn parse(dialect: Dialect, body: &[u8]) -> Result<Self, Refused> {
        let malformed = |why: String| Refused::Malformed(why);
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| malformed(format!("the body is not JSON: {error}")))?;
        let key = match dialect {
            Dialect::Chat => "messages",
            Dialect::Responses => "input",
        };
        let model = body.get("model").and_then(Value::as_str);
        let model = model.ok_or_else(|| malformed("the request names no model".into()))?;
        if model != MODEL {
            return Err(Refused::UnknownModel(model.chars().take(100).collect()));
        }
        let flag = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
        let mut asked = Self {
            stream: flag(body.get("stream")),
            include_usage: flag(body.pointer("/stream_options/include_usage")),
            ..Self::default()
        };
        for tool in list(&body, "tools") {
            let name = tool
                .get("function")
                .unwrap_or(tool)
                .get("name")
                .and_then(Value::as_str);
            asked.tools.extend(name.map(String::from));
        }
        match body.get(key) {
            Some(Value::Array(items)) => items.iter().for_each(|item| asked.take(item)),
            Some(Value::String(text)) if dialect == Dialect::Responses => {
                asked.prompt.clone_from(text);
            }
            Some(_) | None => return Err(malformed(format!("the request has no list `{key}`"))),
        }
        Ok(asked)
    }

    /// Whether a tool is on offer.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
    }

    /// What the first call of a tool in this turn returned, if there was one.
    pub(crate) fn returned(&self, tool: &str) -> Option<&str> {
        let step = self.steps.iter().find(|step| step.name == tool)?;
        Some(&step.output)
    }

    /// Takes one item of the conversation.
    fn take(&mut self, item: &Value) {
        match (text(item, "role").as_str(), text(item, "type").as_str()) {
            // Instructions and context: nobody's words, so they ask nothing, wherever they stand.
            ("system" | "developer", _) => {}
            ("user", _) => {
                self.prompt = text(item, "content");
                self.steps.clear();
            }
            ("assistant", _) => {
                for call in list(item, "tool_calls") {
                    let function = call.get("function").unwrap_or(&Value::Null);
                    self.call(text(call, "id"), text(function, "name"));
                }
            }
            ("tool", _) => self.result(&text(item, "tool_call_id"), text(item, "content")),
            (_, "function_call") => self.call(text(item, "call_id"), text(item, "name")),
            (_, "function_call_output") => {
                self.result(&text(item, "call_id"), text(item, "output"));
            }
            _ => {}
        }
    }

    fn call(&mut self, id: String, name: String) {
        self.calls += 1;
        self.steps.push(Step {
            id,
            name,
            output: String::new(),
        });
    }

    fn result(&mut self, id: &str, output: String) {
        if let Some(step) = self.steps.iter_mut().rev().find(|step| step.id == id) {
            step.output = output;
        }
    }
}

/// A text: a string, or the texts of a list of parts.
fn text(item: &Value, key: &str) -> String {
    match item.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            String::new()
        }
    }
}

fn list<'a>(item: &'a Value, key: &str) -> &'a [Value] {
    item.get(key)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_dialects_ask_the_same() {
        let tools = ["a", "b"];
        let chat = json!({ "model": MODEL, "stream": true, "messages": [
            { "role": "system", "content": "be good" },
            { "role": "system", "content": "the workspace is /w" },
            { "role": "user", "content": "old" },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "c0", "type": "function", "function": { "name": "a", "arguments": "{}" } } ] },
            { "role": "tool", "tool_call_id": "c0", "content": "stale" },
            { "role": "assistant", "content": "done" },
            { "role": "user", "content": [{ "type": "text", "text": "ne" }, { "type": "text", "text": "w" }] },
            { "role": "assistant", "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "b", "arguments": "{}" } },
                { "id": "c2", "type": "function", "function": { "name": "a", "arguments": "{}" } } ] },
            { "role": "tool", "tool_call_id": "c2", "content": "two" },
            { "role": "developer", "content": [{ "type": "text", "text": "mind the gap" }] },
            { "role": "tool", "tool_call_id": "c1", "content": [{ "type": "text", "text": "one" }] },
        ], "tools": tools.map(|name| json!({ "type": "function", "function": { "name": name } })) });
        let responses = json!({ "model": MODEL, "stream": true, "instructions": "be good", "input": [
            { "type": "message", "role": "developer", "content": "the workspace is /w" },
            { "role": "user", "content": "old" },
            { "type": "function_call", "call_id": "c0", "name": "a", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c0", "output": "stale" },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "done" }] },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "new" }] },
            { "type": "reasoning", "id": "r", "summary": [] },
            { "type": "function_call", "call_id": "c1", "name": "b", "arguments": "{}" },
            { "type": "function_call", "call_id": "c2", "name": "a", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c1", "output": "one" },
            { "role": "system", "content": [{ "type": "input_text", "text": "mind the gap" }] },
            { "type": "function_call_output", "call_id": "c2", "output": "two" },
        ], "tools": tools.map(|name| json!({ "type": "function", "name": name })) });
        let chat = Asked::parse(Dialect::Chat, chat.to_string().as_bytes()).unwrap();
        let responses = Asked::parse(Dialect::Responses, responses.to_string().as_bytes()).unwrap();
        assert_eq!(chat, responses);
        assert_eq!((chat.prompt.as_str(), chat.calls), ("new", 3));
        assert_eq!(
            (chat.returned("b"), chat.returned("a")),
            (Some("one"), Some("two"))
        );
        assert!(chat.offers("a") && !chat.offers("c"));
    }

    #[test]
    fn what_is_no_request_is_refused_in_words() {
        for (body, needle) in [
            ("{", "not JSON"),
            ("[]", "names no model"),
            (r#"{"model":"demo-script"}"#, "no list `messages`"),
            (
                r#"{"model":"demo-script","messages":"hi"}"#,
                "no list `messages`",
            ),
        ] {
            let Err(Refused::Malformed(why)) = Asked::parse(Dialect::Chat, body.as_bytes()) else {
                panic!("{body} was taken");
            };
            assert!(why.contains(needle), "{body}: {why}");
        }
        let other = Asked::parse(Dialect::Chat, br#"{"model":"gpt-5","messages":[]}"#);
        assert_eq!(other, Err(Refused::UnknownModel("gpt-5".into())));
    }
}
