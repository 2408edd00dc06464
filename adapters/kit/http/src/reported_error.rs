//! Reads the error that a provider reports, in any of the usual shapes.

use serde_json::{Map, Value};

use crate::retry_after::{duration_ms, message_delay_ms, seconds_ms};

/// Most additional codes that are stored.
const MOST_CODES: usize = 8;

/// Deepest nesting of one failure in another, as text within JSON.
const MOST_NESTED: u8 = 2;

/// Failure as a provider reports it. Its texts are not bounded or escaped yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportedError {
    /// Message. A router's own message is followed by that of the failure that it passes on.
    pub message: String,
    /// Class of the failure, for example `invalid_request_error`.
    pub class: String,
    /// Code of the failure, for example `context_length_exceeded`; a number is converted to text.
    pub code: String,
    /// Number of bytes at the end of the message that come from a failure behind a router.
    pub upstream_bytes: usize,
    /// Further codes and classes: a status, and those of a failure behind a router, of details and
    /// of an inner error.
    pub other_codes: Vec<String>,
    /// Requested wait before the next request, in milliseconds; at most a day.
    pub retry_ms: Option<u64>,
}

impl ReportedError {
    /// Reads a JSON body.
    #[must_use]
    pub fn parse(body: &[u8]) -> Option<Self> {
        Self::of(&serde_json::from_slice(body).ok()?)
    }

    /// Reads the data of an error event: JSON or plain text.
    #[must_use]
    pub fn from_event(data: &[u8]) -> Self {
        Self::parse(data).unwrap_or_else(|| Self {
            message: String::from_utf8_lossy(data).into_owned(),
            ..Self::default()
        })
    }

    /// Reads a JSON value: `{"error": {..}}`, `{"error": ".."}`, the fields at the top, a list of
    /// one such, `{"detail": ..}`, or a bare text.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        let mut said = Self::within(value, 0)?;
        said.retry_ms = said.retry_ms.or_else(|| message_delay_ms(&said.message));
        Some(said)
    }

    /// Returns the failure that a JSON value reports. Returns `None` for other values, such as a
    /// piece of an answer.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        let fields = value.get(0).unwrap_or(value).as_object()?;
        let holds = |name: &&str| fields.get(*name).is_some_and(reports_error);
        let is_error = |name: &str| fields.get(name).and_then(Value::as_str) == Some("error");
        let named = ["error", "detail", "errors"].iter().any(holds)
            || is_error("type")
            || is_error("object");
        let worded = || {
            let words = ["message", "msg"].iter().any(holds);
            let answers = ["choices", "output", "content"];
            let answers = answers.iter().any(|name| fields.contains_key(*name));
            words && !answers && (codes_failure(fields) || classes_failure(fields))
        };
        (named || worded()).then(|| Self::of(value).unwrap_or_default())
    }

    /// Returns the message without that of a failure behind a router.
    #[must_use]
    pub fn own_message(&self) -> &str {
        let front = self.message.len().saturating_sub(self.upstream_bytes);
        self.message.get(..front).unwrap_or(&self.message)
    }

    fn within(value: &Value, depth: u8) -> Option<Self> {
        match value {
            Value::String(message) => Some(Self { message: message.clone(), ..Self::default() }),
            Value::Array(list) => list.first().and_then(|first| Self::within(first, depth)),
            Value::Object(fields) => Self::of_fields(fields, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    fn of_fields(fields: &Map<String, Value>, depth: u8) -> Option<Self> {
        let mut own = Self {
            message: text(fields, &["message", "msg", "Message"]),
            class: text(fields, &["type", "__type"]),
            code: text(fields, &["code", "error_code"]),
            ..Self::default()
        };
        let inner = ["error", "detail", "errors"]
            .iter()
            .find_map(|name| fields.get(*name))
            .or_else(|| fields.get("message").filter(|message| !message.is_string()));
        if let Some(inner) = inner.and_then(|inner| Self::within(inner, depth)) {
            // In `{"type":"error","error":{..}}` the type `error` is no class.
            let outer = Some(own.class).filter(|class| class != "error");
            own = Self {
                message: first(inner.message, own.message),
                class: first(inner.class, outer.unwrap_or_default()),
                code: first(inner.code, own.code),
                ..inner
            };
        }
        for name in ["error_type", "status", "status_code"] {
            own.also(text(fields, &[name]));
        }
        if own == Self::default() {
            return None;
        }
        own.hold(fields, depth);
        Some(own)
    }

    /// Reads the fields of a failure other than its message, class and code.
    fn hold(&mut self, fields: &Map<String, Value>, depth: u8) {
        let seconds = ["retry_after", "retryAfter", "retry_after_seconds"];
        let seconds = seconds.iter().find_map(|name| fields.get(*name));
        let ms = fields.get("retry_after_ms").and_then(Value::as_f64);
        let ms = ms.and_then(|ms| seconds_ms(ms / 1000.0));
        let asked = ms.or_else(|| seconds.and_then(wait_ms));
        self.retry_ms = self.retry_ms.or(asked);
        // Azure's code of the violated policy.
        let mut inner = fields.get("innererror").or_else(|| fields.get("inner_error"));
        for _ in 0..MOST_NESTED {
            let Some(Value::Object(held)) = inner else {
                break;
            };
            self.also(text(held, &["code"]));
            inner = held.get("innererror");
        }
        // Google's details: the reason, and the requested wait.
        let details = fields.get("details").and_then(Value::as_array);
        for detail in details.into_iter().flatten().take(MOST_CODES) {
            if let Value::Object(detail) = detail {
                self.also(text(detail, &["reason"]));
                let delay = detail.get("retryDelay").and_then(wait_ms);
                self.retry_ms = self.retry_ms.or(delay);
            }
        }
        if let Some(Value::Object(metadata)) = fields.get("metadata") {
            self.behind(metadata, depth);
        }
    }

    /// Reads the failure that a router passes on.
    fn behind(&mut self, metadata: &Map<String, Value>, depth: u8) {
        self.also(text(metadata, &["error_type"]));
        if metadata.contains_key("flagged_input") {
            self.also(String::from("content_filter"));
        }
        let raw = match metadata.get("raw") {
            Some(Value::String(raw)) if depth < MOST_NESTED => {
                let read: Option<Value> = serde_json::from_str(raw).ok();
                read.filter(|read| read.is_object() || read.is_array())
                    .or_else(|| Some(Value::String(raw.clone())))
            }
            Some(raw @ (Value::Object(_) | Value::Array(_))) if depth < MOST_NESTED => {
                Some(raw.clone())
            }
            Some(_) | None => None,
        };
        let Some(inner) = raw.and_then(|raw| Self::within(&raw, depth + 1)) else {
            return;
        };
        if !inner.message.is_empty() {
            let front = self.message.len();
            self.message = match front {
                0 => inner.message,
                _ => format!("{}: {}", self.message, inner.message),
            };
            if front > 0 {
                self.upstream_bytes += self.message.len().saturating_sub(front);
            }
        }
        self.also(inner.code);
        self.also(inner.class);
        for code in inner.other_codes {
            self.also(code);
        }
        self.retry_ms = self.retry_ms.or(inner.retry_ms);
    }

    fn also(&mut self, code: String) {
        if !code.is_empty() && self.other_codes.len() < MOST_CODES {
            self.other_codes.push(code);
        }
    }
}

/// Returns true if an error field reports an error.
fn reports_error(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(said) => *said,
        Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// Returns true if the code beside a message is one of a failure; some servers number success too.
fn codes_failure(fields: &Map<String, Value>) -> bool {
    let code = text(fields, &["code", "error_code", "status_code"]);
    let success = |code: u64| code == 0 || (200..300).contains(&code);
    !code.is_empty() && !code.parse().is_ok_and(success)
}

/// Returns true if the class beside a message is one of a failure.
fn classes_failure(fields: &Map<String, Value>) -> bool {
    let class = text(fields, &["type", "__type"]).to_ascii_lowercase();
    ["error", "exception"].iter().any(|end| class.ends_with(end))
}

fn first(a: String, b: String) -> String {
    if a.is_empty() { b } else { a }
}

/// Returns the first of these fields that holds a text or a number, as text.
fn text(fields: &Map<String, Value>, names: &[&str]) -> String {
    let read = |name: &&str| match fields.get(*name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => None,
    };
    let given = names.iter().filter_map(read).find(|text| !text.is_empty());
    given.unwrap_or_default()
}

/// Reads a wait: a number of seconds, or a text such as `30s`.
fn wait_ms(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => seconds_ms(number.as_f64()?),
        Value::String(text) => match text.parse() {
            Ok(seconds) => seconds_ms(seconds),
            Err(_) => duration_ms(text),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
#[path = "reported_error_tests.rs"]
mod tests;
