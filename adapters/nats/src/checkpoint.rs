//! Snapshots: pieces on subjects of their own, the first one last, each saying of which snapshot it
//! is. What does not fit together is no snapshot.

use async_nats::HeaderMap;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use windlass_core::{Seq, SessionId};
use windlass_kit_log::LogEnd;
use windlass_ports::{ChainLink, StoreError, StoreErrorKind, StoredCheckpoint};

use crate::assembly::ReadPosition;
use crate::header::{HEADER, MessageHeader, MessageKind};
use crate::server::OutgoingMessage;
use crate::server_error::ServerError;
use crate::store::{MAX_CHECKPOINT_BYTES, NatsStore};

/// The most bytes of a snapshot in one message.
const PIECE_BYTES: usize = 512 * 1024;

/// Longest version, in bytes.
const VERSION_BYTES: usize = 4 * 1024;

/// Header of a piece, as one line of JSON before its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PieceLabel {
    /// Position that the snapshot covers.
    seq: Seq,
    /// The log's link there.
    link: String,
    /// The message of the stream that brought the log there.
    at: u64,
    version: String,
    /// The digest of all the bytes.
    sha256: String,
    /// Number of pieces.
    of: usize,
}

impl NatsStore {
    pub(crate) async fn put_checkpoint(
        &self,
        session: &SessionId,
        snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        let doing = self.about("keeping a snapshot of", session);
        let (end, until) = self.ends(session, "keeping a snapshot of").await?;
        let refused = |kind, what: &str| Err(StoreError::new(kind, format!("{doing}: {what}")));
        if snapshot.bytes.len() > MAX_CHECKPOINT_BYTES || snapshot.version.len() > VERSION_BYTES {
            let what = format!(
                "it may have {MAX_CHECKPOINT_BYTES} bytes, and its version {VERSION_BYTES}"
            );
            return refused(StoreErrorKind::TooLarge, &what);
        }
        if snapshot.seq == Seq::ZERO || snapshot.seq > end.last {
            let what = format!("the log ends at {}: it has no position {}", end.last, snapshot.seq);
            return refused(StoreErrorKind::Invalid, &what);
        }
        let (link, at) = self.link_at(session, snapshot.seq, &end, until).await?;
        let Some(link) = link else {
            return refused(StoreErrorKind::Invalid, "the log has no such position any more");
        };
        let room = self.server.client.max_payload().saturating_sub(2 * VERSION_BYTES + 1_024);
        let pieces: Vec<&[u8]> = match snapshot.bytes.as_slice() {
            [] => vec![&[]],
            bytes => bytes.chunks(PIECE_BYTES.min(room.max(1))).collect(),
        };
        let label = PieceLabel {
            seq: snapshot.seq,
            link: link.to_string(),
            at,
            version: snapshot.version.clone(),
            sha256: digest(&snapshot.bytes),
            of: pieces.len(),
        };
        let line = serde_json::to_vec(&label);
        let line =
            line.map_err(|error| ServerError::Unexpected(error.to_string()).in_store(&doing))?;
        // The first piece comes last: with it the snapshot is whole.
        for (index, piece) in pieces.iter().enumerate().rev() {
            let body = [line.as_slice(), b"\n", piece].concat();
            let kept = self.put_piece(session, index, body).await;
            kept.map_err(|trouble| trouble.in_store(&doing))?;
        }
        Ok(())
    }

    /// Keeps one piece, and takes away what stood in its place.
    async fn put_piece(
        &self,
        session: &SessionId,
        index: usize,
        body: Vec<u8>,
    ) -> Result<(), ServerError> {
        let names = &self.server.names;
        let subject = names.checkpoint_subject(session, &index.to_string());
        let post = OutgoingMessage {
            subject: subject.clone(),
            headers: HeaderMap::new(),
            body: Bytes::from(body),
            expected: None,
        };
        let seq = self.server.post(post).await?;
        self.server.sweep(&names.checkpoint_stream(), &subject, seq).await
    }

    pub(crate) async fn find_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        let doing = "asking for the snapshot of";
        let (end, until) = self.ends(session, doing).await?;
        let failed = |trouble: ServerError| trouble.in_store(&self.about(doing, session));
        let Some((label, first)) = self.piece(session, 0).await.map_err(failed)? else {
            return Ok(None);
        };
        if label.version != version || label.seq > end.last || label.of == 0 {
            return Ok(None);
        }
        if !self.bears_out(session, &label, &end, until).await? {
            return Ok(None);
        }
        let mut bytes = first.to_vec();
        for index in 1..label.of {
            match self.piece(session, index).await.map_err(failed)? {
                Some((other, piece)) if other == label => bytes.extend_from_slice(&piece),
                _ => return Ok(None),
            }
            if bytes.len() > MAX_CHECKPOINT_BYTES {
                return Ok(None);
            }
        }
        let whole = digest(&bytes) == label.sha256;
        Ok(whole.then_some(StoredCheckpoint { seq: label.seq, version: label.version, bytes }))
    }

    async fn piece(
        &self,
        session: &SessionId,
        index: usize,
    ) -> Result<Option<(PieceLabel, Bytes)>, ServerError> {
        let names = &self.server.names;
        let subject = names.checkpoint_subject(session, &index.to_string());
        let last = self.server.last(&names.checkpoint_stream(), &subject).await?;
        Ok(last.and_then(|stored| {
            let line = stored.body.iter().position(|byte| *byte == b'\n')?;
            let label = serde_json::from_slice(stored.body.get(..line)?).ok()?;
            Some((label, stored.body.slice(line + 1..)))
        }))
    }

    /// Returns true if the log has the link of a snapshot at its position. The next read begins
    /// there.
    async fn bears_out(
        &self,
        session: &SessionId,
        label: &PieceLabel,
        end: &LogEnd,
        until: u64,
    ) -> Result<bool, StoreError> {
        let Some(wanted) = ChainLink::parse(&label.link) else {
            return Ok(false);
        };
        if let Some(link) = self.link_with(session, label).await? {
            let spot = ReadPosition { last: label.seq, link, from: label.at.saturating_add(1) };
            if link == wanted {
                self.remember(session, spot);
            }
            return Ok(link == wanted);
        }
        let (link, _) = self.link_at(session, label.seq, end, until).await?;
        Ok(link == Some(wanted))
    }

    /// The link of the log with the message that a snapshot names, if that stands at its position.
    async fn link_with(
        &self,
        session: &SessionId,
        label: &PieceLabel,
    ) -> Result<Option<ChainLink>, StoreError> {
        let subject = self.server.names.log_subject(session);
        let page = self.server.page(&self.stream(session), &subject, label.at, 1).await;
        let page = page.map_err(|trouble| trouble.in_store(&self.about("reading", session)))?;
        Ok(page.first().and_then(|message| {
            let head = MessageHeader::read(message.header(HEADER)).ok()?;
            let there = message.seq == label.at && head.last() == label.seq;
            let whole = match head.kind {
                MessageKind::Facts | MessageKind::Claim | MessageKind::Release => true,
                MessageKind::Piece | MessageKind::Erase => false,
            };
            (there && whole).then(|| head.link())?
        }))
    }

    /// The link at a position of a log, and the message of the stream that brought the log there;
    /// none where the log has no such position.
    async fn link_at(
        &self,
        session: &SessionId,
        seq: Seq,
        end: &LogEnd,
        until: u64,
    ) -> Result<(Option<ChainLink>, u64), StoreError> {
        if seq == end.last {
            return Ok((Some(end.link), until));
        }
        let mut found = None;
        let before = Seq(seq.0.saturating_sub(1));
        self.appends(session, before, until, |append, spot| {
            if spot.last < seq {
                return true;
            }
            let mut link = append.before;
            for (position, text) in (append.first.0..).zip(&append.texts) {
                if position > seq.0 {
                    break;
                }
                link = link.next(text);
            }
            found = Some((link, spot.from.saturating_sub(1)));
            false
        })
        .await?;
        let (link, at) = found.unzip();
        Ok((link, at.unwrap_or_default()))
    }
}

fn digest(bytes: &[u8]) -> String {
    ChainLink(Sha256::digest(bytes).into()).to_string()
}
