//! `windlass show`: a session's story, for people; or the whole output of one of its calls.

use windlass::core::{CallId, Seq};

use super::{closed, output::output};
use crate::args::Show;
use crate::exit::{Exit, Failure};
use crate::present::{line, story};
use crate::wiring::Site;

pub(super) async fn show(args: Show) -> Result<Exit, Failure> {
    let site = Site::new(&args.place)?;
    let store = site.open_to_read().await?;
    if let Some(call) = args.output {
        let blobs = site.store.blobs();
        return output(&*store, &*blobs, &args.session, CallId(call)).await;
    }
    let mut after = Seq::ZERO;
    loop {
        let facts = store.read(&args.session, after, 1_000).await?;
        let Some(last) = facts.last() else {
            return Ok(Exit::Completed);
        };
        after = last.seq;
        for text in facts.iter().filter_map(story) {
            line(&text).map_err(closed)?;
        }
    }
}
