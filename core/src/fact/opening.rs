//! Facts about a session as a whole.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::table::{Fact, FactGroup, GoalFact};
use crate::compaction::VisiblePart;
use crate::goal::{Goal, GoalEnd};
use crate::hook::HookSpec;
use crate::id::{CallId, Seq, SessionId, TurnId};
use crate::rule::Rule;
use crate::scope::Scope;
use crate::settings::{EffectClass, Mode, Permissions, Settings};

/// A session began. Always the first fact, and never a later one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionOpened {
    /// Owner of the session.
    pub owner: Arc<Scope>,
    /// Folder that its tools work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Settings of its turns.
    pub settings: Arc<Settings>,
    /// Origin of the session.
    pub lineage: Lineage,
}

/// Origin of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Lineage {
    /// The session is new.
    Root,
    /// The session continues a copy of another session's log.
    Fork {
        /// Id of the other session.
        of: SessionId,
        /// Last inherited position.
        at: Seq,
        /// Origins of the inherited part, nearest first; empty if the other session decided all of
        /// it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ancestors: Vec<Ancestor>,
    },
    /// A turn of another session started the session.
    Child {
        /// Id of the other session.
        of: SessionId,
        /// Call that started it.
        call: CallId,
    },
}

/// Origin of a session that another session was forked from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Ancestor {
    /// The session continues a copy of an older session's log.
    Fork {
        /// Id of the older session.
        of: SessionId,
        /// Last position that the older session decided.
        at: Seq,
    },
    /// A turn of another session started the session. It has no earlier ancestors.
    Child {
        /// Id of the other session.
        of: SessionId,
        /// Call that started it.
        call: CallId,
    },
}

/// A new process resumed a session that has hooks on this event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionResumed {}

/// The session received a goal, or lost the one it had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalSet {
    /// Scope that set it.
    pub by: Arc<Scope>,
    /// New goal; `None` if it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Arc<Goal>>,
    /// Key of the input, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The work towards the goal ended: no more turns open for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalEnded {
    /// End of the work.
    pub end: GoalEnd,
}

impl Fact {
    /// Returns the end of the work towards a goal, if this fact is one.
    #[must_use]
    pub fn goal_end(&self) -> Option<&GoalEnd> {
        let FactGroup::Goal(fact) = self.group() else {
            return None;
        };
        fact.end()
    }
}

impl<'a> GoalFact<'a> {
    /// Returns the goal that applies from this fact on, if one does.
    #[must_use]
    pub fn goal(self) -> Option<&'a Arc<Goal>> {
        match self {
            Self::GoalSet(fact) => fact.goal.as_ref(),
            Self::GoalEnded(_) => None,
        }
    }

    /// Returns the end of the work towards the goal, if this fact is one.
    #[must_use]
    pub fn end(self) -> Option<&'a GoalEnd> {
        match self {
            Self::GoalSet(_) => None,
            Self::GoalEnded(fact) => Some(&fact.end),
        }
    }
}

/// The settings were replaced, for turns that open after this fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsChanged {
    /// Scope that replaced them.
    pub by: Arc<Scope>,
    /// All of the settings.
    pub settings: Arc<Settings>,
    /// Key of the input, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A person named the session, or removed its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRenamed {
    /// Scope of the caller.
    pub by: Arc<Scope>,
    /// New name, one line of at most [`MAX_TITLE_CHARS`](crate::MAX_TITLE_CHARS) characters; `None`
    /// if it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Arc<str>>,
    /// Key of the command, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The process permits less than the settings of the session or of its open turn: they are narrowed
/// to the process's [`Ceiling`](crate::Ceiling).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermissionsNarrowed {
    /// Mode from now on, if it is narrower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Permissions from now on, if they are narrower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// Further rules that deny or ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// Rules that allowed calls and that this process does not have. A person is asked instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<Rule>,
    /// Hooks of the process that the settings lack. One replaces the hook of its name,
    /// point and subjects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookSpec>,
    /// Tools that change more than the settings say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<ToolEffect>,
    /// True if the calls of an earlier process are decided again.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub again: bool,
    /// True if a person decides about those that may change something.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub hold: bool,
    /// Pending calls of the open turn that were compared with its rules, narrowed, in place of what
    /// the log says about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<CallRules>,
}

/// Rules that a call matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRules {
    /// Call that was compared.
    pub call: CallId,
    /// Places of the rules in the settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<u32>,
    /// Places of rules that it may match; see [`CallItem::possible_rules`](crate::CallItem).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub possible_rules: Vec<u32>,
}

/// Effect class of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolEffect {
    /// Name of the tool.
    pub tool: String,
    /// Its effect class.
    pub effect: EffectClass,
}

/// A user returned the session to an earlier point of its conversation. Later facts stay in the log,
/// and the model does not see what they added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRewound {
    /// Scope of the caller.
    pub by: Arc<Scope>,
    /// Position whose conversation continues.
    pub to: Seq,
    /// Conversation at that position.
    pub visible: VisiblePart,
    /// Notice to the model that effects of rewound calls remain. It follows the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<Arc<str>>,
    /// Key of the command, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A user took back what a turn changed in files. These files have the content again that they had
/// before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesRestored {
    /// Scope of the caller.
    pub by: Arc<Scope>,
    /// Turn whose changes were undone.
    pub of: TurnId,
    /// Paths of the files, relative to the workspace.
    pub paths: Vec<String>,
    /// Number of further files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
    /// Notice to the model, which follows the conversation. The paths follow it.
    pub notice: Arc<str>,
    /// Key of the command, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
