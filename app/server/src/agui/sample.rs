//! Sample: presents the parts of an answer as messages while it streams, and matches its items to
//! them.
//!
//! A live delta names a part, a durable item does not. An item completes the open part of its kind
//! whose text is a prefix of the item; the longest, if there are several. An item without such a
//! part becomes a message of its own. A message that was sent never changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use windlass_engine::core::Seq;

use super::event::AguiEvent;

/// Kind of an answer's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AguiPartKind {
    Text,
    Refusal,
    Reasoning,
    Call,
}

/// Answer of a model that is being presented.
#[derive(Debug)]
pub(super) struct Sample {
    /// Position of its `SampleStarted`.
    pub(super) started: Seq,
    /// Name of its step.
    pub(super) step: String,
    /// True if the step was started.
    pub(super) is_step: bool,
    /// Parts of the answer while it streams.
    parts: Vec<AguiPart>,
    /// Number of items so far.
    items: u64,
    /// Items without streamed text: a part that streams late may be one of them.
    unstreamed: Vec<(AguiPartKind, Arc<str>)>,
    /// Numbers of the messages.
    numbers: BTreeSet<u64>,
    /// Messages of its items, each with the item's position.
    pub(super) messages: Vec<(Seq, String)>,
    /// Last text message.
    last_text: Option<String>,
}

#[derive(Debug)]
struct AguiPart {
    slot: u32,
    kind: AguiPartKind,
    /// Message of the part; `None` if it is not presented.
    message: Option<String>,
    /// Digest of the text that was sent.
    sent: Sha256,
    bytes: usize,
    /// Bytes that were received since the last lag.
    received: usize,
    /// True if its item was received.
    done: bool,
    /// True if the rest of its text follows with its item.
    missed: bool,
}

impl AguiPart {
    /// Returns true if a text begins with the sent text.
    fn precedes(&self, text: &str) -> bool {
        let told = text.get(..self.bytes);
        told.is_some_and(|told| Sha256::digest(told) == self.sent.clone().finalize())
    }

    /// Adds a delta. Returns the end of it that was not sent.
    fn receive<'a>(&mut self, text: &'a str) -> &'a str {
        let known = self.bytes.saturating_sub(self.received).min(text.len());
        self.received = self.received.saturating_add(text.len());
        text.get(known..).unwrap_or_default()
    }

    fn send(&mut self, text: &str) {
        self.sent.update(text);
        self.bytes = self.bytes.saturating_add(text.len());
    }
}

impl Sample {
    pub(super) fn new(started: Seq, step: String) -> Self {
        Self {
            started,
            step,
            is_step: false,
            parts: Vec::new(),
            items: 0,
            unstreamed: Vec::new(),
            numbers: BTreeSet::new(),
            messages: Vec::new(),
            last_text: None,
        }
    }

    /// Adds streamed text to a part. With `silent` a new part is not presented, since its beginning
    /// may be missing.
    pub(super) fn on_live(
        &mut self,
        slot: u32,
        kind: AguiPartKind,
        text: &str,
        silent: bool,
        out: &mut Vec<AguiEvent>,
    ) {
        if let Some(part) = self.parts.iter_mut().find(|part| part.slot == slot) {
            if part.done || part.missed || part.kind != kind {
                return;
            }
            if let Some(message) = part.message.clone() {
                let rest = part.receive(text);
                if !rest.is_empty() {
                    part.send(rest);
                    out.push(content(kind, message, rest));
                }
            }
            return;
        }
        let again =
            |(other, whole): &(AguiPartKind, Arc<str>)| *other == kind && whole.starts_with(text);
        let told = kind != AguiPartKind::Call && !silent && !self.unstreamed.iter().any(again);
        let open = self.parts.iter().filter(|part| !part.done).count();
        let open = u64::try_from(open).unwrap_or(u64::MAX);
        let message = told.then(|| self.number(self.items.saturating_add(open)));
        let mut part = AguiPart {
            slot,
            kind,
            message: message.clone(),
            sent: Sha256::new(),
            bytes: 0,
            received: text.len(),
            done: false,
            missed: false,
        };
        if let Some(message) = message {
            begin(kind, &message, out);
            part.send(text);
            out.push(content(kind, message, text));
        }
        self.parts.push(part);
    }

    /// Handles a lag: the next deltas of a part begin with its whole text.
    pub(super) fn on_lagged(&mut self) {
        for part in &mut self.parts {
            part.received = 0;
        }
    }

    /// Ignores further live events: the rest of each open part follows with its item.
    pub(super) fn on_missed(&mut self) {
        for part in &mut self.parts {
            part.missed = true;
        }
    }

    /// Ends the open messages, since nothing more streams. Returns those without an item.
    pub(super) fn close(&mut self, out: &mut Vec<AguiEvent>) -> Vec<String> {
        let open = self.parts.drain(..).filter(|part| !part.done);
        let told = open.filter_map(|part| Some((part.kind, part.message?)));
        told.map(|(kind, message)| {
            end(kind, &message, out);
            message
        })
        .collect()
    }

    /// Ends the step of the sample.
    pub(super) fn finish(self, out: &mut Vec<AguiEvent>) {
        let step_name = self.step;
        if self.is_step {
            out.push(AguiEvent::StepFinished { step_name });
        }
    }

    /// Handles a durable item, and sends the text of it that was not sent.
    pub(super) fn on_item(
        &mut self,
        seq: Seq,
        kind: AguiPartKind,
        text: &Arc<str>,
        out: &mut Vec<AguiEvent>,
    ) {
        let index = self.items;
        self.items = self.items.saturating_add(1);
        let open = |part: &&mut AguiPart| !part.done && part.kind == kind;
        let streamed = |part: &&mut AguiPart| part.message.is_some() && part.precedes(text);
        let parts = self.parts.iter_mut().filter(open).filter(streamed);
        if let Some(part) = parts.max_by_key(|part| part.bytes)
            && let Some(message) = part.message.clone()
        {
            part.done = true;
            let rest = text.get(part.bytes..).unwrap_or_default();
            if !rest.is_empty() {
                out.push(content(kind, message.clone(), rest));
            }
            end(kind, &message, out);
            self.note(seq, kind, message);
            return;
        }
        let hidden = |part: &&mut AguiPart| part.message.is_none();
        if let Some(part) = self.parts.iter_mut().filter(open).find(hidden) {
            part.done = true;
        }
        self.unstreamed.push((kind, text.clone()));
        if text.is_empty() || kind == AguiPartKind::Call {
            return;
        }
        let message = self.number(index);
        begin(kind, &message, out);
        out.push(content(kind, message.clone(), text));
        end(kind, &message, out);
        self.note(seq, kind, message);
    }

    /// Returns the message to which calls of this sample belong.
    pub(super) fn parent(&self) -> String {
        let none = || self.started.to_string();
        self.last_text.clone().unwrap_or_else(none)
    }

    fn note(&mut self, seq: Seq, kind: AguiPartKind, message: String) {
        if kind != AguiPartKind::Reasoning {
            self.last_text = Some(message.clone());
        }
        self.messages.push((seq, message));
    }

    /// Returns a name for a message, with the requested number or the next free one.
    fn number(&mut self, wished: u64) -> String {
        let mut number = wished;
        while !self.numbers.insert(number) {
            number = number.saturating_add(1);
        }
        format!("{}.{number}", self.started)
    }
}

fn begin(kind: AguiPartKind, message: &str, out: &mut Vec<AguiEvent>) {
    let message_id = message.to_owned();
    if kind == AguiPartKind::Reasoning {
        out.push(AguiEvent::ReasoningStart { message_id: message_id.clone() });
        out.push(AguiEvent::ReasoningMessageStart { message_id, role: "reasoning" });
    } else {
        out.push(AguiEvent::TextMessageStart { message_id, role: "assistant" });
    }
}

fn content(kind: AguiPartKind, message_id: String, text: &str) -> AguiEvent {
    let delta = text.to_owned();
    if kind == AguiPartKind::Reasoning {
        return AguiEvent::ReasoningMessageContent { message_id, delta };
    }
    AguiEvent::TextMessageContent { message_id, delta }
}

fn end(kind: AguiPartKind, message: &str, out: &mut Vec<AguiEvent>) {
    let message_id = message.to_owned();
    if kind == AguiPartKind::Reasoning {
        out.push(AguiEvent::ReasoningMessageEnd { message_id: message_id.clone() });
        out.push(AguiEvent::ReasoningEnd { message_id });
    } else {
        out.push(AguiEvent::TextMessageEnd { message_id });
    }
}
