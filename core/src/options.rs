//! Request options: settings of a request besides the model and the tools.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::program::ProgramMode;

/// Options of a request. Each needs a provider that declares it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RequestOptions {
    /// Output schema of a turn's last answer, if the user sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<OutputSchema>,
    /// Permission or duty of the model to call tools.
    #[serde(default, skip_serializing_if = "ToolChoice::is_auto")]
    pub tool_choice: ToolChoice,
    /// True if the model may request several calls at once; `None` for the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_calls: Option<bool>,
    /// Requested summary of reasoning, in the provider's words (`auto`, `concise`, `detailed`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_summary: Option<String>,
    /// Program mode, if the model writes programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramMode>,
    /// Web search by the provider, if the user allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_search: Option<WebSearch>,
    /// Selection of the tools that a request offers.
    #[serde(default = "OfferedTools::unrecorded", skip_serializing_if = "OfferedTools::is_all")]
    pub offered: OfferedTools,
}

impl RequestOptions {
    /// Returns these options with changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the options of a log that records none: the defaults, with every tool offered.
    #[must_use]
    pub fn unrecorded() -> Self {
        Self { offered: OfferedTools::unrecorded(), ..Self::default() }
    }

    pub(crate) fn is_unrecorded(&self) -> bool {
        *self == Self::unrecorded()
    }
}

/// Selection of the tools that a request offers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferedTools {
    /// Every tool of the settings. Logs without this option mean this selection.
    All,
    /// The tools that the mode and the permissions allow to run, at least after a question.
    #[default]
    Allowed,
}

impl OfferedTools {
    fn unrecorded() -> Self {
        Self::All
    }

    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

/// Web search that the provider's servers run while the model answers. Queries leave for the provider
/// and for the search engine behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebSearch {
    /// Most searches of one sample; `None` for the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_searches: Option<u32>,
    /// Domains to search, with their subdomains; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_domains: Vec<String>,
    /// Domains whose pages are left out, with their subdomains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_domains: Vec<String>,
}

/// Schema of a turn's last answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputSchema {
    /// Its name for the provider: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// JSON Schema of the answer, as JSON text.
    pub schema: String,
    /// True if the provider should enforce it, if it can. The engine checks the answer in any case.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub strict: bool,
    /// Most re-asks after an invalid output. Then the turn ends without an answer.
    pub max_re_asks: u32,
}

/// Permission or duty of the model to call tools.
///
/// `Required` and `Tool` apply to a turn's first sample only, so that a turn can end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// Allows calls of tools.
    #[default]
    Auto,
    /// Forbids calls of tools.
    None,
    /// The model must call at least one tool.
    Required,
    /// The model must call this tool.
    Tool(String),
}

impl ToolChoice {
    /// Returns true for `Auto`.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}
