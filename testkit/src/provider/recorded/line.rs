//! One recorded answer and its JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windlass_core::{StreamEvent, Usage};
use windlass_ports::{ProviderError, SampleRequest};

use crate::provider::Failure;

/// A request, by the digest of its conversation, and its answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Exchange {
    pub(super) request: String,
    pub(super) events: Vec<StreamEvent>,
    pub(super) failure: Option<Failure>,
}

impl Exchange {
    pub(super) fn of(request: &SampleRequest) -> Self {
        let request = request.prompt.digest().to_string();
        Self { request, events: Vec::new(), failure: None }
    }

    pub(super) fn fail(&mut self, error: &ProviderError) {
        self.failure = Some(Failure {
            kind: error.kind,
            retry: error.retry,
            context: error.context.clone(),
            status: error.details.status,
            request_id: error.details.request_id.clone(),
        });
    }

    pub(super) fn to_json(&self) -> Value {
        let mut line = json!({ "request": self.request });
        line["events"] = self.events.iter().map(event_to_json).collect();
        if let Some(Failure { kind, retry, context, status, request_id }) = &self.failure {
            line["failure"] = json!({
                "kind": kind, "retry": retry, "context": context, "status": status,
                "request_id": request_id,
            });
        }
        line
    }

    pub(super) fn from_json(line: &Value) -> Result<Self, String> {
        let Value::Array(events) = &line["events"] else {
            return Err(String::from("it has no events"));
        };
        let failure = line.get("failure").map(failure_from_json).transpose()?;
        Ok(Self {
            request: field(line, "request")?,
            events: events.iter().map(event_from_json).collect::<Result<_, _>>()?,
            failure,
        })
    }
}

fn failure_from_json(failure: &Value) -> Result<Failure, String> {
    Ok(Failure {
        kind: field(failure, "kind")?,
        retry: field(failure, "retry")?,
        context: field(failure, "context")?,
        status: field(failure, "status")?,
        request_id: field(failure, "request_id")?,
    })
}

fn field<T: DeserializeOwned>(value: &Value, name: &str) -> Result<T, String> {
    serde_json::from_value(value[name].clone()).map_err(|error| format!("{name}: {error}"))
}

fn event_to_json(event: &StreamEvent) -> Value {
    match event {
        StreamEvent::Opened { response_id, model } => {
            json!({ "opened": { "response_id": response_id, "model": model } })
        }
        StreamEvent::Text { slot, text } => slotted("text", *slot, text),
        StreamEvent::Refusal { slot, text } => slotted("refusal", *slot, text),
        StreamEvent::Reasoning { slot, text } => slotted("reasoning", *slot, text),
        StreamEvent::Citation { slot, citation, unit } => {
            json!({ "citation": { "slot": slot, "citation": citation, "unit": unit } })
        }
        StreamEvent::Search { slot, query } => slotted("search", *slot, query),
        StreamEvent::CallOpened { slot, id, name } => {
            json!({ "call": { "slot": slot, "id": id, "name": name } })
        }
        StreamEvent::CallArguments { slot, text } => slotted("arguments", *slot, text),
        StreamEvent::Done { slot, text, opaque } => {
            json!({ "done": { "slot": slot, "text": text, "opaque": opaque } })
        }
        StreamEvent::Usage(usage) => json!({ "usage": usage }),
        StreamEvent::Finished { reason } => json!({ "finished": reason }),
    }
}

fn slotted(kind: &str, slot: u32, text: impl Serialize) -> Value {
    json!({ kind: { "slot": slot, "text": text } })
}

fn event_from_json(value: &Value) -> Result<StreamEvent, String> {
    let Some((kind, body)) = value.as_object().and_then(|object| object.iter().next()) else {
        return Err(format!("{value} is no event"));
    };
    Ok(match kind.as_str() {
        "opened" => StreamEvent::Opened {
            response_id: field(body, "response_id")?,
            model: field(body, "model")?,
        },
        "text" => StreamEvent::Text { slot: field(body, "slot")?, text: field(body, "text")? },
        "refusal" => {
            StreamEvent::Refusal { slot: field(body, "slot")?, text: field(body, "text")? }
        }
        "reasoning" => {
            StreamEvent::Reasoning { slot: field(body, "slot")?, text: field(body, "text")? }
        }
        "citation" => StreamEvent::Citation {
            slot: field(body, "slot")?,
            citation: field(body, "citation")?,
            unit: field(body, "unit")?,
        },
        "search" => StreamEvent::Search { slot: field(body, "slot")?, query: field(body, "text")? },
        "call" => StreamEvent::CallOpened {
            slot: field(body, "slot")?,
            id: field(body, "id")?,
            name: field(body, "name")?,
        },
        "arguments" => {
            StreamEvent::CallArguments { slot: field(body, "slot")?, text: field(body, "text")? }
        }
        "done" => StreamEvent::Done {
            slot: field(body, "slot")?,
            text: field(body, "text")?,
            opaque: field(body, "opaque")?,
        },
        "usage" => StreamEvent::Usage(field::<Usage>(value, "usage")?),
        "finished" => StreamEvent::Finished { reason: field(value, "finished")? },
        other => return Err(format!("{other} is no kind of event")),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_core::{FailureKind, Retry};

    use super::*;
    use crate::world::random;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read(events in random::stream(), fails in any::<bool>()) {
            let failure = fails.then(|| Failure {
                kind: FailureKind::RateLimit,
                retry: Retry::AfterMs(7),
                context: String::from("slower"),
                status: Some(429),
                request_id: None,
            });
            let exchange = Exchange { request: String::from("d"), events, failure };
            let text = exchange.to_json().to_string();
            let read = Exchange::from_json(&serde_json::from_str(&text).unwrap());
            prop_assert_eq!(read, Ok(exchange));
        }
    }
}
