//! Messages events to stream events. Pure.
//!
//! The `type` inside the data decides what an event is; the SSE event name counts only where the
//! data has none. An answer is whole with `message_stop`, or, where that is missing, once the
//! reason to stop is known.

mod block;
mod blocks;
mod hosted;
mod wire;

use serde_json::Value;
use windlass_core::{StopReason, StreamEvent, Usage};
use windlass_kit_http::json::{fit, non_empty, parse, read};
use windlass_kit_http::{DecodeError, DeltaTemplate, Dialect, ReportedError, accept_heartbeat};
use windlass_ports::StreamState;

use self::blocks::ContentBlocks;
use self::hosted::SentBlock;
use self::wire::{
    WholeContent, WholeMessage, WireBlock, WireEvent, WireMessage, WireUsage, repair_block,
    repair_event, repair_whole,
};

/// Reads the events of one answer.
#[derive(Debug)]
pub struct MessagesDecoder {
    /// The message that has begun, by its id, which may be missing.
    message: Option<Option<String>>,
    blocks: ContentBlocks,
    usage: WireUsage,
    /// Stop reason, as the provider names it.
    stop: Option<String>,
    /// Template of the last event and the slot that it added to, if it was a delta of text.
    like: Option<(DeltaTemplate, u32)>,
    ignored: u64,
}

impl MessagesDecoder {
    /// The events of a stream that `endpoint` sends about `model`: as made by these its reasoning
    /// is kept.
    #[must_use]
    pub fn new(endpoint: &str, model: &str) -> Self {
        Self {
            message: None,
            blocks: ContentBlocks::new(endpoint, model),
            usage: WireUsage::default(),
            stop: None,
            like: None,
            ignored: 0,
        }
    }

    fn handle(
        &mut self,
        name: &[u8],
        mut event: WireEvent<'_>,
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        let kind = event.kind.take();
        let sent = std::str::from_utf8(name).unwrap_or_default();
        match kind.as_ref().map_or(sent, |kind| &kind.0) {
            "message_start" => self.begin(event.message.unwrap_or_default(), out)?,
            "content_block_start" => {
                let block = event.content_block.unwrap_or_default();
                self.blocks.start(event.index, block, SentBlock::Event(data), out)?;
            }
            "content_block_delta" => {
                let delta = event.delta.unwrap_or_default();
                if !self.blocks.delta(event.index, delta, out)? {
                    self.ignored += 1;
                }
            }
            "content_block_stop" => self.blocks.stop(event.index, out)?,
            "message_delta" => {
                let reason = event.delta.and_then(|delta| non_empty(delta.stop_reason));
                self.stop = reason.or(self.stop.take());
                self.merge_usage(event.usage, out);
            }
            "message_stop" => {
                self.complete(out)?;
                return Ok(StreamState::End);
            }
            "ping" => {}
            "error" => {
                return Err(DecodeError::Reported(ReportedError::parse(data).unwrap_or_default()));
            }
            _ => {
                let value: Option<Value> = match (kind, event.error) {
                    (Some(_), None) => None,
                    (None, _) | (_, Some(_)) => serde_json::from_slice(data).ok(),
                };
                if let Some(reported) = value.as_ref().and_then(ReportedError::from_value) {
                    return Err(DecodeError::Reported(reported));
                }
                self.ignored += 1;
            }
        }
        Ok(StreamState::More)
    }

    fn begin(
        &mut self,
        message: WireMessage<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let id = non_empty(message.id);
        let again = self.message.as_ref().is_some_and(|known| *known == id);
        let another = self.message.is_some() && !again;
        if another || (again && id.is_none() && !self.blocks.is_empty()) {
            return Err(DecodeError::Protocol(String::from(
                "a second message begins inside of the answer",
            )));
        }
        if !again {
            out.push(StreamEvent::Opened {
                response_id: id.clone(),
                model: non_empty(message.model),
            });
            self.message = Some(id);
        }
        self.merge_usage(message.usage, out);
        Ok(())
    }

    fn merge_usage(&mut self, usage: Option<WireUsage>, out: &mut Vec<StreamEvent>) {
        if let Some(usage) = usage {
            self.usage.merge(usage);
            out.extend(self.usage.to_usage().map(StreamEvent::Usage));
        }
    }

    fn complete(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), DecodeError> {
        let reason = match self.stop.as_deref() {
            None | Some("end_turn" | "tool_use" | "stop_sequence") => StopReason::Stop,
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
            Some("refusal") => StopReason::ContentFilter,
            Some("pause_turn") => StopReason::Unfinished,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        let asked = self.stop.as_deref() == Some("tool_use");
        self.blocks.finish(reason != StopReason::Stop, asked, out)?;
        out.push(StreamEvent::Finished { reason });
        Ok(())
    }
}

impl Dialect for MessagesDecoder {
    fn event(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        let data = data.trim_ascii();
        let tight = tight(data);
        if let (Some((like, slot)), Some(tight)) = (&self.like, tight)
            && let Some(text) = like.read(tight)
        {
            if !text.is_empty() {
                out.push(StreamEvent::Text { slot: *slot, text });
            }
            return Ok(StreamState::More);
        }
        self.like = None;
        if data.first() != Some(&b'{') {
            if name == b"error" {
                return Err(DecodeError::Reported(ReportedError::from_event(data)));
            }
            accept_heartbeat(name, data)?;
            self.ignored += 1;
            return Ok(StreamState::More);
        }
        if let Ok(event) = read::<WireEvent<'_>>(data) {
            let before = out.len();
            let plain = is_text_delta(&event);
            let streaming = self.handle(name, event, data, out)?;
            if let (true, Some(tight), [StreamEvent::Text { slot, text }]) =
                (plain, tight, out.get(before..).unwrap_or_default())
            {
                self.like =
                    DeltaTemplate::from_event(tight, "text", text).map(|like| (like, *slot));
            }
            return Ok(streaming);
        }
        let text = String::from_utf8_lossy(data);
        let value: Value = parse(&text)?;
        let mended = repair_event(value).to_string();
        let event = parse(&mended)?;
        self.handle(name, event, text.as_bytes(), out)
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), DecodeError> {
        if self.stop.is_none() {
            return Err(DecodeError::Truncated);
        }
        self.complete(out)
    }

    fn whole(&mut self, body: &str, out: &mut Vec<StreamEvent>) -> Result<bool, DecodeError> {
        let text = fit::<WholeMessage<'_>>(body, repair_whole)?;
        let message: WholeMessage<'_> = parse(&text)?;
        let content: WholeContent<'_> = parse(body)?;
        let Some(blocks) = content.blocks().filter(|_| message.is_message()) else {
            return Ok(false);
        };
        let usage = message.usage;
        self.begin(WireMessage { id: message.id, model: message.model, usage }, out)?;
        for (index, block) in (0..).zip(blocks) {
            let text = fit::<WireBlock<'_>>(&block, repair_block)?;
            self.blocks.start(Some(index), parse(&text)?, SentBlock::Whole(&block), out)?;
            self.blocks.stop(Some(index), out)?;
        }
        self.stop = non_empty(message.stop_reason);
        self.complete(out)?;
        Ok(true)
    }

    fn ignored(&self) -> u64 {
        self.ignored
    }

    fn finish(&self) -> Option<&str> {
        self.stop.as_deref()
    }
}

/// The request tokens as this provider counts them, without those that came from its cache or were
/// written there: `input_tokens` on the wire.
#[must_use]
pub fn uncached_input(usage: &Usage) -> Option<u64> {
    let apart = usage.cached_input.unwrap_or(0).saturating_add(usage.cache_write.unwrap_or(0));
    usage.input.map(|input| input.saturating_sub(apart))
}

/// Returns true if an event declares itself a delta of text: then every event of the same shape is
/// one.
fn is_text_delta(event: &WireEvent<'_>) -> bool {
    let delta = event.delta.as_ref();
    let of = delta.and_then(|delta| delta.kind.as_ref());
    event.kind.as_ref().is_some_and(|kind| kind.0 == "content_block_delta")
        && of.is_some_and(|of| of.0 == "text_delta")
        && event.usage.is_none()
        && event.error.is_none()
}

/// An event up to its last brace, without the white space by which this provider hides how long a
/// text is.
fn tight(data: &[u8]) -> Option<&[u8]> {
    Some(data.strip_suffix(b"}")?.trim_ascii_end())
}

#[cfg(test)]
mod tests;
