//! Responses: the problems of single routes, and those of all routes. A route describes each status
//! once, with all its codes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::IntoResponses;
use utoipa::openapi::{Ref, RefOr, Response};

/// Problems by their names in the components, each with its status and its codes.
pub(super) const PROBLEMS: &[(&str, &str, &[&str])] = &[
    ("BadRequest", "400", &["bad_request"]),
    ("BadCursor", "400", &["bad_request", "bad_cursor"]),
    ("Unauthorized", "401", &["unauthorized"]),
    ("Forbidden", "403", &["forbidden", "foreign_origin"]),
    ("ForeignOrigin", "403", &["foreign_origin"]),
    ("NoSession", "404", &["no_session"]),
    ("NoTurn", "404", &["no_session", "no_turn"]),
    ("NoInput", "404", &["no_session", "no_input"]),
    ("NoCall", "404", &["no_session", "no_call"]),
    ("SlowRequest", "408", &["slow_request"]),
    (
        "Conflict",
        "409",
        &[
            "nothing_runs",
            "nothing_waits",
            "turn_over",
            "input_not_waiting",
            "input_locked",
            "stopping",
            "not_asked",
            "other_arguments",
            "not_awaited",
            "no_fork_here",
            "turn_running",
            "no_rewind_here",
            "rewind_out_of_reach",
            "queue_full",
            "session_full",
            "held_elsewhere",
            "late",
            "damaged",
        ],
    ),
    ("TooLarge", "413", &["too_large"]),
    ("UnsupportedMedia", "415", &["unsupported_media"]),
    ("ForeignHost", "421", &["foreign_host"]),
    ("KeyReused", "422", &["refused", "key_reused"]),
    ("Refused", "422", &["refused"]),
    (
        "TooMany",
        "429",
        &["too_many_requests", "too_many_sessions", "too_many_bytes", "too_many_turns"],
    ),
    ("Defect", "500", &["defect"]),
    ("Away", "503", &["draining", "busy", "store_away"]),
    ("Waits", "504", &["waits"]),
    ("StoreFull", "507", &["store_full"]),
];

/// Problems of every route, since each request passes the guards. A route's own description of a
/// status takes precedence.
pub(super) const FOR_ALL_ROUTES: &[&str] = &[
    "BadRequest",
    "Forbidden",
    "SlowRequest",
    "TooLarge",
    "ForeignHost",
    "TooMany",
    "Defect",
    "Away",
];
/// Problems of routes that need a token.
pub(super) const WITH_TOKEN: &[&str] = &["Unauthorized"];
/// Problems of routes with a body.
pub(super) const WITH_BODY: &[&str] = &["UnsupportedMedia"];

/// Describes a problem.
pub(super) fn response(status: &str, codes: &[&str]) -> Value {
    let codes: Vec<_> = codes.iter().map(|code| format!("`{code}`")).collect();
    let mut response = json!({
        "description": format!("{}.", codes.join(", ")),
        "content": {"application/problem+json": {
            "schema": {"$ref": "#/components/schemas/Problem"}
        }},
    });
    let header = match status {
        "401" => Some(("WWW-Authenticate", json!({"schema": {"type": "string"}}))),
        "429" | "503" | "504" => {
            let seconds = json!({"schema": {"type": "integer", "minimum": 0},
                                 "description": "After how many seconds to ask again."});
            Some(("Retry-After", seconds))
        }
        _ => None,
    };
    if let Some((name, header)) = header {
        response["headers"] = json!({ name: header });
    }
    response
}

macro_rules! answers {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $(
            $(#[$doc])*
            pub(crate) struct $name;

            impl IntoResponses for $name {
                fn responses() -> BTreeMap<String, RefOr<Response>> {
                    named_responses(stringify!($name))
                }
            }
        )*
    };
}

answers! {
    /// 400, also of a cursor.
    BadCursor,
    /// Answer with status 404.
    NoSession,
    /// 404, also of a turn.
    NoTurn,
    /// 404, also of an input.
    NoInput,
    /// 404, also of a call.
    NoCall,
    /// Answer with status 409.
    Conflict,
    /// Answer with status 422.
    Refused,
    /// 422, also of a key.
    KeyReused,
    /// Answer with status 504.
    Waits,
    /// Answer with status 507.
    StoreFull,
}

fn named_responses(name: &str) -> BTreeMap<String, RefOr<Response>> {
    let known = PROBLEMS.iter().find(|(known, _, _)| *known == name);
    let status = known.map_or("default", |(_, status, _)| status);
    let response = Ref::from_response_name(name);
    BTreeMap::from([(status.to_owned(), RefOr::Ref(response))])
}
