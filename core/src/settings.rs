//! Settings: the configuration of a session's turns. Recorded completely, frozen for each turn.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::agent::AgentSpec;
use crate::call::Verdict;
use crate::call::policy::mode_verdict;
use crate::compaction::ContextWindow;
use crate::hook::HookSpec;
use crate::limits::Limits;
use crate::options::{OfferedTools, RequestOptions};
use crate::rule::Rule;
use crate::temperature::Temperature;
use crate::usage::Price;

/// Settings of a session's turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// Name of the provider adapter, for example `openai`.
    pub provider: String,
    /// Name of the model, as the provider knows it.
    pub model: String,
    /// Instructions: byte-stable text without a path, a date or a mode of the day.
    pub instructions: String,
    /// Mode of the turns.
    pub mode: Mode,
    /// Permissions of calls.
    pub permissions: Permissions,
    /// Rules of the user about calls, by tool and argument.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// Hooks, in the order in which they are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookSpec>,
    /// Name of the redaction of the model's text, as the hooks' adapter registers it. A process
    /// without it asks no model for this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction: Option<String>,
    /// Context window of the model.
    #[serde(default)]
    pub window: ContextWindow,
    /// Price of tokens, if the user set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Offered tools, in the order in which they are shown.
    pub tools: Vec<ToolSpec>,
    /// Limits of each turn.
    pub limits: Limits,
    /// Most tokens of an answer, if the user sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Requested reasoning effort, in the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Sampling temperature, if the user sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Temperature>,
    /// Base URL of the provider, if it is not the default. Recorded, so that a conversation with a
    /// private server never continues on another one. Contains no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Further options of requests.
    #[serde(
        default = "RequestOptions::unrecorded",
        skip_serializing_if = "RequestOptions::is_unrecorded"
    )]
    pub options: RequestOptions,
}

impl Settings {
    /// Creates the settings of a provider and a model: no instructions, no tools and no rules, the
    /// default limits, mode `build`, and permissions that ask.
    #[must_use]
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
            instructions: String::new(),
            mode: Mode::Build,
            permissions: Permissions::Ask,
            rules: Vec::new(),
            hooks: Vec::new(),
            redaction: None,
            window: ContextWindow::default(),
            price: None,
            tools: Vec::new(),
            limits: Limits::default(),
            max_output_tokens: None,
            effort: None,
            temperature: None,
            base_url: None,
            options: RequestOptions::default(),
        }
    }

    /// Returns these settings with changes.
    ///
    /// ```
    /// let settings = windlass_core::Settings::new("openai", "gpt-5").with(|it| it.effort = Some("low".into()));
    /// assert_eq!(settings.effort.as_deref(), Some("low"));
    /// ```
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the tool of this name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Adds the client tools of a session's recorded settings that these lack: what a process offers
    /// does not change what the session's clients run.
    pub fn retain_client_tools(&mut self, recorded: &Self) {
        for tool in recorded.tools.iter().filter(|tool| tool.client) {
            if self.tool(&tool.name).is_none() {
                self.tools.push(tool.clone());
            }
        }
    }

    /// Returns the tools that requests may offer: those that may run, unless the options select all.
    /// A call of another one is denied in any case. Requests offer a deferred one once it was found.
    pub fn offered_tools(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().filter(|tool| self.may_offer(tool))
    }

    pub(crate) fn may_offer(&self, tool: &ToolSpec) -> bool {
        match self.options.offered {
            OfferedTools::All => true,
            OfferedTools::Allowed => self.is_allowed(tool.effect),
        }
    }

    /// Returns true if the mode and the permissions allow calls of this effect class to run, at
    /// least after a question.
    #[must_use]
    pub fn is_allowed(&self, effect: EffectClass) -> bool {
        mode_verdict(self, effect).0 != Verdict::Deny
    }
}

/// Mode of a session's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Tools may change things, as far as the permissions allow.
    Build,
    /// Only read-only tools run, whatever the permissions are.
    Plan,
}

/// Permissions of calls, narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// Only read-only tools run.
    ReadOnly,
    /// Read-only tools run; others need a person's approval.
    Ask,
    /// Every offered tool runs.
    Auto,
}

/// A tool, with its description for the model and its properties for the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolSpec {
    /// Name of the tool: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// Description of the tool, for the model.
    pub description: String,
    /// JSON Schema of the arguments, as JSON text (an object schema).
    pub parameters: String,
    /// Effect class of the tool.
    pub effect: EffectClass,
    /// Permission to run concurrently with other calls.
    pub concurrency: Concurrency,
    /// Longest time of one run, in milliseconds. `None` means the default of the limits, and for an
    /// agent as long as the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// True if the tool can report the outcome of a call whose process ended.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub reconciles: bool,
    /// True if a client of the session runs the tool: no executor does, and the call waits for the
    /// client's result.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub client: bool,
    /// True if requests offer the tool only once a search has found it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub deferred: bool,
    /// Definition of the agent, if the tool is one: a child session runs it instead of an executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentSpec>>,
    /// Grammar of the text that the tool takes, if it takes one text. A provider that has such tools
    /// asks the model for the bare text, and elsewhere the model writes the argument as JSON. A call
    /// has the JSON form in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grammar: Option<Box<ToolGrammar>>,
}

/// Grammar of the text that a tool takes in one argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolGrammar {
    /// Name of the argument, which is the only one that the tool's schema requires.
    pub argument: String,
    /// Definition of the grammar, in the syntax of Lark.
    pub definition: String,
}

impl ToolSpec {
    /// Creates a tool that takes any object, without a description. One that changes nothing may run
    /// beside other calls, any other one runs alone.
    #[must_use]
    pub fn new(name: impl Into<String>, effect: EffectClass) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            parameters: String::from(r#"{"type":"object"}"#),
            effect,
            concurrency: match effect {
                EffectClass::ReadOnly => Concurrency::Parallel,
                EffectClass::Idempotent | EffectClass::Effectful => Concurrency::Exclusive,
            },
            timeout_ms: None,
            reconciles: false,
            client: false,
            deferred: false,
            agent: None,
            grammar: None,
        }
    }

    /// Returns this tool with changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// Effect of running a tool. It determines the recovery after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Running the tool changes nothing: it may run again.
    ReadOnly,
    /// Running it twice under one idempotency key has the effect of one run: it may run again.
    Idempotent,
    /// Running the tool changes something: it never runs a second time.
    Effectful,
}

/// Permission of a tool to run concurrently with other calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concurrency {
    /// Runs in parallel with other calls.
    Parallel,
    /// Runs alone, after earlier calls.
    Exclusive,
}
