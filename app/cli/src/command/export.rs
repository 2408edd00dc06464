//! `windlass export`: a session's log, whole or not at all.

use windlass::core::Seq;

use super::{closed, log};
use crate::args::One;
use crate::exit::{Exit, Failure};
use crate::present::line;
use crate::wiring::Site;

/// Checks the log before the first line, so that what comes out is a whole log.
pub(super) async fn export(args: One) -> Result<Exit, Failure> {
    let store = Site::new(&args.place)?.open_to_read().await?;
    let loaded = windlass::fold(store.as_ref(), &args.session, 1_000).await?;
    let end = loaded.session.next;
    let mut after = Seq::ZERO;
    while after.next() < end {
        for fact in store.read(&args.session, after, 1_000).await? {
            // A session that runs may have grown since it was checked.
            if fact.seq >= end {
                break;
            }
            after = fact.seq;
            line(&log::text(&fact)?).map_err(closed)?;
        }
    }
    Ok(Exit::Completed)
}
