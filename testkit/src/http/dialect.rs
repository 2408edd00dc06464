//! The protocols of the kit, of which each has a file that writes its answers and reads its
//! requests.

use serde_json::{Value, json};
use windlass_core::{FailureKind, Usage};

use super::model_request::ModelRequest;
use super::protocol::{EventEffect, Protocol, ProtocolCapabilities, Refusal};
use super::request::{Asked, Request};
use super::{chat, grammar, messages, responses};
use crate::answer::Answer;

/// A protocol of the kit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

impl Dialect {
    /// The events of an answer in this dialect, each with its blank line.
    #[must_use]
    pub fn events(self, answer: &Answer) -> Vec<String> {
        match self {
            Self::Chat => chat::events(answer),
            Self::Responses => responses::events(answer),
            Self::Messages => messages::events(answer),
        }
    }

    /// The answer as one JSON object, as a gateway gives it that does not stream. The arguments of
    /// a call must be JSON.
    #[must_use]
    pub fn body(self, answer: &Answer) -> String {
        match self {
            Self::Chat => chat::body(answer),
            Self::Responses => responses::body(answer),
            Self::Messages => messages::body(answer),
        }
    }

    /// The dialect of a path, from its version on.
    pub(super) fn of(called: &str) -> Option<Self> {
        match called {
            "/v1/chat/completions" => Some(Self::Chat),
            "/v1/responses" => Some(Self::Responses),
            "/v1/messages" => Some(Self::Messages),
            _ => None,
        }
    }

    /// Reads a body.
    pub(super) fn read_body(self, body: &Value) -> ModelRequest {
        match self {
            Self::Chat => chat::read(body),
            Self::Responses => responses::read(body),
            Self::Messages => messages::read(body),
        }
    }

    /// Reads what a script answers by. Where the instructions have no place of their own in the
    /// protocol, they are the first of the context.
    pub(super) fn asked_of(self, body: &Value) -> Asked {
        let mut asked = Asked::of(self.read_body(body));
        match self {
            Self::Responses => {}
            Self::Chat | Self::Messages => {
                asked.context.splice(0..0, asked.instructions.take());
            }
        }
        asked
    }
}

impl Protocol for Dialect {
    fn name(&self) -> &str {
        match self {
            Self::Chat => "OpenAI Chat Completions",
            Self::Responses => "OpenAI Responses",
            Self::Messages => "Anthropic Messages",
        }
    }

    fn serves(&self, request: &Request) -> bool {
        request.dialect() == Some(*self)
    }

    fn capabilities(&self) -> ProtocolCapabilities {
        let all = ProtocolCapabilities { sealed_calls: false, ..ProtocolCapabilities::all() };
        match self {
            Self::Chat => ProtocolCapabilities { unfinished: false, failed_results: false, ..all },
            Self::Responses => ProtocolCapabilities { failed_results: false, ..all },
            Self::Messages => ProtocolCapabilities { refusals: false, ..all },
        }
    }

    fn events(&self, answer: &Answer) -> Vec<String> {
        Self::events(*self, answer)
    }

    fn body(&self, answer: &Answer) -> Option<String> {
        Some(Self::body(*self, answer))
    }

    fn effect(&self, event: &str) -> EventEffect {
        match self {
            Self::Chat => chat::effect(event),
            Self::Responses => responses::effect(event),
            Self::Messages => messages::effect(event),
        }
    }

    fn failure_event(&self, kind: FailureKind, message: &str) -> Option<String> {
        let code =
            if kind == FailureKind::Overloaded { "overloaded_error" } else { "server_error" };
        let error = json!({ "message": message, "type": code, "code": code });
        Some(match self {
            Self::Chat => format!("data: {}\n\n", json!({ "error": error })),
            Self::Responses => {
                let response = json!({ "id": "r", "status": "failed", "error": error });
                let failed = json!({ "type": "response.failed", "response": response });
                format!("event: response.failed\ndata: {failed}\n\n")
            }
            Self::Messages => {
                let failed = json!({ "type": "error", "error": error });
                format!("event: error\ndata: {failed}\n\n")
            }
        })
    }

    /// The codes are OpenAI's, which the gateways of all three send.
    fn refusals(&self, kind: FailureKind, message: &str) -> Vec<Refusal> {
        let codes = codes(kind).iter().map(|(status, code)| {
            let error = json!({ "message": message, "type": code, "code": code });
            Refusal { status: *status, body: json!({ "error": error }).to_string() }
        });
        codes.collect()
    }

    fn reported_usage(&self, usage: Usage) -> Usage {
        match self {
            Self::Chat | Self::Responses => usage,
            Self::Messages => Usage { total: None, ..usage },
        }
    }

    fn read(&self, request: &Request) -> ModelRequest {
        self.read_body(request.json.as_ref().unwrap_or(&Value::Null))
    }

    fn asked(&self, request: &Request) -> Asked {
        self.asked_of(request.json.as_ref().unwrap_or(&Value::Null))
    }

    fn fault(&self, request: &Request) -> Option<String> {
        grammar::fault(request)
    }
}

/// The status and code of a failure, in each form that servers send.
fn codes(kind: FailureKind) -> &'static [(u16, &'static str)] {
    match kind {
        FailureKind::ContextOverflow => {
            &[(400, "context_length_exceeded"), (400, "too_many_prompt_tokens")]
        }
        FailureKind::NotFound => &[(400, "model_not_found"), (404, "model_not_found")],
        FailureKind::Quota => &[(429, "insufficient_quota")],
        FailureKind::RateLimit => &[(429, "rate_limit_exceeded")],
        FailureKind::Authentication => &[(401, "invalid_api_key")],
        FailureKind::ContentFilter => &[(400, "content_filter")],
        FailureKind::Overloaded => &[(503, "overloaded_error")],
        FailureKind::InvalidRequest
        | FailureKind::Server
        | FailureKind::Unavailable
        | FailureKind::Protocol
        | FailureKind::Truncated
        | FailureKind::TooLarge
        | FailureKind::Timeout
        | FailureKind::Cancelled
        | FailureKind::Restart
        | FailureKind::Steered
        | FailureKind::Hook
        | FailureKind::Unsupported
        | FailureKind::Program
        | FailureKind::Compaction => &[],
    }
}
