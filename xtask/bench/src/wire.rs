//! Chat Completions as the bare loop uses it, with plain serde types.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// System prompt of the bare loop.
pub(crate) const INSTRUCTIONS: &str =
    "You are measured. Call the tool echo for as long as you are asked to, then answer.";

/// Prompt of each turn.
pub(crate) const PROMPT: &str = "Go through the script.";

/// The schema of the arguments of `echo`.
pub(crate) const ECHO_SCHEMA: &str = r#"{"type":"object","properties":{"text":{"type":"string"},"bytes":{"type":"integer"}},"required":["text"]}"#;

/// Description of `echo` for the model.
pub(crate) const ECHO_DESCRIPTION: &str =
    "Gives the text back, with source code up to so many bytes.";

/// Text that longer results repeat: source code as coding agents read it, with characters that JSON
/// must escape.
const SOURCE: &str = "    /// Answers \u{201c}so far\u{201d}; `None` before the first.\n    fn last(&self, name: &str) \
                      -> Option<String> {\n\tlet path = format!(\"{}/{name}\", self.folder);\n\t\
                      std::fs::read_to_string(path).ok()\n    }\n\n";

/// Request of the bare loop.
#[derive(Debug, Serialize)]
pub(crate) struct Request<'a> {
    pub(crate) model: &'a str,
    pub(crate) stream: bool,
    pub(crate) stream_options: StreamOptions,
    pub(crate) messages: &'a [Message],
    pub(crate) tools: &'a RawValue,
}

#[derive(Debug, Serialize)]
pub(crate) struct StreamOptions {
    pub(crate) include_usage: bool,
}

/// One message of the history.
#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(crate) enum Message {
    System {
        content: String,
    },
    User {
        content: String,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

/// A call in the history.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) r#type: &'static str,
    pub(crate) function: Function,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// One event of a streamed answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Chunk {
    pub(crate) choices: Vec<Choice>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Choice {
    pub(crate) delta: ChunkDelta,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ChunkDelta {
    pub(crate) content: Option<String>,
    #[serde(default)]
    pub(crate) tool_calls: Vec<CallDelta>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CallDelta {
    pub(crate) index: usize,
    pub(crate) id: Option<String>,
    pub(crate) function: FunctionDelta,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FunctionDelta {
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) arguments: String,
}

/// The arguments of `echo`.
#[derive(Debug, Deserialize)]
pub(crate) struct EchoArguments {
    text: String,
    #[serde(default)]
    bytes: usize,
}

impl EchoArguments {
    /// Returns the result of `echo`.
    pub(crate) fn result(self) -> String {
        let mut result = self.text;
        result.reserve_exact(self.bytes.saturating_sub(result.len()));
        while result.len() < self.bytes {
            let room = self.bytes.saturating_sub(result.len());
            let end = SOURCE.ceil_char_boundary(room.min(SOURCE.len()));
            result.push_str(SOURCE.get(..end).unwrap_or_default());
        }
        result
    }
}

/// The tools of a request, as JSON.
pub(crate) fn tools() -> anyhow::Result<Box<RawValue>> {
    let tools = format!(
        r#"[{{"type":"function","function":{{"name":"echo","description":"{ECHO_DESCRIPTION}","parameters":{ECHO_SCHEMA}}}}}]"#
    );
    Ok(RawValue::from_string(tools)?)
}
