//! A request as the server saw it, and reading one from a socket's bytes.

use std::time::Instant;

use serde_json::Value;
use windlass_core::{Prompt, PromptItem, program_report_text, result_text};

use super::dialect::Dialect;
use super::model_request::{ModelRequest, RequestPart};
use super::protocol::Protocol;

/// Bytes of a request's head.
const HEAD: usize = 64 * 1024;
/// Bytes of a request's body.
const BODY: usize = 64 * 1024 * 1024;

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its number at this server, from 0.
    pub number: usize,
    /// The connection that it came over, from 1: two requests of one number shared it.
    pub connection: u64,
    /// The method.
    pub method: String,
    /// The path with its query, as sent.
    pub path: String,
    /// The headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The body as JSON, where it is JSON.
    pub json: Option<Value>,
    /// How the reply ended, once it has.
    pub ended: Option<Ended>,
    /// When it ended.
    pub ended_at: Option<Instant>,
    /// Bytes of the reply, head included, that the kernel has taken.
    pub sent: u64,
    /// The protocol in which it asks a model.
    pub(super) protocol: Option<&'static dyn Protocol>,
}

/// How a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All of it was sent.
    Whole,
    /// The script cut it.
    Cut,
    /// The client closed the connection before the reply had ended. A client that only closes its
    /// sending half counts too; clients of models do not do that.
    HungUp,
}

/// What a request asks, whatever its dialect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The last words of the user.
    pub user: Option<String>,
    /// The texts of the model since then.
    pub said: Vec<String>,
    /// The calls since then: id, name, arguments.
    pub calls: Vec<(String, String, String)>,
    /// The results since then: id of the call, output.
    pub results: Vec<(String, String)>,
    /// Context of the whole conversation: what is neither the user's nor the model's. In Chat
    /// Completions the instructions are its first. In Messages, where it stands among the user's
    /// words, it is told by its frame.
    pub context: Vec<String>,
    /// Names of the tools that are offered.
    pub tools: Vec<String>,
    /// Instructions, where a request has them in a place of their own.
    pub instructions: Option<String>,
}

impl Request {
    /// The method of a request that came as a message over a WebSocket: its headers are those of
    /// the handshake.
    pub const MESSAGE: &'static str = "MESSAGE";

    /// Returns true if it asks for a WebSocket where models answer over one.
    pub(super) fn is_handshake(&self) -> bool {
        let upgrade = self.header("upgrade").unwrap_or_default();
        self.method == "GET"
            && self.route() == "/v1/responses"
            && upgrade.eq_ignore_ascii_case("websocket")
    }

    /// The path without its query.
    #[must_use]
    pub fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// The path from its version on: servers put their APIs below a path of their own.
    pub(super) fn called(&self) -> &str {
        let route = self.route();
        route.find("/v1/").and_then(|at| route.get(at..)).unwrap_or(route)
    }

    /// The protocol of the kit that its path belongs to.
    #[must_use]
    pub fn dialect(&self) -> Option<Dialect> {
        Dialect::of(self.called())
    }

    /// The value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(other, _)| other == name);
        header.map(|(_, value)| value.as_str())
    }

    /// What it asks, for scripts that respond by a function.
    #[must_use]
    pub fn asked(&self) -> Asked {
        let Some(json) = &self.json else {
            return Asked::default();
        };
        match self.protocol {
            Some(protocol) => protocol.asked(self),
            // A path that the kit does not know: its body says of which form it is.
            None if json.get("input").is_some() => Dialect::Responses.asked_of(json),
            None => self.dialect().unwrap_or(Dialect::Chat).asked_of(json),
        }
    }

    /// Reads all that it says; empty when it is of no protocol that its server speaks.
    #[must_use]
    pub fn read(&self) -> ModelRequest {
        self.protocol.map(|protocol| protocol.read(self)).unwrap_or_default()
    }

    /// The protocol in which it asks a model, among those that its server speaks.
    #[must_use]
    pub fn protocol(&self) -> Option<&'static dyn Protocol> {
        self.protocol
    }
}

impl Asked {
    /// Reads a request.
    #[must_use]
    pub fn of(request: ModelRequest) -> Self {
        let mut asked = Self {
            tools: request.tools.into_iter().map(|tool| tool.name).collect(),
            instructions: request.system,
            ..Self::default()
        };
        for part in request.parts {
            match part {
                RequestPart::User(text) => asked.on_user(text),
                RequestPart::Context(text) => asked.context.push(text),
                RequestPart::Text(text) => asked.said.push(text),
                RequestPart::Call { id, name, arguments } => {
                    asked.calls.push((id, name, arguments));
                }
                RequestPart::Result { id, output, failed: _ } => asked.results.push((id, output)),
                RequestPart::Image { .. } | RequestPart::Opaque(_) => {}
            }
        }
        asked
    }

    /// Reads a prompt as the request of it is read.
    #[must_use]
    pub fn of_prompt(prompt: &Prompt) -> Self {
        let mut asked = Self::default();
        asked.tools.extend(prompt.settings.tools.iter().map(|tool| tool.name.clone()));
        asked.instructions = Some(prompt.settings.instructions.clone());
        for item in prompt.items.iter() {
            match item {
                PromptItem::User { text } => asked.on_user(text.to_string()),
                PromptItem::Context { text } => asked.context.push(text.to_string()),
                PromptItem::Text { text, .. } | PromptItem::Refusal { text, .. } => {
                    asked.said.push(text.to_string());
                }
                PromptItem::Call { id, call, .. } => {
                    let call = (id.to_string(), call.name.clone(), call.arguments.clone());
                    asked.calls.push(call);
                }
                PromptItem::Result { id, observation, edited } => {
                    let text = result_text(observation, edited.as_deref());
                    asked.results.push((id.to_string(), text.into_owned()));
                }
                PromptItem::CallReport { calls } => asked.context.push(calls.text()),
                PromptItem::ProgramReport { observation, .. } => {
                    asked.context.push(program_report_text(observation))
                }
                PromptItem::Image { .. } | PromptItem::Reasoning { .. } => {}
            }
        }
        asked
    }

    /// Takes words of the user, after which nothing has been said or done yet.
    fn on_user(&mut self, words: String) {
        self.user = Some(words);
        self.said.clear();
        self.calls.clear();
        self.results.clear();
    }
}

/// The text of a content: a string, or parts that have a `text` each.
pub(super) fn flat(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.into();
    }
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()
}

pub(super) fn list<'a>(json: &'a Value, key: &str) -> &'a [Value] {
    json.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// What the bytes read so far are.
pub(super) enum Parsed {
    /// The beginning of a request.
    Partial {
        /// True if the client waits for a word before it sends the body.
        expects: bool,
    },
    /// A whole request, and how many bytes it takes.
    Whole(Box<Request>, usize),
    /// No request of ours.
    Bad(String),
}

/// Parses one request from the beginning of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        if bytes.len() > HEAD {
            return Parsed::Bad(format!("the head of a request is larger than {HEAD} bytes"));
        }
        return Parsed::Partial { expects: false };
    };
    let (head, rest) = bytes.split_at(end);
    let rest = rest.get(4..).unwrap_or_default();
    let mut request = match parse_head(head) {
        Ok(request) => request,
        Err(why) => return Parsed::Bad(why),
    };
    let expects = request.header("expect").is_some_and(|value| value.starts_with("100"));
    let chunked = request
        .header("transfer-encoding")
        .is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    let body = if chunked { unchunk(rest) } else { sized(&request, rest) };
    match body {
        Ok(Some((body, taken))) => {
            request.json = serde_json::from_slice(&body).ok();
            request.body = body;
            Parsed::Whole(Box::new(request), end + 4 + taken)
        }
        Ok(None) => Parsed::Partial { expects },
        Err(why) => Parsed::Bad(why),
    }
}

fn parse_head(head: &[u8]) -> Result<Request, String> {
    let head = str::from_utf8(head).map_err(|error| format!("a head is not text: {error}"))?;
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let mut words = first.split(' ');
    let (Some(method), Some(path), Some("HTTP/1.1"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(format!("not a request line of HTTP/1.1: {first:?}"));
    };
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) =
            line.split_once(':').ok_or_else(|| format!("not a header: {line:?}"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok(Request {
        number: 0,
        connection: 0,
        method: method.into(),
        path: path.into(),
        headers,
        body: Vec::new(),
        json: None,
        ended: None,
        ended_at: None,
        sent: 0,
        protocol: None,
    })
}

/// A body and how many bytes it took; `None` while it is not whole.
type Body = Result<Option<(Vec<u8>, usize)>, String>;

fn sized(request: &Request, rest: &[u8]) -> Body {
    let length = match request.header("content-length") {
        Some(text) => text.parse().map_err(|_| format!("not a content-length: {text:?}"))?,
        None => 0,
    };
    if length > BODY {
        return Err(format!("a body of {length} bytes is larger than {BODY}"));
    }
    Ok(rest.get(..length).map(|body| (body.to_vec(), length)))
}

fn unchunk(rest: &[u8]) -> Body {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let tail = rest.get(at..).unwrap_or_default();
        let Some(line) = tail.windows(2).position(|window| window == b"\r\n") else {
            return Ok(None);
        };
        let digits = str::from_utf8(tail.get(..line).unwrap_or_default()).unwrap_or_default();
        let digits = digits.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(digits, 16)
            .map_err(|_| format!("not the size of a chunk: {digits:?}"))?;
        if body.len().saturating_add(size) > BODY {
            return Err(format!("a body is larger than {BODY} bytes"));
        }
        let Some(chunk) = tail.get(line + 2..line + 4 + size) else {
            return Ok(None);
        };
        at += line + 4 + size;
        if size == 0 {
            return Ok(Some((body, at)));
        }
        body.extend_from_slice(chunk.get(..size).unwrap_or_default());
    }
}
