//! `windlass log`: the envelopes themselves.

use std::convert::Infallible;
use std::time::Duration;

use windlass::core::{Seq, SessionId};
use windlass::ports::{LogStore, codec};

use super::closed;
use crate::args::Log;
use crate::exit::{Exit, Failure};
use crate::present::line;
use crate::signals::Signals;
use crate::wiring::Site;

/// How often a log that another process writes is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How many facts are read at a time.
const PAGE: usize = 1_000;

pub(super) async fn log(args: Log) -> Result<Exit, Failure> {
    let store = Site::new(&args.place)?.open_to_read().await?.store;
    let after = Seq(args.after);
    if !args.follow {
        // No signal is listened to: each ends the process at once, as for any program that prints.
        print(store.as_ref(), &args.session, after).await?;
        return Ok(Exit::Completed);
    }
    let (mut signals, _again) = Signals::listen()?;
    tokio::select! {
        never = follow(store.as_ref(), &args.session, after) => match never? {},
        came = signals.next() => Ok(came.exit),
    }
}

/// Prints what the log holds after `after`, and answers the last position.
async fn print(store: &dyn LogStore, session: &SessionId, after: Seq) -> Result<Seq, Failure> {
    let mut after = after;
    loop {
        let facts = store.read(session, after, PAGE).await?;
        for fact in &facts {
            line(&text(fact)?).map_err(closed)?;
            after = fact.seq;
        }
        if facts.is_empty() {
            return Ok(after);
        }
    }
}

/// Prints for ever.
async fn follow(
    store: &dyn LogStore,
    session: &SessionId,
    after: Seq,
) -> Result<Infallible, Failure> {
    let mut after = after;
    loop {
        after = print(store, session, after).await?;
        tokio::time::sleep(LOOK).await;
    }
}

/// An envelope as text, byte for byte as it is stored.
pub(super) fn text(fact: &windlass::core::Recorded) -> Result<String, Failure> {
    let malformed = |error: &dyn std::fmt::Display| {
        Failure::new(
            Exit::Failed,
            format!("fact {} cannot be written: {error}", fact.seq),
        )
    };
    let bytes = codec::encode(fact).map_err(|error| malformed(&error))?;
    String::from_utf8(bytes).map_err(|error| malformed(&error))
}
