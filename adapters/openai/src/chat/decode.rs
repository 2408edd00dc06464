//! Chat Completions events to stream events. Pure.
//!
//! Parts are closed only at the true end (`[DONE]`, or the stream's end after a
//! `finish_reason`): some servers repeat the reason and send more after it.

use serde_json::Value;
use windlass_core::{Citation, Opaque, StopReason, StreamEvent};
use windlass_ports::StreamState;

use super::DIALECT;
use super::calls::StreamedCalls;
use super::details::ReasoningDetails;
use super::messages::CONTENT;
use super::wire::{ChatChunk, WireChoice, WireDelta, completion_as_chunk, repair_chunk};
use crate::citations;
use crate::quirks::{CallExtra, Quirks, ReasoningBack};
use windlass_kit_http::DecodeError;
use windlass_kit_http::DeltaTemplate;
use windlass_kit_http::ReportedError;
use windlass_kit_http::accept_heartbeat;
use windlass_kit_http::json::{BorrowedText, non_empty, read};
use windlass_kit_http::lowering::RequestTarget;

/// Decodes one streamed answer of Chat Completions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChatDecoder {
    endpoint: String,
    model: String,
    back: ReasoningBack,
    extra: CallExtra,
    /// Requires `[DONE]` as the end of the answer.
    strict: bool,
    details: ReasoningDetails,
    opened: bool,
    next_slot: u32,
    text: Option<u32>,
    refusal: Option<u32>,
    reasoning: Option<u32>,
    calls: StreamedCalls,
    /// Sources of the text.
    cited: Vec<Citation>,
    finish: Option<String>,
    /// Template of the last event, if it was a delta of text and nothing else.
    like: Option<DeltaTemplate>,
    ignored: u64,
}

impl ChatDecoder {
    /// A decoder that marks what goes back as made by `model` at `endpoint`.
    pub(crate) fn new(endpoint: &str, model: &str, quirks: &Quirks) -> Self {
        Self {
            endpoint: endpoint.to_owned(),
            model: model.to_owned(),
            back: quirks.reasoning_back,
            extra: quirks.call_extra,
            strict: quirks.done,
            details: ReasoningDetails::default(),
            opened: false,
            next_slot: 0,
            text: None,
            refusal: None,
            reasoning: None,
            calls: StreamedCalls::default(),
            cited: Vec::new(),
            finish: None,
            like: None,
            ignored: 0,
        }
    }

    /// Returns the number of events that were ignored.
    pub(crate) fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Returns the last `finish_reason`.
    pub(crate) fn finish(&self) -> Option<&str> {
        self.finish.as_deref()
    }

    /// Takes the data of one event.
    pub(crate) fn event(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        let taken = self.take(name, data, out);
        if taken.is_err() {
            self.calls.show(out);
        }
        taken
    }

    fn take(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        if name != b"error"
            && let (Some(like), Some(slot)) = (&self.like, self.text)
            && let Some(text) = like.read(data)
        {
            if !text.is_empty() {
                out.push(StreamEvent::Text { slot, text });
            }
            return Ok(StreamState::More);
        }
        self.like = None;
        let data = data.trim_ascii();
        if data == b"[DONE]" {
            self.close(out)?;
            return Ok(StreamState::End);
        }
        if name == b"error" {
            return Err(DecodeError::Reported(ReportedError::from_event(data)));
        }
        if data.first() != Some(&b'{') {
            accept_heartbeat(name, data)?;
            self.ignored += 1;
            return Ok(StreamState::More);
        }
        if let Ok(chunk) = read::<ChatChunk<'_>>(data) {
            let plain = chunk.only_text();
            self.chunk(chunk, data, out)?;
            if let (true, Some(StreamEvent::Text { text, .. })) = (plain, out.last()) {
                self.like = DeltaTemplate::from_event(data, "content", text);
            }
            return Ok(StreamState::More);
        }
        let text = String::from_utf8_lossy(data);
        self.repaired(serde_json::from_str(&text).map_err(|error| not_json(&error))?, out)
    }

    /// Takes a chunk whose fields may not be of the documented types.
    fn repaired(
        &mut self,
        chunk: Value,
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        let mended = repair_chunk(chunk).to_string();
        let chunk = serde_json::from_str(&mended).map_err(|error| {
            DecodeError::Protocol(format!(
                "an event of the stream is no chunk of an answer ({error})"
            ))
        })?;
        self.chunk(chunk, mended.as_bytes(), out)
    }

    /// Takes a whole completion in place of a stream.
    pub(crate) fn whole(
        &mut self,
        body: &str,
        out: &mut Vec<StreamEvent>,
    ) -> Result<bool, DecodeError> {
        let completion: Value = serde_json::from_str(body).map_err(|error| not_json(&error))?;
        let Some(chunk) = completion_as_chunk(completion) else {
            return Ok(false);
        };
        let taken = self.repaired(chunk, out).and_then(|_| self.close(out));
        if taken.is_err() {
            self.calls.show(out);
        }
        taken.map(|()| true)
    }

    /// Ends the stream without `[DONE]`, which some servers leave out.
    pub(crate) fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), DecodeError> {
        if self.strict || self.finish.is_none() {
            self.calls.show(out);
            return Err(DecodeError::Truncated);
        }
        self.close(out)
    }

    fn chunk(
        &mut self,
        mut chunk: ChatChunk<'_>,
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        if !self.opened {
            self.open(chunk.id, chunk.model, out);
        }
        // What a failure has cost counts too, and what came with it; so these are taken before it.
        let mut choice = chunk.choices.0.take();
        let groq = chunk.x_groq.take().unwrap_or_default();
        let spent = choice.as_mut().and_then(|choice| choice.usage.take());
        let usage = [chunk.usage, groq.usage, spent].into_iter().flatten();
        let usage = usage.filter_map(|usage| usage.to_usage()).next();
        let empty = choice.is_none() && usage.is_none();
        out.extend(usage.map(StreamEvent::Usage));
        let broken = choice.as_ref().and_then(|choice| choice.error);
        if let Some(choice) = choice {
            self.choice(choice, out);
        }
        if chunk.error.is_some() || empty {
            let value: Option<Value> = serde_json::from_slice(data).ok();
            if let Some(reported) = value.as_ref().and_then(ReportedError::from_value) {
                return Err(DecodeError::Reported(reported));
            }
        }
        for error in [broken, groq.error].into_iter().flatten() {
            let holder = serde_json::json!({ "error": error });
            if let Some(reported) = ReportedError::from_value(&holder) {
                return Err(DecodeError::Reported(reported));
            }
        }
        self.ignored += u64::from(empty);
        Ok(StreamState::More)
    }

    fn open(
        &mut self,
        id: Option<BorrowedText<'_>>,
        model: Option<BorrowedText<'_>>,
        out: &mut Vec<StreamEvent>,
    ) {
        if let Some(id) = non_empty(id) {
            self.opened = true;
            out.push(StreamEvent::Opened { response_id: Some(id), model: non_empty(model) });
        }
    }

    fn choice(&mut self, choice: WireChoice<'_>, out: &mut Vec<StreamEvent>) {
        if let Some(delta) = choice.delta {
            self.delta(delta, out);
        }
        if let Some(reason) = non_empty(choice.finish_reason) {
            self.finish = Some(reason);
        }
    }

    fn delta(&mut self, mut delta: WireDelta<'_>, out: &mut Vec<StreamEvent>) {
        if let (ReasoningBack::Details, Some(raw)) = (self.back, delta.reasoning_details) {
            self.details.push(raw.get());
        }
        if let Some(text) = delta.take_reasoning() {
            let slot = slot(&mut self.reasoning, &mut self.next_slot);
            out.push(StreamEvent::Reasoning { slot, text });
        }
        if let Some(text) = non_empty(delta.content) {
            let slot = slot(&mut self.text, &mut self.next_slot);
            out.push(StreamEvent::Text { slot, text });
        }
        if let Some(text) = non_empty(delta.refusal) {
            let slot = slot(&mut self.refusal, &mut self.next_slot);
            out.push(StreamEvent::Refusal { slot, text });
        }
        if let Some(annotations) = delta.annotations {
            citations::extend(&mut self.cited, citations::citations(annotations));
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.calls.push(call, &mut self.next_slot, out);
        }
    }

    /// The form of the reasoning that goes back, if any. Where nothing of it was readable, opens it.
    fn thought(&mut self, out: &mut Vec<StreamEvent>) -> Option<Opaque> {
        let payload = match self.back {
            ReasoningBack::None => None,
            ReasoningBack::Content => self.reasoning.map(|_| CONTENT.to_owned()),
            ReasoningBack::Details => self.details.whole(),
        }?;
        if self.reasoning.is_none() {
            let slot = slot(&mut self.reasoning, &mut self.next_slot);
            let text = String::new();
            out.push(StreamEvent::Reasoning { slot, text });
        }
        Some(self.opaque(payload))
    }

    fn opaque(&self, payload: String) -> Opaque {
        let here = RequestTarget { dialect: DIALECT, endpoint: &self.endpoint, model: &self.model };
        here.opaque(payload)
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), DecodeError> {
        // Without a reason the server still says that it is done; whether it was cut off inside
        // it does not say.
        let reason = self.finish.clone();
        let stop = reason.as_deref().map_or(Ok(StopReason::Stop), stopped)?;
        let calls = std::mem::take(&mut self.calls);
        if calls.nameless() {
            let what = "a call of the answer has no name";
            return Err(DecodeError::Protocol(what.to_owned()));
        }
        let cut = reason.is_none() || stop != StopReason::Stop;
        let thought = self.thought(out);
        let mut done: Vec<(u32, Option<Opaque>)> =
            [self.text, self.refusal].into_iter().flatten().map(|slot| (slot, None)).collect();
        done.extend(self.reasoning.map(|slot| (slot, thought)));
        for (slot, extra) in calls.finish(cut, out) {
            let kept = self.extra == CallExtra::Returned && !extra.is_empty();
            done.push((slot, kept.then(|| self.opaque(extra))));
        }
        done.sort_unstable_by_key(|(slot, _)| *slot);
        let cited = std::mem::take(&mut self.cited);
        out.extend(self.text.into_iter().flat_map(|slot| citations::events(slot, cited.clone())));
        let event = |(slot, opaque)| StreamEvent::Done { slot, text: None, opaque };
        out.extend(done.into_iter().map(event));
        out.push(StreamEvent::Finished { reason: stop });
        Ok(())
    }
}

/// Maps a finish reason to a stop reason.
///
/// # Errors
/// [`DecodeError::ReportedError`] when the server gave up.
fn stopped(reason: &str) -> Result<StopReason, DecodeError> {
    let word = reason.to_ascii_lowercase().replace('-', "_");
    Ok(match word.as_str() {
        "stop" | "tool_calls" | "tool_call" | "function_call" | "end_turn" | "stop_sequence"
        | "eos" => StopReason::Stop,
        "length" | "max_tokens" | "max_output_tokens" | "model_length" => StopReason::Length,
        "safety" | "prohibited_content" | "recitation" | "blocklist" => StopReason::ContentFilter,
        filtered if filtered.starts_with("content_filter") => StopReason::ContentFilter,
        "error" | "insufficient_system_resource" | "network_error" | "abort" => {
            return Err(DecodeError::Reported(ReportedError {
                message: String::from("the provider gave up on the answer"),
                code: reason.to_owned(),
                ..ReportedError::default()
            }));
        }
        _ => StopReason::Other(reason.to_owned()),
    })
}

fn not_json(error: &serde_json::Error) -> DecodeError {
    DecodeError::Protocol(format!("an event of the stream is not JSON ({error})"))
}

fn slot(kept: &mut Option<u32>, next: &mut u32) -> u32 {
    *kept.get_or_insert_with(|| {
        let slot = *next;
        *next = next.saturating_add(1);
        slot
    })
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
