//! Settings: what a session's turns are run with. Recorded whole, frozen for each turn.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::agent::AgentSpec;
use crate::compaction::ContextWindow;
use crate::hook::HookSpec;
use crate::limits::Limits;
use crate::options::RequestOptions;
use crate::rule::Rule;
use crate::usage::Price;

/// Settings of a session's turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The provider adapter's name, for example `openai`.
    pub provider: String,
    /// The model's name, as the provider knows it.
    pub model: String,
    /// The instructions: byte-stable text without a path, a date or a mode of the day.
    pub instructions: String,
    /// Mode of the turns.
    pub mode: Mode,
    /// Permissions of calls.
    pub permissions: Permissions,
    /// Rules of the user about calls, by tool and argument.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// The hooks, in the order in which they are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookSpec>,
    /// Redaction of the model's text, by the name that the hooks' adapter gives it. A process
    /// without it asks no model for this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction: Option<String>,
    /// Context window of the model.
    #[serde(default)]
    pub window: ContextWindow,
    /// Price of tokens, if the user set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The tools offered, in the order in which they are shown.
    pub tools: Vec<ToolSpec>,
    /// The limits of each turn.
    pub limits: Limits,
    /// The most tokens the model may answer with, where the user sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// The reasoning effort to ask for, in the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Base URL of the provider, if it is not the usual one. Recorded, so that a conversation with
    /// one's own server is never continued elsewhere. Contains no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Further options of requests.
    #[serde(default, skip_serializing_if = "RequestOptions::is_default")]
    pub options: RequestOptions,
}

impl Settings {
    /// The tool of this name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// Mode of a session's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Tools may change things, as far as the permissions go.
    Build,
    /// Only read-only tools run, whatever the permissions say.
    Plan,
}

/// Permissions of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// Every offered tool runs.
    Auto,
    /// Read-only tools run; others need a person's word.
    Ask,
    /// Only read-only tools run.
    ReadOnly,
}

/// A tool as the model is shown it and as the engine treats it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// The name the model calls it by: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// Description of the tool, for the model.
    pub description: String,
    /// JSON Schema of the arguments, as JSON text (an object schema).
    pub parameters: String,
    /// Effect class of the tool.
    pub effect: EffectClass,
    /// True if it may run beside other calls.
    pub concurrency: Concurrency,
    /// The longest one run may take in milliseconds; `None` means the limit's default, and for an
    /// agent as long as the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// True if the tool can say what became of a call whose process ended.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub reconciles: bool,
    /// That it is an agent, if it is: no executor runs it, a session of its own does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentSpec>>,
}

/// Effect of running a tool. It decides the recovery after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// It changes nothing: it may be run again.
    ReadOnly,
    /// Running it twice under one idempotency key is the same as once: it may be run again.
    Idempotent,
    /// It changes something: it is never run a second time.
    Effectful,
}

/// True if a tool may run beside other calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concurrency {
    /// Runs in parallel with other calls.
    Parallel,
    /// Runs alone, after earlier calls.
    Exclusive,
}
