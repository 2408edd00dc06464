//! Chat Completions: who speaks when, with what, and that each call has its result.
//!
//! Source: the OpenAI API reference, "Create chat completion".

mod head;

use std::collections::BTreeSet;

use serde_json::Value;

use super::profile::{Profile, Rule};
use super::shape::{Faults, Field, Kind, Object, given, list, text, under};

const MUST: &[Field] = &[("messages", Kind::List), ("model", Kind::Text)];

const MAY: &[Field] = &[
    ("audio", Kind::Object),
    ("frequency_penalty", Kind::Number(-2.0, 2.0)),
    ("logit_bias", Kind::Object),
    ("logprobs", Kind::Bool),
    ("max_completion_tokens", Kind::Whole(1)),
    ("max_tokens", Kind::Whole(1)),
    ("metadata", Kind::Object),
    ("modalities", Kind::List),
    ("n", Kind::Whole(1)),
    ("parallel_tool_calls", Kind::Bool),
    ("prediction", Kind::Object),
    ("presence_penalty", Kind::Number(-2.0, 2.0)),
    ("prompt_cache_key", Kind::TextOf(64)),
    ("prompt_cache_retention", Kind::Text),
    ("reasoning_effort", Kind::Text),
    ("response_format", Kind::Object),
    ("safety_identifier", Kind::TextOf(64)),
    ("seed", Kind::Whole(0)),
    ("service_tier", Kind::Text),
    ("stop", Kind::Any),
    ("store", Kind::Bool),
    ("stream", Kind::Bool),
    ("stream_options", Kind::Object),
    ("temperature", Kind::Number(0.0, 2.0)),
    ("tool_choice", Kind::Any),
    ("tools", Kind::List),
    ("top_logprobs", Kind::Number(0.0, 20.0)),
    ("top_p", Kind::Number(0.0, 1.0)),
    ("user", Kind::TextOf(64)),
    ("verbosity", Kind::Word(&["low", "medium", "high"])),
    ("web_search_options", Kind::Object),
];

pub(super) fn check(profile: &Profile, body: &Object, faults: &mut Faults) {
    faults.body(profile, body, MUST, MAY);
    head::around(profile, body, faults);
    let messages = body.get("messages").map(list).unwrap_or_default();
    faults.hold(!messages.is_empty(), "messages", "there has to be one at least");
    let mut talk = Talk::new(profile, body);
    for (index, message) in messages.iter().enumerate() {
        let at = format!("messages[{index}]");
        if let Some(message) = faults.object(&at, message) {
            talk.message(&at, message, faults);
        }
    }
    talk.closed("messages", faults);
    if profile.has(Rule::EndsWithUser) {
        let ended = matches!(talk.last, "user" | "tool" | "");
        faults.hold(ended, "messages", "the last of them is the user's, or a result");
    }
    if let Some(model) = signed(profile, body) {
        let at = talk.unsigned.unwrap_or_default();
        faults.hold(at.is_empty(), &at, &format!("{model} asks for the signature of this call"));
    }
}

/// The model whose calls come back signed, where it is one.
fn signed<'a>(profile: &Profile, body: &'a Object) -> Option<&'a str> {
    let model = text(body, "model");
    let asks = profile.rules.iter().any(|rule| {
        if let Rule::CallsSigned(part) = rule {
            return model.contains(part);
        }
        false
    });
    asks.then_some(model)
}

/// The field in which the thought of a call comes back, where the model thinks.
fn thought(profile: &Profile, body: &Object) -> Option<&'static str> {
    let field = profile.rules.iter().find_map(|rule| {
        let Rule::ThoughtReturns(field) = rule else {
            return None;
        };
        Some(*field)
    })?;
    let thinks = match body.get("thinking").map(|thinking| &thinking["type"]) {
        Some(kind) => kind == "enabled",
        None => text(body, "model").contains("reasoner"),
    };
    thinks.then_some(field)
}

/// Position in a conversation.
struct Talk<'a> {
    profile: &'a Profile,
    thought: Option<&'static str>,
    /// Calls whose results are to come.
    open: BTreeSet<&'a str>,
    known: BTreeSet<&'a str>,
    /// The role before this one.
    last: &'a str,
    /// True if anybody but the system has spoken.
    begun: bool,
    /// The first call since the user's last words that has no signature.
    unsigned: Option<String>,
}

impl<'a> Talk<'a> {
    fn new(profile: &'a Profile, body: &'a Object) -> Self {
        Self {
            profile,
            thought: thought(profile, body),
            open: BTreeSet::new(),
            known: BTreeSet::new(),
            last: "",
            begun: false,
            unsigned: None,
        }
    }

    fn message(&mut self, at: &str, message: &'a Object, faults: &mut Faults) {
        let role = text(message, "role");
        if role != "tool" {
            self.closed(at, faults);
        }
        if self.profile.has(Rule::NoNames) {
            let named = given(message, "name") && role != "tool";
            faults.hold(!named, &under(at, "name"), "messages have no names here");
        }
        match role {
            "system" | "developer" => self.system(at, role, message, faults),
            "user" => {
                let after = self.last == "tool" && self.profile.has(Rule::ModelAfterResults);
                faults.hold(
                    !after,
                    &under(at, "role"),
                    "the user speaks after results: the model has to",
                );
                self.unsigned = None;
                faults.fields(at, message, PLAIN, NAMED);
                self.said(at, message, &["text", "image_url", "input_audio", "file"], faults);
            }
            "assistant" => self.assistant(at, message, faults),
            "tool" => self.result(at, message, faults),
            _ => faults.add(under(at, "role"), "no such role is known"),
        }
        self.begun |= !matches!(role, "system" | "developer");
        self.last = role;
    }

    fn system(&mut self, at: &str, role: &str, message: &'a Object, faults: &mut Faults) {
        let at_role = under(at, "role");
        let unknown = role == "developer" && self.profile.has(Rule::NoDeveloper);
        faults.hold(!unknown, &at_role, "the role developer is not known here");
        let late = self.begun && self.profile.has(Rule::SystemFirst);
        faults.hold(!late, &at_role, "the system speaks before all others");
        faults.fields(at, message, PLAIN, NAMED);
        self.said(at, message, &["text"], faults);
    }

    fn assistant(&mut self, at: &str, message: &'a Object, faults: &mut Faults) {
        let extra = self.profile.said.iter().map(|name| (*name, Kind::Any));
        let may: Vec<Field> = MODELS.iter().copied().chain(extra).collect();
        faults.fields(at, message, &[("role", Kind::Any)], &may);
        let calls = message.get("tool_calls").map(list).unwrap_or_default();
        if message.contains_key("tool_calls") {
            let at = under(at, "tool_calls");
            faults.hold(!calls.is_empty(), &at, "it is no list, or an empty one");
        }
        let content = under(at, "content");
        if self.profile.has(Rule::ContentAlways) {
            faults.hold(message.contains_key("content"), &content, "it is missing");
        }
        let silent = !given(message, "content") || message.get("content") == Some(&"".into());
        let idle = silent && calls.is_empty() && !given(message, "refusal");
        faults.hold(!idle, &content, "the model says nothing and calls nothing");
        if !silent {
            self.said(at, message, &["text", "refusal"], faults);
        }
        if let Some(field) = self.thought.filter(|_| !calls.is_empty()) {
            let told = message.get(field).is_some_and(Value::is_string);
            faults.hold(told, &under(at, field), "the thought has to come back with these calls");
        }
        for (index, call) in calls.iter().enumerate() {
            let at = format!("{at}.tool_calls[{index}]");
            if let Some(call) = faults.object(&at, call) {
                self.call(&at, index, call, faults);
            }
        }
    }

    fn call(&mut self, at: &str, index: usize, call: &'a Object, faults: &mut Faults) {
        let extra: Vec<Field> = self.profile.called.iter().map(|name| (*name, Kind::Any)).collect();
        let must =
            [("function", Kind::Object), ("id", Kind::Any), ("type", Kind::Word(&["function"]))];
        faults.fields(at, call, &must, &extra);
        if let Some(function) = call.get("function").and_then(Value::as_object) {
            let at = under(at, "function");
            faults.fields(&at, function, &[("arguments", Kind::Any), ("name", Kind::Any)], &[]);
            faults.name(&under(&at, "name"), function.get("name").unwrap_or(&Value::Null));
            let arguments = function.get("arguments").unwrap_or(&Value::Null);
            faults.arguments(&under(&at, "arguments"), arguments);
        }
        let (id, at_id) = (text(call, "id"), under(at, "id"));
        faults.call_id(&at_id, id, self.profile.call_ids);
        faults.hold(self.known.insert(id), &at_id, "another call has this id");
        self.open.insert(id);
        let signature =
            call.get("extra_content").map(|extra| &extra["google"]["thought_signature"]);
        let signed = signature.and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        // The first of the calls that stand together bears the signature.
        if index == 0 && !signed && self.unsigned.is_none() {
            self.unsigned = Some(at.to_owned());
        }
    }

    fn result(&mut self, at: &str, message: &'a Object, faults: &mut Faults) {
        let must = [("content", Kind::Any), ("role", Kind::Any), ("tool_call_id", Kind::Text)];
        faults.fields(at, message, &must, &[("name", Kind::Text)]);
        let id = text(message, "tool_call_id");
        let asked = self.open.remove(id);
        faults.hold(asked, &under(at, "tool_call_id"), "no call before it waits for this result");
        // A tool may have nothing to tell.
        if message.get("content") != Some(&"".into()) {
            self.said(at, message, &["text"], faults);
        }
    }

    fn said(&self, at: &str, message: &Object, kinds: &[&str], faults: &mut Faults) {
        let at = under(at, "content");
        let Some(content) = message.get("content") else {
            return;
        };
        if let Some(words) = content.as_str() {
            return faults.hold(!words.is_empty(), &at, "it is empty");
        }
        let parts = list(content);
        faults.hold(!parts.is_empty(), &at, "it is neither text nor a list of parts");
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
                "image_url" => self.picture(&at, part, faults),
                "input_audio" | "file" => {
                    faults.fields(
                        &at,
                        part,
                        &[
                            ("type", Kind::Any),
                            (if kind == "file" { "file" } else { "input_audio" }, Kind::Object),
                        ],
                        &[],
                    );
                }
                "refusal" => {
                    faults.fields(&at, part, &[("refusal", Kind::Text), ("type", Kind::Any)], &[])
                }
                _ => faults.fields(&at, part, &[("text", Kind::Text), ("type", Kind::Any)], &[]),
            }
        }
    }

    fn picture(&self, at: &str, part: &Object, faults: &mut Faults) {
        let taken = !self.profile.has(Rule::NoImages);
        faults.hold(taken, at, "no images are taken here");
        faults.fields(at, part, &[("image_url", Kind::Object), ("type", Kind::Any)], &[]);
        if let Some(image) = part.get("image_url").and_then(Value::as_object) {
            let at = under(at, "image_url");
            let detail = [("detail", Kind::Word(&["auto", "low", "high"]))];
            faults.fields(&at, image, &[("url", Kind::Any)], &detail);
            faults.image_url(&under(&at, "url"), image.get("url").unwrap_or(&Value::Null));
        }
    }

    fn closed(&mut self, at: &str, faults: &mut Faults) {
        for id in std::mem::take(&mut self.open) {
            faults.add(at, format!("the result of the call {id:?} has to come first"));
        }
    }
}

const PLAIN: &[Field] = &[("content", Kind::Any), ("role", Kind::Any)];
const NAMED: &[Field] = &[("name", Kind::Text)];
const MODELS: &[Field] = &[
    ("audio", Kind::Any),
    ("content", Kind::Any),
    ("name", Kind::Text),
    ("refusal", Kind::Any),
    ("tool_calls", Kind::Any),
];
