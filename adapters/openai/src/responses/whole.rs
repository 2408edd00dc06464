//! Whole responses to stream events: the one of the terminal event, and one that comes in place of
//! a stream. Pure.

use serde_json::value::RawValue;
use windlass_core::{StopReason, StreamEvent};
use windlass_kit_http::json::{BorrowedText, WireUsage, fit, non_empty, parse};
use windlass_kit_http::{DecodeError, ReportedError};

use super::decode::ResponsesDecoder;
use super::wire::{ResponseObject, repair_response};

impl ResponsesDecoder {
    /// Takes a whole response in place of a stream.
    pub(crate) fn whole(
        &mut self,
        body: &str,
        out: &mut Vec<StreamEvent>,
    ) -> Result<bool, DecodeError> {
        let text = fit::<ResponseObject<'_>>(body, repair_response)?;
        let response: ResponseObject<'_> = parse(&text)?;
        let is = |text: &Option<BorrowedText<'_>>, word| text.as_ref().is_some_and(|t| t.0 == word);
        let lists = response.output.is_some_and(|output| output.get().starts_with('['));
        if !lists || !(is(&response.object, "response") || response.status.is_some()) {
            return Ok(false);
        }
        if is(&response.status, "queued") || is(&response.status, "in_progress") {
            let what = "the answer is a response that is not complete, and no stream";
            return Err(DecodeError::Protocol(what.to_owned()));
        }
        self.ended("response.completed", response, out)?;
        Ok(true)
    }

    /// Takes the response as it ended, and the name of the event that says so.
    pub(super) fn ended(
        &mut self,
        ended: &str,
        mut response: ResponseObject<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let status = non_empty(response.status.take()).unwrap_or_default();
        let details = response.incomplete_details.take().unwrap_or_default();
        let because = non_empty(details.reason);
        self.finish = Some(ending(ended, &status, because.as_deref()));
        // What a failure has cost counts too.
        let usage = response.usage.take().and_then(WireUsage::to_usage);
        if matches!(ended, "response.failed" | "response.cancelled")
            || matches!(status.as_str(), "failed" | "cancelled")
        {
            let reported =
                response.error.and_then(|error| ReportedError::parse(error.get().as_bytes()));
            out.extend(usage.map(StreamEvent::Usage));
            return Err(DecodeError::Reported(reported.unwrap_or_else(|| ReportedError {
                other_codes: self.finish.clone().into_iter().collect(),
                ..ReportedError::default()
            })));
        }
        let incomplete = ended == "response.incomplete" || status == "incomplete";
        let reason = match because.as_deref() {
            // An extension of some servers: the model wants to be asked again.
            _ if !incomplete && response.end_turn == Some(false) => StopReason::Unfinished,
            _ if !incomplete => StopReason::Stop,
            Some("max_output_tokens" | "max_tokens" | "length") => StopReason::Length,
            Some("content_filter") => StopReason::ContentFilter,
            Some(other) => StopReason::Other(other.to_owned()),
            None => StopReason::Other(String::from("incomplete")),
        };
        if self.items.is_empty() {
            self.whole_output(response.output, out)?;
        }
        self.items.finish(incomplete, out);
        out.extend(usage.map(StreamEvent::Usage));
        self.open(response, out);
        out.push(StreamEvent::Finished { reason });
        Ok(())
    }

    /// Takes the items from the terminal event, where no event before it brought any.
    fn whole_output(
        &mut self,
        output: Option<&RawValue>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        let items: Option<Vec<&RawValue>> =
            output.and_then(|output| serde_json::from_str(output.get()).ok());
        for (index, item) in (0..).zip(items.into_iter().flatten()) {
            self.done(Some(index), Some(item), out)?;
        }
        Ok(())
    }
}

/// Returns the status of a finished response, or the name of its last event if it has none.
fn ending(event: &str, status: &str, because: Option<&str>) -> String {
    let named = event.strip_prefix("response.").unwrap_or(event);
    match (status, because) {
        ("", None) => named.to_owned(),
        ("", Some(because)) => format!("{named}:{because}"),
        (status, None) => status.to_owned(),
        (status, Some(because)) => format!("{status}:{because}"),
    }
}
