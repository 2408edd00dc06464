//! Rewind: returns a session to an earlier point of its conversation, by its handle, or by [`rewind`]
//! if nobody drives it.

use windlass_core::{Fact, Input, Scope, Seq, Session, SessionId, Timestamp};
use windlass_ports::LogStore;

use crate::error::SendError;
use crate::offline::{ChangeError, OfflineSession};
use crate::session::{SessionCommand, SessionHandle};

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

/// Error of rewinding a session that nobody drives.
#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    /// The conversation has fewer turns, or was compacted since.
    #[error("session {session} has {turns} turns that a rewind can take out")]
    TooFewTurns {
        /// Id of the session.
        session: SessionId,
        /// Number of the turns that a rewind can take out.
        turns: usize,
    },
    /// The session cannot be changed, or not return to this point.
    #[error("{0}")]
    Change(#[from] ChangeError),
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
    let RewindRequest { session: id, scope, now, .. } = request;
    let session = OfflineSession { store, id, scope, now: *now };
    let mut to = Seq::ZERO;
    let rewound = session.change(async |session| {
        to = request.position(session)?;
        Ok::<_, RewindError>(Some(Input::Rewind { scope: scope.clone(), to }))
    });
    let rewound = rewound.await?;
    let effects_remain = rewound.as_ref().is_some_and(
        |recorded| matches!(&recorded.fact, Fact::SessionRewound(fact) if fact.notice.is_some()),
    );
    Ok(RewindReport { to, at: rewound.map(|recorded| recorded.seq), effects_remain })
}

impl RewindRequest {
    /// Returns the position whose conversation is to continue.
    fn position(&self, session: &Session) -> Result<Seq, RewindError> {
        let count = match self.target {
            RewindTarget::Position(to) => return Ok(to),
            RewindTarget::Turns(count) => usize::try_from(count).unwrap_or(usize::MAX),
        };
        let before = session.position_before_turns(count.max(1));
        before.ok_or_else(|| RewindError::TooFewTurns {
            session: self.session.clone(),
            turns: session.turns_in_reach(),
        })
    }
}
