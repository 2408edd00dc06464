//! `windlass erase`: a session's log, what is kept beside it, its snapshot.

use windlass::agent_session;
use windlass::core::{Fact, Seq, SessionId};
use windlass::ports::LogStore;

use crate::args::Erase;
use crate::exit::{Exit, Failure};
use crate::present::tell;
use crate::wiring::Site;

/// How many facts are read at a time.
const PAGE: usize = 1_000;
/// How many sessions of agents are named.
const NAMED: usize = 100;

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
    let agents = agents(opened.store.as_ref(), id).await;
    let claim = opened.store.claim(id).await?;
    // First what the log names: erased the other way round, nothing would say that it is there.
    let beside = opened.blobs.erase(id).await;
    let erased = match beside {
        Ok(()) => opened
            .store
            .erase(id, claim.epoch)
            .await
            .map_err(Failure::from),
        Err(error) => Err(Failure::new(Exit::Store, error.to_string())),
    };
    if let Err(mut failure) = erased {
        opened.store.release(id, claim.epoch).await?;
        failure
            .message
            .push_str(". It is not erased: erase it again");
        return Err(failure);
    }
    tell(&format!("session {id} is erased"));
    let mut left = 0;
    for agent in agents {
        // One that was erased before is not there.
        let there = opened.store.read(&agent, Seq::ZERO, 1).await;
        if there.is_ok_and(|facts| !facts.is_empty()) {
            left += 1;
            if left <= NAMED {
                tell(&format!(
                    "  session {agent} of one of its agents is still there: erase it too"
                ));
            }
        }
    }
    if left > NAMED {
        tell(&format!("  and {} more", left - NAMED));
    }
    Ok(Exit::Completed)
}

/// The sessions of the agents that a session sent out, as far as its log can be read.
async fn agents(store: &dyn LogStore, id: &SessionId) -> Vec<SessionId> {
    let mut agents = Vec::new();
    let mut after = Seq::ZERO;
    loop {
        let facts = match store.read(id, after, PAGE).await {
            Ok(facts) => facts,
            // A damaged log is erased like any other.
            Err(error) => {
                tell(&format!(
                    "  which agents it sent out is not known from {after} on: {error}"
                ));
                return agents;
            }
        };
        for fact in &facts {
            after = fact.seq;
            if let Fact::CallStarted(started) = &fact.fact
                && started.lent.is_some()
                && started.attempt == 1
            {
                agents.extend(agent_session(&started.idempotency_key));
            }
        }
        if facts.len() < PAGE {
            return agents;
        }
    }
}
