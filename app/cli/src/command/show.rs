//! `windlass show`: a session's story, for people; its turns, cycle by cycle; or the whole output of
//! one of its calls.

use windlass_engine::core::{CallId, Seq};
use windlass_engine::ports::LogStore;

use super::{closed, cycles::Cycles, ledger::CacheStory, output::output};
use crate::args::Show;
use crate::exit::{Exit, Failure};
use crate::present::{line, story};
use crate::wiring::{Opened, Site};

pub(super) async fn show(args: Show) -> Result<Exit, Failure> {
    let site = Site::new(&args.place)?;
    let Opened { store, blobs, .. } = site.open_to_read().await?;
    if let Some(call) = args.output {
        return output(&*store, &*blobs, &args.session, CallId(call)).await;
    }
    if args.turns {
        return turns(&*store, &args).await;
    }
    let mut after = Seq::ZERO;
    let mut cache = args.cache.then(CacheStory::default);
    loop {
        let facts = store.read(&args.session, after, 1_000).await?;
        let Some(last) = facts.last() else {
            if let Some(cache) = cache {
                line(&cache.sum()).map_err(closed)?;
            }
            return Ok(Exit::Completed);
        };
        after = last.seq;
        let told = |fact| match &mut cache {
            Some(cache) => cache.tell(fact),
            None => story(fact),
        };
        for text in facts.iter().filter_map(told) {
            line(&text).map_err(closed)?;
        }
    }
}

/// Tells of the turns, a snapshot a cycle, in the order of the log.
async fn turns(store: &dyn LogStore, args: &Show) -> Result<Exit, Failure> {
    let mut after = Seq::ZERO;
    let mut cycles = Cycles::new(args.json);
    loop {
        let facts = store.read(&args.session, after, 1_000).await?;
        let Some(last) = facts.last() else {
            if let Some(text) = cycles.unfinished()? {
                line(&text).map_err(closed)?;
            }
            return Ok(Exit::Completed);
        };
        after = last.seq;
        for fact in &facts {
            if let Some(text) = cycles.tell(fact)? {
                line(&text).map_err(closed)?;
            }
        }
    }
}
