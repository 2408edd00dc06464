//! RequestOptions: how a model is asked, beyond which one and with which tools.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::program::ProgramMode;

/// How a model is asked. Each of these needs a provider that declares it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestOptions {
    /// The shape that a turn's last answer must have, where the user sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerShape>,
    /// Whether the model may, must or must not call tools.
    #[serde(default, skip_serializing_if = "ToolChoice::is_auto")]
    pub choice: ToolChoice,
    /// Whether the model may ask for several calls at once; the provider's own default where
    /// nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_calls: Option<bool>,
    /// Which summary of its reasoning is asked for, in the provider's words (`auto`, `concise`,
    /// `detailed`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_summary: Option<String>,
    /// Whether the model writes programs, and how they are run.
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
pub struct AnswerShape {
    /// Its name for the provider: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// JSON Schema of the answer, as JSON text.
    pub schema: String,
    /// Whether the provider is asked to hold the model to it, where it can. The answer is checked
    /// here in any case.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub strict: bool,
    /// How often the model is told what is wrong and asked again. Then the turn ends without the
    /// answer.
    pub retries: u32,
}

/// Whether the model may, must or must not call tools.
///
/// `Required` and `Tool` hold for a turn's first sample only, so that a turn can end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It may.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must call one at least.
    Required,
    /// It must call this one.
    Tool(String),
}

impl ToolChoice {
    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}
