//! Pieces of a response to stream events. Pure.
//!
//! Each event is a whole response that holds the next parts. A call comes in one part. An answer is
//! whole once a reason to finish has come and the body ends; there is no closing event.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::{Citation, SpanUnit, StopReason, StreamEvent, Usage};
use windlass_kit_http::lowering::RequestTarget;
use windlass_kit_http::{DecodeError, Dialect, ReportedError, accept_heartbeat};
use windlass_ports::StreamState;

use crate::DIALECT;
use crate::grounding::{Grounding, queries};

/// Most bytes of a part of the server's own that is kept.
const MOST_HOSTED_BYTES: usize = 256 * 1024;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct WireChunk<'a> {
    candidates: Option<Vec<WireCandidate<'a>>>,
    usage_metadata: Option<WireUsage>,
    prompt_feedback: Option<WireFeedback>,
    model_version: Option<String>,
    response_id: Option<String>,
    error: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct WireCandidate<'a> {
    content: Option<WireContent<'a>>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
    index: Option<u64>,
    #[serde(borrow)]
    grounding_metadata: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireContent<'a> {
    #[serde(borrow)]
    parts: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct WirePart<'a> {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    function_call: Option<WireCall<'a>>,
    /// A call that the server ran itself, and its result.
    #[serde(borrow)]
    tool_call: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_response: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireCall<'a> {
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireUsage {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    total_token_count: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireFeedback {
    block_reason: Option<String>,
}

/// Reads the events of one answer.
#[derive(Debug)]
pub struct GeminiDecoder {
    endpoint: String,
    model: String,
    opened: bool,
    next_slot: u32,
    open: Option<OpenPart>,
    /// Number of texts that have begun.
    texts: u32,
    grounding: Grounding,
    /// True if the answer holds the searches of the server as parts of its own.
    searched: bool,
    /// Reason to finish, as the provider names it.
    finish: Option<String>,
    ignored: u64,
}

/// The part that the next piece may continue.
#[derive(Debug)]
enum OpenPart {
    /// A text, with the signature behind it, which closes it: its sources come later.
    Text {
        slot: u32,
        seal: Option<String>,
    },
    Thought {
        slot: u32,
        text: String,
        signature: Option<String>,
    },
}

impl GeminiDecoder {
    /// The events of a stream that `endpoint` sends about `model`: as made by these its signatures
    /// are kept.
    #[must_use]
    pub fn new(endpoint: &str, model: &str) -> Self {
        Self {
            endpoint: endpoint.to_owned(),
            model: model.to_owned(),
            opened: false,
            next_slot: 0,
            open: None,
            texts: 0,
            grounding: Grounding::default(),
            searched: false,
            finish: None,
            ignored: 0,
        }
    }

    fn chunk(&mut self, text: &str, out: &mut Vec<StreamEvent>) -> Result<(), DecodeError> {
        let chunk: WireChunk<'_> = serde_json::from_str(text).map_err(|error| {
            let words = format!("an event of the stream is no piece of an answer ({error})");
            DecodeError::Protocol(words)
        })?;
        if chunk.error.is_some() {
            let value: Option<Value> = serde_json::from_str(text).ok();
            let reported = value.as_ref().and_then(ReportedError::from_value);
            return Err(DecodeError::Reported(reported.unwrap_or_default()));
        }
        let known = chunk.candidates.is_some() || chunk.usage_metadata.is_some();
        self.ignored += u64::from(!known);
        if !self.opened && (chunk.response_id.is_some() || known) {
            self.opened = true;
            let (response_id, model) = (chunk.response_id, chunk.model_version);
            out.push(StreamEvent::Opened { response_id, model });
        }
        out.extend(chunk.usage_metadata.map(|usage| StreamEvent::Usage(usage.to_usage())));
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            return Err(reported("content_filter", format!("the prompt was blocked: {reason}")));
        }
        let first = |candidate: &WireCandidate<'_>| candidate.index.unwrap_or(0) == 0;
        match chunk.candidates.into_iter().flatten().find(first) {
            Some(candidate) => self.candidate(candidate, out),
            None => Ok(()),
        }
    }

    fn candidate(
        &mut self,
        candidate: WireCandidate<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let parts = candidate.content.and_then(|content| content.parts);
        for raw in parts.into_iter().flatten() {
            let part: WirePart<'_> = serde_json::from_str(raw.get()).map_err(|error| {
                DecodeError::Protocol(format!("a part of the answer cannot be read ({error})"))
            })?;
            match (part.tool_call, part.tool_response) {
                (None, None) => self.part(part, out)?,
                (call, _) => self.hosted(call, raw, out),
            }
        }
        if let Some(grounding) = candidate.grounding_metadata {
            let grounding = Grounding::read(grounding);
            if !grounding.queries.is_empty() || !grounding.citations.is_empty() {
                self.grounding = grounding;
            }
        }
        // The model failed to write its call; another attempt may succeed.
        if candidate.finish_reason.as_deref() == Some("MALFORMED_FUNCTION_CALL") {
            let words = candidate.finish_message.unwrap_or_default();
            return Err(reported(
                "tool_use_failed",
                format!("the model's call is malformed: {words}"),
            ));
        }
        self.finish = candidate.finish_reason.or(self.finish.take());
        Ok(())
    }

    fn part(&mut self, part: WirePart<'_>, out: &mut Vec<StreamEvent>) -> Result<(), DecodeError> {
        let text = part.text.filter(|text| !text.is_empty());
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        match (part.function_call, part.thought) {
            (Some(call), _) => return self.call(call, signature, out),
            (None, Some(true)) => self.thought(text, signature, out),
            (None, Some(false) | None) => {
                self.ignored += u64::from(text.is_none() && signature.is_none());
                if let Some(text) = text {
                    self.text(text, out);
                }
                if let Some(signature) = signature {
                    self.seal(signature, out);
                }
            }
        }
        Ok(())
    }

    fn text(&mut self, text: String, out: &mut Vec<StreamEvent>) {
        let slot = match self.open {
            Some(OpenPart::Text { slot, seal: None }) => slot,
            Some(OpenPart::Text { .. } | OpenPart::Thought { .. }) | None => {
                self.close(out);
                let slot = self.slot();
                self.texts += 1;
                self.open = Some(OpenPart::Text { slot, seal: None });
                slot
            }
        };
        out.push(StreamEvent::Text { slot, text });
    }

    fn thought(
        &mut self,
        text: Option<String>,
        signature: Option<String>,
        out: &mut Vec<StreamEvent>,
    ) {
        if !matches!(self.open, Some(OpenPart::Thought { .. })) {
            self.close(out);
            let slot = self.slot();
            self.open = Some(OpenPart::Thought { slot, text: String::new(), signature: None });
        }
        if let Some(OpenPart::Thought { slot, text: all, signature: seal }) = &mut self.open {
            let text = text.unwrap_or_default();
            all.push_str(&text);
            out.push(StreamEvent::Reasoning { slot: *slot, text });
            *seal = signature.or(seal.take());
        }
    }

    /// A signature of words goes back behind them, as reasoning without a text.
    fn seal(&mut self, signature: String, out: &mut Vec<StreamEvent>) {
        if let Some(OpenPart::Text { seal: seal @ None, .. }) = &mut self.open {
            *seal = Some(signature);
            return;
        }
        self.close(out);
        self.sealed(signature, out);
    }

    fn sealed(&mut self, signature: String, out: &mut Vec<StreamEvent>) {
        let slot = self.slot();
        out.push(StreamEvent::Reasoning { slot, text: String::new() });
        let payload = serde_json::json!({ "text": "", "thoughtSignature": signature });
        let opaque = Some(self.here().opaque(payload.to_string()));
        out.push(StreamEvent::Done { slot, text: None, opaque });
    }

    fn call(
        &mut self,
        call: WireCall<'_>,
        signature: Option<String>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        self.close(out);
        let Some(name) = call.name.filter(|name| !name.is_empty()) else {
            return Err(DecodeError::Protocol("a call of the answer has no name".to_owned()));
        };
        let slot = self.slot();
        out.push(StreamEvent::CallOpened { slot, id: call.id.unwrap_or_default(), name });
        let text = call.args.map_or("{}", RawValue::get).to_owned();
        out.push(StreamEvent::CallArguments { slot, text });
        let payload = |signature| serde_json::json!({ "thoughtSignature": signature }).to_string();
        let opaque = signature.map(|signature| self.here().opaque(payload(signature)));
        out.push(StreamEvent::Done { slot, text: None, opaque });
        Ok(())
    }

    /// A call that the server ran, or its result: goes back as it is.
    fn hosted(&mut self, call: Option<&RawValue>, raw: &RawValue, out: &mut Vec<StreamEvent>) {
        if raw.get().len() > MOST_HOSTED_BYTES {
            self.ignored += 1;
            return;
        }
        self.close(out);
        let slot = self.slot();
        out.push(StreamEvent::Reasoning { slot, text: String::new() });
        if let Some(call) = call {
            self.searched = true;
            let queries = queries(call).into_iter();
            out.extend(queries.map(|query| StreamEvent::Search { slot, query }));
        }
        let opaque = Some(self.here().opaque(raw.get()));
        out.push(StreamEvent::Done { slot, text: None, opaque });
    }

    /// Gives out the sources of the last text, and the searches that led to them. With several texts
    /// it is not known which one an offset means.
    fn ground(&mut self, out: &mut Vec<StreamEvent>) {
        let Grounding { queries, citations } = std::mem::take(&mut self.grounding);
        if let Some(OpenPart::Text { slot, .. }) = self.open {
            for citation in citations {
                let span = citation.span.filter(|_| self.texts == 1);
                let (citation, unit) = (Citation { span, ..citation }, SpanUnit::Bytes);
                out.push(StreamEvent::Citation { slot, citation, unit });
            }
        }
        self.close(out);
        if !self.searched && !queries.is_empty() {
            let slot = self.slot();
            let searches = queries.into_iter().map(|query| StreamEvent::Search { slot, query });
            out.extend(searches);
            out.push(StreamEvent::Done { slot, text: None, opaque: None });
        }
    }

    /// Ends the open part.
    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        let (slot, opaque) = match self.open.take() {
            None => return,
            Some(OpenPart::Text { slot, seal }) => {
                out.push(StreamEvent::Done { slot, text: None, opaque: None });
                if let Some(signature) = seal {
                    self.sealed(signature, out);
                }
                return;
            }
            Some(OpenPart::Thought { slot, text, signature }) => {
                let sealed = signature.map(|signature| {
                    let part = serde_json::json!({ "text": text, "thought": true, "thoughtSignature": signature });
                    self.here().opaque(part.to_string())
                });
                (slot, sealed)
            }
        };
        out.push(StreamEvent::Done { slot, text: None, opaque });
    }

    fn slot(&mut self) -> u32 {
        let slot = self.next_slot;
        self.next_slot = slot.saturating_add(1);
        slot
    }

    fn here(&self) -> RequestTarget<'_> {
        RequestTarget { dialect: DIALECT, endpoint: &self.endpoint, model: &self.model }
    }
}

impl Dialect for GeminiDecoder {
    fn event(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        let data = data.trim_ascii();
        if name == b"error" {
            return Err(DecodeError::Reported(ReportedError::from_event(data)));
        }
        if data.first() != Some(&b'{') {
            accept_heartbeat(name, data)?;
            self.ignored += 1;
            return Ok(StreamState::More);
        }
        self.chunk(&String::from_utf8_lossy(data), out)?;
        Ok(StreamState::More)
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), DecodeError> {
        let reason = match self.finish.as_deref() {
            None => return Err(DecodeError::Truncated),
            Some("STOP" | "FINISH_REASON_UNSPECIFIED") => StopReason::Stop,
            Some("MAX_TOKENS") => StopReason::Length,
            Some(
                "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
                | "IMAGE_SAFETY" | "MODEL_ARMOR",
            ) => StopReason::ContentFilter,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        self.ground(out);
        out.push(StreamEvent::Finished { reason });
        Ok(())
    }

    fn whole(&mut self, body: &str, out: &mut Vec<StreamEvent>) -> Result<bool, DecodeError> {
        let value: Value = serde_json::from_str(body)
            .map_err(|error| DecodeError::Protocol(format!("the answer is not JSON ({error})")))?;
        let answer = ["candidates", "promptFeedback", "error"];
        if !answer.iter().any(|name| value.get(name).is_some()) {
            return Ok(false);
        }
        self.chunk(body, out)?;
        self.end(out)?;
        Ok(true)
    }

    fn ignored(&self) -> u64 {
        self.ignored
    }

    fn finish(&self) -> Option<&str> {
        self.finish.as_deref()
    }
}

impl WireUsage {
    /// The thoughts are counted apart from the answer here, and with it everywhere else.
    fn to_usage(&self) -> Usage {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        Usage {
            input: sum(self.prompt_token_count, self.tool_use_prompt_token_count),
            output: sum(self.candidates_token_count, self.thoughts_token_count),
            total: self.total_token_count,
            cached_input: self.cached_content_token_count,
            cache_write: None,
            reasoning_output: self.thoughts_token_count,
        }
    }
}

fn reported(code: &str, message: String) -> DecodeError {
    let code = code.to_owned();
    DecodeError::Reported(ReportedError { code, message, ..ReportedError::default() })
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
