//! `windlass verify`: are logs what was written, and do they fit together?

use windlass::core::{Seq, SessionId};
use windlass::ports::LogStore;

use super::closed;
use crate::args::Verify;
use crate::exit::{Exit, Failure};
use crate::present::{complain, line, tell};
use crate::wiring::Site;

pub(super) async fn verify(args: Verify) -> Result<Exit, Failure> {
    let site = Site::new(&args.place)?;
    let store = site.open_to_read().await?;
    if let Some(id) = &args.session {
        line(&check(store.as_ref(), id).await?).map_err(closed)?;
        return Ok(Exit::Completed);
    }
    let mut after: Option<SessionId> = None;
    let mut bad = 0_u64;
    loop {
        let heads = store.sessions(after.as_ref(), 1_000).await?;
        for head in &heads {
            match check(store.as_ref(), &head.id).await {
                Ok(words) => line(&words).map_err(closed)?,
                Err(failure) => {
                    bad += 1;
                    complain(&failure.message);
                }
            }
        }
        if after.is_none() && heads.is_empty() {
            tell(&format!("there are no sessions in {}", site.store));
        }
        let Some(last) = heads.last() else { break };
        after = Some(last.id.clone());
    }
    match bad {
        0 => Ok(Exit::Completed),
        1 => Err(Failure::new(Exit::Store, "1 session is not in order")),
        bad => Err(Failure::new(
            Exit::Store,
            format!("{bad} sessions are not in order"),
        )),
    }
}

/// Checks one session: the store's own checks, then whether its facts fold.
async fn check(store: &dyn LogStore, id: &SessionId) -> Result<String, Failure> {
    let verified = store.verify(id).await?;
    let loaded = windlass::load(store, id, 1_000).await?;
    let last = Seq(loaded.session.next.0.saturating_sub(1));
    if last < verified.last {
        let words = format!(
            "session {id}: the log holds {} facts, {last} were read",
            verified.last
        );
        return Err(Failure::new(Exit::Store, words));
    }
    let torn = match verified.torn_bytes {
        0 => String::new(),
        bytes => format!(", {bytes} bytes of an append that was never acknowledged"),
    };
    let chain = verified
        .chain
        .map(|link| format!(", chain {link}"))
        .unwrap_or_default();
    Ok(format!("{id}: {last} facts in order{torn}{chain}"))
}
