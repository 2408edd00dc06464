//! Calls of tools that take a text of a grammar: the JSON form that the engine has of them, and the
//! bare text on the wire. Pure.

use std::collections::HashMap;

use serde_json::{Map, Value};
use windlass_core::{AppendListIter, CallItem, Prompt, PromptItem, Settings};

use crate::quirks::Quirks;

/// Items of a prompt from one position on, and which of its calls are sent as texts.
pub(crate) struct TextCalls<'a> {
    prompt: &'a Prompt,
    from: usize,
    /// False if no tool is sent with a grammar.
    any: bool,
    /// Calls of tools with a grammar; `None` before the first result asks for them.
    calls: Option<HashMap<&'a str, &'a CallItem>>,
}

impl<'a> TextCalls<'a> {
    /// The items from position `from` on.
    pub(crate) fn new(prompt: &'a Prompt, from: usize, quirks: &Quirks) -> Self {
        let any = quirks.grammars && prompt.settings.tools.iter().any(|it| it.grammar.is_some());
        Self { prompt, from, any, calls: None }
    }

    /// The items to send.
    pub(super) fn items(&self) -> AppendListIter<'a, PromptItem> {
        self.prompt.items.iter_from(self.from)
    }

    /// Returns the text of a call that is sent as one: its tool has a grammar, and its arguments are
    /// that text alone.
    pub(super) fn text(&self, tool: &str, arguments: &str) -> Option<String> {
        if !self.any {
            return None;
        }
        let argument = argument(&self.prompt.settings, tool)?;
        let mut given: Map<String, Value> = serde_json::from_str(arguments).ok()?;
        match (given.remove(argument), given.is_empty()) {
            (Some(Value::String(text)), true) => Some(text),
            (Some(_) | None, _) => None,
        }
    }

    /// Returns true if the call that a result belongs to is sent as a text, wherever it is.
    pub(super) fn is_text(&mut self, id: &str) -> bool {
        if !self.any {
            return false;
        }
        let (prompt, settings) = (self.prompt, &self.prompt.settings);
        let calls = self.calls.get_or_insert_with(|| {
            let calls = prompt.items.iter().filter_map(PromptItem::as_call);
            let of_text = calls.filter(|(_, _, call)| argument(settings, &call.name).is_some());
            of_text.map(|(_, id, call)| (&**id, &**call)).collect()
        });
        let call = calls.get(id).copied();
        call.is_some_and(|call| self.text(&call.name, &call.arguments).is_some())
    }
}

/// Returns the argument that a tool's text is, if the tool has a grammar.
pub(super) fn argument<'s>(settings: &'s Settings, tool: &str) -> Option<&'s str> {
    settings.tool(tool)?.grammar.as_ref().map(|grammar| grammar.argument.as_str())
}

/// A text that streams in as the value of one argument, and is passed on as JSON.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextArgument(String);

impl TextArgument {
    /// The value of this argument.
    pub(super) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The JSON before the text.
    pub(super) fn opening(&self) -> String {
        format!("{{{}:\"", Value::from(self.0.as_str()))
    }

    /// A part of the text within JSON.
    pub(super) fn part(text: &str) -> String {
        let quoted = Value::from(text).to_string();
        quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
    }

    /// The JSON after the text.
    pub(super) const CLOSING: &'static str = "\"}";

    /// The whole JSON.
    pub(super) fn whole(&self, text: &str) -> String {
        [&self.opening(), &Self::part(text), Self::CLOSING].concat()
    }
}
