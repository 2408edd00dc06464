//! Facts about calls and their approvals.

use alloc::string::String;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::{BudgetGrant, BudgetUsage};
use crate::call::{Observation, Verdict};
use crate::digest::Digest;
use crate::hook::Edit;
use crate::id::CallId;
use crate::program::CallReport;
use crate::scope::Scope;
use crate::time::Timestamp;

/// It was decided whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallDecided {
    /// Id of the call.
    pub call: CallId,
    /// Verdict on the call.
    pub verdict: Verdict,
    /// Source of the decision.
    pub by: Decider,
    /// Reason in words.
    pub reason: String,
    /// Digest of the exact arguments that the decision is about.
    pub arguments: Digest,
}

/// Source of a decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// The mode and the permissions of the turn.
    Policy,
    /// A rule of the user.
    Rule,
    /// A hook decided.
    Hook,
}

/// A person is asked whether a call may run. The question is named by this fact's position, and
/// stays open when the process ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalAsked {
    /// Id of the call.
    pub call: CallId,
    /// Number of times it was asked, from 1: a new process asks again.
    pub attempt: u32,
    /// Digest of the exact arguments that are asked about.
    pub arguments: Digest,
    /// When no answer is a denial, if there is such a moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

/// The first answer to a question about a call. It is the one that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalAnswered {
    /// Id of the call.
    pub call: CallId,
    /// Scope of the answer; the system if the deadline passed or nobody could be asked.
    pub by: Arc<Scope>,
    /// Verdict of the answer: allow or deny.
    pub verdict: Verdict,
    /// Reason in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Digest of the arguments that the answer is about.
    pub arguments: Digest,
    /// The arguments that the call is to run with instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
    /// The key that it was said under, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A tool is about to run. The run is named by this fact's position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallStarted {
    /// Id of the call.
    pub call: CallId,
    /// Number of the run, from 1.
    pub attempt: u32,
    /// The key under which a repeat of this call has no second effect; the same in each run.
    pub idempotency_key: String,
    /// The longest the run may take, in milliseconds; of an agent, for which nothing is declared, it
    /// is 0, and only the turn's own time limits it.
    pub timeout_ms: u64,
    /// True if the tool is only to say what it would do.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub plan: bool,
    /// Budget granted to it, if it runs an agent; the same in each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<BudgetGrant>,
}

/// A tool is asked what became of a call whose process ended. The run is named by this fact's
/// position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReconcileStarted {
    /// Id of the call.
    pub call: CallId,
    /// Number of the question, from 1.
    pub attempt: u32,
    /// The key that the call ran under.
    pub idempotency_key: String,
    /// The longest the run may take, in milliseconds.
    pub timeout_ms: u64,
}

/// A call has ended. Exactly one a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallObserved {
    /// Id of the call.
    pub call: CallId,
    /// Result of the call.
    pub observation: Arc<Observation>,
    /// Usage of its grant, if it had one: all of it, if the usage is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<BudgetUsage>,
    /// Of a program that did not come to its own word: which of its calls the model is told of
    /// besides, in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<CallReport>,
}
