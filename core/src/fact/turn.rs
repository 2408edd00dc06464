//! Facts about a turn: its opening, its inputs, its end.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, InputId, Seq};
use crate::image::Image;
use crate::item::CallItem;
use crate::limits::Limits;
use crate::outcome::{InterruptSource, TurnOutcome};
use crate::reason::Reason;
use crate::scope::Scope;
use crate::session::{Delivery, TurnUsage};

/// A user sent an input. The caller is acknowledged once this is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputQueued {
    /// Scope of the caller.
    pub scope: Arc<Scope>,
    /// Text of the input.
    pub text: Arc<str>,
    /// When the model should receive it.
    pub delivery: Delivery,
    /// Additional context from the presenter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextPart>,
    /// Images of the input, in order; the model sees them right after the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The caller's own key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Key of the [`Input::Keyed`](crate::Input::Keyed) around the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_key: Option<String>,
    /// True if the turn only plans the effects of its tools.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub dry_run: bool,
    /// Call whose detached child has this result, if the input carries one. No user wrote it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_of: Option<CallId>,
    /// Call that the user makes with this input, in place of a prompt. The text is its command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Arc<CallItem>>,
}

/// Context that a presenter adds to an input: a project's instructions, an editor's state. A part
/// is shown again only when its text has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextPart {
    /// Name of the context, for example of a file. Parts of the same name replace one another.
    pub from: String,
    /// Text of the item.
    pub text: Arc<str>,
}

/// A turn began. Its id is this fact's position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnOpened {
    /// Reason for the turn.
    pub reason: Reason,
    /// Scope that the turn acts for.
    pub scope: Arc<Scope>,
    /// Position of the fact that holds the settings, which are frozen for this turn.
    pub settings: Seq,
    /// Limits of this turn: those of the settings, within those of the process.
    pub limits: Limits,
    /// True if effectful tools are only planned.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub dry_run: bool,
    /// Key of a user's request to continue, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A hook rejected an input: the model never sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputBlocked {
    /// Id of the input.
    pub input: InputId,
    /// Reason in words.
    pub reason: String,
}

/// An input was admitted: the model may see it from now on. A user's command is a call from here on,
/// with this fact's position as its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputAccepted {
    /// Id of the input.
    pub input: InputId,
    /// Call of the user, if the input is a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Arc<CallItem>>,
}

/// A user replaced the text of a waiting input. Hooks are asked about the new text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputEdited {
    /// Scope of the caller.
    pub by: Arc<Scope>,
    /// Id of the input.
    pub input: InputId,
    /// New text of the input.
    pub text: Arc<str>,
    /// Key of the command, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A user moved a waiting input to another place in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputMoved {
    /// Scope of the caller.
    pub by: Arc<Scope>,
    /// Id of the input.
    pub input: InputId,
    /// Input that it now precedes; `None` if it is the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<InputId>,
    /// Key of the command, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A user withdrew a waiting input: the model never sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputWithdrawn {
    /// Scope of the caller.
    pub by: Arc<Scope>,
    /// Id of the input.
    pub input: InputId,
    /// Key of the command, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The turn was asked to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterruptRequested {
    /// Source of the interruption.
    pub by: InterruptSource,
    /// Scope of the request; the system if no person asked.
    pub scope: Arc<Scope>,
    /// Reason in words.
    pub reason: String,
    /// When the turn should stop.
    pub when: StopTiming,
    /// Key of the input, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// When a turn should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopTiming {
    /// At once: running effects are cancelled.
    Now,
    /// Before the next sample: running effects may finish.
    AfterStep,
}

/// The turn ended: its one terminal fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnSettled {
    /// Outcome of the turn.
    #[serde(flatten)]
    pub outcome: TurnOutcome,
    /// Usage of the turn.
    pub spent: TurnUsage,
    /// Inputs that the turn did not admit and that still wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<InputId>,
    /// Calls whose children are detached, and whose results are awaited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detached: Vec<CallId>,
    /// Notice to the model that the turn was interrupted, and by whom. It ends the turn's part of
    /// the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<Arc<str>>,
}
