//! Beginning a stream: whether its cursor is one, and whether there is room for one more.

use std::sync::Arc;

use windlass_engine::core::SessionId;
use windlass_engine::ports::StoreErrorKind;

use super::cursor::Cursor;
use super::following::Following;
use crate::access::Pass;
use crate::api::failure;
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{Code, Problem};

/// Room for one more stream.
pub(crate) fn room(app: &App, caller: &Caller) -> Result<Pass, Problem> {
    if app.draining() {
        return Err(failure::draining());
    }
    caller.stream(app)
}

/// Begins to tell a client a session's events.
pub(crate) async fn begin(
    app: &Arc<App>,
    caller: Caller,
    id: &SessionId,
    cursor: Cursor,
    pass: Pass,
) -> Result<Following, Problem> {
    // No store counts further.
    if cursor
        .after
        .is_some_and(|after| i64::try_from(after.0).is_err())
    {
        return Err(behind());
    }
    let mut watch = caller.tenant.engine.subscribe(id, cursor.after);
    // Before it is answered: whatever a client does after that is among what it is told.
    match watch.begin().await {
        Ok(_) => Ok(Following::new(
            app.clone(),
            caller,
            pass,
            watch,
            cursor.live,
        )),
        Err(error) if error.kind == StoreErrorKind::Invalid => Err(behind()),
        // It was erased since it was looked up.
        Err(error) if error.kind == StoreErrorKind::Unknown => Err(Problem::no_session()),
        Err(error) => Err(failure::store(&error)),
    }
}

pub(crate) fn behind() -> Problem {
    let detail = "the cursor lies behind the log's end: take the id of an event that was told";
    Problem::new(Code::BadCursor, detail)
}
