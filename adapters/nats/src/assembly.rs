//! Assembling: from the messages of a subject, in their order, to the appends of a log. Pure.
//!
//! Every append is held to the chain, so a message that was changed, taken away, doubled or moved
//! is found where it stands.

use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, StoreError};

use crate::body;
use crate::header::{HeaderError, MessageHeader, MessageKind};
use crate::server_error::{bad_head, corrupt};

/// Position of a reader: end of the log so far, and the next message of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadPosition {
    /// The last position before.
    pub(crate) last: Seq,
    /// Chain link of that position.
    pub(crate) link: ChainLink,
    /// The sequence in the stream from which on the rest is.
    pub(crate) from: u64,
}

impl ReadPosition {
    /// Before all facts of a session.
    pub(crate) fn start(session: &SessionId) -> Self {
        Self { last: Seq::ZERO, link: ChainLink::genesis(session), from: 1 }
    }
}

/// An append that was read: at least one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredAppend {
    /// The position of the first text.
    pub(crate) first: Seq,
    /// The text forms of the facts.
    pub(crate) texts: Vec<Vec<u8>>,
    /// The epoch of the claim that it was appended under.
    pub(crate) epoch: u64,
    /// The link before it.
    pub(crate) before: ChainLink,
}

/// Takes the messages of one session.
#[derive(Debug)]
pub(crate) struct LogAssembler<'a> {
    session: &'a SessionId,
    /// After the last whole append.
    pub(crate) position: ReadPosition,
    /// The pieces of an append that is not whole yet.
    pieces: Vec<u8>,
    /// Number of these.
    held: u32,
}

impl<'a> LogAssembler<'a> {
    pub(crate) fn new(session: &'a SessionId, spot: ReadPosition) -> Self {
        Self { session, position: spot, pieces: Vec::new(), held: 0 }
    }

    /// Bytes of pieces that no last piece has followed.
    pub(crate) fn torn_bytes(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// Takes the message `at` of the stream, and answers the append that it completes.
    ///
    /// # Errors
    /// `Corrupt`, `Newer`.
    pub(crate) fn add_message(
        &mut self,
        at: u64,
        head: Result<MessageHeader, HeaderError>,
        body: &[u8],
    ) -> Result<Option<StoredAppend>, StoreError> {
        let head = head.map_err(|bad| self.bad(at, &bad))?;
        match head.kind {
            MessageKind::Piece => self.piece(at, &head, body).map(|()| None),
            MessageKind::Facts => self.facts(at, &head, body).map(Some),
            MessageKind::Claim | MessageKind::Release => {
                self.drop_pieces();
                self.check_position(at, &head)?;
                self.position.from = at.saturating_add(1);
                Ok(None)
            }
            MessageKind::Erase => {
                self.drop_pieces();
                self.position = ReadPosition::start(self.session);
                self.check_position(at, &head)?;
                self.position.from = at.saturating_add(1);
                Ok(None)
            }
        }
    }

    fn piece(&mut self, at: u64, head: &MessageHeader, body: &[u8]) -> Result<(), StoreError> {
        self.check_position(at, head)?;
        let piece = head.piece.as_ref();
        let piece = piece.ok_or_else(|| self.broken(at, "a piece does not say which it is"))?;
        if piece.index == 0 {
            self.drop_pieces();
        }
        if piece.index != self.held || piece.at != self.torn_bytes() {
            return Err(self.broken(at, "a piece before it is missing"));
        }
        self.pieces.extend_from_slice(body);
        self.held += 1;
        Ok(())
    }

    fn facts(
        &mut self,
        at: u64,
        head: &MessageHeader,
        body: &[u8],
    ) -> Result<StoredAppend, StoreError> {
        let pieces = std::mem::take(&mut self.pieces);
        let held = std::mem::take(&mut self.held);
        let whole = match &head.piece {
            None => body.to_vec(),
            Some(piece) if piece.index == held && piece.at == pieces.len() as u64 => {
                let mut whole = pieces;
                whole.extend_from_slice(body);
                whole
            }
            Some(_) => return Err(self.broken(at, "a piece before it is missing")),
        };
        let before = self.position;
        if head.after() != before.last {
            let what = format!("its facts stand after position {}", head.after());
            return Err(self.broken(at, &what));
        }
        let texts = body::split(&whole);
        let texts = texts.ok_or_else(|| self.broken(at, "its body cannot be read"))?;
        let link = texts.iter().fold(before.link, |link, text| link.next(text));
        if texts.len() as u64 != head.count || head.link() != Some(link) {
            return Err(
                self.broken(at, "its facts are not those that were written after those before")
            );
        }
        self.position = ReadPosition { last: head.last(), link, from: at.saturating_add(1) };
        Ok(StoredAppend {
            first: before.last.plus(1),
            texts,
            epoch: head.epoch,
            before: before.link,
        })
    }

    /// Holds a message without whole facts to what stands before it.
    fn check_position(&self, at: u64, head: &MessageHeader) -> Result<(), StoreError> {
        if head.last() == self.position.last && head.link() == Some(self.position.link) {
            return Ok(());
        }
        let what = format!("it stands after position {}, and messages are missing", head.last());
        Err(self.broken(at, &what))
    }

    fn drop_pieces(&mut self) {
        self.pieces.clear();
        self.held = 0;
    }

    fn broken(&self, at: u64, what: &str) -> StoreError {
        corrupt(self.session, self.position.last, at, what)
    }

    fn bad(&self, at: u64, bad: &HeaderError) -> StoreError {
        bad_head(self.session, self.position.last, at, bad)
    }
}
