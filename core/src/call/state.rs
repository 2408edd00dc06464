//! Calls: how far each one is.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::agent::BudgetGrant;
use crate::compaction::ItemFingerprint;
use crate::digest::Digest;
use crate::hook_rounds::HookRounds;
use crate::id::{CallId, Seq};
use crate::rule::RuleVerdict;
use crate::session::PendingContext;
use crate::settings::{Concurrency, EffectClass};
use crate::time::Timestamp;

/// State of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallState {
    /// Id of the call.
    pub id: CallId,
    /// The tool's name, as the model wrote it.
    pub tool: Arc<str>,
    /// Digest of the provider's id of it.
    pub provider_id: Digest,
    /// Validity of the call, found before any decision.
    pub validity: CallValidity,
    /// Digest of its arguments.
    pub arguments: Digest,
    /// The arguments that somebody put in the place of the model's, in numbers.
    pub edited: Option<ItemFingerprint>,
    /// Strongest verdict of the user's rules.
    pub rule_verdict: Option<RuleVerdict>,
    /// Hooks that are asked about it.
    pub hook_rounds: HookRounds,
    /// Context that hooks gave about it, in order.
    pub contexts: Vec<PendingContext>,
    /// Budget granted to it while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<BudgetGrant>,
    /// Progress of the call.
    pub progress: CallProgress,
    /// True if it stood in the text of the answer, so that its observation is shown as context.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub inline: bool,
    /// True if it is a program that has ended, and what the model is told of it comes next.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub ended: bool,
    /// Size of its name for the model, if a program makes it and it changes something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<ItemFingerprint>,
    /// The program that makes it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CallId>,
}

/// True if a call can be run at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallValidity {
    /// It names a tool and its arguments fit.
    Valid {
        /// Effect class of the tool.
        effect: EffectClass,
        /// True if it may run beside others.
        concurrency: Concurrency,
        /// The longest one run may take, in milliseconds.
        timeout_ms: u64,
        /// True if the tool can say what became of it.
        reconciles: bool,
    },
    /// It says that the goal is met. The engine answers it.
    Goal,
    /// It is a program. It is run by its runtime, and calls tools.
    Program {
        /// The longest one step of it may take, in milliseconds.
        timeout_ms: u64,
    },
    /// It cannot be run, for this reason.
    Invalid {
        /// Reason in words.
        reason: String,
    },
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallProgress {
    /// No decision was made.
    Proposed,
    /// A person is to be asked.
    AwaitingApproval {
        /// The question, once it is open.
        question: Option<ApprovalQuestion>,
    },
    /// It may run and has not started.
    Allowed,
    /// It may not run, for this reason.
    Denied {
        /// Reason in words.
        reason: String,
    },
    /// A run is in progress.
    Running {
        /// Position of the run's start.
        started: Seq,
        /// Number of the run, from 1.
        attempt: u32,
        /// True if it only says what it would do.
        plan: bool,
    },
    /// Its process ended while it ran, and the tool is asked what became of it.
    Reconciling {
        /// The run of the question.
        started: Seq,
        /// Number of the question, from 1.
        attempt: u32,
    },
    /// It has its observation.
    Done {
        /// The observation, in numbers.
        observation: ItemFingerprint,
        /// True if a run of it had begun.
        ran: bool,
    },
}

/// An open question about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalQuestion {
    /// Position of the `ApprovalAsked`.
    pub asked: Seq,
    /// Number of times it was asked, from 1: a new process asks again.
    pub attempt: u32,
    /// When no answer is a denial.
    pub deadline: Option<Timestamp>,
}

impl CallState {
    /// Returns true if it is a program.
    #[must_use]
    pub fn is_program(&self) -> bool {
        matches!(self.validity, CallValidity::Program { .. })
    }

    /// Returns true if a run of it has begun.
    #[must_use]
    pub fn has_started(&self) -> bool {
        match &self.progress {
            CallProgress::Running { .. } | CallProgress::Reconciling { .. } => true,
            CallProgress::Done { ran, .. } => *ran,
            CallProgress::Proposed
            | CallProgress::AwaitingApproval { .. }
            | CallProgress::Allowed
            | CallProgress::Denied { .. } => false,
        }
    }
}
