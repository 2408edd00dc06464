//! Beginning a stream: whether its cursor is one, and whether there is room for one more.

use std::sync::Arc;

use windlass::core::{Seq, SessionId};
use windlass::ports::StoreErrorKind;

use super::cursor::Cursor;
use super::following::Following;
use crate::api::{Read, Seen, failure};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{Code, Problem};

/// Begins to tell a client a session's events.
pub(super) async fn begin(
    app: &Arc<App>,
    seen: Seen<Read>,
    cursor: Cursor,
) -> Result<Following, Problem> {
    let Seen { caller, id, .. } = seen;
    if app.draining() {
        return Err(failure::draining());
    }
    let pass = caller.stream(app)?;
    if let Some(after) = cursor.after {
        reached(&caller, &id, after).await?;
    }
    Ok(Following::new(app.clone(), caller, pass, &id, cursor))
}

/// Goes on only if the log has this position.
async fn reached(caller: &Caller, session: &SessionId, after: Seq) -> Result<(), Problem> {
    if after == Seq::ZERO {
        return Ok(());
    }
    let behind = || {
        let detail = "the cursor lies behind the log's end: take the id of an event that was told";
        Problem::new(Code::BadCursor, detail)
    };
    // No store counts further.
    if i64::try_from(after.0).is_err() {
        return Err(behind());
    }
    let store = &caller.tenant.store;
    let at = store.read(session, Seq(after.0.saturating_sub(1)), 1).await;
    match at {
        Ok(facts) if facts.is_empty() => Err(behind()),
        Ok(_) => Ok(()),
        // It was erased since it was looked up.
        Err(error) if error.kind == StoreErrorKind::Unknown => Err(Problem::no_session()),
        Err(error) => Err(failure::store(&error)),
    }
}
