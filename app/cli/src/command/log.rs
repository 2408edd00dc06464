//! `windlass log`: prints the envelopes of a log.

use std::convert::Infallible;
use std::time::Duration;

use windlass_engine::core::{RecordedFact, Seq};
use windlass_engine::ports::{self, LogStore, codec};

use super::closed;
use crate::args::LogArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::print_json;
use crate::signals::Signals;
use crate::wiring::{Adapters, StoreHandle};

/// Polling interval for a store that does not report growth.
const POLL: Duration = Duration::from_millis(100);
/// Longest wait for a store at a time; an erased session is noticed after it.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Callback for each fact.
type FactCallback<'a> = dyn FnMut(&RecordedFact) -> Result<(), Failure> + Send + 'a;

pub(super) async fn log(args: LogArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let (StoreHandle { store, .. }, damage) = site.open_to_print().await?;
    let session = args.session.resolve(&site, &*store).await?;
    let most = match args.at {
        Some(at) => super::limit_at(store.as_ref(), &session, Seq(at), Seq(args.after)).await?,
        None => usize::MAX,
    };
    let mut facts = ports::LogReader::new(store.clone(), session, Seq(args.after), most);
    let mut print = |fact: &RecordedFact| print_json(&text(fact)?).map_err(closed);
    if !args.follow {
        // No signal handler: each signal ends the process at once, as for any program that prints.
        all(&mut facts, &mut print).await?;
        return damage.map_or(Ok(ExitKind::Completed), Err);
    }
    let (mut signals, _again) = Signals::listen()?;
    tokio::select! {
        never = follow(store.as_ref(), &mut facts, &mut print) => match never? {},
        came = signals.next() => Ok(came.exit),
    }
}

/// Passes on all further facts of the log.
async fn all(facts: &mut ports::LogReader, each: &mut FactCallback<'_>) -> Result<(), Failure> {
    while let Some(fact) = facts.next().await? {
        each(&fact)?;
    }
    Ok(())
}

/// Passes on all facts of the log, and those that are appended later. Never returns.
async fn follow(
    store: &dyn LogStore,
    facts: &mut ports::LogReader,
    each: &mut FactCallback<'_>,
) -> Result<Infallible, Failure> {
    let tails = store.capabilities().tail_delay_ms.is_some();
    loop {
        all(facts, each).await?;
        match tails {
            true => {
                let tail = store.tail(facts.session(), facts.position(), MAX_WAIT);
                tail.await?;
            }
            false => tokio::time::sleep(POLL).await,
        }
    }
}

/// Returns an envelope as text, byte for byte as it is stored.
pub(super) fn text(fact: &RecordedFact) -> Result<String, Failure> {
    let malformed = |error: &dyn std::fmt::Display| {
        Failure::new(ExitKind::Failed, format!("cannot write fact {}: {error}", fact.seq))
    };
    let bytes = codec::encode(fact).map_err(|error| malformed(&error))?;
    String::from_utf8(bytes).map_err(|error| malformed(&error))
}

#[cfg(test)]
mod tests;
