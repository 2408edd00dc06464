//! Maps every failure to a `ProviderError`: its kind, retry advice, and a message that is bounded,
//! escaped, and free of secrets.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{FailureKind, Retry};
use windlass_ports::{ProviderError, WireError, WireErrorKind, WireHeaders};

use crate::classify::{again, classify};
use crate::reported_error::ReportedError;
use crate::retry_after::retry_after_ms;
use crate::secret::Secret;

/// Most bytes of a body that is not a stream.
pub const ERROR_BODY_BYTES: usize = 64 * 1024;

/// Longest part of a provider's message that is passed on, in characters.
const SHOWN_CHARS: usize = 600;
/// Fewest bytes of a secret that is hidden in a text: a shorter one would occur in ordinary words.
const SHORTEST_SECRET: usize = 8;

/// Longest description of an unrecorded request by a wire without a network, in characters.
const UNRECORDED_CHARS: usize = 2_000;

/// Advice for a web page in place of an API's error.
const PAGE: &str = "; a web page answered, not the API: check the base URL, and any proxy or \
                    firewall on the way";

/// Fault found by a decoder, before it has a message.
#[derive(Debug)]
pub enum DecodeError {
    /// The stream carries an error.
    Reported(ReportedError),
    /// The stream violates the protocol.
    Protocol(String),
    /// The stream ended without its terminal event.
    Truncated,
    /// The stream or its content exceeds the caps.
    TooLarge(String),
    /// The body is no event stream. Contains its first bytes.
    NotAStream(Vec<u8>),
}

/// Request that an error belongs to, and the secrets to hide from it.
#[derive(Clone, Default)]
pub struct ErrorContext {
    endpoint: String,
    secrets: Arc<Vec<Secret>>,
    keyed: bool,
    status: Option<u16>,
    request_id: Option<String>,
}

impl ErrorContext {
    /// Creates a context for requests to `endpoint`, which is shown. The `secrets` are removed from
    /// every message.
    #[must_use]
    pub fn new(endpoint: impl Into<String>, secrets: Vec<Secret>, keyed: bool) -> Self {
        Self {
            endpoint: endpoint.into(),
            secrets: Arc::new(secrets),
            keyed,
            status: None,
            request_id: None,
        }
    }

    /// Returns the context for one response.
    #[must_use]
    pub fn answered(&self, status: u16, headers: &WireHeaders) -> Self {
        let id = ["x-request-id", "request-id", "apim-request-id"];
        let id = id.iter().find_map(|name| headers.text(name));
        Self {
            status: Some(status),
            request_id: id.map(|id| self.shown(id).chars().take(200).collect()),
            ..self.clone()
        }
    }

    /// Creates the error of a response that is not a success.
    #[must_use]
    pub fn refused(&self, headers: &WireHeaders, body: &[u8]) -> ProviderError {
        let status = self.status.unwrap_or(0);
        if (300..400).contains(&status) {
            return self.redirected(headers);
        }
        let said = ReportedError::parse(body).or_else(|| ReportedError::of(&plain(body).into()));
        let reported = said.unwrap_or_default();
        let kind = classify(Some(status), &reported);
        let retry = match headers.get("x-should-retry") {
            Some(b"false") => Retry::Never,
            Some(_) | None => again(kind, Some(status), &reported, retry_after_ms(headers)),
        };
        let said = self.describe(&reported);
        let context = format!(
            "{} answered {status}{said}{}",
            self.endpoint,
            if is_html(body) { PAGE } else { self.advice(kind) }
        );
        self.error(kind, retry, context)
    }

    /// Creates the error of a stream with a fault.
    pub fn fault(&self, fault: DecodeError) -> ProviderError {
        let at = &self.endpoint;
        match fault {
            DecodeError::Reported(reported) => {
                let kind = classify(None, &reported);
                let said = self.describe(&reported);
                let advice = self.advice(kind);
                let context = format!("{at} broke off its answer with an error{said}{advice}");
                self.error(kind, again(kind, None, &reported, None), context)
            }
            DecodeError::Protocol(what) => {
                let context = format!("reading the answer of {at}: {}", self.shown(&what));
                self.error(FailureKind::Protocol, Retry::Soon, context)
            }
            DecodeError::Truncated => {
                let context = format!(
                    "the answer of {at} ended without its closing event, so it may be cut off; \
                     it is not taken for an answer"
                );
                self.error(FailureKind::Truncated, Retry::Soon, context)
            }
            DecodeError::TooLarge(what) => {
                let context = format!("reading the answer of {at}: {}", self.shown(&what));
                self.error(FailureKind::TooLarge, Retry::Never, context)
            }
            DecodeError::NotAStream(body) => self.not_a_stream(&body),
        }
    }

    /// Creates the error of a request without a response.
    pub fn unreachable(&self, error: WireError) -> ProviderError {
        let kind = match error.kind {
            WireErrorKind::ConnectTimeout | WireErrorKind::HeadTimeout => FailureKind::Timeout,
            WireErrorKind::Unreachable | WireErrorKind::Untrusted | WireErrorKind::Broken => {
                FailureKind::Unavailable
            }
            WireErrorKind::Invalid => FailureKind::InvalidRequest,
            WireErrorKind::Unrecorded => return self.unrecorded(error),
            WireErrorKind::Unsupported => {
                let words = format!("asking {}: {}", self.endpoint, error.context);
                return self.error(FailureKind::Unsupported, error.retry, words);
            }
            WireErrorKind::TooLarge => return self.fault(DecodeError::TooLarge(error.context)),
        };
        let advice = match error.kind {
            WireErrorKind::Untrusted => {
                "the server's certificate or this client's is not accepted: name the authority's \
                 certificates with ca_file, or this client's own with client_certificate and \
                 client_key; check the base URL's host and this machine's clock"
            }
            WireErrorKind::Invalid
            | WireErrorKind::Unreachable
            | WireErrorKind::ConnectTimeout
            | WireErrorKind::HeadTimeout
            | WireErrorKind::Broken
            | WireErrorKind::Unrecorded
            | WireErrorKind::Unsupported
            | WireErrorKind::TooLarge => {
                "check that the server runs and that the base URL is right"
            }
        };
        let context =
            format!("cannot reach {}: {}; {advice}", self.endpoint, self.shown(&error.context));
        let mut mapped = self.error(kind, error.retry, context);
        mapped.source = Some(Box::new(error));
        mapped
    }

    /// Creates the error of a body that ended with a transport error.
    pub fn broken(&self, error: WireError) -> ProviderError {
        if error.kind == WireErrorKind::Unrecorded {
            return self.unrecorded(error);
        }
        if error.kind == WireErrorKind::TooLarge {
            return self.fault(DecodeError::TooLarge(error.context));
        }
        let mut mapped = self.fault(DecodeError::Truncated);
        mapped.source = Some(Box::new(error));
        mapped
    }

    /// Creates the error of a wire without a network, whose own message has the missing request.
    fn unrecorded(&self, error: WireError) -> ProviderError {
        let words = self.shown_up_to(&error.context, UNRECORDED_CHARS);
        let mut mapped = self.error(FailureKind::InvalidRequest, error.retry, words);
        mapped.source = Some(Box::new(error));
        mapped
    }

    /// Creates an error with this request's status and id.
    pub fn error(
        &self,
        kind: FailureKind,
        retry: Retry,
        context: impl Into<String>,
    ) -> ProviderError {
        let mut error = ProviderError::new(kind, retry, context);
        error.details.status = self.status;
        error.details.request_id.clone_from(&self.request_id);
        error
    }

    /// Describes a response whose head did not arrive in time.
    pub fn slow(&self, wait: Duration) -> String {
        let ms = wait.as_millis();
        format!("{} did not answer within {ms} ms; check that it runs", self.endpoint)
    }

    /// Describes a response that is compressed although the request did not allow it.
    pub fn unexpected_compression(&self) -> String {
        let at = &self.endpoint;
        format!("{at} answered with a compressed body although it was asked not to")
    }

    /// Creates the error of a response that is no list of models.
    pub fn no_models(&self) -> ProviderError {
        let at = &self.endpoint;
        let context = format!("{at} answered with no list of models; check the base URL");
        self.error(FailureKind::Protocol, Retry::Never, context)
    }

    fn redirected(&self, headers: &WireHeaders) -> ProviderError {
        let to = headers.text("location").unwrap_or("nowhere");
        let to = to.split(['?', '#']).next().unwrap_or_default();
        let context = format!(
            "{} redirects to {}, which is not followed so that the key goes nowhere else; \
             set the base URL to the endpoint itself",
            self.endpoint,
            self.shown(to)
        );
        self.error(FailureKind::Protocol, Retry::Never, context)
    }

    fn not_a_stream(&self, body: &[u8]) -> ProviderError {
        if let Some(reported) = reported_in(body) {
            return self.fault(DecodeError::Reported(reported));
        }
        let what = if is_html(body) { "an HTML page" } else { "a body that is no event stream" };
        let context = format!(
            "{} answered with {what}{}; check that the base URL is that of an \
             API of this protocol, which often ends in /v1, and that it can stream",
            self.endpoint,
            self.quoted(&plain(body))
        );
        self.error(FailureKind::Protocol, Retry::Never, context)
    }

    fn advice(&self, kind: FailureKind) -> &'static str {
        match kind {
            FailureKind::Authentication if self.keyed => "; check the API key and its rights",
            FailureKind::Authentication => "; no API key was sent: set one",
            FailureKind::NotFound => "; check the model's name and the base URL",
            FailureKind::ContextOverflow => "; the conversation is too long for this model",
            FailureKind::Quota => "; check the account's plan and billing",
            FailureKind::InvalidRequest
            | FailureKind::RateLimit
            | FailureKind::Overloaded
            | FailureKind::Server
            | FailureKind::ContentFilter
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
            | FailureKind::Compaction => "",
        }
    }

    fn describe(&self, reported: &ReportedError) -> String {
        let mut words = self.quoted(&reported.message);
        let codes = [&reported.code, &reported.class].into_iter();
        let mut codes = codes.chain(reported.other_codes.first());
        if let Some(code) = codes.find(|code| !code.is_empty()) {
            words.push_str(&format!(" ({})", self.shown(code)));
        }
        words
    }

    fn quoted(&self, text: &str) -> String {
        let text = self.shown(text);
        if text.is_empty() { String::new() } else { format!(": {text}") }
    }

    /// Makes a foreign text fit to show: without secrets and control characters, and of limited
    /// length.
    fn shown(&self, text: &str) -> String {
        self.shown_up_to(text, SHOWN_CHARS)
    }

    fn shown_up_to(&self, text: &str, most: usize) -> String {
        let mut text = text.to_owned();
        let secrets = self.secrets.iter().map(Secret::expose);
        for secret in secrets.filter(|secret| secret.len() >= SHORTEST_SECRET) {
            text = text.replace(secret, "[redacted]");
        }
        let mut shown = String::new();
        let mut chars = text.trim().chars();
        for c in chars.by_ref().take(most) {
            if c.is_control() || is_bidi(c) {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
        }
        if chars.next().is_some() {
            shown.push_str(" [...]");
        }
        shown
    }
}

/// Characters that change the direction of the text around them.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_html(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"<")
}

/// Returns the failure that a body reports, if it reports one.
fn reported_in(body: &[u8]) -> Option<ReportedError> {
    ReportedError::from_value(&serde_json::from_slice(body).ok()?)
}

/// Returns a body as text: the title of a page, or the text itself.
fn plain(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if !is_html(body) {
        return text.into_owned();
    }
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").map(|at| at + "<title>".len()).and_then(|from| {
        let to = lower.get(from..)?.find("</title>")?;
        text.get(from..from + to)
    });
    match title {
        Some(title) => format!("a page titled \"{}\"", title.trim()),
        None => String::from("a page without a title"),
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
