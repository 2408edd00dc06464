//! Facts about a turn: what opened it, what was said to it, how it ended.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::{InputId, Seq};
use crate::image::Image;
use crate::limits::Limits;
use crate::outcome::{InterruptSource, TurnOutcome};
use crate::reason::Reason;
use crate::scope::Scope;
use crate::session::{Delivery, TurnUsage};

/// A user said something. Acknowledged to the caller once this is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputQueued {
    /// Scope of the caller.
    pub scope: Arc<Scope>,
    /// Text of the input.
    pub text: Arc<str>,
    /// When it is meant to be heard.
    pub delivery: Delivery,
    /// Additional context from the presenter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextPart>,
    /// The images that were shown with it, in order; the model sees them right after the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The caller's own key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The key that it was said under besides, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_key: Option<String>,
    /// True if the turn only plans what its tools would do.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub dry_run: bool,
}

/// Context that a presenter adds to an input: the instructions of a project, the state of an
/// editor. A part is shown again only when its text has changed.
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
    /// Recorded reason.
    pub reason: Reason,
    /// Scope that it acts for.
    pub scope: Arc<Scope>,
    /// The fact that holds the settings that are frozen for this turn.
    pub settings: Seq,
    /// The limits of this turn: those of the settings, within those of the process.
    pub limits: Limits,
    /// True if tools that change something are only planned.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub dry_run: bool,
    /// The key that it was asked for under, where a user asked to go on, see
    /// [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// An input was refused by a hook: the model never sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputBlocked {
    /// Id of the input.
    pub input: InputId,
    /// Reason in words.
    pub reason: String,
}

/// An input was let in: from here on the model may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputAccepted {
    /// Id of the input.
    pub input: InputId,
}

/// The turn was asked to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterruptRequested {
    /// Source of the interruption.
    pub by: InterruptSource,
    /// On whose behalf; the system where no person asked.
    pub scope: Arc<Scope>,
    /// Reason in words.
    pub reason: String,
    /// When it is to stop.
    pub when: StopTiming,
    /// The key that it was said under, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// When a turn is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopTiming {
    /// At once: what runs is told to stop.
    Now,
    /// Before the model is asked again: what runs may end.
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
    /// Inputs that it did not hear and that wait on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<InputId>,
}
