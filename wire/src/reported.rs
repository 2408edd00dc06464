//! What a provider says of its own failure, in whichever of the usual shapes it says it.

use serde_json::{Map, Value};

/// A provider's own words about a failure. Unbounded and unescaped as yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reported {
    /// In words.
    pub message: String,
    /// Its class, for example `invalid_request_error`.
    pub class: String,
    /// Its code, for example `context_length_exceeded`; a number is written out.
    pub code: String,
}

impl Reported {
    /// Reads a body that is JSON.
    pub fn parse(body: &[u8]) -> Option<Self> {
        Self::of(&serde_json::from_slice(body).ok()?)
    }

    /// Reads a JSON value: `{"error": {..}}`, `{"error": ".."}`, the fields at the top, a list of
    /// one such, `{"detail": ..}`, or a bare text.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(message) => Some(Self {
                message: message.clone(),
                ..Self::default()
            }),
            Value::Array(list) => list.first().and_then(Self::of),
            Value::Object(fields) => Self::of_fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    fn of_fields(fields: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| match fields.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {
                String::new()
            }
        };
        let first = |a: String, b: String| if a.is_empty() { b } else { a };
        let own = Self {
            message: first(text("message"), text("msg")),
            class: first(text("type"), first(text("error_type"), text("status"))),
            code: text("code"),
        };
        let inner = ["error", "detail", "errors"]
            .iter()
            .find_map(|name| fields.get(*name));
        match inner.and_then(Self::of) {
            Some(inner) => Some(Self {
                message: first(inner.message, own.message),
                class: first(inner.class, own.class),
                code: first(inner.code, own.code),
            }),
            None if own == Self::default() => None,
            None => Some(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(body: &str) -> (String, String, String) {
        let reported = Reported::parse(body.as_bytes()).unwrap();
        (reported.message, reported.class, reported.code)
    }

    #[test]
    fn reads_the_usual_shapes() {
        let said = |message: &str, class: &str, code: &str| {
            (message.to_owned(), class.to_owned(), code.to_owned())
        };
        let nested = r#"{"error":{"message":"m","type":"t","code":7}}"#;
        assert_eq!(parsed(nested), said("m", "t", "7"));
        assert_eq!(parsed(r#"{"error":"m","code":"c"}"#), said("m", "", "c"));
        assert_eq!(
            parsed(r#"{"message":"m","type":"t","code":400}"#),
            said("m", "t", "400")
        );
        let list = r#"[{"error":{"code":429,"message":"m","status":"S"}}]"#;
        assert_eq!(parsed(list), said("m", "S", "429"));
        assert_eq!(
            parsed(r#"{"detail":[{"msg":"m","type":"t"}]}"#),
            said("m", "t", "")
        );
        assert_eq!(Reported::parse(b"{\"error\":null}"), None);
        assert_eq!(Reported::parse(b"<html>"), None);
    }
}
