//! `windlass show`: prints a session's story for people, its turns with their cycles, or the full
//! output of one of its calls.

use windlass_engine::core::{CallId, Seq};
use windlass_engine::ports::LogStore;

use super::{closed, cycles::CyclePrinter, ledger::CacheReport, output::output};
use crate::args::ShowArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_line, story};
use crate::wiring::{StoreHandle, Workspace};

pub(super) async fn show(args: ShowArgs) -> Result<ExitKind, Failure> {
    let site = Workspace::new(&args.place)?;
    let StoreHandle { store, blobs, .. } = site.open_to_read().await?;
    if let Some(call) = args.output {
        return output(&*store, &*blobs, &args.session, CallId(call)).await;
    }
    if args.turns {
        return turns(&*store, &args).await;
    }
    let mut after = Seq::ZERO;
    let mut cache = args.cache.then(CacheReport::default);
    loop {
        let facts = store.read(&args.session, after, 1_000).await?;
        let Some(last) = facts.last() else {
            if let Some(cache) = cache {
                print_line(&cache.sum()).map_err(closed)?;
            }
            return Ok(ExitKind::Completed);
        };
        after = last.seq;
        let told = |fact| match &mut cache {
            Some(cache) => cache.on_fact(fact),
            None => story(fact),
        };
        for text in facts.iter().filter_map(told) {
            print_line(&text).map_err(closed)?;
        }
    }
}

/// Prints the turns, one snapshot for each cycle, in log order.
async fn turns(store: &dyn LogStore, args: &ShowArgs) -> Result<ExitKind, Failure> {
    let mut after = Seq::ZERO;
    let mut cycles = CyclePrinter::new(args.json);
    loop {
        let facts = store.read(&args.session, after, 1_000).await?;
        let Some(last) = facts.last() else {
            if let Some(text) = cycles.unfinished()? {
                print_line(&text).map_err(closed)?;
            }
            return Ok(ExitKind::Completed);
        };
        after = last.seq;
        for fact in &facts {
            if let Some(text) = cycles.on_fact(fact)? {
                print_line(&text).map_err(closed)?;
            }
        }
    }
}
