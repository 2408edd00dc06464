//! `windlass export`: a session's log, whole or not at all, and its outputs where they are asked for.

use std::slice;

use windlass::StartError;
use windlass::core::{Misfit, Seq, SessionId};
use windlass::ports::{Link, Log};

use super::outputs::Names;
use super::whole::{Head, Whole};
use super::{closed, log, remark};
use crate::args::Export;
use crate::exit::{Exit, Failure};
use crate::present::{line, tell};
use crate::wiring::{Opened, Site};

/// Checks the log before the first line, so that what comes out is a whole log: that it folds, and that
/// its facts have the chain that the store verifies.
pub(super) async fn export(args: Export) -> Result<Exit, Failure> {
    let opened = Site::new(&args.place)?.open_to_read().await?;
    let (whole, names) = check(&opened, &args.session).await?;
    let blobs = opened.blobs.as_ref();
    let there = match args.with_outputs {
        true => Some(names.there(blobs, &args.session).await?),
        false => None,
    };
    let outputs = there.as_ref().map(Names::count);
    let head = Head::of(&whole, outputs);
    line(&head.text()?).map_err(closed)?;
    let (mut facts, mut chain) = (
        read(&opened, &args.session, whole.last()),
        Link::genesis(&args.session),
    );
    while let Some(fact) = facts.next().await? {
        let text = log::text(&fact)?;
        chain = chain.then(text.as_bytes());
        line(&text).map_err(closed)?;
    }
    if (facts.position(), chain) != (whole.last(), whole.chain) {
        let words = format!(
            "session {} was changed while it was exported: what came out is not whole",
            args.session
        );
        return Err(Failure::new(Exit::Store, words));
    }
    let carry = |agent: &SessionId| format!("windlass export {agent}");
    let sessions = slice::from_ref(&args.session);
    remark::on_agents_left_behind(opened.store.as_ref(), sessions, carry).await;
    if let Some(there) = &there {
        there.print(blobs, &args.session).await?;
        let missing = names.count().saturating_sub(there.count());
        if missing > 0 {
            tell(&format!(
                "{missing} of the outputs and images that the log names are not in this store"
            ));
        }
    }
    Ok(Exit::Completed)
}

/// What the session's log holds, as far as the store verifies it: one that runs may grow meanwhile.
async fn check(opened: &Opened, session: &SessionId) -> Result<(Whole, Names), Failure> {
    let verified = opened.store.verify(session).await?;
    let misfit = |misfit: Misfit| {
        let session = session.clone();
        Failure::from(StartError::Misfit { session, misfit })
    };
    let (mut whole, mut names) = (None, Names::default());
    let mut facts = read(opened, session, verified.last);
    while let Some(fact) = facts.next().await? {
        let text = log::text(&fact)?;
        names.add(&fact);
        match &mut whole {
            None => whole = Some(Whole::open(&fact, text.as_bytes()).map_err(misfit)?),
            Some(whole) => whole.take(&fact, text.as_bytes()).map_err(misfit)?,
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
        return Err(Failure::new(Exit::Store, words));
    }
    Ok((whole, names))
}

fn read(opened: &Opened, session: &SessionId, last: Seq) -> Log {
    let most = usize::try_from(last.0).unwrap_or(usize::MAX);
    Log::read(opened.store.clone(), session.clone(), Seq::ZERO, most)
}
