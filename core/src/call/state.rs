//! Calls: the state of each call.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::suspension::SuspendedCall;
use crate::agent::BudgetGrant;
use crate::arguments_digest::{ArgumentsDigest, Sha256};
use crate::compaction::ItemFingerprint;
use crate::digest::Digest;
use crate::hook_rounds::HookRounds;
use crate::id::{CallId, Seq};
use crate::rule::RuleVerdict;
use crate::session::PendingContext;
use crate::settings::{Concurrency, EffectClass, Settings};
use crate::time::Timestamp;

/// State of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallState {
    /// Id of the call.
    pub id: CallId,
    /// The tool's name, as the model wrote it.
    pub tool: Arc<str>,
    /// Digest of the provider's id for the call.
    pub provider_id: Digest,
    /// Validity of the call, found before any decision.
    pub validity: CallValidity,
    /// Digest of its arguments.
    pub arguments: Digest,
    /// SHA-256 of its arguments; none in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    /// Fingerprint of the edited arguments, if they replaced the model's.
    pub edited: Option<ItemFingerprint>,
    /// Strongest verdict of the user's rules.
    pub rule_verdict: Option<RuleVerdict>,
    /// True if the verdict is to ask because a rule that denies may match.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub possibly_denied: bool,
    /// Pending hooks about the call.
    pub hook_rounds: HookRounds,
    /// Context that hooks gave about it, in order.
    pub contexts: Vec<PendingContext>,
    /// Budget granted to it while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<BudgetGrant>,
    /// Progress of the call.
    pub progress: CallProgress,
    /// True if the call is inline in the answer's text, so its observation is shown as context.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub inline: bool,
    /// True if the call is a program that has ended and whose report comes next.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub ended: bool,
    /// Size of its name for the model, if it is an effectful call of a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<ItemFingerprint>,
    /// True if the process no longer permits it: it does not run again.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub barred: bool,
    /// True if a person decides about it, whatever else allows it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub held: bool,
    /// Request to run outside of the sandbox, if the arguments make it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside_sandbox: Option<OutsideSandbox>,
    /// Latest position at which a process compared it with rules that had changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<Seq>,
    /// Program that made the call, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CallId>,
    /// State for its next run, if a run was suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<Arc<SuspendedCall>>,
    /// Present if a user made the call: a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<UserCommand>,
}

/// A call that a user made. The conversation shows it as text of the user, not as a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserCommand {
    /// Arguments that a hook put in the place of the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Arc<str>>,
}

/// Request of a call to run outside of the sandbox. A person decides, whatever else allows the call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutsideSandbox {
    /// Position of a person's approval. One that an earlier process recorded counts for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Seq>,
}

/// Validity of a call, before any decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallValidity {
    /// The call names a tool, and its arguments are valid.
    Valid {
        /// Effect class of the tool.
        effect: EffectClass,
        /// Permission to run concurrently with other calls.
        concurrency: Concurrency,
        /// Longest time of one run, in milliseconds.
        timeout_ms: u64,
        /// True if the tool can report the outcome of an interrupted run.
        reconciles: bool,
    },
    /// The call reports the goal as met. The engine answers it.
    Goal,
    /// The call is a program. Its runtime runs it, and it calls tools.
    Program {
        /// Longest time of one step, in milliseconds.
        timeout_ms: u64,
    },
    /// The answer has more calls than the limit allows, and this is one of the rest. It does not
    /// run.
    Surplus,
    /// The call cannot run.
    Invalid {
        /// Reason in words.
        reason: String,
    },
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallProgress {
    /// The call is not decided.
    Proposed,
    /// The call needs a person's approval.
    AwaitingApproval {
        /// The question, once it is open.
        question: Option<ApprovalQuestion>,
    },
    /// The call may run and has not started.
    Allowed,
    /// The call may not run.
    Denied {
        /// Reason in words; empty if a person gave none.
        reason: String,
        /// True if a person denied it.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        by_person: bool,
    },
    /// A run is in progress.
    Running {
        /// Position of the run's start.
        started: Seq,
        /// Number of the run, from 1.
        attempt: u32,
        /// True if it only describes its effect.
        plan: bool,
    },
    /// A client of the session runs the call, and its result is awaited; or the call is suspended,
    /// and a person's answer is. No effect belongs to it, so neither a restart nor another process
    /// changes it.
    AwaitingResult {
        /// Position of the `CallStarted`, or of the `CallSuspended`.
        started: Seq,
        /// Time after which neither is awaited any more.
        deadline: Timestamp,
    },
    /// The process ended during the run; the tool is asked for the outcome.
    Reconciling {
        /// Position of the start of the reconciling run.
        started: Seq,
        /// Number of the reconciling run, from 1.
        attempt: u32,
    },
    /// The call has its observation.
    Done {
        /// Fingerprint of the observation.
        observation: ItemFingerprint,
        /// True if a run of it started.
        ran: bool,
    },
}

/// An open question about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalQuestion {
    /// Position of the `ApprovalAsked`.
    pub asked: Seq,
    /// Number of times it was asked, from 1. A new process asks again.
    pub attempt: u32,
    /// Time after which a missing answer counts as a denial.
    pub deadline: Option<Timestamp>,
}

/// Returns the verdict of rules, and true if it is to ask because one that denies may match.
fn verdict(settings: &Settings, rules: &[u32], possible: &[u32]) -> (Option<RuleVerdict>, bool) {
    let verdict = |index: &u32| Some(settings.rules.get(usize::try_from(*index).ok()?)?.verdict);
    let certain = rules.iter().filter_map(verdict).max();
    let denies = possible.iter().filter_map(verdict).any(|it| it == RuleVerdict::Deny);
    let asks = denies && certain < Some(RuleVerdict::Deny);
    (certain.max(asks.then_some(RuleVerdict::Ask)), asks)
}

impl CallState {
    /// Sets the verdict of the rules that the call matches: deny beats ask, ask beats allow. A rule
    /// that denies and only may match asks.
    pub(crate) fn apply_rules(&mut self, settings: &Settings, rules: &[u32], possible: &[u32]) {
        (self.rule_verdict, self.possibly_denied) = verdict(settings, rules, possible);
    }

    /// Returns true if these rules, which it matches by now, permit as much as those that it was
    /// decided by.
    #[must_use]
    pub fn covers(&self, settings: &Settings, rules: &[u32], possible: &[u32]) -> bool {
        let strictness = |verdict: Option<RuleVerdict>| match verdict {
            Some(RuleVerdict::Allow) => 0,
            None => 1,
            Some(RuleVerdict::Ask) => 2,
            Some(RuleVerdict::Deny) => 3,
        };
        strictness(verdict(settings, rules, possible).0) <= strictness(self.rule_verdict)
    }

    /// Returns true if a person decides about it, whatever else allows it.
    pub(crate) fn needs_person(&self) -> bool {
        self.held || self.outside_sandbox.is_some()
    }

    /// Returns true if the call counts against the limits of calls: surplus ones do not.
    pub(crate) fn counts(&self) -> bool {
        self.validity != CallValidity::Surplus
    }

    /// Returns true if the call is a program.
    #[must_use]
    pub fn is_program(&self) -> bool {
        matches!(self.validity, CallValidity::Program { .. })
    }

    /// Returns true if the tool changes something each time that it runs.
    pub(crate) fn is_effectful(&self) -> bool {
        matches!(self.validity, CallValidity::Valid { effect: EffectClass::Effectful, .. })
    }

    /// Returns the digest by which decisions and answers name its arguments.
    #[must_use]
    pub fn arguments_digest(&self) -> ArgumentsDigest {
        self.sha256.map_or(ArgumentsDigest::Digest(self.arguments), ArgumentsDigest::Sha256)
    }

    /// Returns the digest of the tool and the arguments: equal calls have equal ones.
    pub(crate) fn effect_digest(&self) -> Digest {
        Digest::EMPTY.part(self.tool.as_bytes()).digest(self.arguments)
    }

    /// Returns true if a run of the call has started.
    #[must_use]
    pub fn has_started(&self) -> bool {
        match &self.progress {
            CallProgress::Running { .. }
            | CallProgress::AwaitingResult { .. }
            | CallProgress::Reconciling { .. } => true,
            CallProgress::Done { ran, .. } => *ran,
            CallProgress::Proposed
            | CallProgress::AwaitingApproval { .. }
            | CallProgress::Allowed
            | CallProgress::Denied { .. } => self.is_suspended(),
        }
    }
}
