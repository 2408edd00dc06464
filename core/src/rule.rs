//! Rules: what the user says of calls, by tool and by argument.

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// What the user says of some calls. Deny beats ask, ask beats allow; no rule widens what the mode
/// and the permissions forbid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What is to be done about such a call.
    pub verdict: RuleVerdict,
    /// The tools: a name in which `*` stands for any characters.
    pub tool: String,
    /// What the arguments must be like; `None` means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<ArgumentPattern>,
}

/// What is to be done about a call that a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleVerdict {
    /// It may run without asking.
    Allow,
    /// A person is to be asked.
    Ask,
    /// It may not run.
    Deny,
}

/// What one argument must be like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentPattern {
    /// The argument's name.
    pub name: String,
    /// Its value as text, in which `*` stands for any characters.
    pub pattern: String,
}
