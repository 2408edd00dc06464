//! A sample: which messages its parts are told as while it streams, and how its items meet them.
//!
//! A live delta names a part, a durable item does not. An item is the end of the open part of its
//! kind with which it begins; the longest, where several do. One that begins with none of them is
//! told as a message of its own: what was told is never told otherwise.

use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use windlass_engine::core::Seq;

use super::event::Agui;

/// Kind of an answer's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Refusal,
    Reasoning,
    Call,
}

/// A model's answer that is being told.
#[derive(Debug)]
pub(super) struct Sample {
    /// The position of its `SampleStarted`.
    pub(super) started: Seq,
    /// The step that it is told as.
    pub(super) step: String,
    /// True if the step was begun.
    pub(super) is_step: bool,
    /// Parts of the answer while it streams.
    parts: Vec<Part>,
    /// Number of items so far.
    items: u64,
    /// Items of which nothing streamed: a part that is told late may be one of them.
    whole: Vec<(Kind, Arc<str>)>,
    /// Numbers that messages have.
    numbers: BTreeSet<u64>,
    /// The messages of its items, each with the item's position.
    pub(super) told: Vec<(Seq, String)>,
    /// The last message of text.
    said: Option<String>,
}

#[derive(Debug)]
struct Part {
    slot: u32,
    kind: Kind,
    /// The message that it is told as; none where it is not told.
    message: Option<String>,
    /// Digest of the text that was sent.
    told: Sha256,
    bytes: usize,
    /// Its item has come.
    done: bool,
    /// Something of it was missed.
    deaf: bool,
}

impl Part {
    /// Returns true if a text begins with what was told.
    fn begins(&self, text: &str) -> bool {
        let told = text.get(..self.bytes);
        told.is_some_and(|told| Sha256::digest(told) == self.told.clone().finalize())
    }

    fn tell(&mut self, text: &str) {
        self.told.update(text);
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
            whole: Vec::new(),
            numbers: BTreeSet::new(),
            told: Vec::new(),
            said: None,
        }
    }

    /// More of a part streams. With `silent` it may not be told if it is new: its beginning may be
    /// missing.
    pub(super) fn live(
        &mut self,
        slot: u32,
        kind: Kind,
        text: &str,
        silent: bool,
        out: &mut Vec<Agui>,
    ) {
        if let Some(part) = self.parts.iter_mut().find(|part| part.slot == slot) {
            if part.done || part.deaf || part.kind != kind {
                return;
            }
            if let Some(message) = part.message.clone() {
                part.tell(text);
                out.push(content(kind, message, text));
            }
            return;
        }
        let again = |(other, whole): &(Kind, Arc<str>)| *other == kind && whole.starts_with(text);
        let told = kind != Kind::Call && !silent && !self.whole.iter().any(again);
        let open = self.parts.iter().filter(|part| !part.done).count();
        let open = u64::try_from(open).unwrap_or(u64::MAX);
        let message = told.then(|| self.number(self.items.saturating_add(open)));
        let mut part = Part {
            slot,
            kind,
            message: message.clone(),
            told: Sha256::new(),
            bytes: 0,
            done: false,
            deaf: false,
        };
        if let Some(message) = message {
            begin(kind, &message, out);
            part.tell(text);
            out.push(content(kind, message, text));
        }
        self.parts.push(part);
    }

    /// Something of what streams was missed: the rest of the parts that are open comes with their
    /// items.
    pub(super) fn missed(&mut self) {
        for part in &mut self.parts {
            part.deaf = true;
        }
    }

    /// Nothing more streams: the messages that are open are ended. Answers which those are: no item
    /// stands for them.
    pub(super) fn close(&mut self, out: &mut Vec<Agui>) -> Vec<String> {
        let open = self.parts.drain(..).filter(|part| !part.done);
        let told = open.filter_map(|part| Some((part.kind, part.message?)));
        told.map(|(kind, message)| {
            end(kind, &message, out);
            message
        })
        .collect()
    }

    /// Ends its step of the run.
    pub(super) fn finish(self, out: &mut Vec<Agui>) {
        let step_name = self.step;
        if self.is_step {
            out.push(Agui::StepFinished { step_name });
        }
    }

    /// An item is durable: what of it was not told is told.
    pub(super) fn item(&mut self, seq: Seq, kind: Kind, text: &Arc<str>, out: &mut Vec<Agui>) {
        let index = self.items;
        self.items = self.items.saturating_add(1);
        let open = |part: &&mut Part| !part.done && part.kind == kind;
        let streamed = |part: &&mut Part| part.message.is_some() && part.begins(text);
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
        let hidden = |part: &&mut Part| part.message.is_none();
        if let Some(part) = self.parts.iter_mut().filter(open).find(hidden) {
            part.done = true;
        }
        self.whole.push((kind, text.clone()));
        if text.is_empty() || kind == Kind::Call {
            return;
        }
        let message = self.number(index);
        begin(kind, &message, out);
        out.push(content(kind, message.clone(), text));
        end(kind, &message, out);
        self.note(seq, kind, message);
    }

    /// The message that a call of this sample belongs to.
    pub(super) fn parent(&self) -> String {
        let none = || self.started.to_string();
        self.said.clone().unwrap_or_else(none)
    }

    fn note(&mut self, seq: Seq, kind: Kind, message: String) {
        if kind != Kind::Reasoning {
            self.said = Some(message.clone());
        }
        self.told.push((seq, message));
    }

    /// A name for a message, of the wished number or the next one that is free.
    fn number(&mut self, wished: u64) -> String {
        let mut number = wished;
        while !self.numbers.insert(number) {
            number = number.saturating_add(1);
        }
        format!("{}.{number}", self.started)
    }
}

fn begin(kind: Kind, message: &str, out: &mut Vec<Agui>) {
    let message_id = message.to_owned();
    if kind == Kind::Reasoning {
        out.push(Agui::ReasoningStart {
            message_id: message_id.clone(),
        });
        out.push(Agui::ReasoningMessageStart {
            message_id,
            role: "reasoning",
        });
    } else {
        out.push(Agui::TextMessageStart {
            message_id,
            role: "assistant",
        });
    }
}

fn content(kind: Kind, message_id: String, text: &str) -> Agui {
    let delta = text.to_owned();
    if kind == Kind::Reasoning {
        return Agui::ReasoningMessageContent { message_id, delta };
    }
    Agui::TextMessageContent { message_id, delta }
}

fn end(kind: Kind, message: &str, out: &mut Vec<Agui>) {
    let message_id = message.to_owned();
    if kind == Kind::Reasoning {
        out.push(Agui::ReasoningMessageEnd {
            message_id: message_id.clone(),
        });
        out.push(Agui::ReasoningEnd { message_id });
    } else {
        out.push(Agui::TextMessageEnd { message_id });
    }
}
