//! `windlass export`: a session's log, whole or not at all, and its outputs where they are asked for.

use std::slice;

use windlass::core::{Seq, SessionId};

use super::outputs::Names;
use super::{closed, log, remark};
use crate::args::Export;
use crate::exit::{Exit, Failure};
use crate::present::{line, tell};
use crate::wiring::Site;

/// Checks the log before the first line, so that what comes out is a whole log.
pub(super) async fn export(args: Export) -> Result<Exit, Failure> {
    let opened = Site::new(&args.place)?.open_to_read().await?;
    let store = opened.store;
    let folded = windlass::fold(store.as_ref(), &args.session, 1_000).await?;
    let end = folded.session.next;
    let (mut after, mut names) = (Seq::ZERO, Names::default());
    while after.next() < end {
        for fact in store.read(&args.session, after, 1_000).await? {
            // A session that runs may have grown since it was checked.
            if fact.seq >= end {
                break;
            }
            after = fact.seq;
            names.add(&fact);
            line(&log::text(&fact)?).map_err(closed)?;
        }
    }
    let carry = |agent: &SessionId| format!("windlass export {agent}");
    remark::on_agents_left_behind(store.as_ref(), slice::from_ref(&args.session), carry).await;
    if args.with_outputs {
        let missing = names.print(opened.blobs.as_ref(), &args.session).await?;
        if missing > 0 {
            tell(&format!(
                "{missing} of the outputs and images that the log names are not in this store"
            ));
        }
    }
    Ok(Exit::Completed)
}
