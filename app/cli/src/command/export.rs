//! `windlass export`: exports a session's whole log or nothing, and on request its outputs and the
//! sessions of its agents.

use windlass_engine::StartError;
use windlass_engine::core::{InvalidFact, Seq, SessionId};
use windlass_engine::ports::{ChainLink, LogReader};

use super::export_format::{ExportHeader, LogCheck};
use super::outputs::OutputNames;
use super::{closed, log, session_checks};
use crate::args::ExportArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_line, print_notice};
use crate::wiring::{StoreHandle, Workspace};

/// Exported session.
struct ExportedSession {
    id: SessionId,
    last: Seq,
    chain: ChainLink,
    head: ExportHeader,
    /// Outputs that its log names.
    names: OutputNames,
    /// Those outputs that are stored, if requested.
    stored: Option<OutputNames>,
}

/// Checks each log before it prints the first line, so that only whole logs are exported. Each log
/// must fold, and its facts must match the chain that the store verifies.
pub(super) async fn export(args: ExportArgs) -> Result<ExitKind, Failure> {
    let opened = Workspace::new(&args.place)?.open_to_read().await?;
    let mut members = vec![member(&opened, &args.session, args.with_outputs).await?];
    if args.with_agents {
        with_agents(&opened, &args, &mut members).await?;
    }
    // Agents first: when a session exists, so do the children that it reads for its calls.
    members.reverse();
    let count = members.len() as u64;
    if let Some(first) = members.first_mut() {
        first.head.sessions = (count > 1).then_some(count);
    }
    for member in &members {
        facts(&opened, member).await?;
    }
    let sessions: Vec<SessionId> = members.iter().map(|member| member.id.clone()).collect();
    let carry = |agent: &SessionId| format!("windlass export {agent}, or this one --with-agents");
    session_checks::warn_agents_left_behind(opened.store.as_ref(), &sessions, carry).await;
    for member in &members {
        outputs(&opened, member).await?;
    }
    Ok(ExitKind::Completed)
}

/// Adds the child sessions of the present ones, each behind its parent. A child that starts after
/// its parent's log was read is not in it. So the search repeats until it finds no further
/// children.
async fn with_agents(
    opened: &StoreHandle,
    args: &ExportArgs,
    members: &mut Vec<ExportedSession>,
) -> Result<(), Failure> {
    loop {
        let agents = windlass_engine::child_sessions(opened.store.as_ref(), &args.session).await;
        if let Some((log, error)) = agents.unreadable.into_iter().next() {
            let mut failure = Failure::from(error);
            failure.message = format!(
                "cannot list the agents of session {log}, so nothing is exported: {}",
                failure.message
            );
            return Err(failure);
        }
        let mut more = false;
        for sent in agents.sessions.into_iter().rev() {
            if !members.iter().any(|member| member.id == sent.session) {
                members.push(member(opened, &sent.session, args.with_outputs).await?);
                more = true;
            }
        }
        if !more {
            return Ok(());
        }
    }
}

/// Checks the log of a session.
async fn member(
    opened: &StoreHandle,
    id: &SessionId,
    with_outputs: bool,
) -> Result<ExportedSession, Failure> {
    let (whole, names) = check(opened, id).await?;
    let there = match with_outputs {
        true => Some(names.stored(opened.blobs.as_ref(), id).await?),
        false => None,
    };
    Ok(ExportedSession {
        id: id.clone(),
        last: whole.last(),
        chain: whole.chain,
        head: ExportHeader::of(&whole, there.as_ref().map(OutputNames::count)),
        names,
        stored: there,
    })
}

/// Prints a session's header and facts.
async fn facts(opened: &StoreHandle, member: &ExportedSession) -> Result<(), Failure> {
    print_line(&member.head.text()?).map_err(closed)?;
    let mut facts = read(opened, &member.id, member.last);
    let mut chain = ChainLink::genesis(&member.id);
    while let Some(fact) = facts.next().await? {
        let text = log::text(&fact)?;
        chain = chain.next(text.as_bytes());
        print_line(&text).map_err(closed)?;
    }
    if (facts.position(), chain) == (member.last, member.chain) {
        return Ok(());
    }
    let words =
        format!("session {} changed while it was exported: the export is incomplete", member.id);
    Err(Failure::new(ExitKind::Store, words))
}

/// Prints the outputs of a session, if requested.
async fn outputs(opened: &StoreHandle, member: &ExportedSession) -> Result<(), Failure> {
    let Some(there) = &member.stored else {
        return Ok(());
    };
    there.print(opened.blobs.as_ref(), &member.id).await?;
    let missing = member.names.count().saturating_sub(there.count());
    if missing > 0 {
        print_notice(&format!(
            "{missing} of the outputs and images that the log of {} names are not in this store",
            member.id
        ));
    }
    Ok(())
}

/// Verifies the session's log; a running session may grow during the check.
async fn check(
    opened: &StoreHandle,
    session: &SessionId,
) -> Result<(LogCheck, OutputNames), Failure> {
    let verified = opened.store.verify(session).await?;
    let invalid = |cause: InvalidFact| {
        let session = session.clone();
        Failure::from(StartError::InvalidFact { session, cause })
    };
    let (mut whole, mut names) = (None, OutputNames::default());
    let mut facts = read(opened, session, verified.last);
    while let Some(fact) = facts.next().await? {
        let text = log::text(&fact)?;
        names.add(&fact);
        match &mut whole {
            None => whole = Some(LogCheck::open(&fact, text.as_bytes()).map_err(invalid)?),
            Some(whole) => whole.push(&fact, text.as_bytes()).map_err(invalid)?,
        }
    }
    let whole = whole.ok_or_else(|| StartError::Unknown(session.clone()))?;
    if (verified.last, verified.chain) != (whole.last(), whole.chain) {
        let words = format!(
            "session {session}: {} facts were read with the chain {}, and the store verifies {} with {}. \
             That is a defect of the store, please report it",
            whole.last(),
            whole.chain,
            verified.last,
            verified.chain
        );
        return Err(Failure::new(ExitKind::Store, words));
    }
    Ok((whole, names))
}

fn read(opened: &StoreHandle, session: &SessionId, last: Seq) -> LogReader {
    let most = usize::try_from(last.0).unwrap_or(usize::MAX);
    LogReader::new(opened.store.clone(), session.clone(), Seq::ZERO, most)
}
