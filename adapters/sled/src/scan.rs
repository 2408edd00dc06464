//! Reading the database: a session's last record, and stretches of its log, all checked.

use sled::Db;
use windlass_core::{Seq, SessionId};
use windlass_ports::{Link, Summary};

use crate::chain::Chain;
use crate::error::Fault;
use crate::note;
use crate::record::{self, Header, Parsed};

/// A record whose checksum holds.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) header: Header,
    /// The log in short, where it is said.
    pub(crate) summary: Option<Summary>,
    pub(crate) text: Vec<u8>,
}

/// Where a session's log ends in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The last position of a whole append.
    pub(crate) seq: Seq,
    /// Its header; `None` at position 0.
    pub(crate) header: Option<Header>,
    /// The log in short up to it, where it is said.
    pub(crate) summary: Option<Summary>,
    /// Bytes of a half append after it, which the database should never leave.
    pub(crate) torn_bytes: u64,
}

/// A stretch of a log.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) texts: Vec<Vec<u8>>,
    /// The chain at the last.
    pub(crate) chain: Chain,
    /// The link in the last record, if there is one.
    pub(crate) link: Option<Link>,
}

/// How far a page may go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// The last position of the log.
    pub(crate) last: Seq,
    pub(crate) facts: usize,
    /// The page ends with the fact that reaches this.
    pub(crate) bytes: usize,
}

/// The record at a position.
pub(crate) fn record(db: &Db, session: &SessionId, seq: Seq) -> Result<Option<Record>, Fault> {
    let Some(value) = db.get(record::key(session, seq, 0))? else {
        return Ok(None);
    };
    let Parsed { header, note, text } = record::parse(&value).map_err(Fault::Bad)?;
    let mut text = text.to_vec();
    for chunk in (1_u16..).take(header.chunks() - 1) {
        let part = db.get(record::key(session, seq, chunk))?;
        let part = part.ok_or_else(|| missing(seq))?;
        text.extend_from_slice(&part);
    }
    checked(session, seq, header, note, text).map(Some)
}

/// Where a session's log ends; `None` when the database has nothing of it.
pub(crate) fn tail(db: &Db, session: &SessionId) -> Result<Option<Tail>, Fault> {
    let mut rows = db.range(record::prefix(session)..record::after_session(session));
    let Some(row) = rows.next_back() else {
        return Ok(None);
    };
    let Some((_, seq, _)) = record::parse_key(&row?.0) else {
        return Err(Fault::Bad("a key is not one of a record".to_owned()));
    };
    let last = record(db, session, seq)?.ok_or_else(|| missing(seq))?;
    let Header { index, count, .. } = last.header;
    if index.checked_add(1) == Some(count) {
        return Ok(Some(Tail {
            seq,
            header: Some(last.header),
            summary: last.summary,
            torn_bytes: 0,
        }));
    }
    let begun = seq.0.checked_sub(u64::from(index) + 1).map(Seq);
    let kept = begun.ok_or_else(|| Fault::Bad("an append begins before its log".to_owned()))?;
    let before = match kept {
        Seq::ZERO => None,
        kept => Some(record(db, session, kept)?.ok_or_else(|| missing(kept))?),
    };
    let mut torn_bytes = 0;
    for row in db.range(record::key(session, kept.next(), 0)..record::after_session(session)) {
        torn_bytes += row?.1.len() as u64;
    }
    Ok(Some(Tail {
        seq: kept,
        header: before.as_ref().map(|record| record.header),
        summary: before.and_then(|record| record.summary),
        torn_bytes,
    }))
}

/// The records after position `after`, where the chain is at `before`. On a fault, the last sound
/// position goes with it.
pub(crate) fn page(
    db: &Db,
    session: &SessionId,
    (after, before): (Seq, Chain),
    bounds: Bounds,
) -> Result<Page, (Seq, Fault)> {
    let mut page = Page {
        texts: Vec::new(),
        chain: before,
        link: None,
    };
    let mut bytes = 0_usize;
    let mut at = after;
    let from = record::key(session, after.next(), 0);
    let mut rows = db.range(from..record::after_session(session));
    while at < bounds.last && page.texts.len() < bounds.facts && bytes < bounds.bytes {
        let record = next(&mut rows, session, at.next()).map_err(|fault| (at, fault))?;
        let Some(chain) = page.chain.then(&record.header, &record.text) else {
            let what = format!("the record at {} does not continue the chain", at.next());
            return Err((at, Fault::Bad(what)));
        };
        page.chain = chain;
        page.link = Some(record.header.link);
        bytes += record.text.len();
        page.texts.push(record.text);
        at = at.next();
    }
    Ok(page)
}

/// The first session with an id after `after` of which the database has anything.
pub(crate) fn session_after(
    db: &Db,
    after: Option<&SessionId>,
) -> Result<Option<SessionId>, Fault> {
    let from = after.map_or_else(|| vec![1], record::after_session);
    let Some(row) = db.range(from..).next() else {
        return Ok(None);
    };
    match record::parse_key(&row?.0) {
        Some((session, _, _)) => Ok(Some(session)),
        None => Err(Fault::Bad("a key is not one of a record".to_owned())),
    }
}

fn next(rows: &mut sled::Iter, session: &SessionId, seq: Seq) -> Result<Record, Fault> {
    let first = chunk(rows, session, seq, 0)?;
    let Parsed { header, note, text } = record::parse(&first).map_err(Fault::Bad)?;
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
) -> Result<sled::IVec, Fault> {
    let (key, value) = rows.next().ok_or_else(|| missing(seq))??;
    if *key == record::key(session, seq, number) {
        Ok(value)
    } else {
        Err(missing(seq))
    }
}

fn checked(
    session: &SessionId,
    seq: Seq,
    header: Header,
    note: &[u8],
    text: Vec<u8>,
) -> Result<Record, Fault> {
    if !record::check(session, seq, &header, note, &text) {
        return Err(Fault::Bad(format!(
            "the record at {seq} fails its checksum"
        )));
    }
    Ok(Record {
        header,
        summary: note::decode(note, seq).map_err(Fault::Bad)?,
        text,
    })
}

fn missing(seq: Seq) -> Fault {
    Fault::Bad(format!("the record at {seq} is missing, or a part of it"))
}
