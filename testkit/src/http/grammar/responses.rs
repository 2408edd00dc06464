//! Responses: which items stand in what order, and what goes back to a server that keeps nothing.
//!
//! Source: the OpenAI API reference, "Create a model response".

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::profile::{Profile, Rule};
use super::shape::{Faults, Field, Kind, Object, given, list, text, under};

const MUST: &[Field] = &[("input", Kind::Any), ("model", Kind::Text)];

const MAY: &[Field] = &[
    ("background", Kind::Bool),
    ("context_management", Kind::Any),
    ("conversation", Kind::Any),
    ("include", Kind::List),
    ("instructions", Kind::Text),
    ("max_output_tokens", Kind::Whole(16)),
    ("max_tool_calls", Kind::Whole(1)),
    ("metadata", Kind::Object),
    ("parallel_tool_calls", Kind::Bool),
    ("previous_response_id", Kind::Text),
    ("prompt", Kind::Object),
    ("prompt_cache_key", Kind::TextOf(64)),
    ("prompt_cache_retention", Kind::Text),
    ("reasoning", Kind::Object),
    ("safety_identifier", Kind::TextOf(64)),
    ("service_tier", Kind::Text),
    ("store", Kind::Bool),
    ("stream", Kind::Bool),
    ("stream_options", Kind::Object),
    ("temperature", Kind::Number(0.0, 2.0)),
    ("text", Kind::Object),
    ("tool_choice", Kind::Any),
    ("tools", Kind::List),
    ("top_logprobs", Kind::Number(0.0, 20.0)),
    ("top_p", Kind::Number(0.0, 1.0)),
    ("truncation", Kind::Word(&["auto", "disabled"])),
    ("user", Kind::TextOf(64)),
];

const SEALED: &str = "reasoning.encrypted_content";
const INCLUDED: &[&str] = &[
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    SEALED,
    "web_search_call.action.sources",
];

pub(super) fn check(profile: &Profile, body: &Object, faults: &mut Faults) {
    faults.body(profile, body, MUST, MAY);
    around(profile, body, faults);
    let Some(input) = body.get("input") else {
        return;
    };
    if let Some(words) = input.as_str() {
        return faults.hold(!words.is_empty(), "input", "it is empty");
    }
    let items = list(input);
    let goes_on = given(body, "previous_response_id");
    faults.hold(goes_on || !items.is_empty(), "input", "it is neither text nor a list of items");
    let mut talk = Talk::new(profile, body);
    for (index, item) in items.iter().enumerate() {
        let at = format!("input[{index}]");
        if let Some(item) = faults.object(&at, item) {
            talk.item(&at, item, faults);
        }
    }
    talk.end(faults);
}

fn around(profile: &Profile, body: &Object, faults: &mut Faults) {
    let names = faults.tools(body, |faults, at, tool| {
        let must = [
            ("name", Kind::Any),
            ("parameters", Kind::Object),
            ("type", Kind::Word(&["function"])),
        ];
        faults.fields(at, tool, &must, &[("description", Kind::Any), ("strict", Kind::Bool)]);
        let name = tool.get("name")?;
        faults.name(&under(at, "name"), name);
        if let Some(schema) = tool.get("parameters") {
            // Strict is the default of this protocol.
            let strict = tool.get("strict") != Some(&Value::Bool(false));
            faults.schema(&under(at, "parameters"), schema, strict);
        }
        name.as_str()
    });
    if let Some(choice) = body.get("tool_choice") {
        chosen(profile, choice, &names, faults);
    }
    for (index, word) in body.get("include").map(list).unwrap_or_default().iter().enumerate() {
        let known = word.as_str().is_some_and(|word| INCLUDED.contains(&word));
        faults.hold(known, &format!("include[{index}]"), "nothing of this name can be included");
    }
    if given(body, "stream_options") {
        let streamed = body.get("stream") == Some(&Value::Bool(true));
        faults.hold(streamed, "stream_options", "they are only for a stream");
    }
    if let Some(reasoning) = body.get("reasoning").and_then(Value::as_object) {
        let summaries = Kind::Word(&["auto", "concise", "detailed"]);
        faults.fields(
            "reasoning",
            reasoning,
            &[],
            &[("effort", Kind::Text), ("summary", summaries)],
        );
        if let Some(effort) = reasoning.get("effort").and_then(Value::as_str) {
            let known = profile.efforts.is_empty() || profile.efforts.contains(&effort);
            faults.hold(known, "reasoning.effort", "no such effort is known");
        }
    }
    if let Some(text) = body.get("text").and_then(Value::as_object) {
        let verbosity = Kind::Word(&["low", "medium", "high"]);
        faults.fields("text", text, &[], &[("format", Kind::Object), ("verbosity", verbosity)]);
        if let Some(format) = text.get("format").and_then(Value::as_object) {
            answer(format, body, faults);
        }
    }
    let both = given(body, "conversation") && given(body, "previous_response_id");
    faults.hold(!both, "conversation", "it stands beside previous_response_id");
}

fn chosen(profile: &Profile, choice: &Value, names: &BTreeSet<&str>, faults: &mut Faults) {
    if let Some(word) = choice.as_str() {
        let known = profile.choices.contains(&word);
        return faults.hold(known, "tool_choice", &format!("it is one of {:?}", profile.choices));
    }
    let name = choice["name"].as_str().unwrap_or_default();
    let shape = json!({ "type": "function", "name": name });
    faults.hold(*choice == shape, "tool_choice", "it names a tool as {type, name}");
    faults.hold(names.contains(name), "tool_choice", "no such tool is offered");
}

fn answer(format: &Object, body: &Object, faults: &mut Faults) {
    let at = "text.format";
    match text(format, "type") {
        "text" => faults.fields(at, format, &[("type", Kind::Any)], &[]),
        "json_object" => {
            faults.fields(at, format, &[("type", Kind::Any)], &[]);
            let said = body
                .get("input")
                .is_some_and(|all| all.to_string().to_lowercase().contains("json"));
            faults.hold(said, at, "no item says the word JSON");
        }
        "json_schema" => faults.answer_schema(at, format, true),
        _ => faults.add(at, "its type is text, json_object or json_schema"),
    }
}

/// Position in a conversation.
struct Talk<'a> {
    profile: &'a Profile,
    /// True if the server keeps what it said.
    stored: bool,
    /// True if reasoning was asked for sealed.
    sealed: bool,
    /// True if the server has all that came before.
    goes_on: bool,
    /// Calls whose results are to come.
    open: BTreeSet<&'a str>,
    /// True if a result has come since the last call.
    results: bool,
    known: BTreeSet<&'a str>,
    ids: BTreeSet<&'a str>,
    /// A reasoning whose item is to follow.
    thought: Option<String>,
}

impl<'a> Talk<'a> {
    fn new(profile: &'a Profile, body: &'a Object) -> Self {
        let include = body.get("include").map(list).unwrap_or_default();
        Self {
            profile,
            stored: body.get("store") != Some(&Value::Bool(false)),
            sealed: include.iter().any(|word| word == SEALED),
            goes_on: given(body, "previous_response_id"),
            open: BTreeSet::new(),
            results: false,
            known: BTreeSet::new(),
            ids: BTreeSet::new(),
            thought: None,
        }
    }

    fn item(&mut self, at: &str, item: &'a Object, faults: &mut Faults) {
        let (role, kind) = (text(item, "role"), text(item, "type"));
        let models = matches!((role, kind), ("assistant", _) | (_, "function_call" | "reasoning"));
        let had = self.goes_on && models;
        faults.hold(
            !had,
            at,
            "the server has this already: only what is new goes with previous_response_id",
        );
        if !models {
            self.followed(faults);
        }
        match (role, kind) {
            ("assistant" | "system" | "developer" | "user", "" | "message") => {
                // What the model says after a call of the same answer stands before its result.
                if !models {
                    self.closed(at, faults);
                }
                self.message(at, role, item, faults);
            }
            ("", "function_call") => self.call(at, item, faults),
            ("", "function_call_output") => self.result(at, item, faults),
            ("", "reasoning") => self.reasoning(at, item, faults),
            ("", "item_reference") => {
                faults.fields(at, item, &[("id", Kind::Text), ("type", Kind::Any)], &[]);
                faults.hold(self.stored, at, "nothing is stored that it could refer to");
            }
            _ => faults
                .add(at, format!("no item of the type {kind:?} and the role {role:?} is known")),
        }
        if models && kind != "reasoning" {
            self.thought = None;
        }
    }

    fn message(&mut self, at: &str, role: &str, item: &'a Object, faults: &mut Faults) {
        let may =
            [("id", Kind::Text), ("phase", Kind::Any), ("status", Kind::Text), ("type", Kind::Any)];
        faults.fields(at, item, &[("content", Kind::Any), ("role", Kind::Any)], &may);
        self.id(at, item, "msg", faults);
        let at = under(at, "content");
        let Some(content) = item.get("content") else {
            return;
        };
        if let Some(words) = content.as_str() {
            return faults.hold(!words.is_empty(), &at, "it is empty");
        }
        let kinds: &[&str] = match role {
            "assistant" => &["output_text", "refusal"],
            _ => &["input_text", "input_image", "input_file"],
        };
        parts(&at, content, kinds, faults);
    }

    fn call(&mut self, at: &str, item: &'a Object, faults: &mut Faults) {
        let must = [
            ("arguments", Kind::Any),
            ("call_id", Kind::Any),
            ("name", Kind::Any),
            ("type", Kind::Any),
        ];
        faults.fields(at, item, &must, &[("id", Kind::Text), ("status", Kind::Text)]);
        let among = self.results && !self.open.is_empty();
        faults.hold(!among, at, "a call stands among the results of others");
        self.results = false;
        self.id(at, item, "fc", faults);
        faults.name(&under(at, "name"), item.get("name").unwrap_or(&Value::Null));
        faults.arguments(&under(at, "arguments"), item.get("arguments").unwrap_or(&Value::Null));
        let (id, at_id) = (text(item, "call_id"), under(at, "call_id"));
        faults.call_id(&at_id, id, self.profile.call_ids);
        faults.hold(self.known.insert(id), &at_id, "another call has this id");
        self.open.insert(id);
    }

    fn result(&mut self, at: &str, item: &'a Object, faults: &mut Faults) {
        let must = [("call_id", Kind::Text), ("output", Kind::Any), ("type", Kind::Any)];
        faults.fields(at, item, &must, &[("id", Kind::Text), ("status", Kind::Text)]);
        self.results = true;
        // The call may be one that the server has.
        let asked = self.open.remove(text(item, "call_id")) || self.goes_on;
        faults.hold(asked, &under(at, "call_id"), "no call before it waits for this result");
        if let Some(output) = item.get("output")
            && !output.is_string()
        {
            parts(
                &under(at, "output"),
                output,
                &["input_text", "input_image", "input_file"],
                faults,
            );
        }
    }

    fn reasoning(&mut self, at: &str, item: &'a Object, faults: &mut Faults) {
        let must = [("id", Kind::Text), ("summary", Kind::List), ("type", Kind::Any)];
        let may = [("content", Kind::Any), ("encrypted_content", Kind::Any), ("status", Kind::Any)];
        faults.fields(at, item, &must, &may);
        self.id(at, item, "rs", faults);
        let summary = item.get("summary").map(list).unwrap_or_default();
        for (index, part) in summary.iter().enumerate() {
            let fits = part["type"] == "summary_text" && part["text"].is_string();
            faults.hold(fits, &format!("{at}.summary[{index}]"), "it is no summary_text");
        }
        let sealed = !text(item, "encrypted_content").is_empty();
        let plain = item.get("content").is_some_and(|content| !list(content).is_empty());
        let plain = plain && self.profile.has(Rule::PlainReasoning);
        faults.hold(
            self.stored || sealed || plain,
            at,
            "nothing is stored, and it holds no encrypted content",
        );
        let asked = !self.stored && self.sealed;
        let at_sealed = under(at, "encrypted_content");
        faults.hold(
            !sealed || asked,
            &at_sealed,
            "it belongs to requests with store false that include it",
        );
        self.thought = Some(at.to_owned());
    }

    fn id(&mut self, at: &str, item: &'a Object, prefix: &str, faults: &mut Faults) {
        if !item.contains_key("id") {
            return;
        }
        let (id, at) = (text(item, "id"), under(at, "id"));
        faults.hold(id.starts_with(prefix), &at, &format!("an id here begins with {prefix}"));
        faults.call_id(&at, id, super::profile::CallIds::Plain(64));
        faults.hold(self.ids.insert(id), &at, "another item has this id");
    }

    fn closed(&mut self, at: &str, faults: &mut Faults) {
        for id in std::mem::take(&mut self.open) {
            faults.add(at, format!("the result of the call {id:?} has to come first"));
        }
    }

    fn followed(&mut self, faults: &mut Faults) {
        if let Some(at) = self.thought.take() {
            faults.add(at, "the item that the model gave after this reasoning has to follow");
        }
    }

    fn end(&mut self, faults: &mut Faults) {
        self.followed(faults);
        self.closed("input", faults);
    }
}

fn parts(at: &str, content: &Value, kinds: &[&str], faults: &mut Faults) {
    let parts = list(content);
    faults.hold(!parts.is_empty(), at, "it is neither text nor a list of parts");
    for (index, part) in parts.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let Some(part) = faults.object(&at, part) else {
            continue;
        };
        let kind = text(part, "type");
        if !kinds.contains(&kind) {
            faults.add(&at, format!("no part of the type {kind:?} stands here"));
            continue;
        }
        match kind {
            "input_image" => {
                let detail = Kind::Word(&["auto", "low", "high"]);
                faults.fields(
                    &at,
                    part,
                    &[("type", Kind::Any)],
                    &[("detail", detail), ("file_id", Kind::Text), ("image_url", Kind::Text)],
                );
                match part.get("image_url") {
                    Some(url) => faults.image_url(&under(&at, "image_url"), url),
                    None => faults.hold(given(part, "file_id"), &at, "it shows no image"),
                }
            }
            "refusal" => {
                faults.fields(&at, part, &[("refusal", Kind::Text), ("type", Kind::Any)], &[])
            }
            "output_text" => {
                let may = [("annotations", Kind::List), ("logprobs", Kind::Any)];
                faults.fields(&at, part, &[("text", Kind::Text), ("type", Kind::Any)], &may);
            }
            "input_text" => {
                faults.fields(&at, part, &[("text", Kind::Text), ("type", Kind::Any)], &[])
            }
            _ => {}
        }
    }
}
