//! Goals: the work of a session over several turns.

pub(crate) mod facts;
pub(crate) mod steps;

pub(crate) use facts::stop_reason;

use alloc::string::String;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, Seq};
use crate::scope::Scope;

/// Goal of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// The goal, in words for the model.
    pub text: Arc<str>,
    /// Most turns that may be opened for it.
    pub turns: u32,
}

/// A goal that is being worked towards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalState {
    /// The goal itself.
    pub goal: Arc<Goal>,
    /// Position of the `GoalSet`.
    pub set: Seq,
    /// Scope that set it.
    pub scope: Arc<Scope>,
    /// Number of turns opened for it.
    pub turns: u32,
    /// Next action for the goal.
    pub status: GoalStatus,
}

/// Next action for a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalStatus {
    /// None: a turn works towards it, or a user must act first.
    Waiting,
    /// Another turn should open.
    Due,
    /// The model reported it as met.
    Met {
        /// Call that reported it.
        call: CallId,
    },
    /// The last turn ended in a way that another turn would not fix.
    Stopped {
        /// Reason for the end.
        reason: String,
    },
}

/// End of the work towards a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum GoalEnd {
    /// The model reported it as met.
    Met {
        /// Call that reported it.
        call: CallId,
    },
    /// All turns allowed for it are used.
    Exhausted,
    /// A turn ended in a way that another turn would not fix.
    Stopped {
        /// Reason for the end.
        reason: String,
    },
}

/// Name of the tool by which a model reports the goal as met. If the settings offer it, the engine
/// itself answers its calls; the tool never runs.
pub const GOAL_TOOL: &str = "goal_met";
