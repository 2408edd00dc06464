//! Rewind: returns a session to an earlier point of its conversation, by its handle, or by [`rewind`]
//! if nobody drives it.

use std::sync::Arc;

use windlass_core::{
    Fact, Incoming, Input, InvalidFact, Limits, Reason, RecordedFact, Reject, Scope, Seq, Session,
    SessionId, Timestamp, decide_and_evolve, evolve_first,
};
use windlass_ports::{LogStore, SessionClaim, StoreError, StoreErrorKind};

use crate::error::SendError;
use crate::session::{SessionCommand, SessionHandle};

/// Facts that are read at a time.
const PAGE: usize = 512;

/// Point to which a session is rewound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindTarget {
    /// Position of the log.
    Position(Seq),
    /// Position before the last turns of the conversation.
    Turns(u32),
}

/// Request to rewind a session.
#[derive(Debug, Clone)]
pub struct RewindRequest {
    /// Id of the session.
    pub session: SessionId,
    /// Point to return to.
    pub target: RewindTarget,
    /// Scope of the caller.
    pub scope: Scope,
    /// Time of the request.
    pub now: Timestamp,
}

/// Result of a rewind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindReport {
    /// Position whose conversation continues.
    pub to: Seq,
    /// Position of the `SessionRewound`; `None` if the conversation was there already.
    pub at: Option<Seq>,
    /// True if calls with effects were rewound. Their effects remain.
    pub effects_remain: bool,
}

/// Error of rewinding a session.
#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    /// No session with this id exists, or none that the scope may see.
    #[error("there is no session {0}: list them with `windlass sessions`")]
    Unknown(SessionId),
    /// The session is an incomplete fork.
    #[error("session {0} is an incomplete fork: complete it first")]
    Unfinished(SessionId),
    /// The conversation has fewer turns.
    #[error("the conversation of session {session} has {turns} turns")]
    TooFewTurns {
        /// Id of the session.
        session: SessionId,
        /// Number of its turns.
        turns: usize,
    },
    /// The session cannot return to this point.
    #[error("session {session}: {reject}")]
    Rejected {
        /// Id of the session.
        session: SessionId,
        /// Reason for the rejection.
        reject: Reject,
    },
    /// The log is readable, but a fact in it is invalid.
    #[error("session {session}: {cause}. Run `windlass verify {session}`")]
    InvalidFact {
        /// Id of the session.
        session: SessionId,
        /// Cause of the failure.
        cause: InvalidFact,
    },
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl SessionHandle {
    /// Returns to an earlier point of the conversation, in place, while no turn runs. The log stays
    /// whole, and everything outside of the conversation stays too: files, settings, the goal, usage
    /// and waiting inputs, which are held. If calls with effects were rewound, the next request says
    /// that their effects remain. Nothing changes if the conversation is there already.
    ///
    /// # Errors
    /// [`SendError`] when a turn runs, when the session cannot return to the position, and as
    /// [`SessionHandle::execute`]. A session can return to the positions at which it can be forked,
    /// back to its latest compaction.
    pub async fn rewind(&self, to: Seq, scope: Scope) -> Result<(), SendError> {
        self.execute(SessionCommand::Rewind { to }, scope, None).await.map(drop)
    }
}

/// Rewinds a session. It is claimed during this, so no engine may have it open.
///
/// # Errors
/// [`RewindError`].
pub async fn rewind(
    store: &dyn LogStore,
    request: &RewindRequest,
) -> Result<RewindReport, RewindError> {
    let session = &request.session;
    let unknown = |error: StoreError| match error.kind == StoreErrorKind::Unknown {
        true => RewindError::Unknown(session.clone()),
        false => RewindError::Store(error),
    };
    // A claim would create the log of an unknown session.
    let first = store.read(session, Seq::ZERO, 1).await.map_err(unknown)?;
    if first.is_empty() {
        return Err(RewindError::Unknown(session.clone()));
    }
    let claim = store.claim(session).await?;
    let rewound = rewind_claimed(store, request, &claim).await;
    if let Err(error) = store.release(session, claim.epoch).await {
        tracing::warn!(%session, %error, "claim not released");
    }
    rewound
}

async fn rewind_claimed(
    store: &dyn LogStore,
    request: &RewindRequest,
    claim: &SessionClaim,
) -> Result<RewindReport, RewindError> {
    let id = &request.session;
    let unknown = || RewindError::Unknown(id.clone());
    let (session, turns) = read(store, id).await?.ok_or_else(unknown)?;
    if !request.scope.can_access(&session.owner) {
        return Err(unknown());
    }
    if session.missing_up_to().is_some() {
        return Err(RewindError::Unfinished(id.clone()));
    }
    let to = turns.position(request)?;
    let input = Input::Rewind { scope: request.scope.clone(), to };
    let input = Incoming { at: request.now, entropy: 0, input };
    let decided = decide_and_evolve(&session, &Limits::default(), input);
    let decided =
        decided.map_err(|reject| RewindError::Rejected { session: id.clone(), reject })?;
    let facts: Vec<Arc<RecordedFact>> = decided.facts.into_iter().map(Arc::new).collect();
    let rewound = facts.iter().find_map(|recorded| {
        let Fact::SessionRewound(fact) = &recorded.fact else {
            return None;
        };
        Some((recorded.seq, fact.notice.is_some()))
    });
    if !facts.is_empty() {
        store.append(id, claim.epoch, claim.last, &facts).await?;
    }
    let at = rewound.map(|(at, _)| at);
    Ok(RewindReport { to, at, effects_remain: rewound.is_some_and(|(_, remain)| remain) })
}

async fn read(
    store: &dyn LogStore,
    id: &SessionId,
) -> Result<Option<(Session, TurnStarts)>, RewindError> {
    let invalid = |cause| RewindError::InvalidFact { session: id.clone(), cause };
    let mut state: Option<(Session, TurnStarts)> = None;
    let mut last = Seq::ZERO;
    loop {
        let facts = store.read(id, last, PAGE).await?;
        for fact in &facts {
            match &mut state {
                None => {
                    let session = evolve_first(fact).map_err(invalid)?;
                    state = Some((session, TurnStarts { starts: Vec::new(), between: fact.seq }));
                }
                Some((session, _)) => session.apply(fact).map_err(invalid)?,
            }
            if let Some((session, turns)) = &mut state {
                turns.apply(fact, session);
            }
            last = fact.seq;
        }
        if facts.len() < PAGE {
            return Ok(state);
        }
    }
}

/// Positions before the turns of the conversation.
#[derive(Debug)]
struct TurnStarts {
    starts: Vec<Seq>,
    /// Latest position between turns at which the session can be forked.
    between: Seq,
}

impl TurnStarts {
    fn apply(&mut self, recorded: &RecordedFact, session: &Session) {
        if let Fact::TurnOpened(fact) = &recorded.fact
            && !matches!(fact.reason, Reason::CompactionRequested { .. })
        {
            self.starts.push(self.between);
        }
        if let Fact::SessionRewound(fact) = &recorded.fact {
            self.starts.retain(|start| *start < fact.to);
        }
        if session.turn().is_none() && session.can_fork() {
            self.between = recorded.seq;
        }
    }

    fn position(&self, request: &RewindRequest) -> Result<Seq, RewindError> {
        let count = match request.target {
            RewindTarget::Position(to) => return Ok(to),
            RewindTarget::Turns(count) => usize::try_from(count).unwrap_or(usize::MAX),
        };
        let (session, turns) = (request.session.clone(), self.starts.len());
        let index = turns.checked_sub(count.max(1));
        let start = index.and_then(|index| self.starts.get(index)).copied();
        start.ok_or(RewindError::TooFewTurns { session, turns })
    }
}
