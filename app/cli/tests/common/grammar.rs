//! The grammar of requests, as strict as the strictest provider: what each call is followed by,
//! and that nothing else stands there.

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value;
use windlass_testkit::http::Request;

/// What a request does against the grammar of its dialect, if anything.
pub(crate) fn fault(request: &Request) -> Option<String> {
    let json = request.json.as_ref()?;
    let list = json.get("messages").or_else(|| json.get("input"))?;
    let mut reader = Reader::default();
    for (at, item) in list.as_array()?.iter().enumerate() {
        if let Err(why) = reader.take(item) {
            return Some(format!(
                "request {}, item {at}: {why}: {item}",
                request.number
            ));
        }
    }
    (!reader.open.is_empty()).then(|| format!("calls without a result: {:?}", reader.open))
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
    fn take(&mut self, item: &Value) -> Result<(), String> {
        let text = |key: &str| item[key].as_str().unwrap_or_default();
        match (text("role"), text("type")) {
            ("tool", _) => self.result(text("tool_call_id"), &item["content"]),
            (_, "function_call_output") => self.result(text("call_id"), &item["output"]),
            (_, "function_call") => self.call(text("call_id"), item),
            ("assistant", _) => {
                self.closed()?;
                for call in item["tool_calls"].as_array().into_iter().flatten() {
                    self.call(call["id"].as_str().unwrap_or_default(), &call["function"])?;
                }
                Ok(())
            }
            ("system" | "developer" | "user", _) => {
                self.closed()?;
                match item["content"].as_str() {
                    Some(text) if !text.is_empty() => Ok(()),
                    Some(_) | None => Err("no words".to_owned()),
                }
            }
            (_, "reasoning") => self.closed(),
            _ => Err("an unknown item".to_owned()),
        }
    }

    fn call(&mut self, id: &str, call: &Value) -> Result<(), String> {
        if self.results && !self.open.is_empty() {
            return Err("a call among the results of others".to_owned());
        }
        self.results = false;
        let arguments = call["arguments"].as_str().unwrap_or_default();
        let parsed: Result<serde_json::Map<String, Value>, _> = serde_json::from_str(arguments);
        parsed.map_err(|error| format!("arguments: {error}"))?;
        if id.is_empty() || !self.known.insert(id.to_owned()) {
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
