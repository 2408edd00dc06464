//! RequestOptions: how a model is asked, beyond which one and with which tools.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::program::ProgramMode;

/// Options of a request. Each needs a provider that declares it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestOptions {
    /// The shape that a turn's last answer must have, where the user sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<OutputSchema>,
    /// True if the model may, must or must not call tools.
    #[serde(default, skip_serializing_if = "ToolChoice::is_auto")]
    pub tool_choice: ToolChoice,
    /// True if the model may ask for several calls at once; the provider's own default where
    /// nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_calls: Option<bool>,
    /// Requested summary of reasoning, in the provider's words (`auto`, `concise`, `detailed`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_summary: Option<String>,
    /// True if the model writes programs, and how they are run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramMode>,
}

impl RequestOptions {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The shape that a turn's last answer must have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputSchema {
    /// Its name for the provider: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// JSON Schema of the answer, as JSON text.
    pub schema: String,
    /// True if the provider is asked to hold the model to it, where it can. The answer is checked
    /// here in any case.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub strict: bool,
    /// Most retries after an answer that does not fit. Then the turn ends without an answer.
    pub max_re_asks: u32,
}

/// True if the model may, must or must not call tools.
///
/// `Required` and `Tool` hold for a turn's first sample only, so that a turn can end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// Allows calls of tools.
    #[default]
    Auto,
    /// Forbids calls of tools.
    None,
    /// It must call one at least.
    Required,
    /// It must call this one.
    Tool(String),
}

impl ToolChoice {
    /// Returns true if nothing is asked for.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}
