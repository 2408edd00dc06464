//! Rules: verdicts of the user on calls, by tool and by argument.

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// Rule of the user about some calls. Deny beats ask, ask beats allow; no rule allows calls that
/// the mode and the permissions forbid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Verdict on matching calls.
    pub verdict: RuleVerdict,
    /// Tools that match: a name in which `*` matches any characters.
    pub tool: String,
    /// Pattern of an argument; `None` matches any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<ArgumentPattern>,
}

/// Verdict of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleVerdict {
    /// The call may run without approval.
    Allow,
    /// The call needs a person's approval.
    Ask,
    /// The call may not run.
    Deny,
}

/// Pattern of one argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentPattern {
    /// Name of the argument.
    pub name: String,
    /// Value as text, in which `*` matches any characters.
    pub pattern: String,
}
