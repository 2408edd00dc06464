//! Responses events to stream events. Pure.
//!
//! The `type` inside the data decides what an event is; the SSE event name counts only where the
//! data has none, for some servers send one that does not match.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::{Opaque, Settings, StreamEvent};
use windlass_ports::StreamState;

use super::DIALECT;
use super::items::{ItemName, OutputItems};
use super::wire::{
    ResponseObject, ResponsesEvent, WireItem, repair_event, repair_item, repair_response,
};
use windlass_kit_http::DecodeError;
use windlass_kit_http::DeltaTemplate;
use windlass_kit_http::ReportedError;
use windlass_kit_http::accept_heartbeat;
use windlass_kit_http::json::{self, fit, non_empty, parse};

/// Decodes one streamed answer of Responses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResponsesDecoder {
    endpoint: String,
    model: String,
    opened: bool,
    pub(super) items: OutputItems,
    /// Template of the last event and the slot that it added to, if it was a delta of text.
    like: Option<(DeltaTemplate, u32)>,
    pub(super) finish: Option<String>,
    ignored: u64,
}

impl ResponsesDecoder {
    /// A decoder that marks opaque items as made by `model` at `endpoint`.
    pub(crate) fn new(endpoint: &str, model: &str) -> Self {
        Self {
            endpoint: endpoint.to_owned(),
            model: model.to_owned(),
            opened: false,
            items: OutputItems::default(),
            like: None,
            finish: None,
            ignored: 0,
        }
    }

    /// The same for an answer whose tools were sent with their grammars.
    pub(crate) fn with_grammars(mut self, settings: Arc<Settings>) -> Self {
        self.items.settings = Some(settings);
        self
    }

    /// Returns the number of events that were ignored.
    pub(crate) fn ignored(&self) -> u64 {
        self.ignored
    }

    /// The status of the response that has ended, and of one that is incomplete why:
    /// `incomplete:max_output_tokens`.
    pub(crate) fn finish(&self) -> Option<&str> {
        self.finish.as_deref()
    }

    /// Returns true if the provider began items that are not reported.
    pub(crate) fn foreign(&self) -> bool {
        self.items.foreign()
    }

    /// Takes the data of one event.
    pub(crate) fn event(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        if let Some((like, slot)) = &self.like
            && let Some(text) = like.read(data)
        {
            if !text.is_empty() {
                out.push(StreamEvent::Text { slot: *slot, text });
            }
            return Ok(StreamState::More);
        }
        self.like = None;
        let data = data.trim_ascii();
        if data.first() != Some(&b'{') {
            if name == b"error" {
                return Err(DecodeError::Reported(ReportedError::from_event(data)));
            }
            accept_heartbeat(name, data)?;
            self.ignored += 1;
            return Ok(StreamState::More);
        }
        if let Ok(event) = json::read::<ResponsesEvent<'_>>(data) {
            let before = out.len();
            let plain = event.is_text();
            let streaming = self.take(name, event, data, out)?;
            if let (true, [StreamEvent::Text { slot, text }]) =
                (plain, out.get(before..).unwrap_or_default())
            {
                self.like =
                    DeltaTemplate::from_event(data, "delta", text).map(|like| (like, *slot));
            }
            return Ok(streaming);
        }
        let text = String::from_utf8_lossy(data);
        let mended = repair_event(parse(&text)?).to_string();
        let event = parse(&mended)?;
        self.take(name, event, mended.as_bytes(), out)
    }

    fn take(
        &mut self,
        name: &[u8],
        mut event: ResponsesEvent<'_>,
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        let kind = event.kind.take();
        let sent = std::str::from_utf8(name).unwrap_or_default();
        match kind.as_ref().map_or(sent, |kind| &kind.0) {
            "response.output_text.delta" => self.text(event, false, out)?,
            "response.refusal.delta" => self.text(event, true, out)?,
            "response.output_text.done" | "response.refusal.done" => self.text_done(event, out)?,
            "response.reasoning_text.delta" | "response.reasoning.delta" => {
                self.reasoning(event, false, out)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_summary.delta" => {
                self.reasoning(event, true, out)?;
            }
            "response.reasoning_text.done" | "response.reasoning.done" => {
                self.reasoning_done(event, false)?;
            }
            "response.reasoning_summary_text.done" | "response.reasoning_summary.done" => {
                self.reasoning_done(event, true)?;
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                let delta = non_empty(event.delta.take());
                if let (Some(call), Some(text)) = (self.items.call(name_of(&event))?, delta) {
                    call.delta(text, out);
                }
            }
            "response.function_call_arguments.done" | "response.custom_tool_call_input.done" => {
                let arguments = event.arguments.take().or(event.input.take());
                if let Some(call) = self.items.call(name_of(&event))? {
                    call.whole(arguments, out);
                }
            }
            "response.output_text.annotation.added" => {
                let at = event.content_index.unwrap_or(0);
                if let Some(annotation) = event.annotation
                    && let Some(piece) = self.items.piece(name_of(&event), at, false)?
                {
                    piece.cite(annotation);
                }
            }
            "response.output_item.added" => self.added(&event, out)?,
            "response.output_item.done" => self.done(event.output_index, event.item, out)?,
            "response.created" | "response.in_progress" | "response.queued" if !self.opened => {
                if let Some(raw) = event.response {
                    let text = fit::<ResponseObject<'_>>(raw.get(), repair_response)?;
                    self.open(parse(&text)?, out);
                }
            }
            "response.completed"
            | "response.incomplete"
            | "response.done"
            | "response.failed"
            | "response.cancelled" => {
                let ended = kind.as_ref().map_or(sent, |kind| &kind.0).to_owned();
                return self.terminal(&ended, event, out);
            }
            "error" | "response.error" => {
                return Err(DecodeError::Reported(ReportedError::parse(data).unwrap_or_default()));
            }
            "response.created"
            | "response.in_progress"
            | "response.queued"
            | "response.content_part.added"
            | "response.content_part.done"
            | "response.reasoning_summary_part.added"
            | "response.reasoning_summary_part.done"
            | "keepalive" => {}
            _ => {
                let value: Option<Value> = match kind {
                    Some(_) => None,
                    None => serde_json::from_slice(data).ok(),
                };
                if let Some(reported) = value.as_ref().and_then(ReportedError::from_value) {
                    return Err(DecodeError::Reported(reported));
                }
                self.ignored += 1;
            }
        }
        Ok(StreamState::More)
    }

    fn text(
        &mut self,
        mut event: ResponsesEvent<'_>,
        refusal: bool,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let Some(text) = non_empty(event.delta.take()) else {
            return Ok(());
        };
        let at = event.content_index.unwrap_or(0);
        if let Some(piece) = self.items.piece(name_of(&event), at, refusal)? {
            piece.delta(text, out);
        }
        Ok(())
    }

    fn text_done(
        &mut self,
        mut event: ResponsesEvent<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let refusal = event.refusal.is_some();
        let text = event.refusal.take().or(event.text.take());
        let at = event.content_index.unwrap_or(0);
        if let Some(piece) = self.items.piece(name_of(&event), at, refusal)? {
            piece.whole(text, out);
        }
        Ok(())
    }

    fn reasoning(
        &mut self,
        mut event: ResponsesEvent<'_>,
        summary: bool,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let Some(text) = event.delta.take().filter(|text| !text.0.is_empty()) else {
            return Ok(());
        };
        let part = part_of(&event, summary);
        if let Some(thought) = self.items.thought(name_of(&event))? {
            thought.delta(part, &text.0, out);
        }
        Ok(())
    }

    fn reasoning_done(
        &mut self,
        mut event: ResponsesEvent<'_>,
        summary: bool,
    ) -> Result<(), DecodeError> {
        let text = event.text.take();
        let part = part_of(&event, summary);
        if let Some(thought) = self.items.thought(name_of(&event))? {
            thought.whole(part, text);
        }
        Ok(())
    }

    fn added(
        &mut self,
        event: &ResponsesEvent<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let Some(raw) = event.item else { return Ok(()) };
        let text = fit::<WireItem<'_>>(raw.get(), repair_item)?;
        self.items.added(event.output_index, &parse(&text)?, out)
    }

    pub(super) fn done(
        &mut self,
        index: Option<u64>,
        raw: Option<&RawValue>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let Some(raw) = raw else { return Ok(()) };
        let opaque = Opaque {
            provider: DIALECT.to_owned(),
            endpoint: self.endpoint.clone(),
            model: self.model.clone(),
            payload: raw.get().to_owned(),
        };
        let text = fit::<WireItem<'_>>(raw.get(), repair_item)?;
        self.items.done(index, parse(&text)?, opaque, out)
    }

    pub(super) fn open(&mut self, response: ResponseObject<'_>, out: &mut Vec<StreamEvent>) {
        if let Some(id) = non_empty(response.id).filter(|_| !self.opened) {
            self.opened = true;
            let model = non_empty(response.model);
            out.push(StreamEvent::Opened { response_id: Some(id), model });
        }
    }

    fn terminal(
        &mut self,
        ended: &str,
        event: ResponsesEvent<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        let raw = event.response.map_or("{}", RawValue::get);
        let text = fit::<ResponseObject<'_>>(raw, repair_response)?;
        self.ended(ended, parse(&text)?, out)?;
        Ok(StreamState::End)
    }
}

fn name_of<'a>(event: &'a ResponsesEvent<'_>) -> ItemName<'a> {
    ItemName { index: event.output_index, id: event.item_id.as_ref().map_or("", |id| &id.0) }
}

/// Returns the part of a reasoning item that an event belongs to; raw text precedes summaries.
fn part_of(event: &ResponsesEvent<'_>, summary: bool) -> (bool, u64) {
    let index = if summary { event.summary_index } else { event.content_index };
    (summary, index.unwrap_or(0))
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
