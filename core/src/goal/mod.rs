//! Goals: what a session works towards over several turns.

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
    /// The turns that were opened for it.
    pub turns: u32,
    /// Next action for the goal.
    pub status: GoalStatus,
}

/// Next action for a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalStatus {
    /// Nothing: a turn works towards it, or a user has the word.
    Waiting,
    /// Another turn is to be opened.
    Due,
    /// The model says that it is met.
    Met {
        /// The call by which it says so.
        call: CallId,
    },
    /// The last turn ended in a way that another would not mend.
    Stopped {
        /// Reason for the end.
        reason: String,
    },
}

/// End of the work towards a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum GoalEnd {
    /// The model says that it is met.
    Met {
        /// The call by which it says so.
        call: CallId,
    },
    /// All turns that may be opened for it are used.
    Exhausted,
    /// A turn ended in a way that another turn would not mend.
    Stopped {
        /// Reason for the end.
        reason: String,
    },
}

/// The tool by which a model says that the goal is met. A session whose settings offer a tool of
/// this name has it answered by the engine itself; it is never run.
pub const GOAL_TOOL: &str = "goal_met";
