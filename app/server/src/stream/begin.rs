//! Start of a stream: checks its cursor, and reserves room for it.

use std::sync::Arc;

use windlass_engine::core::SessionId;
use windlass_engine::ports::StoreErrorKind;

use super::client_stream::ClientStream;
use super::cursor::Cursor;
use crate::access::UsagePermit;
use crate::api::failure;
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{Problem, ProblemCode};

/// Reserves room for one more stream.
pub(crate) fn acquire_permit(app: &App, caller: &Caller) -> Result<UsagePermit, Problem> {
    if app.draining() {
        return Err(failure::draining());
    }
    caller.stream_permit(app)
}

/// Opens a stream of a session's events for a client.
pub(crate) async fn open_stream(
    app: &Arc<App>,
    caller: Caller,
    id: &SessionId,
    cursor: Cursor,
    pass: UsagePermit,
) -> Result<ClientStream, Problem> {
    // No store has higher positions.
    if cursor.after.is_some_and(|after| i64::try_from(after.0).is_err()) {
        return Err(behind_log());
    }
    let mut watch = caller.tenant.engine.subscribe(id, caller.scope(), cursor.after);
    // Started before the response, so that the stream includes everything after it.
    match watch.begin().await {
        Ok(_) => Ok(ClientStream::new(app.clone(), caller, pass, watch, cursor.live)),
        Err(error) if error.kind == StoreErrorKind::Invalid => Err(behind_log()),
        // The session was erased after the lookup.
        Err(error) if error.kind == StoreErrorKind::Unknown => Err(Problem::no_session()),
        Err(error) => Err(failure::store(&error)),
    }
}

pub(crate) fn behind_log() -> Problem {
    let detail = "the cursor is beyond the log's end: use the id of a received event";
    Problem::new(ProblemCode::BadCursor, detail)
}
