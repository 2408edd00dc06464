//! Decodes recorded bodies of provider answers: reads a list of cases, prints one JSON line for
//! each.
//!
//! `cargo run -q -p windlass-cli --example decode < index.jsonl`, or with the list's file as the
//! argument. A case is a JSON object on a line: `id`, `kind` (`stream`, `error_body` or
//! `sse_framing`), `api` (`chat`, `responses` or `messages`), `file`, and of an error body
//! `http_status`. A relative `file` is looked for in the current folder, and first in the folder
//! of the list where that is an argument.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use windlass_anthropic::uncached_input;
use windlass_engine::core::{FailureKind, StreamEvent, Usage};
use windlass_engine::ports::{StreamState, WireHeaders};
use windlass_kit_http::{
    DecodeError, Decoder, Dialect, ErrorContext, ReportedError, SseCaps, SseEvent, SseParser,
};
use windlass_openai::{Api, OpenAiDecoder};

/// The most bytes of one body that are read.
const BODY_BYTES: u64 = 256 * 1024 * 1024;

/// One case of the list. Fields that are not named here are passed over.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    id: String,
    kind: String,
    #[serde(default)]
    api: String,
    file: PathBuf,
    http_status: Option<u16>,
}

/// Result of a streamed answer.
#[derive(Debug, Serialize)]
struct StreamResult {
    id: String,
    outcome: &'static str,
    text: String,
    reasoning: String,
    refusal: String,
    tool_calls: Vec<DecodedCall>,
    finish: Option<String>,
    usage: Option<serde_json::Value>,
    error: Option<DecodedError>,
}

/// A call of a tool, with its arguments as text.
#[derive(Debug, Clone, Default, Serialize)]
struct DecodedCall {
    id: String,
    name: String,
    arguments: String,
}

/// Failure that the stream reports, or its defect.
#[derive(Debug, Serialize)]
struct DecodedError {
    message: Option<String>,
    #[serde(rename = "type")]
    class: Option<String>,
    code: Option<String>,
}

/// Decodes the case on one line of a list, whose files are in one of `folders`.
///
/// # Errors
/// In words, when the line is no case, or its file cannot be read.
pub(crate) fn line(line: &str, folders: &[PathBuf]) -> Result<String, String> {
    let case: Case = serde_json::from_str(line).map_err(|error| format!("no case: {error}"))?;
    let of = |what: String| format!("{}: {what}", case.id);
    let bytes = read(&case.file, folders).map_err(of)?;
    let decoded = match case.kind.as_str() {
        "stream" => serde_json::to_value(stream(&case, &bytes).map_err(of)?),
        "error_body" => Ok(serde_json::json!({
            "id": case.id,
            "meaning": meaning(&case, &bytes).map_err(of)?,
        })),
        "sse_framing" => Ok(serde_json::json!({
            "id": case.id,
            "events": frames(&bytes).map_err(of)?,
        })),
        other => Err(of(format!("its kind \"{other}\" is unknown")))?,
    };
    let value = decoded.map_err(|error| of(error.to_string()))?;
    Ok(on_one_line(&value.to_string()))
}

/// The JSON text without the characters that JSON takes as they are and some readers for the end
/// of a line. They stand only inside of its strings.
fn on_one_line(json: &str) -> String {
    json.replace('\u{85}', "\\u0085").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn read(file: &Path, folders: &[PathBuf]) -> Result<Vec<u8>, String> {
    let mut places = folders.iter().map(|folder| folder.join(file));
    let place = places
        .clone()
        .find(|place| place.is_file())
        .or_else(|| places.next_back())
        .unwrap_or_else(|| file.to_owned());
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    let size = std::fs::metadata(&place).map_err(failed)?.len();
    if size > BODY_BYTES {
        return Err(format!("{} has {size} bytes", place.display()));
    }
    std::fs::read(&place).map_err(failed)
}

fn stream(case: &Case, bytes: &[u8]) -> Result<StreamResult, String> {
    let endpoint = "http://host/v1";
    Ok(match case.api.as_str() {
        "chat" => decode(case, OpenAiDecoder::new(Api::Chat, endpoint, "model"), bytes),
        "responses" => decode(case, OpenAiDecoder::new(Api::Responses, endpoint, "model"), bytes),
        "messages" => {
            decode(case, windlass_anthropic::MessagesDecoder::new(endpoint, "model"), bytes)
        }
        other => return Err(format!("its api \"{other}\" is unknown")),
    })
}

fn decode<D: Dialect>(case: &Case, dialect: D, bytes: &[u8]) -> StreamResult {
    let mut decoder = Decoder::new(dialect, SseCaps::default());
    let mut events = Vec::new();
    let read = match decoder.read(bytes, &mut events) {
        Ok(StreamState::More) => decoder.close(&mut events),
        ended => ended,
    };
    let finish = decoder.dialect().finish().map(str::to_owned);
    let outcome = match &read {
        Ok(_) if case.api == "responses" && finish.as_deref().is_some_and(cut) => "incomplete",
        Ok(_) if case.api == "chat" && finish.is_none() => "complete_without_finish",
        Ok(StreamState::More) if case.api == "messages" => "complete_without_stop",
        Ok(_) => "complete",
        Err(DecodeError::Truncated) => "truncated",
        Err(DecodeError::Reported(_)) => "error",
        Err(DecodeError::NotAStream(body)) if reported_error(body).is_some() => "error",
        Err(DecodeError::Protocol(_) | DecodeError::TooLarge(_) | DecodeError::NotAStream(_)) => {
            "protocol_error"
        }
    };
    let mut parts = AnswerParts::default();
    events.into_iter().for_each(|event| parts.take(event));
    StreamResult {
        id: case.id.clone(),
        outcome,
        text: parts.text(SlotKind::Text, read.is_ok()),
        reasoning: parts.text(SlotKind::Reasoning, read.is_ok()),
        refusal: parts.text(SlotKind::Refusal, read.is_ok()),
        tool_calls: parts.calls(outcome == "protocol_error"),
        usage: parts.usage.map(|usage| counts(&case.api, &usage)),
        error: read.err().and_then(error),
        finish,
    }
}

/// The failure that a body tells which is no stream.
fn reported_error(body: &[u8]) -> Option<ReportedError> {
    ReportedError::from_value(&serde_json::from_slice(body).ok()?)
}

fn cut(finish: &str) -> bool {
    finish.split(':').next() == Some("incomplete")
}

/// The counts under the names that the cases use, each as its API means it: the request tokens of
/// Messages are those that the cache had no part in, and its reasoning tokens are not told.
fn counts(api: &str, usage: &Usage) -> serde_json::Value {
    if api == "messages" {
        return serde_json::json!({
            "input": uncached_input(usage),
            "output": usage.output,
            "total": usage.total,
            "cached_input": usage.cached_input,
            "cache_write_input": usage.cache_write,
            "reasoning_output": null,
        });
    }
    serde_json::json!({
        "input": usage.input,
        "output": usage.output,
        "total": usage.total,
        "cached_input": usage.cached_input,
        "reasoning_output": usage.reasoning_output,
    })
}

fn error(fault: DecodeError) -> Option<DecodedError> {
    let said = |text: String| (!text.is_empty()).then_some(text);
    let ours = |message: String| DecodedError { message: Some(message), class: None, code: None };
    let theirs = |reported: ReportedError| DecodedError {
        message: said(reported.own_message().to_owned()),
        class: said(reported.class),
        code: said(reported.code),
    };
    match fault {
        DecodeError::Truncated => None,
        DecodeError::Reported(reported) => Some(theirs(reported)),
        DecodeError::Protocol(what) | DecodeError::TooLarge(what) => Some(ours(what)),
        DecodeError::NotAStream(body) => Some(match reported_error(&body) {
            Some(reported) => theirs(reported),
            None => ours(String::from("the body is no event stream")),
        }),
    }
}

/// Kind of a slot's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotKind {
    Text,
    Reasoning,
    Refusal,
    Call,
}

#[derive(Debug)]
struct SlotPart {
    slot: u32,
    kind: SlotKind,
    call: DecodedCall,
    text: String,
    done: bool,
}

/// The parts of an answer: first those that are whole, in the order in which they became so.
#[derive(Debug, Default)]
struct AnswerParts {
    open: Vec<SlotPart>,
    done: Vec<SlotPart>,
    usage: Option<Usage>,
}

impl AnswerParts {
    fn take(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Text { slot, text } => {
                self.part(slot, SlotKind::Text).text.push_str(&text)
            }
            StreamEvent::Refusal { slot, text } => {
                self.part(slot, SlotKind::Refusal).text.push_str(&text);
            }
            StreamEvent::Reasoning { slot, text } => {
                self.part(slot, SlotKind::Reasoning).text.push_str(&text);
            }
            StreamEvent::CallOpened { slot, id, name } => {
                let call = &mut self.part(slot, SlotKind::Call).call;
                (call.id, call.name) = (id, name);
            }
            StreamEvent::CallArguments { slot, text } => {
                self.part(slot, SlotKind::Call).text.push_str(&text);
            }
            StreamEvent::Done { slot, text, .. } => {
                let Some(at) = self.open.iter().position(|part| part.slot == slot) else {
                    return;
                };
                let mut part = self.open.remove(at);
                part.text = text.unwrap_or(part.text);
                part.done = true;
                self.done.push(part);
            }
            StreamEvent::Usage(usage) => self.usage = Some(usage),
            StreamEvent::Opened { .. }
            | StreamEvent::Citation { .. }
            | StreamEvent::Search { .. }
            | StreamEvent::Finished { .. } => {}
        }
    }

    fn part(&mut self, slot: u32, kind: SlotKind) -> &mut SlotPart {
        let known = self.open.iter().position(|part| part.slot == slot);
        let at = known.unwrap_or_else(|| {
            self.open.push(SlotPart {
                slot,
                kind,
                call: DecodedCall::default(),
                text: String::new(),
                done: false,
            });
            self.open.len() - 1
        });
        &mut self.open[at]
    }

    /// The parts that are whole in their order, each after the open ones that began before it.
    fn ordered(&self) -> Vec<&SlotPart> {
        let mut open: Vec<&SlotPart> = self.open.iter().collect();
        open.sort_by_key(|part| part.slot);
        let mut open = open.into_iter().peekable();
        let mut parts = Vec::new();
        for part in &self.done {
            while let Some(before) = open.next_if(|before| before.slot < part.slot) {
                parts.push(before);
            }
            parts.push(part);
        }
        parts.extend(open);
        parts
    }

    /// The texts of a kind. Of an answer that has ended only whole parts count, of one that broke
    /// off all that came.
    fn text(&self, kind: SlotKind, ended: bool) -> String {
        let wanted = |part: &&&SlotPart| part.kind == kind && (part.done || !ended);
        let parts = self.ordered();
        parts.iter().filter(wanted).map(|part| part.text.as_str()).collect()
    }

    /// The calls as they came, those that were cut off too, except where the answer is at odds
    /// with itself: then nobody knows what they are. Only a whole call of an answer that has ended
    /// is ever run.
    fn calls(&self, at_odds: bool) -> Vec<DecodedCall> {
        let parts = self.ordered().into_iter();
        let calls = parts.filter(|part| part.kind == SlotKind::Call && (part.done || !at_odds));
        let call =
            |part: &SlotPart| DecodedCall { arguments: part.text.clone(), ..part.call.clone() };
        calls.map(call).collect()
    }
}

fn meaning(case: &Case, bytes: &[u8]) -> Result<&'static str, String> {
    let status = case.http_status.ok_or("it has no http_status")?;
    let headers = WireHeaders::default();
    let origin = ErrorContext::new("http://host/v1", Vec::new(), true).answered(status, &headers);
    Ok(match origin.refused(&headers, bytes).kind {
        FailureKind::Authentication => "auth",
        FailureKind::NotFound => "not_found",
        FailureKind::ContextOverflow => "context_overflow",
        FailureKind::InvalidRequest => "invalid_request",
        FailureKind::RateLimit => "rate_limit",
        FailureKind::Quota => "quota",
        FailureKind::Overloaded => "overloaded",
        FailureKind::Server => "server",
        FailureKind::ContentFilter => "content_filter",
        FailureKind::Timeout => "timeout",
        FailureKind::Unavailable
        | FailureKind::Protocol
        | FailureKind::Truncated
        | FailureKind::TooLarge
        | FailureKind::Cancelled
        | FailureKind::Restart
        | FailureKind::Steered
        | FailureKind::Hook
        | FailureKind::Unsupported
        | FailureKind::Program
        | FailureKind::Compaction => "other",
    })
}

fn frames(bytes: &[u8]) -> Result<Vec<serde_json::Value>, String> {
    let mut parser = SseParser::new(SseCaps::default());
    let mut events = Vec::new();
    let mut keep = |event: SseEvent<'_>| {
        let named = !event.name.is_empty();
        let name = if named { event.name } else { b"message" };
        events.push(serde_json::json!({
            "event": String::from_utf8_lossy(name),
            "data": String::from_utf8_lossy(event.data),
        }));
    };
    let mut rest = bytes;
    loop {
        let (used, event) = parser.next(rest).map_err(|error| error.to_string())?;
        let Some(event) = event else { break };
        keep(event);
        rest = rest.get(used..).unwrap_or_default();
    }
    if let Some(event) = parser.finish().map_err(|error| error.to_string())? {
        keep(event);
    }
    Ok(events)
}

/// Decodes a list of cases. A case that cannot be decoded is told, and the rest goes on.
fn decode_all(list: impl BufRead, folders: &[PathBuf]) -> std::io::Result<usize> {
    let mut out = std::io::stdout().lock();
    let mut failed = 0;
    for (number, text) in (1_usize..).zip(list.lines()) {
        let text = text?;
        if text.trim().is_empty() {
            continue;
        }
        match line(&text, folders) {
            Ok(decoded) => writeln!(out, "{decoded}")?,
            Err(what) => {
                failed += 1;
                writeln!(std::io::stderr(), "line {number}: {what}")?;
            }
        }
    }
    out.flush()?;
    Ok(failed)
}

fn main() -> ExitCode {
    let here = PathBuf::from(".");
    let decoded = match std::env::args_os().nth(1) {
        None => decode_all(std::io::stdin().lock(), &[here]),
        Some(list) => {
            let own = Path::new(&list).parent().map(Path::to_owned);
            let folders = [own.unwrap_or_default(), here];
            std::fs::File::open(&list)
                .and_then(|file| decode_all(std::io::BufReader::new(file), &folders))
        }
    };
    let said = match decoded {
        Ok(0) => return ExitCode::SUCCESS,
        Ok(failed) => format!("{failed} cases could not be decoded"),
        Err(error) => format!("reading the list of cases: {error}"),
    };
    let _ = writeln!(std::io::stderr(), "{said}");
    ExitCode::FAILURE
}
