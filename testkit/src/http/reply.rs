//! A scripted reply: an answer or raw bytes, and what is done to them on the way.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::gate::Gate;

/// A scripted reply. What it says comes from a constructor; what happens to it on the way, from
/// the methods, in any order. Positions count bytes of the body, events count from 0.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body,
    pub(super) edits: Vec<Edit>,
    pub(super) framing: Framing,
    pub(super) split: Option<usize>,
    pub(super) before_head: Option<Gate>,
    pub(super) pauses: Vec<(usize, Gate)>,
    pub(super) cut: Option<(usize, Cut)>,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    /// An answer, in the dialect of the request.
    Answer(Box<Answer>),
    /// These bytes.
    Bytes(Vec<u8>),
    /// These bytes, then one byte over and over.
    Filled { before: Vec<u8>, fill: u8, count: u64 },
}

/// A change to the events of an answer.
#[derive(Debug, Clone)]
pub(super) enum Edit {
    Repeat(usize),
    Omit(usize),
    OmitLast(usize),
    Insert(usize, String),
}

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// In chunks, as model servers do; a cut is then visible to the client.
    Chunked,
    /// By a length; a cut is visible too.
    Length,
    /// By the end of the connection; a cut by FIN looks like an end.
    Close,
}

/// How a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// In good order.
    Fin,
    /// By a reset. What the client's kernel has not taken by then is lost, as with any reset.
    Rst,
}

impl Reply {
    /// An answer in the dialect of the request, as a stream.
    #[must_use]
    pub fn answer(answer: Answer) -> Self {
        Self::new(200, Body::Answer(Box::new(answer))).header("content-type", "text/event-stream")
    }

    /// An answer of text.
    #[must_use]
    pub fn say(text: impl Into<String>) -> Self {
        Self::answer(Answer::new().text(text))
    }

    /// An answer of one call.
    #[must_use]
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::answer(Answer::new().call(name, arguments))
    }

    /// Any bytes with a status, without a content type.
    #[must_use]
    pub fn raw(status: u16, bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(status, Body::Bytes(bytes.into()))
    }

    /// Any bytes as an event stream with status 200.
    #[must_use]
    pub fn stream(bytes: impl Into<Vec<u8>>) -> Self {
        Self::raw(200, bytes).header("content-type", "text/event-stream")
    }

    /// A JSON body.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self::raw(status, body.to_string())
            .header("content-type", "application/json")
            .framed(Framing::Length)
    }

    /// An error as OpenAI words it.
    #[must_use]
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let kind = match status {
            401 => "authentication_error",
            429 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            _ => "server_error",
        };
        let error = json!({ "message": message, "type": kind, "param": null, "code": code });
        Self::json(status, &json!({ "error": error }))
    }

    /// A web page with status 200, as a proxy or a wrong address answers.
    #[must_use]
    pub fn html() -> Self {
        let page = "<!doctype html><html><head><title>Sign in</title></head></html>\n";
        Self::raw(200, page).header("content-type", "text/html; charset=utf-8")
    }

    /// A redirect to another address.
    #[must_use]
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::raw(status, "").header("location", location).framed(Framing::Length)
    }

    /// A stream of one line that does not end: it goes on until the client hangs up.
    #[must_use]
    pub fn endless_line() -> Self {
        Self::filled("data: {\"x\":\"", b'x', u64::MAX).header("content-type", "text/event-stream")
    }

    /// `before`, then `count` times the byte `fill`.
    #[must_use]
    pub fn filled(before: &str, fill: u8, count: u64) -> Self {
        let before = before.as_bytes().to_vec();
        Self::new(200, Body::Filled { before, fill, count })
    }

    fn new(status: u16, body: Body) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body,
            edits: Vec::new(),
            framing: Framing::Chunked,
            split: None,
            before_head: None,
            pauses: Vec::new(),
            cut: None,
        }
    }

    /// Adds a header. Framing headers come by themselves.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Replaces a header, or adds it.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self.header(name, value)
    }

    /// Claims a content encoding that the body does not have.
    #[must_use]
    pub fn claiming_encoding(self, encoding: &str) -> Self {
        self.with_header("content-encoding", encoding)
    }

    /// Sets the status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Sets how the end of the body is told.
    #[must_use]
    pub fn framed(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Writes the body in pieces of `bytes`, each a chunk of its own where the body is chunked;
    /// at least 1. Without it each event is a piece.
    #[must_use]
    pub fn split_every(mut self, bytes: usize) -> Self {
        self.split = Some(bytes.max(1));
        self
    }

    /// Waits at a gate before the head.
    #[must_use]
    pub fn head_after(mut self, gate: &Gate) -> Self {
        self.before_head = Some(gate.clone());
        self
    }

    /// Waits at a gate once `bytes` of the body are written.
    #[must_use]
    pub fn pause_after(mut self, bytes: usize, gate: &Gate) -> Self {
        self.pauses.push((bytes, gate.clone()));
        self
    }

    /// Writes `bytes` of the body and then nothing until the client hangs up.
    #[must_use]
    pub fn stall_after(self, bytes: usize) -> Self {
        self.pause_after(bytes, &Gate::new())
    }

    /// Cuts the connection once `bytes` of the body are written.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize, cut: Cut) -> Self {
        self.cut = Some((bytes, cut));
        self
    }

    /// Sends an event twice. Events of raw bytes are what stands between blank lines.
    #[must_use]
    pub fn repeat_event(mut self, index: usize) -> Self {
        self.edits.push(Edit::Repeat(index));
        self
    }

    /// Leaves an event out.
    #[must_use]
    pub fn omit_event(mut self, index: usize) -> Self {
        self.edits.push(Edit::Omit(index));
        self
    }

    /// Leaves the last `count` events out: the terminal event is one (Responses) or two (Chat,
    /// which also has `[DONE]`; three with usage).
    #[must_use]
    pub fn omit_last(mut self, count: usize) -> Self {
        self.edits.push(Edit::OmitLast(count));
        self
    }

    /// Puts bytes of a test's own before an event, blank line included.
    #[must_use]
    pub fn insert_event(mut self, index: usize, event: &str) -> Self {
        self.edits.push(Edit::Insert(index, event.into()));
        self
    }
}
