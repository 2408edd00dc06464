//! Appending: one message an append, fenced by the sequence of the message before it, and known
//! again by its link.

use async_nats::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use windlass_core::{Epoch, Seq, SessionId};
use windlass_kit_log::{Batch, LogEnd};
use windlass_ports::{ChainLink, SessionSummary, StoreError, StoreErrorKind};

use crate::body;
use crate::header::{HEADER, MessageHeader, MessageKind, PiecePosition};
use crate::server::{OutgoingMessage, StoredMessage};
use crate::server_error::{ServerError, conflict, not_claimed};
use crate::store::{HeldClaim, NatsStore};

/// Most tries to locate an append while other clients write to the log.
const ATTEMPTS: u32 = 4;

/// Room in a message for the headers that the server wants.
const HEADER_ROOM: usize = 512;

/// Location of an append whose message was refused.
enum AppendLocation {
    /// It was stored as this message.
    Stored(u64),
    /// The log is at an end that this claim wrote.
    Elsewhere,
    /// The session has another writer.
    Lost,
}

impl NatsStore {
    /// Appends facts under a claim.
    pub(crate) async fn append_facts(&self, batch: &Batch, epoch: Epoch) -> Result<(), StoreError> {
        let session = &batch.session;
        let slot = self.known_slot(session);
        let slot = slot.ok_or_else(|| not_claimed(session, epoch))?;
        let mut slot = slot.lock().await;
        let claimed = slot.as_mut().filter(|held| held.epoch == epoch);
        let held = claimed.ok_or_else(|| not_claimed(session, epoch))?;
        let kept = self.append_in(batch, held).await;
        if kept.as_ref().is_err_and(|error| error.kind == StoreErrorKind::NotClaimed) {
            *slot = None;
        }
        kept
    }

    async fn append_in(&self, batch: &Batch, held: &mut HeldClaim) -> Result<(), StoreError> {
        let session = &batch.session;
        if !held.sure {
            self.look_up(session, held).await?;
        }
        if batch.after != held.end.last {
            if is_last(batch, held) {
                return Ok(());
            }
            return Err(conflict(session, batch.after, held.end.last));
        }
        let links = batch.links(&held.end.link);
        let link = links.last().copied().unwrap_or(held.end.link);
        let facts = batch.facts.iter().map(|fact| &**fact);
        let end = LogEnd {
            last: batch.last(),
            link,
            summary: SessionSummary::after(held.end.summary.clone(), facts),
        };
        let body = Bytes::from(body::join(&batch.texts));
        held.sure = false;
        for (head, body) in self.posts(batch, held, &end, &body)? {
            held.seq = self.store(batch, held, &link, &head, body).await?;
        }
        let before = std::mem::replace(&mut held.end, end);
        held.last_append = Some((before.last, before.link));
        held.sure = true;
        self.wake(session, held.end.last).await;
        Ok(())
    }

    /// The messages of an append: one, or as many pieces as it takes.
    fn posts(
        &self,
        batch: &Batch,
        held: &HeldClaim,
        end: &LogEnd,
        body: &Bytes,
    ) -> Result<Vec<(MessageHeader, Bytes)>, StoreError> {
        let mut last = MessageHeader::new(MessageKind::Facts, held.epoch.0, &self.node.name, end);
        last.count = batch.texts.len() as u64;
        let mut piece =
            MessageHeader::new(MessageKind::Piece, held.epoch.0, &self.node.name, &held.end);
        piece.count = last.count;
        let heads = last.text().len().max(piece.text().len());
        let room = self.server.client.max_payload();
        let room = room.saturating_sub(heads + HEADER_ROOM);
        if body.len() <= room {
            return Ok(vec![(last, body.clone())]);
        }
        if room < 1_024 {
            let what = format!(
                "{}: the server takes messages of {} bytes; raise its max_payload to 64 KiB or more",
                self.about("appending to", &batch.session),
                self.server.client.max_payload()
            );
            return Err(StoreError::new(StoreErrorKind::TooLarge, what));
        }
        let of = body.len().div_ceil(room);
        let posts = (0..of).map(|index| {
            let from = index * room;
            let part = body.slice(from..(from + room).min(body.len()));
            let head = if index + 1 == of { &last } else { &piece };
            let to = last.link.clone();
            let piece = PiecePosition {
                to,
                index: u32::try_from(index).unwrap_or(u32::MAX),
                of: u32::try_from(of).unwrap_or(u32::MAX),
                at: from as u64,
            };
            let head = MessageHeader { piece: Some(piece), ..head.clone() };
            (head, part)
        });
        Ok(posts.collect())
    }

    /// Stores one message of an append, and finds out where it stands when it is refused.
    async fn store(
        &self,
        batch: &Batch,
        held: &mut HeldClaim,
        link: &ChainLink,
        head: &MessageHeader,
        body: Bytes,
    ) -> Result<u64, StoreError> {
        let session = &batch.session;
        let doing = || self.about("appending to", session);
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, head.text().as_str());
        let index = head.piece.as_ref().map_or(0, |piece| piece.index);
        let mut expected = held.seq;
        for _ in 0..ATTEMPTS {
            let id = message_id(link, held.epoch, index, expected);
            headers.insert("Nats-Msg-Id", id.as_str());
            let post = OutgoingMessage {
                subject: self.server.names.log_subject(session),
                headers: headers.clone(),
                body: body.clone(),
                expected: Some(expected),
            };
            match self.server.post(post).await {
                Ok(seq) => return Ok(seq),
                Err(ServerError::Moved) => {}
                Err(trouble) => return Err(trouble.in_store(&doing())),
            }
            let last = self.last(session, "appending to").await?;
            match append_location(&self.node.name, held, head, last.as_ref()) {
                AppendLocation::Stored(seq) => return Ok(seq),
                AppendLocation::Lost => return Err(not_claimed(session, held.epoch)),
                AppendLocation::Elsewhere => {
                    let Some((_, end, stored)) = last else {
                        return Err(not_claimed(session, held.epoch));
                    };
                    if end != held.end || index > 0 {
                        held.ends(end, stored.seq);
                        return Err(conflict(session, batch.after, held.end.last));
                    }
                    // Pieces of an append of this claim that ended without an answer.
                    expected = stored.seq;
                }
            }
        }
        Err(ServerError::Moved.in_store(&doing()))
    }

    /// Finds out where the log of a claim ends, after an append ended without an answer.
    pub(crate) async fn look_up(
        &self,
        session: &SessionId,
        held: &mut HeldClaim,
    ) -> Result<(), StoreError> {
        let last = self.last(session, "looking where the log ends of").await?;
        let own = last.filter(|(head, ..)| is_own(&self.node.name, held, head));
        let (_, end, stored) = own.ok_or_else(|| not_claimed(session, held.epoch))?;
        held.ends(end, stored.seq);
        Ok(())
    }

    /// Tells those who follow a session that it has grown. Who misses it looks by himself.
    pub(crate) async fn wake(&self, session: &SessionId, last: Seq) {
        let subject = self.server.names.wake_subject(session);
        let body = Bytes::from(last.0.to_string());
        if let Err(error) = self.server.client.publish(subject, body).await {
            tracing::debug!(%session, %error, "nobody was told that a log has grown");
        }
    }
}

/// Returns true if these facts repeat the last append of a claim.
fn is_last(batch: &Batch, held: &HeldClaim) -> bool {
    held.last_append.is_some_and(|(after, link)| {
        after == batch.after
            && batch.last() == held.end.last
            && batch.links(&link).last() == Some(&held.end.link)
    })
}

/// Returns true if a message was written under a claim.
fn is_own(node: &str, held: &HeldClaim, head: &MessageHeader) -> bool {
    let claimed = match head.kind {
        // An erasure ends with its claim, unless it was interrupted: then it may go on.
        MessageKind::Claim | MessageKind::Facts | MessageKind::Piece | MessageKind::Erase => true,
        MessageKind::Release => false,
    };
    claimed && head.epoch == held.epoch.0 && head.holder == node
}

fn append_location(
    node: &str,
    held: &HeldClaim,
    wanted: &MessageHeader,
    last: Option<&(MessageHeader, LogEnd, StoredMessage)>,
) -> AppendLocation {
    match last {
        Some((head, _, stored)) if head == wanted => AppendLocation::Stored(stored.seq),
        Some((head, ..)) if is_own(node, held, head) => AppendLocation::Elsewhere,
        _ => AppendLocation::Lost,
    }
}

/// The id by which the server knows a message again: the append by the link it leads to, the claim,
/// the piece, and the message that it is to follow. Asked for once more after others, an append so
/// is another message.
fn message_id(ChainLink(link): &ChainLink, epoch: Epoch, index: u32, expected: u64) -> String {
    let (half, _) = link.split_at(ChainLink::BYTES / 2);
    let half = URL_SAFE_NO_PAD.encode(half);
    format!("{half}.{epoch}.{index}.{expected}")
}
