//! Equality of requests: method, path, and the meaning of the body.

use std::borrow::Cow;

use serde_json::Value;
use windlass_ports::WireRequest;

use crate::cassette::RecordedRequest;
use crate::redaction::Redaction;

/// A request as it is compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestKey {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: ComparedBody,
}

/// A body as it is compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ComparedBody {
    None,
    /// Compared as JSON: the order of keys and white space mean nothing.
    Json(Value),
    Bytes(Vec<u8>),
}

/// Terms under which requests are compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct MatchRules {
    pub(crate) redaction: Redaction,
    /// JSON pointers of what is left out of bodies.
    pub(crate) ignored: Vec<String>,
}

impl MatchRules {
    /// The key of a request that is asked now.
    pub(crate) fn request_key(&self, request: &WireRequest) -> RequestKey {
        let redaction = self.redaction.with(&request.headers);
        RequestKey {
            method: request.method.to_owned(),
            path: redaction.text(path(&request.url)),
            body: match &request.body {
                None => ComparedBody::None,
                Some(body) => self.body(&redaction.bytes(&body.to_bytes())),
            },
        }
    }

    /// The key of a request that was recorded.
    pub(crate) fn recorded_key(&self, asked: &RecordedRequest) -> RequestKey {
        RequestKey {
            method: asked.method.clone(),
            path: self.redaction.text(path(&asked.url)),
            body: match &asked.body {
                None => ComparedBody::None,
                Some(body) => self.body(&self.redaction.bytes(&body.0)),
            },
        }
    }

    fn body(&self, bytes: &[u8]) -> ComparedBody {
        let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else {
            return ComparedBody::Bytes(bytes.to_vec());
        };
        for pointer in &self.ignored {
            remove(&mut value, pointer);
        }
        ComparedBody::Json(value)
    }
}

/// The path of a URL.
fn path(url: &str) -> &str {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let after = url.split_once("://").map_or(url, |(_, after)| after);
    after.find('/').and_then(|at| after.get(at..)).unwrap_or("/")
}

/// Takes out what a pointer names, if it is there. In a list its place stays.
fn remove(value: &mut Value, pointer: &str) {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return;
    };
    match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            let name: Cow<'_, str> = match last.contains('~') {
                true => last.replace("~1", "/").replace("~0", "~").into(),
                false => last.into(),
            };
            fields.remove(name.as_ref());
        }
        Some(Value::Array(list)) => {
            let at = last.parse::<usize>().ok();
            if let Some(item) = at.and_then(|at| list.get_mut(at)) {
                *item = Value::Null;
            }
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_path_is_what_follows_the_host() {
        assert_eq!(path("http://h:1/v1/x?q#f"), "/v1/x");
        assert_eq!(path("http://h"), "/");
        assert_eq!(path("http://h?[redacted]"), "/");
    }

    #[test]
    fn pointers_take_out_what_they_name_and_nothing_else() {
        let mut value = json!({"a": {"b/c": 1, "d": 2}, "l": [1, 2], "s": 3});
        for pointer in ["/a/b~1c", "/l/0", "/l/7", "/none/x", "/s/x", "", "a"] {
            remove(&mut value, pointer);
        }
        assert_eq!(value, json!({"a": {"d": 2}, "l": [null, 2], "s": 3}));
    }
}
