//! From the events of Chat Completions to those of the port, and from refusals to errors.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windlass_core::{
    Citation, FailureKind, Opaque, Retry, SpanUnit, StopReason, StreamEvent, TextSpan, Usage,
};
use windlass_ports::ProviderError;

use crate::fault::Fault;
use crate::wire::Head;

/// What is put together of one answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    opened: bool,
    finish: Option<StopReason>,
    /// The parts so far: what they are, by the place that the protocol gives them.
    parts: Vec<String>,
    /// The seals of calls, by their slots.
    seals: BTreeMap<u32, String>,
    ids: BTreeSet<String>,
}

/// What an event means for the answer as a whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    More,
    End,
}

impl Answer {
    pub(crate) fn event(
        &mut self,
        data: &[u8],
        fault: Fault,
        out: &mut Vec<StreamEvent>,
    ) -> Result<Meaning, ProviderError> {
        if data.starts_with(b"[DONE]") {
            self.end(fault, out)?;
            return Ok(Meaning::End);
        }
        let text = text(data, fault);
        let chunk = match serde_json::from_str::<Value>(&text) {
            Ok(chunk) if chunk.is_object() => chunk,
            Ok(_) | Err(_) if fault == Fault::PassesOverDamagedData => return Ok(Meaning::More),
            Ok(_) | Err(_) => {
                let mut damaged = protocol("an event of the answer is no JSON object");
                damaged.retry = Retry::Soon;
                return Err(damaged);
            }
        };
        if !chunk["error"].is_null() && fault != Fault::PassesOverErrors {
            let (kind, words) = reported(None, &chunk, fault);
            return Err(error(kind, words));
        }
        if !std::mem::replace(&mut self.opened, true) {
            out.push(StreamEvent::Opened {
                response_id: chunk["id"].as_str().map(String::from),
                model: None,
            });
        }
        if chunk["usage"].is_object() && fault != Fault::TellsNoUsage {
            out.push(StreamEvent::Usage(usage(&chunk["usage"])));
        }
        let choice = &chunk["choices"][0];
        self.delta(&choice["delta"], fault, out)?;
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(match reason {
                _ if fault == Fault::StopsForOneReason => StopReason::Stop,
                "stop" | "tool_calls" => StopReason::Stop,
                "length" => StopReason::Length,
                "content_filter" => StopReason::ContentFilter,
                other => StopReason::Other(other.into()),
            });
        }
        Ok(Meaning::More)
    }

    fn delta(
        &mut self,
        delta: &Value,
        fault: Fault,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let said = |key: &str| {
            let text = delta[key].as_str().filter(|text| !text.is_empty());
            text.map(String::from)
        };
        if let Some(text) = said("reasoning_content") {
            let (slot, _) = self.slot("reasoning");
            out.push(StreamEvent::Reasoning { slot, text });
        }
        if let Some(text) = said("content") {
            let (slot, _) = self.slot("content");
            out.push(StreamEvent::Text { slot, text });
        }
        if let Some(text) = said("refusal") {
            let (slot, _) = self.slot("refusal");
            out.push(StreamEvent::Refusal { slot, text });
        }
        for cited in delta["annotations"].as_array().into_iter().flatten() {
            if fault == Fault::DropsSources {
                continue;
            }
            let cited = &cited["url_citation"];
            let (slot, _) = self.slot("content");
            let text = |key: &str| cited[key].as_str().unwrap_or_default().to_owned();
            let (start, end) = (cited["start_index"].as_u64(), cited["end_index"].as_u64());
            let span = start.zip(end).map(|(start, end)| TextSpan { start, end });
            let bytes = fault == Fault::CountsSourcesInBytes;
            let unit = if bytes { SpanUnit::Bytes } else { SpanUnit::Characters };
            let citation = Citation { url: text("url"), title: text("title"), span };
            out.push(StreamEvent::Citation { slot, citation, unit });
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, fault, out)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        call: &Value,
        fault: Fault,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let index = call["index"].as_u64().unwrap_or(0);
        if index > 0 && fault == Fault::TellsOnlyTheFirstCall {
            return Ok(());
        }
        let (id, name) = (text(&call["id"]), text(&call["function"]["name"]));
        let opens = !name.is_empty();
        if opens && !self.ids.insert(id.clone()) && fault == Fault::TellsOneCallAnId {
            return Ok(());
        }
        let key = if fault == Fault::OpensACallAnew {
            format!("call {}", self.parts.len() - usize::from(!opens))
        } else {
            format!("call {index}")
        };
        if !opens && !self.parts.contains(&key) {
            let passes_over = [Fault::TellsOneCallAnId, Fault::PassesOverLostOpenings];
            return match passes_over.contains(&fault) {
                true => Ok(()),
                false => Err(protocol("arguments came of a call that was not opened")),
            };
        }
        let (slot, new) = self.slot(&key);
        if new {
            out.push(StreamEvent::CallOpened { slot, id, name });
        }
        if let Some(seal) = call["seal"].as_str().filter(|_| fault != Fault::LosesSeals) {
            self.seals.insert(slot, seal.to_owned());
        }
        let text = text(&call["function"]["arguments"]);
        if !text.is_empty() {
            out.push(StreamEvent::CallArguments { slot, text });
        }
        Ok(())
    }

    /// Takes a body that is the answer, in place of a stream of it.
    pub(crate) fn whole(
        &mut self,
        body: &[u8],
        fault: Fault,
        out: &mut Vec<StreamEvent>,
    ) -> Result<Meaning, ProviderError> {
        let mut body: Value = match serde_json::from_str(&text(body, fault)) {
            Ok(body) => body,
            Err(error) if error.is_eof() => return Err(truncated()),
            Err(_) => return Err(protocol("the answer is not JSON")),
        };
        let message = body.pointer_mut("/choices/0/message").map(Value::take);
        let mut message = message.unwrap_or_default();
        if message.is_object() && fault != Fault::TakesNoBodyForAnAnswer {
            let calls = message["tool_calls"].as_array_mut();
            for (index, call) in calls.into_iter().flatten().enumerate() {
                call["index"] = index.into();
            }
            body["choices"][0]["delta"] = message;
        } else if body["error"].is_null() {
            return Err(protocol("one JSON object came, and no answer"));
        }
        self.event(body.to_string().as_bytes(), fault, out)?;
        self.end(fault, out).map(|()| Meaning::End)
    }

    /// The slot of a part, and whether it is new.
    fn slot(&mut self, part: &str) -> (u32, bool) {
        let found = self.parts.iter().position(|other| other == part);
        let at = found.unwrap_or(self.parts.len());
        if found.is_none() {
            self.parts.push(part.to_owned());
        }
        (u32::try_from(at).unwrap_or(u32::MAX), found.is_none())
    }

    /// Closes the answer, if it may be closed.
    pub(crate) fn end(
        &mut self,
        fault: Fault,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let begun = self.opened || fault == Fault::TakesNothingForAnAnswer;
        let careless = [
            Fault::TakesAClosedConnectionForTheEnd,
            Fault::TakesACutBodyForTheEnd,
            Fault::TakesAResetForTheEnd,
            Fault::PassesOverWhatItCannotRead,
            Fault::TakesAPageForAnAnswer,
        ];
        let nothing = fault == Fault::TakesNothingForAnAnswer && !self.opened;
        let stop = match self.finish.take() {
            Some(stop) if begun => stop,
            None if nothing || careless.contains(&fault) || self.unended(fault) => StopReason::Stop,
            Some(_) | None => return Err(truncated()),
        };
        self.close(out);
        out.push(StreamEvent::Finished { reason: stop });
        Ok(())
    }

    /// True if what has come passes for whole by its last part alone.
    fn unended(&self, fault: Fault) -> bool {
        let part = |kind: &str| self.parts.last().is_some_and(|last| last == kind);
        fault == Fault::TakesTheEndAfterTextForAnAnswer && part("content")
            || fault == Fault::TakesTheEndAfterReasoningForAnAnswer && part("reasoning")
    }

    /// Says that the parts are whole.
    pub(crate) fn close(&self, out: &mut Vec<StreamEvent>) {
        for (slot, _) in (0..).zip(&self.parts) {
            let opaque = self.seals.get(&slot).map(|seal| Opaque {
                provider: "reference".into(),
                endpoint: "reference".into(),
                model: "reference".into(),
                payload: seal.clone(),
            });
            out.push(StreamEvent::Done { slot, text: None, opaque });
        }
    }
}

/// Text of bytes; what is no UTF-8 is marked in it.
pub(crate) fn text(data: &[u8], fault: Fault) -> String {
    let text = String::from_utf8_lossy(data);
    if fault == Fault::DropsBrokenText {
        return text.replace('\u{fffd}', "");
    }
    text.into_owned()
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input: usage["prompt_tokens"].as_u64(),
        output: usage["completion_tokens"].as_u64(),
        total: usage["total_tokens"].as_u64(),
        cached_input: usage["prompt_tokens_details"]["cached_tokens"].as_u64(),
        cache_write: None,
        reasoning_output: usage["completion_tokens_details"]["reasoning_tokens"].as_u64(),
    }
}

/// The class of what a server says of its own failure, and its words.
fn reported(status: Option<u16>, body: &Value, fault: Fault) -> (FailureKind, String) {
    use FailureKind as Kind;
    let said = |key: &str| body["error"][key].as_str().unwrap_or_default().to_owned();
    let kind = match (said("code").as_str(), status) {
        (_, Some(_)) if fault == Fault::TakesRefusalsForTheServers => Kind::Server,
        ("context_length_exceeded" | "too_many_prompt_tokens", _)
            if fault != Fault::LooksOnlyAtTheStatus =>
        {
            Kind::ContextOverflow
        }
        ("model_not_found", _) => Kind::NotFound,
        ("insufficient_quota", _) => Kind::Quota,
        ("content_filter", _) => Kind::ContentFilter,
        ("overloaded_error", _) | (_, Some(503 | 529)) => Kind::Overloaded,
        (_, Some(401 | 403)) => Kind::Authentication,
        (_, Some(404)) => Kind::NotFound,
        (_, Some(413)) => Kind::ContextOverflow,
        (_, Some(429)) => Kind::RateLimit,
        (_, Some(400..=499)) => Kind::InvalidRequest,
        (_, _) => Kind::Server,
    };
    (kind, said("message"))
}

/// The error of a refusal.
pub(crate) fn refused(head: &Head, body: &[u8], fault: Fault) -> ProviderError {
    let body = text(body, fault);
    let json = serde_json::from_str(&body).unwrap_or(Value::Null);
    let (kind, mut words) = reported(Some(head.status), &json, fault);
    if fault == Fault::ShowsTheKey {
        words = body.escape_debug().take(500).collect();
    }
    if (300..400).contains(&head.status) {
        return protocol("the server redirects, which is not followed");
    }
    let mut refused = error(kind, words);
    refused.details.status = Some(head.status);
    let asked = head.header("retry-after").and_then(|asked| wait_ms(head, asked, fault));
    if let (Some(ms), true) = (asked, refused.retry != Retry::Never) {
        refused.retry = Retry::AfterMs(ms);
    }
    refused.details.request_id = head.header("x-request-id").map(String::from);
    refused
}

/// The wait that a header asks for: seconds, or a date of the same day as the response's own.
fn wait_ms(head: &Head, asked: &str, fault: Fault) -> Option<u64> {
    if let Ok(seconds) = asked.parse::<u64>() {
        return Some(seconds * 1_000);
    }
    if fault == Fault::KnowsNoDates {
        return None;
    }
    let second = |date: &str| {
        let time = date.split(' ').find(|word| word.contains(':'))?;
        let mut fields = time.split(':').map(str::parse::<u64>);
        let mut field = || fields.next()?.ok();
        Some((field()? * 60 + field()?) * 60 + field()?)
    };
    let (then, now) = (second(asked)?, second(head.header("date")?)?);
    Some(then.saturating_sub(now) * 1_000)
}

pub(crate) fn error(kind: FailureKind, words: impl Into<String>) -> ProviderError {
    let again = matches!(
        kind,
        FailureKind::Server
            | FailureKind::RateLimit
            | FailureKind::Overloaded
            | FailureKind::Unavailable
            | FailureKind::Truncated
    );
    let retry = if again { Retry::Soon } else { Retry::Never };
    let words = format!("asking the reference model: {}", words.into());
    ProviderError::new(kind, retry, words)
}

pub(crate) fn truncated() -> ProviderError {
    error(FailureKind::Truncated, "the answer broke off")
}

pub(crate) fn protocol(words: &str) -> ProviderError {
    error(FailureKind::Protocol, words)
}
