//! A log in memory: its claim and its facts, and what may be appended to it.

use std::sync::Arc;

use tokio::sync::Notify;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{
    ChainLink, MAX_FACT_BYTES, SessionSummary, StoreError, StoreErrorKind, StoredCheckpoint, codec,
    counted_bytes,
};

/// A session that is claimed, has facts, or both.
#[derive(Debug, Default)]
pub(crate) struct SessionLog {
    pub(crate) claim: Option<WriterClaim>,
    /// Position of this claim's last append.
    pub(crate) recent: Option<Seq>,
    /// Bytes of the facts.
    pub(crate) bytes: u64,
    pub(crate) summary: Option<SessionSummary>,
    pub(crate) facts: Vec<Arc<RecordedFact>>,
    /// It goes with the log, and a log only grows, so what it was made of still stands.
    pub(crate) checkpoint: Option<StoredCheckpoint>,
    /// Wakes who follows the log.
    pub(crate) grown: Arc<Notify>,
}

/// Claim of the session's writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriterClaim {
    pub(crate) epoch: Epoch,
    /// The number of the store object.
    pub(crate) by: u64,
}

impl SessionLog {
    /// Returns true if a claim of this epoch is in force.
    pub(crate) fn is_claimed(&self, epoch: Epoch) -> bool {
        self.claim.is_some_and(|claim| claim.epoch == epoch)
    }

    pub(crate) fn last(&self) -> Seq {
        self.facts.last().map_or(Seq::ZERO, |fact| fact.seq)
    }

    /// The facts after a position.
    pub(crate) fn after(&self, after: Seq) -> &[Arc<RecordedFact>] {
        let start = usize::try_from(after.0).unwrap_or(usize::MAX);
        self.facts.get(start..).unwrap_or_default()
    }

    pub(crate) fn checkpoint_bytes(&self) -> u64 {
        let snapshot = self.checkpoint.as_ref();
        snapshot.map_or(0, |snapshot| snapshot.bytes.len() as u64)
    }

    /// Bytes of all that it holds.
    pub(crate) fn held(&self) -> u64 {
        self.bytes.saturating_add(self.checkpoint_bytes())
    }
}

/// The bytes of the facts' text forms, each of which must be within the limit.
pub(crate) fn measure(session: &SessionId, facts: &[Arc<RecordedFact>]) -> Result<u64, StoreError> {
    let mut total = 0_u64;
    for fact in facts {
        total = total.saturating_add(text_bytes(session, fact)?);
    }
    Ok(total)
}

/// Returns the bytes of a fact's text form. Writes the text only if that may be beyond the limit.
fn text_bytes(session: &SessionId, fact: &RecordedFact) -> Result<u64, StoreError> {
    if let Some(bytes) = fact.envelope_bytes().filter(|bytes| *bytes <= MAX_FACT_BYTES as u64) {
        return Ok(bytes);
    }
    let text = codec::encode(fact).map_err(|error| {
        let context = format!("fact {} of {session} has no text form", fact.seq);
        StoreError::new(StoreErrorKind::Invalid, context).caused_by(error)
    })?;
    let counted = counted_bytes(fact, &text);
    if counted > MAX_FACT_BYTES {
        return Err(StoreError::new(
            StoreErrorKind::TooLarge,
            format!(
                "fact {} of {session} has {counted} bytes and a memory store takes \
                 {MAX_FACT_BYTES}: nothing of the batch was kept",
                fact.seq
            ),
        ));
    }
    Ok(text.len() as u64)
}

/// The last link of the chain over these facts.
pub(crate) fn link(
    session: &SessionId,
    facts: &[Arc<RecordedFact>],
) -> Result<ChainLink, StoreError> {
    ChainLink::of_log(session, facts.iter().map(AsRef::as_ref)).map_err(|error| {
        let context = format!("a fact of {session} has no text form");
        StoreError::new(StoreErrorKind::Io, context).caused_by(error)
    })
}

/// Holds a batch to what may be appended after a position.
pub(crate) fn check_numbers(
    session: &SessionId,
    after: Seq,
    facts: &[Arc<RecordedFact>],
) -> Result<(), StoreError> {
    if facts.is_empty() {
        return Err(invalid(format!("an append to {session} holds no fact")));
    }
    let mut expected = after;
    for fact in facts {
        expected = expected.next();
        if fact.session != *session {
            let context = format!("an append to {session} holds a fact of {}", fact.session);
            return Err(invalid(context));
        }
        if fact.seq != expected {
            let context = format!(
                "an append to {session} holds position {} where {expected} must stand",
                fact.seq
            );
            return Err(invalid(context));
        }
    }
    Ok(())
}

pub(crate) fn invalid(context: String) -> StoreError {
    StoreError::new(StoreErrorKind::Invalid, context)
}

pub(crate) fn not_claimed(session: &SessionId, epoch: Epoch, doing: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::NotClaimed,
        format!(
            "{doing} {session} under epoch {epoch}, which is not that of its latest claim: \
             another writer took over, or the claim was released"
        ),
    )
}

pub(crate) fn conflict(session: &SessionId, after: Seq, last: Seq) -> StoreError {
    StoreError::new(
        StoreErrorKind::Conflict { last },
        format!("appending to {session} after {after}, but its log ends at {last}"),
    )
}

pub(crate) fn full(session: &SessionId, limit: u64) -> StoreError {
    StoreError::new(
        StoreErrorKind::Full,
        format!(
            "appending to {session} would pass the {limit} bytes that this memory store holds: \
             use a store on disk for sessions that are this long"
        ),
    )
}
