//! `windlass verify`: are logs what was written, and do they fit together?

use windlass::core::{Fact, Seq, SessionId};
use windlass::ports::{BlobErrorKind, Blobs, LogStore, SessionFilter};

use super::closed;
use crate::args::Verify;
use crate::exit::{Exit, Failure};
use crate::present::{complain, line, tell};
use crate::wiring::{Opened, Site};

/// How many sessions, or facts, are read at a time.
const PAGE: usize = 1_000;

pub(super) async fn verify(args: Verify) -> Result<Exit, Failure> {
    let site = Site::new(&args.place)?;
    let Opened { store, blobs, .. } = site.open_to_read().await?;
    if let Some(id) = &args.session {
        line(&check(store.as_ref(), blobs.as_ref(), id).await?).map_err(closed)?;
        return Ok(Exit::Completed);
    }
    let mut after: Option<SessionId> = None;
    let mut bad = 0_u64;
    loop {
        let heads = store
            .sessions(SessionFilter::ALL, after.as_ref(), PAGE)
            .await?;
        for head in &heads {
            match check(store.as_ref(), blobs.as_ref(), &head.id).await {
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

/// Checks one session: the store's own checks, whether its facts fold, whether a snapshot is what they
/// fold to, and whether the outputs that they name are what was kept.
async fn check(store: &dyn LogStore, blobs: &dyn Blobs, id: &SessionId) -> Result<String, Failure> {
    let verified = store.verify(id).await?;
    let audited = windlass::audit(store, id, PAGE).await?;
    let last = audited.loaded.last();
    if last < verified.last {
        let words = format!(
            "session {id}: the log holds {} facts, {last} were read",
            verified.last
        );
        return Err(Failure::new(Exit::Store, words));
    }
    if let Some(fault) = &audited.fault {
        let words = format!(
            "session {id}: its log is in order, chain {}, and {fault}. That is a defect, please \
             report it. A snapshot is only a cache: copy the session to another store, which takes \
             none along, and go on there",
            verified.chain
        );
        return Err(Failure::new(Exit::Store, words));
    }
    let snapshot = match audited.snapshot {
        Some(at) => format!(", a snapshot at {at} agrees"),
        None => String::new(),
    };
    let torn = match verified.torn_bytes {
        0 => String::new(),
        bytes => format!(", {bytes} bytes of an append that was never acknowledged"),
    };
    let chain = format!(", chain {}", verified.chain);
    let outputs = outputs(store, blobs, id).await?;
    Ok(format!(
        "{id}: {last} facts in order{torn}{chain}{snapshot}{outputs}"
    ))
}

/// Checks the outputs that are kept beside a log. They stay behind where a log is exported.
async fn outputs(
    store: &dyn LogStore,
    blobs: &dyn Blobs,
    id: &SessionId,
) -> Result<String, Failure> {
    let (mut whole, mut missing) = (0_u64, 0_u64);
    let mut after = Seq::ZERO;
    loop {
        let facts = store.read(id, after, PAGE).await?;
        for fact in &facts {
            after = fact.seq;
            let Fact::CallObserved(observed) = &fact.fact else {
                continue;
            };
            let Some(kept) = &observed.observation.kept else {
                continue;
            };
            match blobs.verify(id, &kept.sha256).await {
                Ok(found) if found == *kept => whole += 1,
                Err(error) if error.kind == BlobErrorKind::NotFound => missing += 1,
                Ok(found) => {
                    let words = format!(
                        "session {id}: the output of call {} has {} bytes, {} were kept",
                        observed.call, found.bytes, kept.bytes
                    );
                    return Err(Failure::new(Exit::Store, words));
                }
                Err(error) => return Err(Failure::new(Exit::Store, error.to_string())),
            }
        }
        if facts.len() < PAGE {
            break;
        }
    }
    let outputs = match whole {
        0 => String::new(),
        1 => ", 1 long output in order".to_owned(),
        many => format!(", {many} long outputs in order"),
    };
    Ok(match missing {
        0 => outputs,
        1 => format!("{outputs}, 1 long output is not in this store"),
        many => format!("{outputs}, {many} long outputs are not in this store"),
    })
}
