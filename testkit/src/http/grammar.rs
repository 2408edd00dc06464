//! The grammar of requests, as strict as the strictest provider: what stands around the
//! conversation, what each call is followed by, and that nothing else stands there.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::{Dialect, Request};

/// The longest call id and tool name that the strictest provider takes.
const MOST_CHARS: usize = 64;

/// What a request does against the grammar of its dialect, if anything.
#[must_use]
pub fn fault(request: &Request) -> Option<String> {
    let number = request.number;
    check(request)
        .err()
        .map(|why| format!("request {number}: {why}"))
}

fn check(request: &Request) -> Result<(), String> {
    let Some(dialect) = request.dialect() else {
        return Err(format!("{} is asked by no dialect", request.path));
    };
    let Some(body) = request.json.as_ref().and_then(Value::as_object) else {
        return Err("its body is no JSON object".to_owned());
    };
    around(dialect, body)?;
    let key = match dialect {
        Dialect::Chat => "messages",
        Dialect::Responses => "input",
    };
    let items = body.get(key).and_then(Value::as_array);
    let items = items.ok_or_else(|| format!("{key} is no list"))?;
    let mut reader = Reader::default();
    for (at, item) in items.iter().enumerate() {
        let taken = match dialect {
            Dialect::Chat => reader.message(item),
            Dialect::Responses => reader.item(item),
        };
        taken.map_err(|why| format!("item {at}: {why}: {item}"))?;
    }
    if items.is_empty() {
        return Err(format!("{key} is empty"));
    }
    if reader.open.is_empty() {
        Ok(())
    } else {
        Err(format!("calls without a result: {:?}", reader.open))
    }
}

/// What stands around the conversation.
fn around(dialect: Dialect, body: &Map<String, Value>) -> Result<(), String> {
    let text = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("model").is_empty() {
        return Err("it names no model".to_owned());
    }
    if body.get("stream") != Some(&Value::Bool(true)) {
        return Err("it asks for no stream".to_owned());
    }
    let Some(tools) = body.get("tools") else {
        return Ok(());
    };
    let tools = tools.as_array().filter(|tools| !tools.is_empty());
    let mut names = BTreeSet::new();
    for tool in tools.ok_or("tools is no list, or an empty one")? {
        let function = match dialect {
            Dialect::Chat => &tool["function"],
            Dialect::Responses => tool,
        };
        let name = function["name"].as_str().unwrap_or_default();
        let schema = function["parameters"]["type"].as_str();
        if tool["type"] != "function" || !is_name(name) || schema != Some("object") {
            return Err(format!("no tool: {tool}"));
        }
        if !names.insert(name) {
            return Err(format!("two tools are called {name}"));
        }
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.len() <= MOST_CHARS && name.chars().all(fits)
}

/// Where a conversation stands.
#[derive(Default)]
struct Reader {
    /// Calls whose results are to come, in their order.
    open: VecDeque<String>,
    /// Whether a result has come since the last call: then no call may be added to these.
    results: bool,
    known: BTreeSet<String>,
}

impl Reader {
    /// Takes a message of Chat Completions.
    fn message(&mut self, item: &Value) -> Result<(), String> {
        let text = |key: &str| item[key].as_str().unwrap_or_default();
        match text("role") {
            "tool" => self.result(text("tool_call_id"), &item["content"]),
            "assistant" => {
                self.closed()?;
                let calls = match &item["tool_calls"] {
                    Value::Null => &[],
                    Value::Array(calls) if !calls.is_empty() => calls.as_slice(),
                    Value::Array(_)
                    | Value::Object(_)
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_) => {
                        return Err("tool_calls is no list, or an empty one".to_owned());
                    }
                };
                if calls.is_empty() {
                    words(item)?;
                }
                for call in calls {
                    if call["type"] != "function" {
                        return Err("a call of an unknown type".to_owned());
                    }
                    self.call(call["id"].as_str().unwrap_or_default(), &call["function"])?;
                }
                Ok(())
            }
            "system" | "developer" | "user" => {
                self.closed()?;
                words(item)
            }
            _ => Err("an unknown message".to_owned()),
        }
    }

    /// Takes an item of Responses.
    fn item(&mut self, item: &Value) -> Result<(), String> {
        let text = |key: &str| item[key].as_str().unwrap_or_default();
        match (text("role"), text("type")) {
            ("", "function_call_output") => self.result(text("call_id"), &item["output"]),
            ("", "function_call") => self.call(text("call_id"), item),
            ("", "reasoning") => self.closed(),
            ("assistant" | "system" | "developer" | "user", "" | "message") => {
                self.closed()?;
                words(item)
            }
            _ => Err("an unknown item".to_owned()),
        }
    }

    fn call(&mut self, id: &str, call: &Value) -> Result<(), String> {
        if self.results && !self.open.is_empty() {
            return Err("a call among the results of others".to_owned());
        }
        self.results = false;
        if !is_name(call["name"].as_str().unwrap_or_default()) {
            return Err("a call without the name of a tool".to_owned());
        }
        let arguments = call["arguments"].as_str().unwrap_or_default();
        let parsed: Result<Map<String, Value>, _> = serde_json::from_str(arguments);
        parsed.map_err(|error| format!("arguments: {error}"))?;
        if id.is_empty() || id.len() > MOST_CHARS || !self.known.insert(id.to_owned()) {
            return Err("a call without an id of its own".to_owned());
        }
        self.open.push_back(id.to_owned());
        Ok(())
    }

    fn result(&mut self, id: &str, output: &Value) -> Result<(), String> {
        self.results = true;
        if self.open.pop_front().as_deref() != Some(id) {
            return Err("not the result of the call whose turn it is".to_owned());
        }
        output.as_str().map(|_| ()).ok_or("no output".to_owned())
    }

    fn closed(&self) -> Result<(), String> {
        match self.open.front() {
            None => Ok(()),
            Some(id) => Err(format!("the result of {id} is missing before it")),
        }
    }
}

fn words(item: &Value) -> Result<(), String> {
    match item["content"].as_str() {
        Some(text) if !text.is_empty() => Ok(()),
        Some(_) | None => Err("no words".to_owned()),
    }
}

#[cfg(test)]
#[path = "grammar_tests.rs"]
mod tests;
