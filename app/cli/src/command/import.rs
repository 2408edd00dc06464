//! `windlass import`: an exported log, checked whole before anything is written.

use std::sync::Arc;

use windlass::Parts;
use windlass::core::{Misfit, Recorded, Seq, SessionId};
use windlass::ports::{Blobs, Claimed, Link, LogStore, Verified, codec};

use super::lines::{self, Again, Lines};
use super::outputs::{Names, Taking};
use super::whole::{Head, Whole};
use crate::args::Import;
use crate::exit::{Exit, Failure};
use crate::present::tell;
use crate::wiring::Site;

pub(super) async fn import(args: Import) -> Result<Exit, Failure> {
    let (mut lines, mut again) = lines::open(args.file.as_deref())?;
    let checked = check(&mut lines, &mut again)?;
    if checked.head.is_none() {
        tell(
            "this export says no chain, as those of earlier versions: that it fits together was checked, \
             and not that it is what was exported",
        );
    }
    let opened = Site::new(&args.place)?.open().await?;
    let (store, id) = (opened.store.as_ref(), checked.whole.id());
    let claim = store.claim(id).await?;
    let epoch = claim.epoch;
    let written = match write(store, &checked, claim, again).await {
        Ok(()) => outputs(&mut lines, opened.blobs.as_ref(), &checked).await,
        Err(failure) => Err(failure),
    };
    store.release(id, epoch).await?;
    let outputs = match written? {
        0 => String::new(),
        1 => ", 1 output".to_owned(),
        many => format!(", {many} outputs"),
    };
    let Whole { chain, .. } = checked.whole;
    tell(&format!(
        "session {id}: {} facts imported{outputs}, chain {chain}",
        checked.whole.last()
    ));
    Ok(Exit::Completed)
}

/// An import that was read up to the end of its facts.
struct Checked {
    head: Option<Head>,
    whole: Whole,
    names: Names,
    /// Whether outputs follow.
    outputs: bool,
}

/// Reads the facts of an import: they must be a whole log, as `windlass export` wrote it.
fn check(lines: &mut Lines, again: &mut Again) -> Result<Checked, Failure> {
    let not_whole = |why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "the import is not a whole log: {why}. Nothing was written"
        ))
    };
    let misfit = |misfit: Misfit| not_whole(&misfit);
    let (mut head, mut whole, mut names) = (None, None::<Whole>, Names::default());
    let outputs = loop {
        let more = lines.next().map_err(|why| lines.wrong(&why))?;
        if !more || lines.is_outputs() {
            break more;
        }
        if lines.is_head() && head.is_none() && whole.is_none() {
            head = Some(Head::read(lines.text()).map_err(|why| lines.wrong(&why))?);
            continue;
        }
        let fact = fact(lines).map_err(|why| lines.wrong(&why))?;
        again.keep(lines.text())?;
        names.add(&fact);
        match &mut whole {
            None => whole = Some(Whole::open(&fact, lines.text()).map_err(misfit)?),
            Some(whole) => whole.take(&fact, lines.text()).map_err(misfit)?,
        }
    };
    let whole = whole.ok_or_else(|| not_whole(&"it is empty"))?;
    if let Some(why) = head.as_ref().and_then(|head| head.differs(&whole)) {
        return Err(Failure::usage(format!(
            "the import is not what was exported: {why}. Nothing was written"
        )));
    }
    Ok(Checked {
        head,
        whole,
        names,
        outputs,
    })
}

/// The fact of a line, which must be written as every store and every export writes it.
fn fact(lines: &Lines) -> Result<Recorded, String> {
    let fact = codec::decode(lines.text()).map_err(|error| error.to_string())?;
    let text = codec::encode(&fact).map_err(|error| error.to_string())?;
    match text == lines.text() {
        true => Ok(fact),
        false => Err("it is a fact in another form than an export writes it in".to_owned()),
    }
}

/// Writes what the store does not hold yet. An import that a full disk cut short goes on; a
/// session that is there whole, or another one of that name, is left alone.
async fn write(
    store: &dyn LogStore,
    checked: &Checked,
    claim: Claimed,
    again: Again,
) -> Result<(), Failure> {
    let (id, last) = (checked.whole.id(), checked.whole.last());
    let held = claim.last;
    // Outputs of a log that is there whole may be missing yet.
    let done = held > last || (held == last && !checked.outputs);
    if done {
        return Err(exists(id));
    }
    let mut facts = again.lines()?;
    let (mut link, mut parts) = (Link::genesis(id), Parts::default());
    let mut after = Seq::ZERO;
    while after < last {
        let fact = match facts.next() {
            Ok(true) if facts.is_head() => continue,
            Ok(true) => fact(&facts).map_err(|_| changed())?,
            Ok(false) | Err(_) => return Err(changed()),
        };
        if fact.seq <= held {
            link = link.then(facts.text());
            after = fact.seq;
            if after == held && store.verify(id).await?.chain != link {
                return Err(exists(id));
            }
            continue;
        }
        after = fact.seq;
        let part = parts.push(Arc::new(fact), facts.text().len());
        append(store, id, &claim, last, &part).await?;
    }
    append(store, id, &claim, last, &parts.rest()).await?;
    let Verified {
        last: there, chain, ..
    } = store.verify(id).await?;
    if (there, chain) == (last, checked.whole.chain) {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Store,
        format!(
            "session {id} was imported with {last} facts and the chain {}, and the store verifies {there} \
             with {chain}: the file was changed meanwhile, or that is a defect of the store. Do not use \
             the session",
            checked.whole.chain
        ),
    ))
}

async fn append(
    store: &dyn LogStore,
    id: &SessionId,
    claim: &Claimed,
    last: Seq,
    part: &[Arc<Recorded>],
) -> Result<(), Failure> {
    let Some(first) = part.first() else {
        return Ok(());
    };
    let after = Seq(first.seq.0.saturating_sub(1));
    let appended = store.append(id, claim.epoch, after, part).await;
    appended.map_err(|error| {
        let mut failure = Failure::from(error);
        failure.message.push_str(&format!(
            ". {after} of {last} facts were written: import again to write the rest, before anything \
             resumes the session"
        ));
        failure
    })
}

fn exists(id: &SessionId) -> Failure {
    Failure::usage(format!(
        "session {id} exists in this store already: nothing was written"
    ))
}

fn changed() -> Failure {
    let words =
        "the file was changed while it was imported: import again, with a file that stays as it is";
    Failure::new(Exit::Failed, words)
}

/// Writes the outputs that follow the facts, and answers how many.
async fn outputs(lines: &mut Lines, blobs: &dyn Blobs, checked: &Checked) -> Result<u64, Failure> {
    let mut taking = Taking {
        blobs,
        session: checked.whole.id(),
        names: &checked.names,
        open: None,
        taken: 0,
    };
    let wrong = |number: u64, taken: u64, why: String| {
        let words = format!(
            "line {number} of the import: {why}. The facts and {taken} outputs were written: import \
             again, with a whole file, to write the rest"
        );
        Failure::new(Exit::Store, words)
    };
    while !lines.text().is_empty() {
        if let Err(why) = taking.take(lines.text()).await {
            return Err(wrong(lines.number(), taking.taken, why));
        }
        if let Err(why) = lines.next() {
            return Err(wrong(lines.number(), taking.taken, why));
        }
    }
    if let Err(why) = taking.end() {
        return Err(wrong(lines.number(), taking.taken, why));
    }
    let exported = checked.head.as_ref().map(|head| head.outputs.unwrap_or(0));
    if let Some(exported) = exported.filter(|exported| *exported != taking.taken) {
        let why = format!("it ends, and {exported} outputs were exported");
        return Err(wrong(lines.number(), taking.taken, why));
    }
    Ok(taking.taken)
}
