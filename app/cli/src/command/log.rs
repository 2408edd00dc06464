//! `windlass log`: the envelopes themselves.

use std::time::Duration;

use windlass::core::Seq;
use windlass::ports::codec;

use super::closed;
use crate::args::Log;
use crate::exit::{Exit, Failure};
use crate::present::line;
use crate::signals::Signals;
use crate::wiring::Site;

/// How often a log that another process writes is looked at.
const LOOK: Duration = Duration::from_millis(100);

pub(super) async fn log(args: Log) -> Result<Exit, Failure> {
    let store = Site::new(&args.place)?.open_to_read().await?;
    let (mut signals, _again) = Signals::listen()?;
    let mut after = Seq(args.after);
    loop {
        let facts = store.read(&args.session, after, 1_000).await?;
        for fact in &facts {
            line(&text(fact)?).map_err(closed)?;
            after = fact.seq;
        }
        match (facts.is_empty(), args.follow) {
            (false, _) => {}
            (true, false) => return Ok(Exit::Completed),
            (true, true) => tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                came = signals.next() => return Ok(came.exit),
            },
        }
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
