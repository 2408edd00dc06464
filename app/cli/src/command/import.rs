//! `windlass import`: an exported log, checked whole before anything is written.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use windlass::core::{History, Recorded, Seq, Session, opened};
use windlass::ports::codec;

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
    if claim.last > Seq::ZERO {
        store.release(&session.id, claim.epoch).await?;
        let words = format!(
            "session {} exists in this store already: nothing was written",
            session.id
        );
        return Err(Failure::usage(words));
    }
    let mut after = Seq::ZERO;
    for batch in facts.chunks(PAGE) {
        store.append(&session.id, claim.epoch, after, batch).await?;
        after = batch.last().map_or(after, |fact| fact.seq);
    }
    store.release(&session.id, claim.epoch).await?;
    tell(&format!(
        "session {}: {} facts imported",
        session.id,
        facts.len()
    ));
    Ok(Exit::Completed)
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
