//! `windlass verify`: verifies session logs.

use windlass_engine::core::{Fact, Lineage, RecordedFact, Seq, Session, SessionId};
use windlass_engine::ports::{
    BlobErrorKind, BlobStore, LogStore, SessionFilter, SessionListing, VerifiedLog,
};

use super::{closed, damage};
use crate::args::VerifyArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_error, print_line, print_notice, visible};
use crate::wiring::{Adapters, StoreHandle};

/// Sessions of one listing.
const SESSIONS: usize = 10_000;
/// Sessions that are verified together, and most facts of a log that stay in memory meanwhile.
const BATCH: usize = 64;
const BATCH_FACTS: usize = 64;
/// Facts of one read of a longer log.
const PAGE: usize = 1_000;

pub(super) async fn verify(args: VerifyArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let StoreHandle { store, blobs, .. } = site.open_to_read().await?;
    if let Some(name) = &args.session {
        let id = name.resolve(&site, &*store).await?;
        for log in windlass_engine::verify_logs(&*store, std::slice::from_ref(&id), 0).await {
            let words = check(&*store, blobs.as_ref(), &id, log?).await?;
            print_line(&visible(&words)).map_err(closed)?;
        }
        return Ok(ExitKind::Completed);
    }
    let mut after: Option<SessionId> = None;
    let mut bad = 0_u64;
    loop {
        let heads = store.sessions(SessionFilter::ALL_TENANTS, after.as_ref(), SESSIONS).await?;
        for batch in SessionListing::batches(&heads, BATCH, BATCH_FACTS) {
            bad += check_all(&*store, blobs.as_ref(), batch).await?;
        }
        if after.is_none() && heads.is_empty() {
            print_notice(&format!("there are no sessions in {}", site.store));
        }
        if heads.len() < SESSIONS {
            break;
        }
        after = heads.last().map(|head| head.id.clone());
    }
    bad += damage::report_unfinished(&site).await?;
    let stretches = damage::report_damage(&site).await?;
    let sessions = match bad {
        0 if stretches == 0 => return Ok(ExitKind::Completed),
        0 => String::new(),
        1 => "1 session is not in order".to_owned(),
        bad => format!("{bad} sessions are not in order"),
    };
    Err(damage::verdict(sessions, stretches))
}

/// Checks sessions, prints what was found, and returns the number of those that are not in order.
pub(super) async fn check_all(
    store: &dyn LogStore,
    blobs: &dyn BlobStore,
    heads: &[SessionListing],
) -> Result<u64, Failure> {
    let ids: Vec<SessionId> = heads.iter().map(|head| head.id.clone()).collect();
    let mut bad = 0;
    let mut sound = Vec::with_capacity(ids.len());
    let logs = windlass_engine::verify_logs(store, &ids, BATCH_FACTS).await;
    for (id, log) in ids.iter().zip(logs) {
        let checked = match log {
            Ok(log) => check(store, blobs, id, log).await,
            Err(error) => Err(error.into()),
        };
        match checked {
            Ok(words) => sound.push(visible(&words)),
            Err(failure) => {
                bad += 1;
                print_all(&mut sound)?;
                print_error(&failure.message);
            }
        }
    }
    print_all(&mut sound)?;
    Ok(bad)
}

/// Prints lines at once, and removes them.
fn print_all(lines: &mut Vec<String>) -> Result<(), Failure> {
    if lines.is_empty() {
        return Ok(());
    }
    let printed = print_line(&lines.join("\n")).map_err(closed);
    lines.clear();
    printed
}

/// Checks one session that its store verified: the fold of its facts, that a fork is complete, the
/// checkpoint against that fold, and the outputs and images that the facts name.
async fn check(
    store: &dyn LogStore,
    blobs: &dyn BlobStore,
    id: &SessionId,
    log: VerifiedLog,
) -> Result<String, Failure> {
    let verified = log.verification.clone();
    let mut named = Vec::new();
    let mut each = |fact: &RecordedFact| {
        let is_input = matches!(fact.fact, Fact::InputQueued(_));
        named.extend(fact.fact.blobs().map(|(sha256, bytes)| NamedBlob {
            at: fact.seq,
            is_input,
            sha256: sha256.to_owned(),
            bytes,
        }));
    };
    let audited = windlass_engine::audit(store, id, PAGE, log, &mut each).await?;
    let last = audited.loaded.last();
    if last < verified.last {
        let words =
            format!("session {id}: the log holds {} facts, {last} were read", verified.last);
        return Err(Failure::new(ExitKind::Store, words));
    }
    if let Some(fault) = &audited.fault {
        let words = format!(
            "session {id}: its log is in order, chain {}, and {fault}. That is a defect, please \
             report it. A checkpoint is only a cache: copy the session to another store, \
             without it, and continue there",
            verified.chain
        );
        return Err(Failure::new(ExitKind::Store, words));
    }
    if let Some(words) = incomplete_fork(&audited.loaded.session) {
        return Err(Failure::new(ExitKind::Store, words));
    }
    let snapshot = match audited.checkpoint {
        Some(at) => format!(", a checkpoint at {at} agrees"),
        None => String::new(),
    };
    let torn = match verified.torn_bytes {
        0 => String::new(),
        bytes => format!(", {bytes} bytes of an unfinished append"),
    };
    let chain = format!(", chain {}", verified.chain);
    let outputs = outputs(blobs, id, &named).await?;
    Ok(format!("{id}: {last} facts in order{torn}{chain}{snapshot}{outputs}"))
}

/// Returns what is to be done about a fork whose writer was interrupted; `None` for other sessions.
fn incomplete_fork(session: &Session) -> Option<String> {
    let at = session.missing_up_to()?;
    let Lineage::Fork { of, .. } = &*session.lineage else { return None };
    let (id, last) = (&session.id, session.next.0.saturating_sub(1));
    Some(format!(
        "session {id} is an incomplete fork of {of}: it has {last} of {at} facts. If nothing writes \
         it now, `windlass fork {of} --at {at} --as {id}` completes it, and `windlass erase {id} \
         --yes` removes it"
    ))
}

/// Blob that a fact names.
struct NamedBlob {
    /// Position of the fact.
    at: Seq,
    /// True for an image of an input.
    is_input: bool,
    sha256: String,
    bytes: u64,
}

/// Verifies the blobs of a log: long outputs, and images of inputs.
async fn outputs(
    blobs: &dyn BlobStore,
    id: &SessionId,
    named: &[NamedBlob],
) -> Result<String, Failure> {
    let (mut outputs, mut images) = (BlobCounts::default(), BlobCounts::default());
    for NamedBlob { at, is_input, sha256, bytes } in named {
        let (beside, what) = match is_input {
            true => (&mut images, "image"),
            false => (&mut outputs, "output"),
        };
        match blobs.verify(id, sha256).await {
            Ok(found) if found.bytes == *bytes => beside.intact += 1,
            Err(error) if error.kind == BlobErrorKind::NotFound => beside.missing += 1,
            Ok(found) => {
                let words = format!(
                    "session {id}, fact {at}: the {what} {sha256} has {} bytes, {bytes} were \
                     stored",
                    found.bytes
                );
                return Err(Failure::new(ExitKind::Store, words));
            }
            Err(error) => return Err(Failure::new(ExitKind::Store, error.to_string())),
        }
    }
    Ok(outputs.words("long output") + &images.words("image"))
}

/// Numbers of intact and of missing objects of one kind.
#[derive(Debug, Default)]
struct BlobCounts {
    intact: u64,
    missing: u64,
}

impl BlobCounts {
    fn words(&self, one: &str) -> String {
        let whole = match self.intact {
            0 => String::new(),
            1 => format!(", 1 {one} in order"),
            many => format!(", {many} {one}s in order"),
        };
        match self.missing {
            0 => whole,
            1 => format!("{whole}, 1 {one} is not in this store"),
            many => format!("{whole}, {many} {one}s are not in this store"),
        }
    }
}
