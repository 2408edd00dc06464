//! Types of a conversation: sessions, messages, questions and updates.

use std::path::PathBuf;

use serde::Deserialize;
use windlass_engine::core::{CallId, SessionId, TurnOutcome};
use windlass_interaction::Question;
use windlass_terminal::Line;

use crate::attach::ServerQuestion;

/// Session as its server describes it, as far as it is used here.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::chat) struct SessionInfo {
    pub(in crate::chat) id: SessionId,
    pub(in crate::chat) state: String,
    pub(in crate::chat) last: u64,
    /// Open turn.
    #[serde(default)]
    pub(in crate::chat) turn: Option<u64>,
    /// Number of messages that wait.
    #[serde(default)]
    pub(in crate::chat) waiting: Option<u32>,
    /// True if they wait to be resumed after an interrupt.
    #[serde(default)]
    pub(in crate::chat) held: Option<bool>,
    #[serde(default)]
    pub(in crate::chat) changed: u64,
    #[serde(default)]
    pub(in crate::chat) title: Option<String>,
    #[serde(default)]
    pub(in crate::chat) provider: Option<String>,
    #[serde(default)]
    pub(in crate::chat) model: Option<String>,
    #[serde(default)]
    pub(in crate::chat) mode: Option<String>,
    #[serde(default)]
    pub(in crate::chat) permissions: Option<String>,
    #[serde(default)]
    pub(in crate::chat) effort: Option<String>,
    /// Tokens of the last request.
    #[serde(default)]
    pub(in crate::chat) context_tokens: Option<u64>,
    /// Tokens that a request may have.
    #[serde(default)]
    pub(in crate::chat) window: Option<u64>,
    /// Money, in millionths of the currency of the prices.
    #[serde(default)]
    pub(in crate::chat) cost_micros: Option<u64>,
}

/// Message of the person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::chat) struct Message {
    pub(in crate::chat) text: String,
    pub(in crate::chat) images: Vec<PathBuf>,
}

/// Time at which the model receives a message while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::chat) enum SendAs {
    /// In the running turn.
    Steer,
    /// In a turn of its own, after those that wait.
    Queue,
    /// As a command of the person, in a turn of its own after those that wait.
    Command,
}

/// Question that a person can answer.
#[derive(Debug, Clone)]
pub(in crate::chat) enum OpenAsk {
    /// A call needs an approval.
    Approval(Box<ServerQuestion>),
    /// The model or a tool asks.
    Question(CallId, Question),
}

impl OpenAsk {
    /// Returns the call that waits.
    pub(in crate::chat) fn call(&self) -> CallId {
        match self {
            Self::Approval(open) => open.call,
            Self::Question(call, _) => *call,
        }
    }

    /// Returns true if both are the same question: a call may ask several, one after the other.
    pub(in crate::chat) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Approval(one), Self::Approval(two)) => {
                (one.call, one.asked) == (two.call, two.asked)
            }
            (Self::Question(one, asked), Self::Question(two, other)) => {
                (one, asked) == (two, other)
            }
            (Self::Approval(_), Self::Question(..)) | (Self::Question(..), Self::Approval(_)) => {
                false
            }
        }
    }
}

/// Something that a terminal shows or acts upon.
#[derive(Debug)]
pub(in crate::chat) enum Update {
    /// Finished lines.
    Lines(Vec<Line>),
    /// The live state changed: the activity, the running calls, the queue or the open questions.
    Changed,
    /// A turn ended; `past` if that was before this conversation joined the session.
    Settled { outcome: TurnOutcome, past: bool },
    /// A message will open no turn: a hook has blocked it, or a person has withdrawn it.
    Dropped { blocked: bool },
    /// A request failed. The message that it was to send is returned.
    Failed { words: String, message: Option<Message> },
    /// Sessions to choose from.
    Sessions(Vec<SessionInfo>),
    /// A message that goes back to the editor.
    Edit(Message),
    /// Connection to the server was lost, for this reason.
    Reconnecting(String),
    /// First words of the session.
    Titled(String),
}
