//! Cursor: the start position and kinds of the events that a client requests.

use axum::http::{HeaderMap, Uri};
use serde::Deserialize;
use utoipa::IntoParams;
use windlass_engine::core::Seq;

use crate::problem::{Problem, ProblemCode};

/// Header with which a browser names its last event.
const LAST_EVENT_ID: &str = "last-event-id";

/// Parameters of a request for events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// Events after this position; `now` for future events only. The header `Last-Event-ID` takes
    /// precedence.
    #[param(example = "41")]
    after: Option<String>,
    /// True to include live events.
    #[param(default = true)]
    live: Option<bool>,
    /// A ticket in place of a token, for clients that cannot send a header.
    ticket: Option<String>,
}

/// Position of a client, and the events that it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestedPosition {
    /// Position to start after, or the present; `None` if the request has no position.
    pub(crate) from: Option<Option<Seq>>,
    /// True to include live events.
    pub(crate) live: bool,
}

/// Start position and kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Position to start after; `None` for the present.
    pub(crate) after: Option<Seq>,
    /// True to include live events.
    pub(crate) live: bool,
}

impl Cursor {
    /// Reads the cursor of a request.
    ///
    /// # Errors
    /// `bad_request` when the query is malformed, `bad_cursor` when the cursor is invalid.
    pub(crate) fn of(uri: &Uri, headers: &HeaderMap) -> Result<Self, Problem> {
        let RequestedPosition { from, live } = Self::requested(uri, headers)?;
        let after = from.unwrap_or(Some(Seq::ZERO));
        Ok(Self { after, live })
    }

    /// Reads the parameters of a request.
    ///
    /// # Errors
    /// As [`Cursor::of`].
    pub(crate) fn requested(uri: &Uri, headers: &HeaderMap) -> Result<RequestedPosition, Problem> {
        let asked = axum::extract::Query::<EventsQuery>::try_from_uri(uri);
        let axum::extract::Query(asked) = asked.map_err(|error| {
            let detail = format!("the query: {}", error.body_text());
            Problem::new(ProblemCode::BadRequest, detail)
        })?;
        let from = match headers.get(LAST_EVENT_ID) {
            Some(sent) => Some(Some(position(sent.to_str().unwrap_or_default())?)),
            None => match asked.after.as_deref() {
                Some("now") => Some(None),
                Some(sent) => Some(Some(position(sent)?)),
                None => None,
            },
        };
        Ok(RequestedPosition { from, live: asked.live.unwrap_or(true) })
    }
}

/// Parses a position: digits only.
fn position(sent: &str) -> Result<Seq, Problem> {
    let digits = !sent.is_empty() && sent.bytes().all(|byte| byte.is_ascii_digit());
    let read = digits.then(|| sent.parse().ok()).flatten();
    read.map(Seq).ok_or_else(|| {
        let detail = "a cursor is the id of the last event that you have, a number, or now";
        Problem::new(ProblemCode::BadCursor, detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(query: &str, header: Option<&str>) -> Result<Cursor, ProblemCode> {
        let uri = format!("/v1/sessions/s/events{query}").parse().unwrap();
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert(LAST_EVENT_ID, header.parse().unwrap());
        }
        Cursor::of(&uri, &headers).map_err(|problem| problem.code)
    }

    #[test]
    fn a_cursor_is_a_position_or_now() {
        let from = |after, live| Ok(Cursor { after, live });
        assert_eq!(cursor("", None), from(Some(Seq::ZERO), true));
        assert_eq!(cursor("?after=now", None), from(None, true));
        assert_eq!(cursor("?after=7&live=false", None), from(Some(Seq(7)), false));
        let all = format!("?after={}&ticket=t", u64::MAX);
        assert_eq!(cursor(&all, None), from(Some(Seq(u64::MAX)), true));
    }

    #[test]
    fn the_header_counts_before_the_query() {
        let seven = Ok(Cursor { after: Some(Seq(7)), live: true });
        assert_eq!(cursor("?after=3", Some("7")), seven);
        assert_eq!(cursor("?after=now", Some("7")), seven);
        assert_eq!(cursor("?after=7", Some("")), Err(ProblemCode::BadCursor));
    }

    #[test]
    fn garbage_is_no_cursor() {
        let beyond = "18446744073709551616";
        for bad in
            ["", "-1", "+1", "1.0", "0x1", "1 ", " 1", "NOW", "first", beyond, "%00", "%C3%A9"]
        {
            let query = format!("?after={}", bad.replace(' ', "%20").replace('+', "%2B"));
            assert_eq!(cursor(&query, None), Err(ProblemCode::BadCursor), "{bad:?}");
        }
        for bad in ["now", "-1", "1,2", beyond] {
            assert_eq!(cursor("", Some(bad)), Err(ProblemCode::BadCursor), "{bad:?}");
        }
    }

    #[test]
    fn a_query_that_does_not_read_is_no_request() {
        for bad in ["?live=perhaps", "?before=1", "?after=1&after=2", "?live="] {
            assert_eq!(cursor(bad, None), Err(ProblemCode::BadRequest), "{bad}");
        }
    }
}
