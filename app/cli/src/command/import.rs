//! `windlass import`: an exported log, checked whole before anything is written.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use windlass::core::{History, Recorded, Seq, Session, SessionId, opened};
use windlass::ports::{Claimed, LogStore, codec};

use crate::args::Import;
use crate::exit::{Exit, Failure};
use crate::present::tell;
use crate::wiring::Site;

/// The longest line, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;
/// How many facts go into the store at a time.
const PAGE: usize = 1_000;

pub(super) async fn import(args: Import) -> Result<Exit, Failure> {
    let facts = match &args.file {
        Some(path) => read(BufReader::new(open(path)?))?,
        None => read(BufReader::new(std::io::stdin()))?,
    };
    let session = fold(&facts)?;
    let store = Site::new(&args.place)?.open().await?;
    let claim = store.claim(&session.id).await?;
    let claim_epoch = claim.epoch;
    let written = write(store.as_ref(), &session, claim, &facts).await;
    store.release(&session.id, claim_epoch).await?;
    written?;
    tell(&format!(
        "session {}: {} facts imported",
        session.id,
        facts.len()
    ));
    Ok(Exit::Completed)
}

/// Writes what the store does not hold yet. An import that a full disk cut short goes on; a
/// session that is there whole, or another one of that name, is left alone.
async fn write(
    store: &dyn LogStore,
    session: &Session,
    claim: Claimed,
    facts: &[Arc<Recorded>],
) -> Result<(), Failure> {
    let held = usize::try_from(claim.last.0).unwrap_or(usize::MAX);
    let rest = facts.get(held..).unwrap_or_default();
    if held > 0 && (rest.is_empty() || !begins_with(store, &session.id, facts, claim.last).await?) {
        let words = format!(
            "session {} exists in this store already: nothing was written",
            session.id
        );
        return Err(Failure::usage(words));
    }
    let mut after = claim.last;
    for batch in rest.chunks(PAGE) {
        let appended = store.append(&session.id, claim.epoch, after, batch).await;
        appended.map_err(|error| {
            let mut failure = Failure::from(error);
            let more = format!(
                ". {after} of {} facts were written: import again to write the rest, before \
                 anything resumes the session",
                facts.len()
            );
            failure.message.push_str(&more);
            failure
        })?;
        after = batch.last().map_or(after, |fact| fact.seq);
    }
    Ok(())
}

/// Whether the session's log up to `last` is how the import begins.
async fn begins_with(
    store: &dyn LogStore,
    id: &SessionId,
    facts: &[Arc<Recorded>],
    last: Seq,
) -> Result<bool, Failure> {
    let mut imported = facts.iter();
    let mut after = Seq::ZERO;
    while after < last {
        let page = store.read(id, after, PAGE).await?;
        let Some(end) = page.last().map(|fact| fact.seq) else {
            break;
        };
        if !page
            .iter()
            .eq(imported.by_ref().take(page.len()).map(|fact| &**fact))
        {
            return Ok(false);
        }
        after = end;
    }
    Ok(true)
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path)
        .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", path.display())))
}

fn read(mut input: impl BufRead) -> Result<Vec<Arc<Recorded>>, Failure> {
    let mut facts = Vec::new();
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let wrong = |why: &dyn std::fmt::Display| {
            Failure::usage(format!(
                "line {number} of the import: {why}. Nothing was written"
            ))
        };
        let mut one = input.by_ref().take(LONGEST);
        let read = one
            .read_until(b'\n', &mut line)
            .map_err(|error| wrong(&error))?;
        if read == 0 {
            break;
        }
        if line.last() != Some(&b'\n') && read as u64 == LONGEST {
            return Err(wrong(&format!("it is longer than {LONGEST} bytes")));
        }
        let text = line.trim_ascii();
        if !text.is_empty() {
            facts.push(Arc::new(
                codec::decode(text).map_err(|error| wrong(&error))?,
            ));
        }
    }
    Ok(facts)
}

/// The session that the facts fold to: proof that they are a whole log.
fn fold(facts: &[Arc<Recorded>]) -> Result<Session, Failure> {
    let wrong = |why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "the import is not a whole log: {why}. Nothing was written"
        ))
    };
    let (first, rest) = facts.split_first().ok_or_else(|| wrong(&"it is empty"))?;
    let mut session = opened(first).map_err(|misfit| wrong(&misfit))?;
    let mut history = History::default();
    for fact in rest {
        session.apply(fact).map_err(|misfit| wrong(&misfit))?;
        history.apply(fact).map_err(|misfit| wrong(&misfit))?;
    }
    Ok(session)
}
