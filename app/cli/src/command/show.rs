//! `windlass show`: prints a session's story for people, its turns with their cycles, or the full
//! output of one of its calls.

use std::sync::Arc;

use windlass_engine::core::{CallId, RewoundFacts, Seq, SessionId};
use windlass_engine::ports::{BlobStore, LogReader, LogStore};

use super::{closed, cycles::CyclePrinter, ledger::CacheReport, limit_at, output::output};
use crate::args::ShowArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{TurnNumbers, mark_rewound, numbered_story, print_json, print_line};
use crate::wiring::{Adapters, StoreHandle};

pub(super) async fn show(args: ShowArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let (StoreHandle { store, blobs, .. }, damage) = site.open_to_print().await?;
    let id = args.session.resolve(&site, &*store).await?;
    let exit = print(store, &*blobs, id, args).await?;
    damage.map_or(Ok(exit), Err)
}

async fn print(
    store: Arc<dyn LogStore>,
    blobs: &dyn BlobStore,
    id: SessionId,
    args: ShowArgs,
) -> Result<ExitKind, Failure> {
    if let Some(call) = args.output {
        return output(&*store, blobs, &id, CallId(call)).await;
    }
    let most = match args.at {
        Some(at) => limit_at(&*store, &id, Seq(at), Seq::ZERO).await?,
        None => usize::MAX,
    };
    // The others print no marks.
    let rewound = match args.cache || args.json {
        true => RewoundFacts::default(),
        false => rewound_facts(store.clone(), &id, most).await,
    };
    let mut facts = LogReader::new(store, id, Seq::ZERO, most);
    if args.turns {
        return turns(&mut facts, &rewound, args.json).await;
    }
    let mut numbers = TurnNumbers::default();
    let mut cache = args.cache.then(CacheReport::default);
    let damage = loop {
        let fact = match facts.next().await {
            Ok(Some(fact)) => fact,
            Ok(None) => break None,
            Err(error) => break Some(error),
        };
        numbers.apply(&fact);
        let text = match &mut cache {
            Some(cache) => cache.on_fact(&fact),
            None => numbered_story(&fact, &numbers).map(|text| match rewound.includes(&fact) {
                true => mark_rewound(&text),
                false => text,
            }),
        };
        if let Some(text) = text {
            print_line(&text).map_err(closed)?;
        }
    };
    if let Some(cache) = cache {
        print_line(&cache.sum()).map_err(closed)?;
    }
    damage.map_or(Ok(ExitKind::Completed), |error| Err(error.into()))
}

/// Reads the log for what was rewound. Damage ends it, and is reported when the facts are printed.
async fn rewound_facts(store: Arc<dyn LogStore>, session: &SessionId, most: usize) -> RewoundFacts {
    let mut rewound = RewoundFacts::default();
    let mut facts = LogReader::new(store, session.clone(), Seq::ZERO, most);
    while let Ok(Some(fact)) = facts.next().await {
        rewound.apply(&fact);
    }
    rewound
}

/// Prints the turns, one snapshot for each cycle, in log order.
async fn turns(
    facts: &mut LogReader,
    rewound: &RewoundFacts,
    json: bool,
) -> Result<ExitKind, Failure> {
    let mut cycles = CyclePrinter::new(json);
    let print = if json { print_json } else { print_line };
    let damage = loop {
        let fact = match facts.next().await {
            Ok(Some(fact)) => fact,
            Ok(None) => break None,
            Err(error) => break Some(error),
        };
        if let Some(text) = cycles.on_fact(&fact)? {
            let text = match rewound.includes(&fact) {
                true => mark_rewound(&text),
                false => text,
            };
            print(&text).map_err(closed)?;
        }
    };
    if let Some(text) = cycles.unfinished()? {
        print(&text).map_err(closed)?;
    }
    damage.map_or(Ok(ExitKind::Completed), |error| Err(error.into()))
}
