//! JSON bodies: parsed strictly with a bounded depth; faults become problems.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_engine::ports::json::check;

use crate::object::Object;
use crate::problem::{Problem, ProblemCode};

/// Deepest nesting of a body by default; `serde_json` itself ends at 128.
const DEPTH: usize = 64;

/// JSON body. As a response it is `application/json`.
///
/// An empty body is read as `{}`, so that a body without required fields may be omitted. It is an
/// error if the body has another type, is compressed, is nested too deeply, repeats a key in one
/// object, or does not match its type. The guard limits its size and time before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Json<T>(pub(crate) T);

/// Deepest nesting of this request's body, set by the guard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MaxDepth(pub(crate) usize);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let depth = request.extensions().get().copied();
        let MaxDepth(depth) = depth.unwrap_or(MaxDepth(DEPTH));
        let headers = request.headers().clone();
        let bytes = Bytes::from_request(request, state).await.map_err(|_| {
            Problem::new(ProblemCode::BadRequest, "the body is incomplete: send the request again")
        })?;
        if bytes.is_empty() {
            return parse(b"{}", depth).map(Self);
        }
        is_plain_json(&headers)?;
        parse(&bytes, depth).map(Self)
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

/// Rejects a body that is declared as compressed or as another type than JSON.
pub(crate) fn is_plain_json(headers: &HeaderMap) -> Result<(), Problem> {
    let wrong = |detail| Err(Problem::new(ProblemCode::UnsupportedMedia, detail));
    if headers.contains_key(CONTENT_ENCODING) {
        return wrong("send the body as it is, without Content-Encoding");
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(said), None) = (types.next(), types.next()) else {
        return wrong("send one Content-Type, application/json");
    };
    let said = said.to_str().unwrap_or_default();
    let (media, rest) = said.split_once(';').unwrap_or((said, ""));
    let utf8 = match rest.trim() {
        "" => true,
        rest => rest.split_once('=').is_some_and(|(name, value)| {
            let value = value.trim().trim_matches('"');
            name.trim().eq_ignore_ascii_case("charset") && value.eq_ignore_ascii_case("utf-8")
        }),
    };
    match media.trim().eq_ignore_ascii_case("application/json") && utf8 {
        true => Ok(()),
        false => wrong("send Content-Type: application/json, in UTF-8"),
    }
}

/// Parses the body of a request.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], depth: usize) -> Result<T, Problem> {
    let wrong = |error: serde_json::Error| {
        // The error may quote the client's own text, which may be long.
        let words: String = error.to_string().chars().take(300).collect();
        Problem::new(ProblemCode::BadRequest, format!("cannot read the body: {words}"))
    };
    check(bytes, depth).map_err(|ambiguous| wrong(ambiguous.error))?;
    let read = serde_json::from_slice(bytes).map_err(wrong)?;
    let Object(value) = read;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use serde_json::Value;

    use super::*;

    fn why(body: &str) -> String {
        let problem = parse::<Value>(body.as_bytes(), 4).unwrap_err();
        assert_eq!(problem.code, ProblemCode::BadRequest, "{body}");
        problem.detail.into_owned()
    }

    #[test]
    fn a_body_has_one_reading_and_a_bounded_depth() {
        assert!(parse::<Value>(br#"{"a":[[{"b":1}],{"a":"x"}],"b":-1.5}"#, 4).is_ok());
        assert!(why(r#"{"a":1,"\u0061":2}"#).contains("\"a\" is there twice"));
        assert!(why("[[[[[]]]]]").contains("too deeply"));
        assert!(why(&"[".repeat(100_000)).contains("too deeply"));
        assert!(why("{\"a\":").contains("line 1"));
        for bad in ["", "[]", "null", "{} {}", "{}x", "\u{feff}{}", "NaN", "{'a':1}"] {
            assert!(why(bad).contains("cannot read the body"), "{bad}");
        }
    }

    #[test]
    fn a_form_is_no_json() {
        let with = |name, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            is_plain_json(&headers).is_ok()
        };
        for fine in [
            "application/json",
            "Application/JSON",
            "application/json; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
        ] {
            assert!(with(CONTENT_TYPE, fine), "{fine}");
        }
        for bad in [
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "text/plain",
            "application/jsonx",
            "application/json; charset=latin1",
            "application/json; x=y",
            "",
        ] {
            assert!(!with(CONTENT_TYPE, bad), "{bad}");
        }
        assert!(!with(CONTENT_ENCODING, "gzip"));
        assert!(is_plain_json(&HeaderMap::new()).is_err());
    }
}
