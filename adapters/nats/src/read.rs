//! Reading: the leader says where a log ends, any replica may hand out the messages up to there.

use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_kit_log::LogEnd;
use windlass_ports::codec::{self, CodecError};
use windlass_ports::{LogVerification, StoreError, StoreErrorKind};

use crate::assembly::{LogAssembler, ReadPosition, StoredAppend};
use crate::header::{HEADER, MessageHeader, MessageKind};
use crate::server_error::{corrupt, unknown};
use crate::store::NatsStore;

/// Among how many messages of a stream a position is not looked for any further: they are read.
const NEAR: u64 = 256;

/// Range of a log to read.
pub(crate) struct ReadRange {
    /// After the last whole append that was read.
    pub(crate) spot: ReadPosition,
    /// Bytes of pieces after it.
    pub(crate) torn_bytes: u64,
}

impl NatsStore {
    /// Returns the end of a log, and the message of its stream that holds it.
    ///
    /// # Errors
    /// `Unknown` when it has not begun.
    pub(crate) async fn ends(
        &self,
        session: &SessionId,
        doing: &str,
    ) -> Result<(LogEnd, u64), StoreError> {
        match self.last(session, doing).await? {
            Some((_, end, stored)) if end.last > Seq::ZERO => Ok((end, stored.seq)),
            _ => Err(unknown(session, &self.shown)),
        }
    }

    /// Up to `limit` facts after a position.
    pub(crate) async fn facts(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        let (end, until) = self.ends(session, "reading").await?;
        let mut facts = Vec::new();
        if after >= end.last || limit == 0 {
            return Ok(facts);
        }
        let mut broken = None;
        let mut stood = None;
        let scan = self.appends(session, after, until, |append, spot| {
            for (seq, text) in (append.first.0..).zip(&append.texts) {
                if seq <= after.0 {
                    continue;
                }
                if facts.len() == limit {
                    return false;
                }
                match fact(session, Seq(seq), spot.from, text) {
                    Ok(fact) => facts.push(fact),
                    Err(error) => {
                        broken = Some(error);
                        return false;
                    }
                }
            }
            stood = Some(*spot);
            facts.len() < limit
        });
        scan.await?;
        if let Some(error) = broken {
            return Err(error);
        }
        let last = after.plus(facts.len() as u64);
        if facts.len() < limit && last < end.last {
            let what = format!("messages up to position {} are missing", end.last);
            return Err(corrupt(session, last, until, &what));
        }
        if let Some(spot) = stood {
            self.remember(session, spot);
        }
        Ok(facts)
    }

    /// Reads a log as a whole and holds it to its chain.
    pub(crate) async fn check(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        let (end, until) = self.ends(session, "verifying").await?;
        self.forget_spot(session);
        let mut bytes = 0_u64;
        let mut broken = None;
        let scan = self.appends(session, Seq::ZERO, until, |append, spot| {
            for (seq, text) in (append.first.0..).zip(&append.texts) {
                bytes = bytes.saturating_add(text.len() as u64);
                if let Err(error) = fact(session, Seq(seq), spot.from, text) {
                    broken = Some(error);
                    return false;
                }
            }
            true
        });
        let ReadRange { spot, torn_bytes } = scan.await?;
        if let Some(error) = broken {
            return Err(error);
        }
        if (spot.last, spot.link) != (end.last, end.link) {
            let what = format!("messages up to position {} are missing", end.last);
            return Err(corrupt(session, spot.last, until, &what));
        }
        Ok(LogVerification { last: end.last, bytes, torn_bytes, chain: end.link })
    }

    /// Hands over the appends that reach after a position, and perhaps some before them, up to the
    /// message `until` of the stream, as long as `take` wants more.
    pub(crate) async fn appends(
        &self,
        session: &SessionId,
        after: Seq,
        until: u64,
        mut take: impl FnMut(&StoredAppend, &ReadPosition) -> bool + Send,
    ) -> Result<ReadRange, StoreError> {
        let (stream, subject) = (self.stream(session), self.server.names.log_subject(session));
        let failed = |trouble: crate::server_error::ServerError| {
            trouble.in_store(&self.about("reading", session))
        };
        let spot = self.near(session, after, until).await?;
        let mut from = spot.from;
        let mut assembler = LogAssembler::new(session, spot);
        'all: while from <= until {
            let page = self.server.page(&stream, &subject, from, u64::MAX).await;
            let mut page = page.map_err(failed)?;
            if page.is_empty() {
                // The replica that answered lags behind its leader, or nothing is left.
                let next = self.server.next(&stream, &subject, from).await;
                page.extend(next.map_err(failed)?);
            }
            if page.is_empty() {
                break;
            }
            for message in page {
                if message.seq > until {
                    break 'all;
                }
                from = message.seq.saturating_add(1);
                let head = MessageHeader::read(message.header(HEADER));
                let append = assembler.add_message(message.seq, head, &message.body)?;
                if append.is_some_and(|append| !take(&append, &assembler.position)) {
                    break 'all;
                }
            }
        }
        Ok(ReadRange { spot: assembler.position, torn_bytes: assembler.torn_bytes() })
    }

    /// A place at or before a position, from which on not many messages of the stream are before it:
    /// looked for by halves, for each message says where its log stands with it.
    async fn near(
        &self,
        session: &SessionId,
        after: Seq,
        until: u64,
    ) -> Result<ReadPosition, StoreError> {
        let (stream, subject) = (self.stream(session), self.server.names.log_subject(session));
        let mut spot = self.spot(session, after);
        let mut far = until;
        while spot.last < after && far.saturating_sub(spot.from) > NEAR {
            let middle = spot.from + (far - spot.from) / 2;
            let page = self.server.page(&stream, &subject, middle, 1).await;
            let page = page.map_err(|trouble| trouble.in_store(&self.about("reading", session)))?;
            let found = page.first().and_then(|message| {
                let head = MessageHeader::read(message.header(HEADER)).ok()?;
                let whole = match head.kind {
                    MessageKind::Facts | MessageKind::Claim | MessageKind::Release => true,
                    MessageKind::Piece | MessageKind::Erase => false,
                };
                let before = whole && head.last() <= after && message.seq < far;
                before.then_some(ReadPosition {
                    last: head.last(),
                    link: head.link()?,
                    from: message.seq.saturating_add(1),
                })
            });
            match found {
                Some(found) => spot = found,
                None => far = middle,
            }
        }
        Ok(spot)
    }
}

/// A fact of a session at a position, from its text form.
fn fact(session: &SessionId, seq: Seq, from: u64, text: &[u8]) -> Result<RecordedFact, StoreError> {
    let before = Seq(seq.0.saturating_sub(1));
    let at = from.saturating_sub(1);
    let fact = codec::decode(text).map_err(|error| match error {
        CodecError::Newer { .. } => {
            let context = format!("reading position {seq} of session {session}: {error}");
            StoreError::new(StoreErrorKind::Newer, context).caused_by(error)
        }
        CodecError::Malformed(_) => corrupt(session, before, at, &error.to_string()),
    })?;
    if fact.session != *session || fact.seq != seq {
        let what = format!("the fact {} of session {} stands there", fact.seq, fact.session);
        return Err(corrupt(session, before, at, &what));
    }
    Ok(fact)
}
