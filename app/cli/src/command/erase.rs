//! `windlass erase`: a session's log, what is kept beside it, its snapshot; those of its agents where
//! that is asked for.

use windlass::core::{Seq, SessionId};
use windlass::{SentOut, agents_of};

use super::remark::NAMED;
use crate::args::Erase;
use crate::exit::{Exit, Failure};
use crate::present::{tell, visible};
use crate::wiring::{Opened, Site};

pub(super) async fn erase(args: Erase) -> Result<Exit, Failure> {
    let site = Site::new(&args.place)?;
    let opened = site.open_to_read().await?;
    let id = &args.session;
    if !opened.store.capabilities().erase {
        let words = format!(
            "{} does not erase sessions: copy those that are to stay to another store, and remove \
             this one",
            site.store
        );
        return Err(Failure::new(Exit::Store, words));
    }
    // A claim would begin a session that is not there.
    opened.store.read(id, Seq::ZERO, 1).await?;
    if !args.yes {
        let words = format!(
            "session {id} in {} would be gone for good, with its log and its outputs: say --yes",
            site.store
        );
        return Err(Failure::usage(words));
    }
    let agents = agents_of(opened.store.as_ref(), id).await;
    for (log, error) in agents.unread {
        // A damaged log is erased like any other.
        tell(&format!(
            "  which agents session {log} sent out is not known to its end: {error}"
        ));
    }
    if args.with_agents {
        // Those that were sent out first, so that what is left is still named by a log.
        for SentOut { session, agent, .. } in &agents.sessions {
            one(&opened, session).await?;
            tell(&visible(&format!(
                "  session {session} of its agent {agent} is erased"
            )));
        }
    }
    one(&opened, id).await?;
    tell(&format!("session {id} is erased"));
    let left = match args.with_agents {
        true => &[],
        false => agents.sessions.as_slice(),
    };
    for SentOut { session, .. } in left.iter().take(NAMED) {
        tell(&format!(
            "  session {session} of one of its agents is still there: erase it too"
        ));
    }
    if left.len() > NAMED {
        tell(&format!("  and {} more", left.len() - NAMED));
    }
    Ok(Exit::Completed)
}

/// Erases one session.
async fn one(opened: &Opened, id: &SessionId) -> Result<(), Failure> {
    let claim = opened.store.claim(id).await?;
    // First what the log names: erased the other way round, nothing would say that it is there.
    let erased = match opened.blobs.erase(id).await {
        Ok(()) => opened
            .store
            .erase(id, claim.epoch)
            .await
            .map_err(Failure::from),
        Err(error) => Err(Failure::new(Exit::Store, error.to_string())),
    };
    if let Err(mut failure) = erased {
        opened.store.release(id, claim.epoch).await?;
        let more = format!(". Session {id} is not erased: erase it again");
        failure.message.push_str(&more);
        return Err(failure);
    }
    Ok(())
}
