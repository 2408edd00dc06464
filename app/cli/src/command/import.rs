//! `windlass import`: imports exported logs, after all of them were checked.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_engine::core::{RecordedFact, Seq, SessionId};
use windlass_engine::ports::{
    BlobStore, ChainLink, LogStore, LogVerification, SessionClaim, codec,
};
use windlass_engine::{AppendBatcher, RecoveredCalls};

use super::export_format::{ExportHeader, LogCheck};
use super::lines::{self, ImportLines, SecondPass};
use super::outputs::{OutputImporter, OutputNames};
use super::session_checks::announce_recovered;
use crate::args::ImportArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::print_notice;
use crate::wiring::Adapters;

pub(super) async fn import(args: ImportArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let (mut lines, mut again) = lines::open(args.file.as_deref())?;
    let checked = check(&mut lines, &mut again)?;
    if checked.members.iter().any(|member| member.head.is_none()) {
        print_notice(
            "this export of an earlier version has no chain: its log is consistent, but changes \
             to it cannot be detected",
        );
    }
    let opened = adapters.workspace(&args.place)?.open().await?;
    let store = opened.store.as_ref();
    let mut claims = Vec::new();
    let written = match claim(store, &checked, &mut claims).await {
        Ok(()) => write(store, &checked, &claims, again).await,
        Err(failure) => Err(failure),
    };
    let written = match written {
        Ok(()) => outputs(&mut lines, opened.blobs.as_ref(), &checked).await,
        Err(failure) => Err(failure),
    };
    let mut released = Ok(());
    for (member, claim) in checked.members.iter().zip(&claims) {
        released = released.and(store.release(&member.id, claim.epoch).await);
    }
    released?;
    for (member, outputs) in checked.members.iter().zip(written?) {
        let outputs = match outputs {
            0 => String::new(),
            1 => ", 1 output".to_owned(),
            many => format!(", {many} outputs"),
        };
        print_notice(&format!(
            "session {}: {} facts imported{outputs}, chain {}",
            member.id, member.last, member.chain
        ));
        announce_recovered(&member.recovered, "the one that resumes the session");
    }
    Ok(ExitKind::Completed)
}

/// Import that was read up to the end of its facts.
struct ImportPlan {
    /// Imported sessions, each child before its parent.
    members: Vec<ImportedSession>,
    /// True if outputs follow.
    outputs: bool,
}

/// Imported session whose log was read.
struct ImportedSession {
    id: SessionId,
    last: Seq,
    chain: ChainLink,
    head: Option<ExportHeader>,
    names: OutputNames,
    /// Calls that a process which resumes the session decides about.
    recovered: RecoveredCalls,
}

/// Imported session whose log is being read.
#[derive(Default)]
struct ImportedLogReader {
    head: Option<ExportHeader>,
    whole: Option<LogCheck>,
    names: OutputNames,
}

impl ImportedLogReader {
    /// Adds the next fact.
    fn push(&mut self, fact: &RecordedFact, text: &[u8]) -> Result<(), Failure> {
        self.names.add(fact);
        let taken = match &mut self.whole {
            None => LogCheck::open(fact, text).map(|whole| self.whole = Some(whole)),
            Some(whole) => whole.push(fact, text),
        };
        taken.map_err(|misfit| not_whole(&misfit))
    }

    /// Ends the log, which must match its header.
    fn end(self) -> Result<ImportedSession, Failure> {
        let whole = self.whole.ok_or_else(|| not_whole(&"it is empty"))?;
        if let Some(why) = self.head.as_ref().and_then(|head| head.differs(&whole)) {
            return Err(not_exported(&why));
        }
        Ok(ImportedSession {
            id: whole.id().clone(),
            last: whole.last(),
            chain: whole.chain,
            recovered: RecoveredCalls::of(&whole.checkpoint.session, &whole.checkpoint.history),
            head: self.head,
            names: self.names,
        })
    }
}

/// Reads the facts of an import, which must be whole logs as `windlass export` writes them.
fn check(lines: &mut ImportLines, again: &mut SecondPass) -> Result<ImportPlan, Failure> {
    let (mut members, mut reading) = (Vec::<ImportedSession>::new(), ImportedLogReader::default());
    let mut sessions = None;
    let outputs = loop {
        let more = lines.next().map_err(|why| lines.wrong(&why))?;
        if !more || lines.is_outputs() {
            break more;
        }
        let first = reading.head.is_none() && reading.whole.is_none();
        let next = sessions.is_some() && reading.whole.is_some();
        if lines.is_head() && (first || next) {
            let head = ExportHeader::read(lines.text()).map_err(|why| lines.wrong(&why))?;
            if first {
                sessions = head.sessions;
            } else {
                members.push(std::mem::take(&mut reading).end()?);
            }
            reading.head = Some(head);
            continue;
        }
        let fact = fact(lines).map_err(|why| lines.wrong(&why))?;
        again.record(lines.text())?;
        reading.push(&fact, lines.text())?;
    };
    members.push(reading.end()?);
    let (said, there) = (sessions.unwrap_or(1), members.len() as u64);
    if said != there {
        let why = format!("its first line says {said} sessions, and there are {there}");
        return Err(not_exported(&why));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = members.iter().find(|member| !seen.insert(&member.id)) {
        return Err(not_exported(&format!("it has session {} twice", twice.id)));
    }
    Ok(ImportPlan { members, outputs })
}

fn not_whole(why: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("the import is not a whole log: {why}. Nothing was written"))
}

fn not_exported(why: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("the import is not what was exported: {why}. Nothing was written"))
}

/// Parses the fact of a line, which must have the text form of stores and exports.
fn fact(lines: &ImportLines) -> Result<RecordedFact, String> {
    let fact = codec::decode(lines.text()).map_err(|error| error.to_string())?;
    let text = codec::encode(&fact).map_err(|error| error.to_string())?;
    match text == lines.text() {
        true => Ok(fact),
        false => Err("it is a fact that is not in exported form".to_owned()),
    }
}

/// Claims all sessions before it writes any. A session that is longer in the store, or already
/// complete, is unchanged. Outputs of a complete log may still be missing.
async fn claim(
    store: &dyn LogStore,
    checked: &ImportPlan,
    claims: &mut Vec<SessionClaim>,
) -> Result<(), Failure> {
    let (mut root, mut missing) = (None, false);
    for member in &checked.members {
        let claim = store.claim(&member.id).await?;
        let held = claim.last;
        claims.push(claim);
        if held > member.last {
            return Err(exists(&member.id));
        }
        root = Some(&member.id);
        missing |= held < member.last;
    }
    match root {
        Some(id) if !missing && !checked.outputs => Err(exists(id)),
        Some(_) | None => Ok(()),
    }
}

/// Writes the facts that the store lacks. Resumes an import that a full disk interrupted; a
/// different session with the same id is unchanged.
async fn write(
    store: &dyn LogStore,
    checked: &ImportPlan,
    claims: &[SessionClaim],
    again: SecondPass,
) -> Result<(), Failure> {
    let mut facts = again.lines()?;
    for (member, claim) in checked.members.iter().zip(claims) {
        write_one(store, member, claim, &mut facts).await?;
    }
    Ok(())
}

async fn write_one(
    store: &dyn LogStore,
    member: &ImportedSession,
    claim: &SessionClaim,
    facts: &mut ImportLines,
) -> Result<(), Failure> {
    let (id, last, held) = (&member.id, member.last, claim.last);
    let (mut link, mut parts) = (ChainLink::genesis(id), AppendBatcher::default());
    let mut after = Seq::ZERO;
    while after < last {
        let fact = match facts.next() {
            Ok(true) if facts.is_head() => continue,
            Ok(true) => fact(facts).map_err(|_| changed())?,
            Ok(false) | Err(_) => return Err(changed()),
        };
        if fact.seq <= held {
            link = link.next(facts.text());
            after = fact.seq;
            if after == held && store.verify(id).await?.chain != link {
                return Err(exists(id));
            }
            continue;
        }
        after = fact.seq;
        let part = parts.push(Arc::new(fact), facts.text().len());
        append(store, id, claim, last, &part).await?;
    }
    append(store, id, claim, last, &parts.finish()).await?;
    let LogVerification { last: there, chain, .. } = store.verify(id).await?;
    if (there, chain) == (last, member.chain) {
        return Ok(());
    }
    Err(Failure::new(
        ExitKind::Store,
        format!(
            "session {id} was imported with {last} facts and the chain {}, and the store \
             verifies {there} with {chain}: the file changed during the import, or the store \
             has a defect. Do not use the session",
            member.chain
        ),
    ))
}

async fn append(
    store: &dyn LogStore,
    id: &SessionId,
    claim: &SessionClaim,
    last: Seq,
    part: &[Arc<RecordedFact>],
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
    Failure::usage(format!("session {id} exists in this store already: nothing of it was written"))
}

fn changed() -> Failure {
    let words =
        "the file changed during the import: import again, from a file that does not change";
    Failure::new(ExitKind::Failed, words)
}

/// Writes the outputs that follow the facts, and returns the number of each session.
async fn outputs(
    lines: &mut ImportLines,
    blobs: &dyn BlobStore,
    checked: &ImportPlan,
) -> Result<Vec<u64>, Failure> {
    let (mut counts, mut before) = (Vec::new(), 0_u64);
    for member in &checked.members {
        let mut taking = OutputImporter {
            blobs,
            session: &member.id,
            names: &member.names,
            current: None,
            written: 0,
        };
        let exported = member.head.as_ref().map(|head| head.outputs.unwrap_or(0));
        let all = checked.members.len() == 1;
        // A single session takes all that follow; each of several takes its own.
        while !lines.text().is_empty() && (all || exported > Some(taking.written)) {
            let written = before.saturating_add(taking.written);
            if let Err(why) = taking.push(lines.text()).await {
                return Err(wrong(lines.number(), written, why));
            }
            if let Err(why) = lines.next() {
                return Err(wrong(lines.number(), written, why));
            }
        }
        let written = before.saturating_add(taking.written);
        if let Err(why) = taking.end() {
            return Err(wrong(lines.number(), written, why));
        }
        if let Some(exported) = exported.filter(|exported| *exported != taking.written) {
            let of = match all {
                true => String::new(),
                false => format!(" of session {}", member.id),
            };
            let why = format!("it ends, and {exported} outputs{of} were exported");
            return Err(wrong(lines.number(), written, why));
        }
        before = written;
        counts.push(taking.written);
    }
    match lines.text() {
        [] => Ok(counts),
        _ => {
            let why = "there are more outputs than were exported".to_owned();
            Err(wrong(lines.number(), before, why))
        }
    }
}

fn wrong(number: u64, taken: u64, why: String) -> Failure {
    let words = format!(
        "line {number} of the import: {why}. The facts and {taken} outputs were written: import again, \
         with a whole file, to write the rest"
    );
    Failure::new(ExitKind::Store, words)
}
