//! A request to a model in neutral terms: all that it says, whatever its protocol.

use serde_json::Value;
use windlass_core::ToolChoice;

/// A request to a model: the settings that it names, and its conversation in order.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The model.
    pub model: Option<String>,
    /// The instructions.
    pub system: Option<String>,
    /// The tools that are offered, in order.
    pub tools: Vec<OfferedTool>,
    /// The choice of tools.
    pub choice: ToolChoice,
    /// The most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// The effort of reasoning, in a word of the protocol's own.
    pub effort: Option<String>,
    /// The sampling temperature, as a JSON number.
    pub temperature: Option<f64>,
    /// The JSON Schema of the answer.
    pub answer_schema: Option<Value>,
    /// True if the server may search the web.
    pub web_search: bool,
    /// The conversation.
    pub parts: Vec<RequestPart>,
}

/// A tool as a request offers it.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// Its description; empty if there is none.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// One part of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestPart {
    /// Words of the user.
    User(String),
    /// An image of the user.
    Image {
        /// Its media type.
        media: String,
        /// Its bytes in base64.
        base64: String,
    },
    /// Context that neither the user nor the model wrote.
    Context(String),
    /// Text of the model.
    Text(String),
    /// An opaque part of the model, as it was sent.
    Opaque(String),
    /// A call of the model.
    Call {
        /// Its id; empty if the protocol has none.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments, as JSON text.
        arguments: String,
    },
    /// The result of a call.
    Result {
        /// The id of its call; empty if the protocol has none.
        id: String,
        /// Its text.
        output: String,
        /// True if it says that the call failed.
        failed: bool,
    },
}

impl RequestPart {
    /// Returns the name of its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Image { .. } => "image",
            Self::Context(_) => "context",
            Self::Text(_) => "text",
            Self::Opaque(_) => "opaque",
            Self::Call { .. } => "call",
            Self::Result { .. } => "result",
        }
    }
}
