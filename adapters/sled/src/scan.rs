//! Checked reads of the database: a session's last record, and pages of its log.

use sled::Db;
use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, SessionSummary};

use crate::error::RecordError;
use crate::note;
use crate::record::{self, DecodedRecord, RecordHeader};

/// A record with a valid checksum.
#[derive(Debug)]
pub(crate) struct CheckedRecord {
    pub(crate) header: RecordHeader,
    /// Summary of the log, if the record has one.
    pub(crate) summary: Option<SessionSummary>,
    pub(crate) text: Vec<u8>,
}

/// End of a session's log in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogTail {
    /// Last position of a whole append.
    pub(crate) seq: Seq,
    /// Header of that record; `None` at position 0.
    pub(crate) header: Option<RecordHeader>,
    /// Summary of the log at that position, if the record has one.
    pub(crate) summary: Option<SessionSummary>,
    /// Bytes of half an append behind it.
    pub(crate) torn_bytes: u64,
}

/// Consecutive facts of a log.
#[derive(Debug)]
pub(crate) struct FactPage {
    pub(crate) texts: Vec<Vec<u8>>,
    /// Link of the last of them, or the one before the page.
    pub(crate) link: ChainLink,
}

/// Limits of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageLimits {
    /// Last position of the log.
    pub(crate) last: Seq,
    pub(crate) facts: usize,
    /// Bytes that end the page.
    pub(crate) bytes: usize,
}

/// Reads the record of a position.
pub(crate) fn record(
    db: &Db,
    session: &SessionId,
    seq: Seq,
) -> Result<Option<CheckedRecord>, RecordError> {
    let Some(value) = db.get(record::key(session, seq, 0))? else {
        return Ok(None);
    };
    let DecodedRecord { header, note, text } = record::parse(&value).map_err(RecordError::Bad)?;
    let mut text = text.to_vec();
    for chunk in (1_u16..).take(header.chunks() - 1) {
        let part = db.get(record::key(session, seq, chunk))?;
        let part = part.ok_or_else(|| missing(seq))?;
        text.extend_from_slice(&part);
    }
    checked(session, seq, header, note, text).map(Some)
}

/// Finds the end of a session's log; returns `None` if the database has nothing of it.
pub(crate) fn tail(db: &Db, session: &SessionId) -> Result<Option<LogTail>, RecordError> {
    let mut rows = db.range(record::prefix(session)..record::after_session(session));
    let Some(row) = rows.next_back() else {
        return Ok(None);
    };
    let Some((_, seq, _)) = record::parse_key(&row?.0) else {
        return Err(RecordError::Bad("a key is not one of a record".to_owned()));
    };
    let last = record(db, session, seq)?.ok_or_else(|| missing(seq))?;
    let RecordHeader { index, count, .. } = last.header;
    if index.checked_add(1) == Some(count) {
        return Ok(Some(LogTail {
            seq,
            header: Some(last.header),
            summary: last.summary,
            torn_bytes: 0,
        }));
    }
    let begun = seq.0.checked_sub(u64::from(index) + 1).map(Seq);
    let kept =
        begun.ok_or_else(|| RecordError::Bad("an append begins before its log".to_owned()))?;
    let before = match kept {
        Seq::ZERO => None,
        kept => Some(record(db, session, kept)?.ok_or_else(|| missing(kept))?),
    };
    let mut torn_bytes = 0;
    for row in db.range(record::key(session, kept.next(), 0)..record::after_session(session)) {
        torn_bytes += row?.1.len() as u64;
    }
    Ok(Some(LogTail {
        seq: kept,
        header: before.as_ref().map(|record| record.header),
        summary: before.and_then(|record| record.summary),
        torn_bytes,
    }))
}

/// Reads the records after position `after`, which has the link `before`. A fault comes with the
/// last sound position.
pub(crate) fn page(
    db: &Db,
    session: &SessionId,
    (after, before): (Seq, ChainLink),
    bounds: PageLimits,
) -> Result<FactPage, (Seq, RecordError)> {
    let mut page = FactPage { texts: Vec::new(), link: before };
    let mut bytes = 0_usize;
    let mut at = after;
    let from = record::key(session, after.next(), 0);
    let mut rows = db.range(from..record::after_session(session));
    while at < bounds.last && page.texts.len() < bounds.facts && bytes < bounds.bytes {
        let record = next(&mut rows, session, at.next()).map_err(|fault| (at, fault))?;
        let link = page.link.next(&record.text);
        if link != record.header.link {
            let what = format!("the record at {} does not continue the chain", at.next());
            return Err((at, RecordError::Bad(what)));
        }
        page.link = link;
        bytes += record.text.len();
        page.texts.push(record.text);
        at = at.next();
    }
    Ok(page)
}

/// Finds the first session behind `after` in the database.
pub(crate) fn session_after(
    db: &Db,
    after: Option<&SessionId>,
) -> Result<Option<SessionId>, RecordError> {
    let from = after.map_or_else(|| vec![1], record::after_session);
    let Some(row) = db.range(from..).next() else {
        return Ok(None);
    };
    match record::parse_key(&row?.0) {
        Some((session, _, _)) => Ok(Some(session)),
        None => Err(RecordError::Bad("a key is not one of a record".to_owned())),
    }
}

fn next(
    rows: &mut sled::Iter,
    session: &SessionId,
    seq: Seq,
) -> Result<CheckedRecord, RecordError> {
    let first = chunk(rows, session, seq, 0)?;
    let DecodedRecord { header, note, text } = record::parse(&first).map_err(RecordError::Bad)?;
    let mut text = text.to_vec();
    for number in (1_u16..).take(header.chunks() - 1) {
        text.extend_from_slice(&chunk(rows, session, seq, number)?);
    }
    checked(session, seq, header, note, text)
}

fn chunk(
    rows: &mut sled::Iter,
    session: &SessionId,
    seq: Seq,
    number: u16,
) -> Result<sled::IVec, RecordError> {
    let (key, value) = rows.next().ok_or_else(|| missing(seq))??;
    if *key == record::key(session, seq, number) { Ok(value) } else { Err(missing(seq)) }
}

fn checked(
    session: &SessionId,
    seq: Seq,
    header: RecordHeader,
    note: &[u8],
    text: Vec<u8>,
) -> Result<CheckedRecord, RecordError> {
    if !record::check(session, seq, &header, note, &text) {
        return Err(RecordError::Bad(format!("the record at {seq} fails its checksum")));
    }
    Ok(CheckedRecord { header, summary: note::decode(note, seq).map_err(RecordError::Bad)?, text })
}

fn missing(seq: Seq) -> RecordError {
    RecordError::Bad(format!("the record at {seq} is missing, or a part of it"))
}
