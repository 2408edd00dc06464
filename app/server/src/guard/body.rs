//! Body guard: requires plain JSON of bounded size within a bounded time. It reads the whole body,
//! so that no route can forget a limit.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use bytes::BytesMut;
use futures_util::StreamExt as _;
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;

use crate::app::App;
use crate::caller::Caller;
use crate::json::{MaxDepth, is_plain_json};
use crate::problem::{Problem, ProblemCode};

/// Bytes of one permit of [`App::bodies`].
pub(crate) const UNIT: usize = 1024;

/// Longest wait for more of a body that was refused.
const LINGER: Duration = Duration::from_secs(1);

/// Permit for a body, held until its request was answered.
pub(super) type BodyPermit<'a> = Option<SemaphorePermit<'a>>;

/// Reads the body of a request.
pub(super) async fn read<'a>(
    app: &'a App,
    caller: Option<&Caller>,
    request: Request,
) -> Result<(Request, BodyPermit<'a>), Problem> {
    let (mut parts, body) = request.into_parts();
    parts.extensions.insert(MaxDepth(app.bounds.json_depth));
    if axum::body::HttpBody::is_end_stream(&body) {
        return Ok((Request::from_parts(parts, Body::empty()), None));
    }
    let Some(caller) = caller else {
        // Routes without a token have no body, so it is not read.
        return Ok((Request::from_parts(parts, Body::empty()), None));
    };
    let most = match app.access.quota(&caller.tenant.name).request_bytes {
        0 => app.bounds.body_bytes,
        bytes => usize::try_from(bytes).unwrap_or(usize::MAX),
    };
    let limit = Duration::from_millis(app.bounds.body_ms);
    let mut chunks = body.into_data_stream();
    if declared_length(&parts.headers).is_some_and(|said| said > most) {
        tokio::spawn(timeout(limit, discard(chunks, most)));
        return Err(too_large(most));
    }
    let whole = timeout(limit, whole(app, &mut chunks, most)).await;
    let whole = whole.map_err(|_| {
        let detail = "the body did not arrive in time: send it faster, or in smaller requests";
        Problem::new(ProblemCode::SlowRequest, detail)
    })?;
    if whole.as_ref().is_err_and(|problem| problem.code == ProblemCode::TooLarge) {
        tokio::spawn(timeout(limit, discard(chunks, most)));
    }
    let (bytes, room) = whole?;
    if !bytes.is_empty() {
        is_plain_json(&parts.headers)?;
    }
    Ok((Request::from_parts(parts, Body::from(bytes)), room))
}

/// Reads and discards the rest of a body that is too large, up to a number of bytes. A client that
/// sends all of it reads the answer only then, and loses it if the connection is closed before.
async fn discard(mut chunks: BodyDataStream, most: usize) {
    let mut read = 0_usize;
    while read < most
        && let Ok(Some(Ok(chunk))) = timeout(LINGER, chunks.next()).await
    {
        read = read.saturating_add(chunk.len());
    }
}

async fn whole<'a>(
    app: &'a App,
    chunks: &mut BodyDataStream,
    most: usize,
) -> Result<(Bytes, BodyPermit<'a>), Problem> {
    let mut bytes = BytesMut::new();
    let mut room: BodyPermit<'_> = None;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| {
            Problem::new(ProblemCode::BadRequest, "the body is incomplete: send the request again")
        })?;
        if bytes.len().saturating_add(chunk.len()) > most {
            return Err(too_large(most));
        }
        bytes.extend_from_slice(&chunk);
        // Only received bytes count: a client that announces much and sends little uses no room.
        let held = room.as_ref().map_or(0, SemaphorePermit::num_permits);
        let more = bytes.len().div_ceil(UNIT).saturating_sub(held);
        let Ok(permit) = app.bodies.try_acquire_many(u32::try_from(more).unwrap_or(u32::MAX))
        else {
            let detail = "too much is being sent to the server at once: send it again later";
            return Err(Problem::new(ProblemCode::TooManyRequests, detail).retry_after(1));
        };
        match &mut room {
            Some(room) => room.merge(permit),
            None => room = Some(permit),
        }
    }
    Ok((bytes.freeze(), room))
}

/// Returns the declared length of a body.
fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_large(most: usize) -> Problem {
    let detail = format!("a body may have {most} bytes: send less at a time");
    Problem::new(ProblemCode::TooLarge, detail)
}
