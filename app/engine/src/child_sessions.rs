//! Child sessions: the sessions of the agents below a session, as the logs name them.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::{CallId, Fact, Item, Lineage, RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, SessionFilter, StoreError, StoreErrorKind, Tenants};

use crate::agents::agent_session;

/// Facts that are read at a time.
const PAGE: usize = 1_000;
/// Most unfinished sessions that are checked.
const MAX_CHECKED: usize = 256;

/// Session of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildSession {
    /// Session of the agent.
    pub session: SessionId,
    /// Name of the agent, which is the name of the called tool.
    pub agent: String,
    /// Parent session.
    pub of: SessionId,
    /// Call that the agent executes.
    pub call: CallId,
}

/// The agents below a session.
#[derive(Debug, Default)]
pub struct ChildSessions {
    /// Child sessions that the store has, each before its parent.
    pub sessions: Vec<ChildSession>,
    /// Logs that could not be read to their end, so that children of theirs may be missing.
    pub unreadable: Vec<(SessionId, StoreError)>,
}

/// Returns the child sessions of a session and, recursively, of its children. A session with a
/// child's name that does not execute the call is excluded.
pub async fn child_sessions(store: &dyn LogStore, session: &SessionId) -> ChildSessions {
    let mut found = ChildSessions::default();
    let mut seen = BTreeSet::from([session.clone()]);
    let mut next = vec![session.clone()];
    while let Some(of) = next.pop() {
        for sent in find_children(store, &of, &mut found.unreadable).await {
            match works_for(store, &sent).await {
                Ok(true) if seen.insert(sent.session.clone()) => {
                    next.push(sent.session.clone());
                    found.sessions.push(sent);
                }
                Ok(_) => {}
                Err(error) => found.unreadable.push((sent.session, error)),
            }
        }
    }
    // Parents were found before their children.
    found.sessions.reverse();
    found
}

/// Returns the call that a session executes; `None` if it is no child session. The agent has no
/// name if the log of the call is gone.
///
/// # Errors
/// [`StoreError`] when one of the two logs cannot be read, with kind `Unknown` when the session
/// does not exist.
pub async fn child_session(
    store: &dyn LogStore,
    session: &SessionId,
) -> Result<Option<ChildSession>, StoreError> {
    let first = store.read(session, Seq::ZERO, 1).await?;
    let Some(Fact::SessionOpened(opened)) = first.into_iter().next().map(|first| first.fact) else {
        return Ok(None);
    };
    let Lineage::Child { of, call } = opened.lineage else {
        return Ok(None);
    };
    let before = Seq(call.0.saturating_sub(1));
    let brought = match store.read(&of, before, 1).await {
        Ok(facts) => facts.into_iter().next(),
        Err(error) if [StoreErrorKind::Unknown, StoreErrorKind::Invalid].contains(&error.kind) => {
            None
        }
        Err(error) => return Err(error),
    };
    let agent = brought.as_ref().and_then(called_tool).unwrap_or_default().to_owned();
    Ok(Some(ChildSession { session: session.clone(), agent, of, call }))
}

/// Returns the agents below a session, at any depth, that have unfinished work. Checks the first
/// 256 unfinished sessions that are named after this one. A child whose name does not begin with
/// this session's id, since that id is too long, is not found. Sessions of other tenants are not
/// returned.
///
/// # Errors
/// [`StoreError`] when the sessions cannot be listed, or a log cannot be read.
pub async fn unfinished_children(
    store: &dyn LogStore,
    tenants: &Tenants,
    session: &SessionId,
) -> Result<Vec<ChildSession>, StoreError> {
    let prefix = format!("{session}.");
    let Ok(after) = SessionId::new(&prefix) else {
        return Ok(Vec::new());
    };
    let open = SessionFilter::of(tenants.clone()).open();
    let heads = store.sessions(&open, Some(&after), MAX_CHECKED).await?;
    let ids = heads.into_iter().map(|head| head.id);
    let mut unfinished = Vec::new();
    for id in ids.take_while(|id| id.as_str().starts_with(&prefix)) {
        let sent = match child_session(store, &id).await {
            Ok(sent) => sent,
            // The session was erased after it was listed.
            Err(error) if error.kind == StoreErrorKind::Unknown => None,
            Err(error) => return Err(error),
        };
        let below = |of: &SessionId| of == session || of.as_str().starts_with(&prefix);
        unfinished.extend(sent.filter(|sent| below(&sent.of)));
    }
    Ok(unfinished)
}

/// Returns the children of a session that its log names.
async fn find_children(
    store: &dyn LogStore,
    of: &SessionId,
    unreadable: &mut Vec<(SessionId, StoreError)>,
) -> Vec<ChildSession> {
    let (mut names, mut sent) = (BTreeMap::new(), Vec::new());
    let mut after = Seq::ZERO;
    loop {
        let facts = match store.read(of, after, PAGE).await {
            Ok(facts) => facts,
            Err(error) => {
                unreadable.push((of.clone(), error));
                return sent;
            }
        };
        for recorded in &facts {
            after = recorded.seq;
            if let Some(name) = called_tool(recorded) {
                names.insert(CallId(recorded.seq.0), name.to_owned());
            }
            if let Fact::CallStarted(started) = &recorded.fact
                && started.grant.is_some()
                && started.attempt == 1
                && let Some(session) = agent_session(&started.idempotency_key)
            {
                sent.push(ChildSession {
                    session,
                    agent: names.get(&started.call).cloned().unwrap_or_default(),
                    of: of.clone(),
                    call: started.call,
                });
            }
        }
        if facts.len() < PAGE {
            return sent;
        }
    }
}

/// Returns the name of the called tool, if the fact proposes a call.
pub(crate) fn called_tool(recorded: &RecordedFact) -> Option<&str> {
    if let Fact::ProgramCalled(called) = &recorded.fact {
        return Some(&called.item.name);
    }
    if let Fact::ItemAdded(added) = &recorded.fact
        && let Item::Call(call) = &added.item
    {
        return Some(&call.name);
    }
    None
}

/// Returns true if a session exists that executes this call.
async fn works_for(store: &dyn LogStore, sent: &ChildSession) -> Result<bool, StoreError> {
    let first = match store.read(&sent.session, Seq::ZERO, 1).await {
        Ok(facts) => facts.into_iter().next(),
        Err(error) if error.kind == StoreErrorKind::Unknown => None,
        Err(error) => return Err(error),
    };
    let Some(Fact::SessionOpened(opened)) = first.map(|first| first.fact) else {
        return Ok(false);
    };
    let of = Lineage::Child { of: sent.of.clone(), call: sent.call };
    Ok(opened.lineage == of)
}
