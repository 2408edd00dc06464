//! `windlass show`: a session's story, for people.

use windlass::core::Seq;

use super::closed;
use crate::args::One;
use crate::exit::{Exit, Failure};
use crate::present::{line, story};
use crate::wiring::Site;

pub(super) async fn show(args: One) -> Result<Exit, Failure> {
    let store = Site::new(&args.place)?.open_to_read().await?;
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
