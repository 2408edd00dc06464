//! A protocol of model servers, as the scripted server speaks it: from an answer to bytes, and from
//! a request to its meaning. [`Dialect`](super::Dialect) has those of the kit; the author of an
//! adapter for another one implements [`Protocol`] and runs the same suite.

use std::fmt;

use windlass_core::{FailureKind, StopReason, Usage};

use super::dialect::Dialect;
use super::gemini::GeminiApi;
use super::model_request::ModelRequest;
use super::request::{Asked, Request};
use crate::answer::Answer;

/// A protocol of model servers: streams of server-sent events over HTTP.
///
/// What a protocol cannot say, it declares by [`capabilities`](Self::capabilities). The provider
/// suite demands all that is declared, and refuses what is not.
pub trait Protocol: fmt::Debug + Send + Sync {
    /// Returns its name.
    fn name(&self) -> &str;

    /// Returns true for the requests of this protocol that ask for an answer of a model.
    fn serves(&self, request: &Request) -> bool;

    /// Returns what it can say.
    fn capabilities(&self) -> ProtocolCapabilities {
        ProtocolCapabilities::all()
    }

    /// Returns the events of an answer, each with its blank line, the closing ones included.
    fn events(&self, answer: &Answer) -> Vec<String>;

    /// Returns the answer as one body, as a gateway gives it that does not stream. `None` if there
    /// is no such form.
    fn body(&self, answer: &Answer) -> Option<String>;

    /// Returns the effect of one of its [`events`](Self::events), for cases that cut and repeat
    /// them.
    fn effect(&self, event: &str) -> EventEffect;

    /// Returns an event by which a server reports a failure inside of an answer, with its blank
    /// line. `None` if there is none.
    fn failure_event(&self, kind: FailureKind, message: &str) -> Option<String>;

    /// Returns the refusals by which its servers report this failure, in each of their forms. Empty
    /// if they have no word for it.
    fn refusals(&self, kind: FailureKind, message: &str) -> Vec<Refusal>;

    /// Returns the name of the header in which its servers name a request, if they do.
    fn request_id_header(&self) -> Option<&str> {
        Some("x-request-id")
    }

    /// Returns the part of a usage that it can report.
    fn reported_usage(&self, usage: Usage) -> Usage {
        usage
    }

    /// Reads a request.
    fn read(&self, request: &Request) -> ModelRequest;

    /// Reads what a script answers by.
    fn asked(&self, request: &Request) -> Asked {
        Asked::of(self.read(request))
    }

    /// Returns the reason why its servers would refuse a request for its form, if they would.
    fn fault(&self, request: &Request) -> Option<String> {
        let _ = request;
        None
    }
}

/// Abilities of a protocol: a field is true if it can say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProtocolCapabilities {
    /// A refusal of the model is a part of its own. Otherwise it is text.
    pub refusals: bool,
    /// A model that stopped can say that it has not finished ([`StopReason::Unfinished`]).
    pub unfinished: bool,
    /// Calls have ids. Otherwise a result is matched by its place.
    pub call_ids: bool,
    /// The arguments of a call are text, which need not be JSON.
    pub argument_text: bool,
    /// A call can have an opaque part that comes back with it ([`Answer::sealed`]).
    pub sealed_calls: bool,
    /// A response has an id.
    pub response_ids: bool,
    /// A request can choose whether tools are called, and which.
    pub tool_choice: bool,
    /// A request can hold images.
    pub images: bool,
    /// A request can hold the schema of the answer.
    pub answer_schemas: bool,
    /// A result can say that its call failed.
    pub failed_results: bool,
}

impl ProtocolCapabilities {
    /// Returns all of them. Clear those that a protocol does not have.
    #[must_use]
    pub fn all() -> Self {
        Self {
            refusals: true,
            unfinished: true,
            call_ids: true,
            argument_text: true,
            sealed_calls: true,
            response_ids: true,
            tool_choice: true,
            images: true,
            answer_schemas: true,
            failed_results: true,
        }
    }

    /// Returns true if it has a word for this reason to stop.
    #[must_use]
    pub fn stops(&self, reason: &StopReason) -> bool {
        match reason {
            StopReason::Unfinished => self.unfinished,
            StopReason::Stop
            | StopReason::Length
            | StopReason::ContentFilter
            | StopReason::Other(_) => true,
        }
    }
}

/// The effect of one event of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventEffect {
    /// It adds to a part, and has nothing by which a reader could tell its repetition from more.
    pub adds: bool,
    /// It holds some of the arguments of a call.
    pub arguments: bool,
    /// With it the answer is whole. What comes after it only closes the stream.
    pub ends: bool,
}

impl EventEffect {
    /// Marks an event that adds to a part.
    #[must_use]
    pub fn adding(self, adds: bool) -> Self {
        Self { adds, ..self }
    }

    /// Marks an event with arguments.
    #[must_use]
    pub fn with_arguments(self, arguments: bool) -> Self {
        Self { arguments, ..self }
    }

    /// Marks an event that makes the answer whole.
    #[must_use]
    pub fn ending(self, ends: bool) -> Self {
        Self { ends, ..self }
    }
}

/// A refusal of a request: its status and its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// The protocols that a server speaks unless it is told others.
pub(super) static KNOWN: &[&dyn Protocol] =
    &[&Dialect::Chat, &Dialect::Responses, &Dialect::Messages, &GeminiApi::WITHOUT_IDS];

/// Finds the protocol of a request, among a script's own and the kit's.
pub(super) fn protocol_of(
    own: &[&'static dyn Protocol],
    request: &Request,
) -> Option<&'static dyn Protocol> {
    own.iter().chain(KNOWN).copied().find(|protocol| protocol.serves(request))
}
