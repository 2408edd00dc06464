//! Messages: roles in turn, results before words, thinking with its signature.
//!
//! Source: Anthropic's API reference, "Create a Message", and its guides on tool use, extended
//! thinking, prompt caching and vision.

mod head;

use std::collections::BTreeSet;

use serde_json::Value;

use super::profile::Profile;
use super::shape::{Faults, Field, Kind, Object, given, list, text, under};

const MUST: &[Field] =
    &[("max_tokens", Kind::Whole(1)), ("messages", Kind::List), ("model", Kind::Text)];

const MAY: &[Field] = &[
    ("cache_control", Kind::Object),
    ("container", Kind::Any),
    ("context_management", Kind::Object),
    ("metadata", Kind::Object),
    ("output_config", Kind::Object),
    ("service_tier", Kind::Word(&["auto", "standard_only"])),
    ("stop_sequences", Kind::List),
    ("stream", Kind::Bool),
    ("system", Kind::Any),
    ("temperature", Kind::Number(0.0, 1.0)),
    ("thinking", Kind::Object),
    ("tool_choice", Kind::Object),
    ("tools", Kind::List),
    ("top_k", Kind::Whole(0)),
    ("top_p", Kind::Number(0.0, 1.0)),
];

/// The most places of a request that may be marked for the cache.
const CACHED: usize = 4;

pub(super) fn check(profile: &Profile, body: &Object, faults: &mut Faults) {
    faults.body(profile, body, MUST, MAY);
    head::around(profile, body, faults);
    if let Some(system) = body.get("system") {
        words("system", system, faults);
    }
    let mut talk = Talk { profile, open: BTreeSet::new(), known: BTreeSet::new() };
    let turns = turns(body, faults);
    for (index, turn) in turns.iter().enumerate() {
        match turn.role {
            "user" => talk.user(turn, faults),
            _ => {
                faults.hold(index > 0, &turn.at, "the first message is the user's");
                talk.model(turn, faults);
            }
        }
    }
    talk.closed("messages", faults);
    if let Some(last) = turns.last().filter(|turn| turn.role == "assistant") {
        let thinks = matches!(head::thinking(body), "enabled" | "adaptive");
        faults.hold(
            !thinks,
            &last.at,
            "a model that thinks is not given the beginning of its answer",
        );
        let end = last.blocks.last().map(|(_, block)| block.words()).unwrap_or_default();
        let trimmed = end.trim_end().len() == end.len();
        faults.hold(trimmed, &last.at, "the words that the answer begins with end in whitespace");
    }
    let cached = marks(&Value::Object(body.clone()));
    faults.hold(cached <= CACHED, "", "more than four places are marked for the cache");
}

/// A block of a message, or text that stands for one.
#[derive(Clone, Copy)]
enum Block<'a> {
    Words(&'a str),
    Object(&'a Object),
}

impl<'a> Block<'a> {
    fn kind(self) -> &'a str {
        match self {
            Self::Words(_) => "text",
            Self::Object(object) => text(object, "type"),
        }
    }

    fn words(self) -> &'a str {
        match self {
            Self::Words(words) => words,
            Self::Object(object) => text(object, "text"),
        }
    }
}

/// What one side says until the other does: the server joins messages of one role.
struct Turn<'a> {
    at: String,
    role: &'a str,
    blocks: Vec<(String, Block<'a>)>,
}

fn turns<'a>(body: &'a Object, faults: &mut Faults) -> Vec<Turn<'a>> {
    let messages = body.get("messages").map(list).unwrap_or_default();
    faults.hold(!messages.is_empty(), "messages", "there has to be one at least");
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let at = format!("messages[{index}]");
        let Some(message) = faults.object(&at, message) else {
            continue;
        };
        let role = Kind::Word(&["user", "assistant"]);
        faults.fields(&at, message, &[("content", Kind::Any), ("role", role)], &[]);
        let content = message.get("content").unwrap_or(&Value::Null);
        let at_content = under(&at, "content");
        let mut blocks = Vec::new();
        if let Some(words) = content.as_str() {
            blocks.push((at_content, Block::Words(words)));
        } else {
            let parts = list(content);
            faults.hold(!parts.is_empty(), &at_content, "it is neither text nor a list of blocks");
            for (index, part) in parts.iter().enumerate() {
                let at = format!("{at_content}[{index}]");
                if let Some(part) = faults.object(&at, part) {
                    cache(&at, part, faults);
                    blocks.push((at, Block::Object(part)));
                }
            }
        }
        let role = text(message, "role");
        match turns.last_mut().filter(|turn| turn.role == role) {
            Some(turn) => turn.blocks.append(&mut blocks),
            None => turns.push(Turn { at, role, blocks }),
        }
    }
    turns
}

/// Position in a conversation.
struct Talk<'a> {
    profile: &'a Profile,
    /// Calls of the turn before.
    open: BTreeSet<&'a str>,
    known: BTreeSet<&'a str>,
}

impl<'a> Talk<'a> {
    fn user(&mut self, turn: &Turn<'a>, faults: &mut Faults) {
        let mut spoke = false;
        for (at, block) in &turn.blocks {
            let Block::Object(object) = block else {
                words_of(at, block.words(), faults);
                spoke = true;
                continue;
            };
            match block.kind() {
                "tool_result" => {
                    faults.hold(!spoke, at, "results stand before all else");
                    self.result(at, object, faults);
                }
                kind => {
                    spoke = true;
                    said(at, kind, object, faults);
                }
            }
        }
        self.closed(&turn.at, faults);
    }

    fn model(&mut self, turn: &Turn<'a>, faults: &mut Faults) {
        let mut called = false;
        for (at, block) in &turn.blocks {
            let Block::Object(object) = block else {
                words_of(at, block.words(), faults);
                continue;
            };
            match block.kind() {
                "thinking" => {
                    let must =
                        [("signature", Kind::Text), ("thinking", Kind::Any), ("type", Kind::Any)];
                    faults.fields(at, object, &must, &[]);
                    let told = object.get("thinking").is_some_and(Value::is_string);
                    faults.hold(told, &under(at, "thinking"), "it has to be text");
                    faults.hold(!called, at, "the model thinks before it calls");
                }
                "redacted_thinking" => {
                    faults.fields(at, object, &[("data", Kind::Text), ("type", Kind::Any)], &[]);
                    faults.hold(!called, at, "the model thinks before it calls");
                }
                "tool_use" => {
                    called = true;
                    self.call(at, object, faults);
                }
                "text" => said(at, "text", object, faults),
                kind => faults.add(at, format!("the model says no block of the type {kind:?}")),
            }
        }
        if let Some((at, block)) = turn.blocks.last() {
            let thought = matches!(block.kind(), "thinking" | "redacted_thinking");
            faults.hold(!thought, at, "a message does not end with thinking");
        }
    }

    fn call(&mut self, at: &str, block: &'a Object, faults: &mut Faults) {
        let must =
            [("id", Kind::Any), ("input", Kind::Object), ("name", Kind::Any), ("type", Kind::Any)];
        faults.fields(at, block, &must, &[("cache_control", Kind::Any)]);
        faults.name(&under(at, "name"), block.get("name").unwrap_or(&Value::Null));
        let (id, at_id) = (text(block, "id"), under(at, "id"));
        faults.call_id(&at_id, id, self.profile.call_ids);
        faults.hold(self.known.insert(id), &at_id, "another call has this id");
        self.open.insert(id);
    }

    fn result(&mut self, at: &str, block: &'a Object, faults: &mut Faults) {
        let may = [("cache_control", Kind::Any), ("content", Kind::Any), ("is_error", Kind::Bool)];
        faults.fields(at, block, &[("tool_use_id", Kind::Text), ("type", Kind::Any)], &may);
        let asked = self.open.remove(text(block, "tool_use_id"));
        faults.hold(
            asked,
            &under(at, "tool_use_id"),
            "the message before has no such call that waits",
        );
        let content = block.get("content").unwrap_or(&Value::Null);
        let failed = block.get("is_error") == Some(&Value::Bool(true));
        let at = under(at, "content");
        let empty =
            content.is_null() || content == "" || content.as_array().is_some_and(Vec::is_empty);
        faults.hold(!(failed && empty), &at, "an error says what went wrong");
        if content.is_null() || content.is_string() {
            return;
        }
        faults.hold(content.is_array(), &at, "it is neither text nor a list of blocks");
        for (index, part) in list(content).iter().enumerate() {
            let at = format!("{at}[{index}]");
            if let Some(part) = faults.object(&at, part) {
                said(&at, text(part, "type"), part, faults);
            }
        }
    }

    fn closed(&mut self, at: &str, faults: &mut Faults) {
        for id in std::mem::take(&mut self.open) {
            faults.add(at, format!("the result of the call {id:?} has to come right after it"));
        }
    }
}

/// A block that anybody may say.
fn said(at: &str, kind: &str, block: &Object, faults: &mut Faults) {
    match kind {
        "text" => {
            let may = [("cache_control", Kind::Any), ("citations", Kind::Any)];
            faults.fields(at, block, &[("text", Kind::Any), ("type", Kind::Any)], &may);
            words_of(&under(at, "text"), text(block, "text"), faults);
        }
        "image" => {
            let must = [("source", Kind::Object), ("type", Kind::Any)];
            faults.fields(at, block, &must, &[("cache_control", Kind::Any)]);
            let at = under(at, "source");
            if let Some(source) = block.get("source").and_then(Value::as_object) {
                match text(source, "type") {
                    "base64" => {
                        let must =
                            [("data", Kind::Text), ("media_type", Kind::Text), ("type", Kind::Any)];
                        faults.fields(&at, source, &must, &[]);
                        faults.image(&at, text(source, "media_type"), text(source, "data"));
                    }
                    "url" => {
                        faults.fields(&at, source, &[("type", Kind::Any), ("url", Kind::Text)], &[])
                    }
                    _ => faults.add(&at, "its type is base64 or url"),
                }
            }
        }
        kind => faults.add(at, format!("no block of the type {kind:?} stands here")),
    }
}

/// Text, or a list of texts.
fn words(at: &str, value: &Value, faults: &mut Faults) {
    if let Some(text) = value.as_str() {
        return words_of(at, text, faults);
    }
    let blocks = list(value);
    faults.hold(!blocks.is_empty(), at, "it is neither text nor a list of texts");
    for (index, block) in blocks.iter().enumerate() {
        let at = format!("{at}[{index}]");
        if let Some(block) = faults.object(&at, block) {
            let texts = text(block, "type") == "text";
            faults.hold(texts, &at, "only text stands here");
            cache(&at, block, faults);
            if texts {
                said(&at, "text", block, faults);
            }
        }
    }
}

fn words_of(at: &str, words: &str, faults: &mut Faults) {
    faults.hold(!words.trim().is_empty(), at, "text has to have more than whitespace");
}

fn cache(at: &str, block: &Object, faults: &mut Faults) {
    let Some(mark) = block.get("cache_control").and_then(Value::as_object) else {
        return;
    };
    let at = under(at, "cache_control");
    let kind = ("type", Kind::Word(&["ephemeral"]));
    faults.fields(&at, mark, &[kind], &[("ttl", Kind::Word(&["5m", "1h"]))]);
}

/// How many places are marked for the cache. What a tool's arguments and schema hold is no mark.
fn marks(value: &Value) -> usize {
    if let Some(object) = value.as_object() {
        let inner =
            object.iter().filter(|(key, _)| !matches!(key.as_str(), "input" | "input_schema"));
        let inner: usize = inner.map(|(_, value)| marks(value)).sum();
        return inner + usize::from(given(object, "cache_control"));
    }
    list(value).iter().map(marks).sum()
}
