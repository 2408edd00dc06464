//! `windlass export`: exports a session's log, and on request its outputs and the sessions of its
//! agents. Of a damaged log it exports the part before the damage, and fails.

use windlass_engine::StartError;
use windlass_engine::core::{InvalidFact, Seq, SessionId};
use windlass_engine::ports::{ChainLink, LogReader, StoreError, StoreErrorKind};

use super::export_format::{ExportHeader, LogCheck};
use super::outputs::OutputNames;
use super::{closed, log, session_checks};
use crate::args::ExportArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_error, print_json, print_notice};
use crate::wiring::{Adapters, StoreHandle};

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
    /// Damage of the log, of which only the part before it is exported.
    damage: Option<StoreError>,
}

/// Part of a log that can be read, and is consistent.
struct SoundLog {
    whole: LogCheck,
    names: OutputNames,
    damage: Option<StoreError>,
}

/// Checks each log before it prints the first line. Each log must fold, and its facts must match the
/// chain that the store verifies. Of a damaged log the facts before the damage are exported, as
/// `repair --truncate-at` would leave them.
pub(super) async fn export(args: ExportArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let (opened, damage) = site.open_to_print().await?;
    let session = args.session.resolve(&site, &*opened.store).await?;
    let mut members = vec![member(&opened, &session, args.with_outputs).await?];
    if args.with_agents {
        with_agents(&opened, (&session, args.with_outputs), &mut members).await?;
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
    let mut damaged = members.into_iter().filter_map(|member| Some((member.last, member.damage?)));
    match damaged.next() {
        None => damage.map_or(Ok(ExitKind::Completed), Err),
        Some((last, error)) => {
            for (last, error) in damaged {
                print_error(&format!("{error}. {last} facts of it are exported"));
            }
            let mut failure = Failure::from(error);
            failure.message.push_str(&format!(". {last} facts of it are exported"));
            Err(failure)
        }
    }
}

/// Adds the child sessions of the present ones, each behind its parent. A child that starts after
/// its parent's log was read is not in it. So the search repeats until it finds no further
/// children.
async fn with_agents(
    opened: &StoreHandle,
    (session, with_outputs): (&SessionId, bool),
    members: &mut Vec<ExportedSession>,
) -> Result<(), Failure> {
    loop {
        let agents = windlass_engine::child_sessions(opened.store.as_ref(), session).await;
        let is_damaged = |log: &SessionId| {
            let mut damaged = members.iter().filter(|member| member.damage.is_some());
            damaged.any(|member| member.id == *log)
        };
        let mut unreadable = agents.unreadable.into_iter();
        if let Some((log, error)) = unreadable.find(|(log, _)| !is_damaged(log)) {
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
                members.push(member(opened, &sent.session, with_outputs).await?);
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
    let SoundLog { whole, names, damage } = check(opened, id).await?;
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
        damage,
    })
}

/// Prints a session's header and facts.
async fn facts(opened: &StoreHandle, member: &ExportedSession) -> Result<(), Failure> {
    print_json(&member.head.text()?).map_err(closed)?;
    let mut facts = read(opened, &member.id, member.last);
    let mut chain = ChainLink::genesis(&member.id);
    while let Some(fact) = facts.next().await? {
        let text = log::text(&fact)?;
        chain = chain.next(text.as_bytes());
        print_json(&text).map_err(closed)?;
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
async fn check(opened: &StoreHandle, session: &SessionId) -> Result<SoundLog, Failure> {
    let (last, verified, damage) = match opened.store.verify(session).await {
        Ok(verified) => (verified.last, Some(verified.chain), None),
        Err(error) => match sound_part(&error) {
            Some(last) => (last, None, Some(error)),
            None => return Err(error.into()),
        },
    };
    let invalid = |cause: InvalidFact| {
        let session = session.clone();
        Failure::from(StartError::InvalidFact { session, cause })
    };
    let (mut whole, mut names) = (None, OutputNames::default());
    let mut facts = read(opened, session, last);
    while let Some(fact) = facts.next().await? {
        let text = log::text(&fact)?;
        names.add(&fact);
        match &mut whole {
            None => whole = Some(LogCheck::open(&fact, text.as_bytes()).map_err(invalid)?),
            Some(whole) => whole.push(&fact, text.as_bytes()).map_err(invalid)?,
        }
    }
    let whole = whole.ok_or_else(|| StartError::Unknown(session.clone()))?;
    if (last, verified.unwrap_or(whole.chain)) != (whole.last(), whole.chain) {
        let verified = verified.map_or("no chain".to_owned(), |chain| chain.to_string());
        let words = format!(
            "session {session}: {} facts were read with the chain {}, and the store verifies {last} with \
             {verified}. That is a defect of the store, please report it",
            whole.last(),
            whole.chain,
        );
        return Err(Failure::new(ExitKind::Store, words));
    }
    Ok(SoundLog { whole, names, damage })
}

/// Returns the last position before the damage of a log, if there is one.
fn sound_part(error: &StoreError) -> Option<Seq> {
    let StoreErrorKind::Corrupt { after, .. } = error.kind else {
        return None;
    };
    (after > Seq::ZERO).then_some(after)
}

fn read(opened: &StoreHandle, session: &SessionId, last: Seq) -> LogReader {
    let most = usize::try_from(last.0).unwrap_or(usize::MAX);
    LogReader::new(opened.store.clone(), session.clone(), Seq::ZERO, most)
}
