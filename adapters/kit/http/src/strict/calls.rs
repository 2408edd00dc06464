//! Calls whose arguments have strict forms: each ends with arguments of the tool's own schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::{Settings, StreamEvent};

use super::arguments::without_added_nulls;
use super::form::strict_form;
use super::json::Json;

/// Removes the nulls that a strict form adds from the calls of one answer.
///
/// Streamed arguments stay a beginning of the ones that the call ends with. So a property is held
/// back until its value has begun, and from the first null on all that follows.
#[derive(Debug, Clone, PartialEq)]
pub struct StrictCalls {
    settings: Arc<Settings>,
    /// Calls of tools with a strict form that are not complete, by slot.
    open: BTreeMap<u32, OpenCall>,
}

#[derive(Debug, Clone, PartialEq)]
struct OpenCall {
    schema: Json,
    arguments: String,
    /// Bytes of the arguments that were streamed.
    streamed: usize,
    scanner: Scanner,
}

impl StrictCalls {
    /// Creates the calls of an answer to a request with these settings.
    #[must_use]
    pub fn new(settings: Arc<Settings>) -> Self {
        Self { settings, open: BTreeMap::new() }
    }

    /// Applies to the events from `from` on, which a decoder appended.
    pub fn apply(&mut self, events: &mut Vec<StreamEvent>, from: usize) {
        let from = from.min(events.len());
        for event in events.split_off(from) {
            self.event(event, events);
        }
    }

    fn event(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) {
        match event {
            StreamEvent::CallOpened { slot, ref name, .. } => {
                if let Some(call) = self.opened(name) {
                    self.open.insert(slot, call);
                }
                out.push(event);
            }
            StreamEvent::CallArguments { slot, text } => {
                let text = match self.open.get_mut(&slot) {
                    Some(call) => call.push(&text),
                    None => text,
                };
                if !text.is_empty() {
                    out.push(StreamEvent::CallArguments { slot, text });
                }
            }
            StreamEvent::Done { slot, mut text, opaque } => {
                if let Some(call) = self.open.remove(&slot) {
                    text = call.finish(slot, text, out);
                }
                out.push(StreamEvent::Done { slot, text, opaque });
            }
            StreamEvent::Opened { .. }
            | StreamEvent::Text { .. }
            | StreamEvent::Refusal { .. }
            | StreamEvent::Reasoning { .. }
            | StreamEvent::Citation { .. }
            | StreamEvent::Search { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Finished { .. } => out.push(event),
        }
    }

    /// Returns the state of a new call, if its tool has a strict form.
    fn opened(&self, tool: &str) -> Option<OpenCall> {
        let schema = &self.settings.tool(tool)?.parameters;
        strict_form(schema)?;
        Some(OpenCall {
            schema: Json::read(schema)?,
            arguments: String::new(),
            streamed: 0,
            scanner: Scanner::default(),
        })
    }
}

impl OpenCall {
    /// Returns the arguments that can be streamed now.
    fn push(&mut self, text: &str) -> String {
        self.scanner.push(text);
        self.arguments.push_str(text);
        let upto = self.scanner.held_from.unwrap_or(self.arguments.len());
        let ready = self.arguments.get(self.streamed..upto).unwrap_or_default().to_owned();
        self.streamed += ready.len();
        ready
    }

    /// Streams the arguments that are still held, and returns the text of the call's end: `None` if
    /// it is what was streamed.
    fn finish(self, slot: u32, text: Option<String>, out: &mut Vec<StreamEvent>) -> Option<String> {
        let whole = text.as_deref().unwrap_or(&self.arguments);
        let own = without_added_nulls(&self.schema, whole);
        let last = own.as_deref().unwrap_or(whole);
        let streamed = self.arguments.get(..self.streamed).unwrap_or_default();
        if let Some(rest) = last.strip_prefix(streamed).filter(|rest| !rest.is_empty()) {
            out.push(StreamEvent::CallArguments { slot, text: rest.to_owned() });
        }
        own.or(text)
    }
}

/// Reads arguments piece by piece, for the position from which they may still change.
#[derive(Debug, Clone, Default, PartialEq)]
struct Scanner {
    bytes: usize,
    in_text: bool,
    escaped: bool,
    /// A colon was the last but for white space.
    at_value: bool,
    /// There was a null.
    null: bool,
    held_from: Option<usize>,
}

impl Scanner {
    fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            self.byte(byte);
            self.bytes += 1;
        }
    }

    fn byte(&mut self, byte: u8) {
        if self.null {
            return;
        }
        if self.in_text {
            self.in_text = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'{' => self.held_from = Some(self.bytes + 1),
            b',' => self.held_from = Some(self.bytes),
            b':' => {
                self.at_value = true;
                return;
            }
            // The name of a property, or a value.
            b'"' => {
                self.in_text = true;
                if self.at_value {
                    self.held_from = None;
                }
            }
            b'n' => {
                self.null = true;
                self.held_from.get_or_insert(self.bytes);
            }
            _ => self.held_from = None,
        }
        self.at_value &= byte.is_ascii_whitespace();
    }
}
