//! Claiming and giving back: a message on the session's subject, so that the fence falls in the same
//! order as the appends that it fences.

use async_nats::HeaderMap;
use bytes::Bytes;
use tokio::time::{Duration, Instant, sleep};
use windlass_core::{Epoch, Seq, SessionId};
use windlass_kit_log::LogEnd;
use windlass_ports::{
    LeaseError, LeaseErrorKind, LeaseStatus, SessionClaim, StoreError, StoreErrorKind, TailRepair,
};

use crate::header::{HEADER, MessageHeader, MessageKind};
use crate::server::{OutgoingMessage, StoredMessage};
use crate::server_error::ServerError;
use crate::store::{HeldClaim, NatsStore};

/// Most tries of a claim while others write to the same session.
const ATTEMPTS: u32 = 32;

/// Interval at which a claim checks whether another node released a session.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl NatsStore {
    /// Becomes the writer of a session.
    pub(crate) async fn claim_session(
        &self,
        session: &SessionId,
    ) -> Result<SessionClaim, StoreError> {
        let slot = self.slot(session);
        let mut held = slot.lock().await;
        let claimed = self.claim_in(session, &mut held).await;
        let empty = held.is_none();
        drop(held);
        if empty {
            self.forget_slot(session, slot);
        }
        claimed
    }

    async fn claim_in(
        &self,
        session: &SessionId,
        held: &mut Option<HeldClaim>,
    ) -> Result<SessionClaim, StoreError> {
        let doing = self.about("claiming", session);
        for _ in 0..ATTEMPTS {
            let last = self.free(session).await?;
            self.node.ensure_lease().await.map_err(|error| leased(&doing, error))?;
            let (before, end, seq, repaired) = match &last {
                None => (0, LogEnd::empty(session), 0, None),
                Some((head, end, stored)) => {
                    (head.epoch, end.clone(), stored.seq, torn(head, stored))
                }
            };
            let epoch = self.next_epoch(before);
            let head = MessageHeader::new(MessageKind::Claim, epoch.0, &self.node.name, &end);
            *held = None;
            let telling = self.returns.begin(session);
            let marked = self.mark(session, &head, seq).await;
            let seq = match marked {
                Ok(seq) => seq,
                Err(ServerError::Moved) => {
                    telling.done();
                    continue;
                }
                Err(trouble) => return Err(trouble.in_store(&doing)),
            };
            if end.last == Seq::ZERO && last.is_some() {
                // What an erasure left, and the claims of a log that never began.
                self.sweep(session, seq).await?;
            }
            if let Some((head, _, stored)) = &last
                && head.kind == MessageKind::Erase
            {
                self.sweep_remaining_mailboxes(session, stored.at_ms).await?;
            }
            let last = end.last;
            *held = Some(HeldClaim { epoch, end, seq, last_append: None, sure: true });
            telling.done();
            return Ok(SessionClaim { epoch, last, repaired });
        }
        Err(ServerError::Moved.in_store(&doing))
    }

    /// The last message of a session once no other node holds it.
    async fn free(
        &self,
        session: &SessionId,
    ) -> Result<Option<(MessageHeader, LogEnd, StoredMessage)>, StoreError> {
        let until = Instant::now() + self.claim_wait;
        loop {
            let last = self.last(session, "claiming").await?;
            let Some(head) = last.as_ref().map(|(head, ..)| head) else {
                return Ok(None);
            };
            let over = matches!(head.kind, MessageKind::Release | MessageKind::Erase);
            if over || head.holder == self.node.name {
                return Ok(last);
            }
            let doing = self.about("claiming", session);
            let holding = self.node.other(&head.holder).await;
            let Some(holding) = holding.map_err(|error| leased(&doing, error))? else {
                return Ok(last);
            };
            if Instant::now() + LOOK_AGAIN > until {
                return Err(locked(&doing, &holding));
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Gives a claim back.
    pub(crate) async fn release_claim(
        &self,
        session: &SessionId,
        epoch: Epoch,
    ) -> Result<(), StoreError> {
        let Some(slot) = self.known_slot(session) else {
            return Ok(());
        };
        let mut held = slot.lock().await;
        if held.as_ref().is_none_or(|held| held.epoch != epoch) {
            return Ok(());
        }
        let given = held.take();
        drop(held);
        self.forget_slot(session, slot);
        let Some(mut given) = given else {
            return Ok(());
        };
        let doing = self.about("giving back", session);
        let telling = self.returns.begin(session);
        for _ in 0..ATTEMPTS {
            if !given.sure {
                // An append ended without an answer: it may have come to stand.
                match self.look_up(session, &mut given).await {
                    Ok(()) => {}
                    // Another has it already.
                    Err(error) if error.kind == StoreErrorKind::NotClaimed => {
                        telling.done();
                        return Ok(());
                    }
                    Err(error) => return Err(error),
                }
            }
            let head =
                MessageHeader::new(MessageKind::Release, epoch.0, &self.node.name, &given.end);
            match self.mark(session, &head, given.seq).await {
                Ok(_) => {
                    telling.done();
                    let summary = given.end.summary.as_ref();
                    if summary.is_some_and(windlass_ports::SessionSummary::is_open) {
                        self.publish_freed(session).await;
                    }
                    return Ok(());
                }
                Err(ServerError::Moved) => given.sure = false,
                Err(trouble) => return Err(trouble.in_store(&doing)),
            }
        }
        Err(ServerError::Moved.in_store(&doing))
    }

    /// Stores a message without facts after the one that is expected to be the last.
    pub(crate) async fn mark(
        &self,
        session: &SessionId,
        head: &MessageHeader,
        expected: u64,
    ) -> Result<u64, ServerError> {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, head.text().as_str());
        let post = OutgoingMessage {
            subject: self.server.names.log_subject(session),
            headers,
            body: Bytes::new(),
            expected: Some(expected),
        };
        self.server.post(post).await
    }
}

/// Returns the part that a claim cuts off: the pieces of an append whose last piece is missing.
fn torn(head: &MessageHeader, stored: &StoredMessage) -> Option<TailRepair> {
    let piece = head.piece.as_ref().filter(|_| head.kind == MessageKind::Piece)?;
    Some(TailRepair {
        last: head.last(),
        cut_bytes: piece.at.saturating_add(stored.body.len() as u64),
    })
}

fn locked(doing: &str, holding: &LeaseStatus) -> StoreError {
    StoreError::new(
        StoreErrorKind::Locked,
        format!(
            "{doing}: it is written by node {holding}; wait until that node lets it go or ends"
        ),
    )
}

/// An error of the leases, told as one of the store.
pub(crate) fn leased(doing: &str, error: LeaseError) -> StoreError {
    let kind = match &error.kind {
        LeaseErrorKind::Held(_) => StoreErrorKind::Locked,
        LeaseErrorKind::Unavailable => StoreErrorKind::Unavailable,
        LeaseErrorKind::Lost | LeaseErrorKind::Invalid | LeaseErrorKind::Io => StoreErrorKind::Io,
    };
    StoreError::new(kind, format!("{doing}: {error}")).caused_by(error)
}
