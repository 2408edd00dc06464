//! Messages events to stream events. Pure.
//!
//! The `type` inside the data decides what an event is; the SSE event name counts only where the
//! data has none. An answer is whole with `message_stop`, or, where that is missing, once the
//! reason to stop is known.

mod blocks;
mod wire;

use serde_json::Value;
use windlass_core::{StopReason, StreamEvent, Usage};
use windlass_kit_http::json::{given, read};
use windlass_kit_http::{Dialect, Fault, Reported, Template};
use windlass_ports::Streaming;

use self::blocks::Blocks;
use self::wire::{Event, Message, WireUsage, mend};

/// Reads the events of one answer.
#[derive(Debug)]
pub struct Events {
    /// The message that has begun, by its id, which may be missing.
    message: Option<Option<String>>,
    blocks: Blocks,
    usage: WireUsage,
    /// Stop reason, as the provider names it.
    stop: Option<String>,
    /// Template of the last event and the slot that it added to, if it was a delta of text.
    like: Option<(Template, u32)>,
    ignored: u64,
}

impl Events {
    /// The events of a stream that `endpoint` sends about `model`: as made by these its reasoning
    /// is kept.
    #[must_use]
    pub fn new(endpoint: &str, model: &str) -> Self {
        Self {
            message: None,
            blocks: Blocks::new(endpoint, model),
            usage: WireUsage::default(),
            stop: None,
            like: None,
            ignored: 0,
        }
    }

    fn take(
        &mut self,
        name: &[u8],
        mut event: Event<'_>,
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<Streaming, Fault> {
        let kind = event.kind.take();
        let sent = std::str::from_utf8(name).unwrap_or_default();
        match kind.as_ref().map_or(sent, |kind| &kind.0) {
            "message_start" => self.begin(event.message.unwrap_or_default(), out)?,
            "content_block_start" => {
                let block = event.content_block.unwrap_or_default();
                self.blocks.start(event.index, block, out)?;
            }
            "content_block_delta" => {
                let delta = event.delta.unwrap_or_default();
                if !self.blocks.delta(event.index, delta, out)? {
                    self.ignored += 1;
                }
            }
            "content_block_stop" => self.blocks.stop(event.index, out)?,
            "message_delta" => {
                let reason = event.delta.and_then(|delta| given(delta.stop_reason));
                self.stop = reason.or(self.stop.take());
                self.spent(event.usage, out);
            }
            "message_stop" => {
                self.complete(out)?;
                return Ok(Streaming::End);
            }
            "ping" => {}
            "error" => return Err(Fault::Reported(Reported::parse(data).unwrap_or_default())),
            _ => {
                let value: Option<Value> = match (kind, event.error) {
                    (Some(_), None) => None,
                    (None, _) | (_, Some(_)) => serde_json::from_slice(data).ok(),
                };
                if let Some(reported) = value.as_ref().and_then(Reported::told) {
                    return Err(Fault::Reported(reported));
                }
                self.ignored += 1;
            }
        }
        Ok(Streaming::More)
    }

    fn begin(&mut self, message: Message<'_>, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        let id = given(message.id);
        let again = self.message.as_ref().is_some_and(|known| *known == id);
        let another = self.message.is_some() && !again;
        if another || (again && id.is_none() && !self.blocks.is_empty()) {
            return Err(Fault::Protocol(String::from(
                "a second message begins inside of the answer",
            )));
        }
        if !again {
            out.push(StreamEvent::Opened {
                response_id: id.clone(),
                model: given(message.model),
            });
            self.message = Some(id);
        }
        self.spent(message.usage, out);
        Ok(())
    }

    fn spent(&mut self, usage: Option<WireUsage>, out: &mut Vec<StreamEvent>) {
        if let Some(usage) = usage {
            self.usage.merge(usage);
            out.extend(self.usage.told().map(StreamEvent::Usage));
        }
    }

    fn complete(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
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

impl Dialect for Events {
    fn event(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<Streaming, Fault> {
        let data = data.trim_ascii();
        let tight = tight(data);
        if let (Some((like, slot)), Some(tight)) = (&self.like, tight)
            && let Some(text) = like.read(tight)
        {
            if !text.is_empty() {
                out.push(StreamEvent::Text { slot: *slot, text });
            }
            return Ok(Streaming::More);
        }
        self.like = None;
        if data.first() != Some(&b'{') {
            if name == b"error" {
                return Err(Fault::Reported(Reported::said(data)));
            }
            // `[DONE]` and keep-alives; an event is an object.
            self.ignored += 1;
            return Ok(Streaming::More);
        }
        if let Ok(event) = read::<Event<'_>>(data) {
            let before = out.len();
            let plain = says_text(&event);
            let streaming = self.take(name, event, data, out)?;
            if let (true, Some(tight), [StreamEvent::Text { slot, text }]) =
                (plain, tight, out.get(before..).unwrap_or_default())
            {
                self.like = Template::learn(tight, "text", text).map(|like| (like, *slot));
            }
            return Ok(streaming);
        }
        let text = String::from_utf8_lossy(data);
        let value: Value = serde_json::from_str(&text).map_err(|error| not_json(&error))?;
        let mended = mend(value).to_string();
        let event = serde_json::from_str(&mended).map_err(|error| not_json(&error))?;
        self.take(name, event, text.as_bytes(), out)
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Fault> {
        if self.stop.is_none() {
            return Err(Fault::Truncated);
        }
        self.complete(out)
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
    let apart = usage
        .cached_input
        .unwrap_or(0)
        .saturating_add(usage.cache_write.unwrap_or(0));
    usage.input.map(|input| input.saturating_sub(apart))
}

/// Returns true if an event declares itself a delta of text: then every event of the same shape is
/// one.
fn says_text(event: &Event<'_>) -> bool {
    let delta = event.delta.as_ref();
    let of = delta.and_then(|delta| delta.kind.as_ref());
    event
        .kind
        .as_ref()
        .is_some_and(|kind| kind.0 == "content_block_delta")
        && of.is_some_and(|of| of.0 == "text_delta")
        && event.usage.is_none()
        && event.error.is_none()
}

/// An event up to its last brace, without the white space by which this provider hides how long a
/// text is.
fn tight(data: &[u8]) -> Option<&[u8]> {
    Some(data.strip_suffix(b"}")?.trim_ascii_end())
}

fn not_json(error: &serde_json::Error) -> Fault {
    Fault::Protocol(format!(
        "an event of the stream is not as documented ({error})"
    ))
}

#[cfg(test)]
mod tests;
