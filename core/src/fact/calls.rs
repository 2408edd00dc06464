//! Facts about calls and their approvals.

use alloc::string::String;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::{BudgetGrant, BudgetUsage};
use crate::approval::ApprovalGrant;
use crate::arguments_digest::ArgumentsDigest;
use crate::call::{Observation, Suspension, UserAnswer, Verdict, shown};
use crate::compaction::ResultForm;
use crate::hook::Edit;
use crate::id::CallId;
use crate::program::CallReport;
use crate::scope::Scope;
use crate::time::Timestamp;

/// A decision on permission for a call to run.
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
    pub arguments: ArgumentsDigest,
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

/// A person is asked if a call may run. This fact's position identifies the question, which stays
/// open when the process ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalAsked {
    /// Id of the call.
    pub call: CallId,
    /// Number of times it was asked, from 1. A new process asks again.
    pub attempt: u32,
    /// Digest of the exact arguments of the question.
    pub arguments: ArgumentsDigest,
    /// Time after which a missing answer counts as a denial, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

/// First answer to a question about a call; later answers are rejected.
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
    pub arguments: ArgumentsDigest,
    /// Edited arguments that replace the call's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
    /// Approval grant that was given with the answer, or that answered; none if a person allowed
    /// this call alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<ApprovalGrant>,
    /// Key of the input, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A tool is about to run. This fact's position identifies the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallStarted {
    /// Id of the call.
    pub call: CallId,
    /// Number of the run, from 1.
    pub attempt: u32,
    /// Key under which a repeated call has no second effect; the same in each run.
    pub idempotency_key: String,
    /// Longest time of the run, in milliseconds. 0 for an agent without a declared timeout: only
    /// the turn's own time limits it.
    pub timeout_ms: u64,
    /// True if the tool should only describe its effect.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub plan: bool,
    /// True if a client of the session runs the call and returns its result.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub client: bool,
    /// Budget granted to the call, if it runs an agent; the same in each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<BudgetGrant>,
}

/// A tool is asked for the outcome of a call whose process ended. This fact's position identifies
/// the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReconcileStarted {
    /// Id of the call.
    pub call: CallId,
    /// Number of the question, from 1.
    pub attempt: u32,
    /// Idempotency key of the call.
    pub idempotency_key: String,
    /// Longest time of the run, in milliseconds.
    pub timeout_ms: u64,
}

/// A run of a call has ended without a result. Another run goes on: at once, or with the answer to
/// its question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallSuspended {
    /// Id of the call.
    pub call: CallId,
    /// State and question that the run left.
    pub suspension: Arc<Suspension>,
    /// Time after which no answer is awaited any more; none without a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

/// A suspended call has its answer. It runs again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallResumed {
    /// Id of the call.
    pub call: CallId,
    /// Answer to the question.
    pub answer: Arc<UserAnswer>,
    /// Scope of the answer.
    pub by: Arc<Scope>,
    /// Key of the input, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A call has ended. Exactly one per call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallObserved {
    /// Id of the call.
    pub call: CallId,
    /// Result of the call.
    pub observation: Arc<Observation>,
    /// Usage of its grant, if it had one; all of the grant if the usage is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<BudgetUsage>,
    /// Report on a program's calls, if the program ended without a report of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<CallReport>,
    /// Form in which the model sees the output, if it is too long for the window. The observation
    /// has all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<ResultForm>,
    /// True if the call's agent may continue: its child session is detached, and its result is
    /// awaited.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub detached: bool,
    /// Scope of the client that returned the result, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<Scope>>,
    /// Key of the input, see [`Input::Keyed`](crate::Input::Keyed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl CallObserved {
    /// Returns the observation as the model sees it: cut to its form.
    #[must_use]
    pub fn visible_observation(&self) -> Arc<Observation> {
        shown(&self.observation, self.form, self.call)
    }
}
