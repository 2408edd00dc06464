//! Calls: how far each one is.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::agent::Lent;
use crate::compaction::Part;
use crate::digest::Digest;
use crate::gate::Gates;
use crate::id::{CallId, Seq};
use crate::rule::RuleVerdict;
use crate::session::Pending;
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
    pub fitness: Fitness,
    /// Digest of its arguments.
    pub arguments: Digest,
    /// The arguments that somebody put in the place of the model's, in numbers.
    pub edited: Option<Part>,
    /// Strongest verdict of the user's rules.
    pub ruled: Option<RuleVerdict>,
    /// Hooks that are asked about it.
    pub gates: Gates,
    /// Context that hooks gave about it, in order.
    pub contexts: Vec<Pending>,
    /// Budget granted to it while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lent: Option<Lent>,
    /// Progress of the call.
    pub progress: Progress,
    /// True if it stood in the text of the answer, so that its observation is shown as context.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub spoken: bool,
    /// True if it is a program that has ended, and what the model is told of it comes next.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub ended: bool,
    /// Size of its name for the model, if a program makes it and it changes something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Part>,
    /// The program that makes it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CallId>,
}

/// True if a call can be run at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// It names a tool and its arguments fit.
    Fit {
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
    Unfit {
        /// Reason in words.
        reason: String,
    },
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// No decision was made.
    Proposed,
    /// A person is to be asked.
    Asking {
        /// The question, once it is open.
        question: Option<Question>,
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
        observation: Part,
        /// True if a run of it had begun.
        ran: bool,
    },
}

/// An open question about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
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
        matches!(self.fitness, Fitness::Program { .. })
    }

    /// Returns true if a run of it has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        match &self.progress {
            Progress::Running { .. } | Progress::Reconciling { .. } => true,
            Progress::Done { ran, .. } => *ran,
            Progress::Proposed
            | Progress::Asking { .. }
            | Progress::Allowed
            | Progress::Denied { .. } => false,
        }
    }
}
