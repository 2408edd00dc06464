//! `windlass import`: an exported log, checked whole before anything is written.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use windlass::core::{History, Recorded, Seq, Session, SessionId, opened};
use windlass::ports::{Blobs, Claimed, LogStore, codec};

use super::outputs::{self, Names, Taking};
use crate::args::Import;
use crate::exit::{Exit, Failure};
use crate::present::tell;
use crate::wiring::Site;

/// The longest line, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;
/// How many facts go into the store at a time.
const PAGE: usize = 1_000;

pub(super) async fn import(args: Import) -> Result<Exit, Failure> {
    let mut lines = match &args.file {
        Some(path) => Lines::new(Box::new(BufReader::new(open(path)?))),
        None => Lines::new(Box::new(BufReader::new(std::io::stdin()))),
    };
    let facts = read(&mut lines)?;
    let session = fold(&facts)?;
    let opened = Site::new(&args.place)?.open().await?;
    let store = opened.store.as_ref();
    let claim = store.claim(&session.id).await?;
    let claim_epoch = claim.epoch;
    let written = match write(store, &session, claim, &facts, lines.is_outputs()).await {
        Ok(()) => outputs(&mut lines, opened.blobs.as_ref(), &session.id, &facts).await,
        Err(failure) => Err(failure),
    };
    store.release(&session.id, claim_epoch).await?;
    let outputs = match written? {
        0 => String::new(),
        1 => ", 1 output".to_owned(),
        many => format!(", {many} outputs"),
    };
    tell(&format!(
        "session {}: {} facts imported{outputs}",
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
    outputs: bool,
) -> Result<(), Failure> {
    let held = usize::try_from(claim.last.0).unwrap_or(usize::MAX);
    let rest = facts.get(held..).unwrap_or_default();
    // Outputs of a log that is there whole may be missing yet.
    let done = rest.is_empty() && !(outputs && held == facts.len());
    if held > 0 && (done || !begins_with(store, &session.id, facts, claim.last).await?) {
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

/// The lines of an import, one at a time.
struct Lines {
    input: Box<dyn BufRead + Send>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    fn new(input: Box<dyn BufRead + Send>) -> Self {
        Self {
            input,
            line: Vec::new(),
            number: 0,
        }
    }

    /// Goes to the next line that is not empty; false at the end.
    fn next(&mut self) -> Result<bool, String> {
        loop {
            self.line.clear();
            self.number = self.number.saturating_add(1);
            let mut one = self.input.by_ref().take(LONGEST);
            let read = one.read_until(b'\n', &mut self.line);
            let read = read.map_err(|error| error.to_string())?;
            if read == 0 {
                return Ok(false);
            }
            if self.line.last() != Some(&b'\n') && read as u64 == LONGEST {
                return Err(format!("it is longer than {LONGEST} bytes"));
            }
            if !self.text().is_empty() {
                return Ok(true);
            }
        }
    }

    fn text(&self) -> &[u8] {
        self.line.trim_ascii()
    }

    /// Whether this line is of an output, and not a fact.
    fn is_outputs(&self) -> bool {
        self.text().starts_with(outputs::BEGINS)
    }

    fn wrong(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::usage(format!(
            "line {} of the import: {why}. Nothing was written",
            self.number
        ))
    }
}

/// The facts of an import, up to the first line of an output.
fn read(lines: &mut Lines) -> Result<Vec<Arc<Recorded>>, Failure> {
    let mut facts = Vec::new();
    loop {
        let more = lines.next().map_err(|why| lines.wrong(&why))?;
        if !more || lines.is_outputs() {
            return Ok(facts);
        }
        let fact = codec::decode(lines.text()).map_err(|error| lines.wrong(&error))?;
        facts.push(Arc::new(fact));
    }
}

/// Writes the outputs that follow the facts, and answers how many.
async fn outputs(
    lines: &mut Lines,
    blobs: &dyn Blobs,
    session: &SessionId,
    facts: &[Arc<Recorded>],
) -> Result<u64, Failure> {
    let mut names = Names::default();
    facts.iter().for_each(|fact| names.add(fact));
    let mut taking = Taking {
        blobs,
        session,
        names: &names,
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
            return Err(wrong(lines.number, taking.taken, why));
        }
        if let Err(why) = lines.next() {
            return Err(wrong(lines.number, taking.taken, why));
        }
    }
    if let Err(why) = taking.end() {
        return Err(wrong(lines.number, taking.taken, why));
    }
    Ok(taking.taken)
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
