//! Approvals: the reasons for a question to a person, and the record of an approval grant.
//!
//! Absent on purpose: the grants themselves. They are the user's and not of a log, so a log cannot
//! bring one along.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::hook::HookOccurrence;
use crate::hook_rounds::{CombinedVerdict, FinishedRound};
use crate::rule::RuleVerdict;
use crate::session::CallState;

/// Reason for which a person is asked about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalReason {
    /// The permissions ask, and nothing allowed the call.
    Permissions,
    /// A rule asks.
    Rule,
    /// A rule that denies may match.
    PossibleDenial,
    /// A hook asks.
    Hook,
    /// An earlier process left the call, and calls of earlier processes are held.
    Held,
    /// The call would run outside of the sandbox.
    OutsideSandbox,
}

/// Lifetime of an approval grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantLifetime {
    /// The rest of the session.
    Session,
    /// Until it is revoked, in all sessions of the workspace.
    Always,
}

/// Record of an approval grant with the answer that gave it, or that it gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalGrant {
    /// True if the grant answered in place of a person. Else a person gave it with this answer.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub used: bool,
    /// Lifetime of the grant.
    pub lifetime: GrantLifetime,
    /// Calls that it covers, in words.
    pub text: String,
}

impl ApprovalReason {
    /// Returns true if a grant may answer: nobody forbade the call or asked for a person.
    #[must_use]
    pub fn permits_grants(self) -> bool {
        match self {
            Self::Permissions => true,
            Self::Rule | Self::PossibleDenial | Self::Hook | Self::Held | Self::OutsideSandbox => {
                false
            }
        }
    }
}

impl CallState {
    /// Returns the reason for a question about the call.
    #[must_use]
    pub fn approval_reason(&self) -> ApprovalReason {
        let asks = |round: &FinishedRound| {
            let id = self.id;
            let about = [
                HookOccurrence::BeforeTool { call: id },
                HookOccurrence::PermissionRequest { call: id },
            ];
            about.contains(&round.at) && round.verdict == CombinedVerdict::Ask
        };
        match self.rule_verdict {
            _ if self.outside_sandbox.is_some() => ApprovalReason::OutsideSandbox,
            _ if self.held => ApprovalReason::Held,
            Some(RuleVerdict::Ask) if self.possibly_denied => ApprovalReason::PossibleDenial,
            Some(RuleVerdict::Ask | RuleVerdict::Deny) => ApprovalReason::Rule,
            Some(RuleVerdict::Allow) | None if self.hook_rounds.finished.iter().any(asks) => {
                ApprovalReason::Hook
            }
            Some(RuleVerdict::Allow) | None => ApprovalReason::Permissions,
        }
    }
}
