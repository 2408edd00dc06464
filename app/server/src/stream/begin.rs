//! Beginning a stream: whether its cursor is one, and whether there is room for one more.

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

/// Room for one more stream.
pub(crate) fn acquire_permit(app: &App, caller: &Caller) -> Result<UsagePermit, Problem> {
    if app.draining() {
        return Err(failure::draining());
    }
    caller.stream_permit(app)
}

/// Begins to tell a client a session's events.
pub(crate) async fn open_stream(
    app: &Arc<App>,
    caller: Caller,
    id: &SessionId,
    cursor: Cursor,
    pass: UsagePermit,
) -> Result<ClientStream, Problem> {
    // No store counts further.
    if cursor
        .after
        .is_some_and(|after| i64::try_from(after.0).is_err())
    {
        return Err(behind_log());
    }
    let mut watch = caller.tenant.engine.subscribe(id, cursor.after);
    // Before it is answered: whatever a client does after that is among what it is told.
    match watch.begin().await {
        Ok(_) => Ok(ClientStream::new(
            app.clone(),
            caller,
            pass,
            watch,
            cursor.live,
        )),
        Err(error) if error.kind == StoreErrorKind::Invalid => Err(behind_log()),
        // It was erased since it was looked up.
        Err(error) if error.kind == StoreErrorKind::Unknown => Err(Problem::no_session()),
        Err(error) => Err(failure::store(&error)),
    }
}

pub(crate) fn behind_log() -> Problem {
    let detail = "the cursor is beyond the log's end: use the id of a received event";
    Problem::new(ProblemCode::BadCursor, detail)
}
