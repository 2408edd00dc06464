//! Reading of facts: each is checked against its position and the hash chain.

use rusqlite::{Connection, OptionalExtension as _};
use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{ChainLink, LogVerification, StoreError, StoreErrorKind, codec};

use crate::error::{corrupt, sqlite_error, unknown};
use crate::folder::StoreFolder;
use crate::sessions::{self, SessionRow};

/// Finds the row of a session that has facts.
pub(crate) fn written(
    folder: &StoreFolder,
    db: &Connection,
    session: &SessionId,
) -> Result<SessionRow, StoreError> {
    let found = sessions::find(db, session);
    let found = found.map_err(|error| {
        sqlite_error(&format!("reading session {session} in"), &folder.dir, error)
    })?;
    let found = found.filter(|row| row.end.last > Seq::ZERO);
    found.ok_or_else(|| unknown(&folder.dir, session))
}

/// Link of a position, the genesis link at 0; `None` if there is no such fact.
pub(crate) fn link_at(
    db: &Connection,
    session: &SessionId,
    log: i64,
    seq: Seq,
) -> rusqlite::Result<Option<ChainLink>> {
    if seq == Seq::ZERO {
        return Ok(Some(ChainLink::genesis(session)));
    }
    let mut statement = db.prepare_cached("select link from facts where log = ?1 and seq = ?2")?;
    statement.query_row((log, seq.0.cast_signed()), |row| row.get(0).map(ChainLink)).optional()
}

/// Reads facts after a position, up to a number of them.
pub(crate) fn read(
    folder: &StoreFolder,
    db: &mut Connection,
    session: &SessionId,
    after: Seq,
    limit: usize,
) -> Result<Vec<RecordedFact>, StoreError> {
    let mut facts = Vec::new();
    walk(folder, db, session, (after, limit), |_, fact| facts.push(fact))?;
    Ok(facts)
}

/// Reads a whole log and checks it.
pub(crate) fn verify(
    folder: &StoreFolder,
    db: &mut Connection,
    session: &SessionId,
) -> Result<LogVerification, StoreError> {
    let mut bytes = 0;
    let whole = (Seq::ZERO, usize::MAX);
    let found = walk(folder, db, session, whole, |text, _| bytes += text.len() as u64)?;
    Ok(LogVerification { last: found.end.last, bytes, torn_bytes: 0, chain: found.end.link })
}

/// Visits facts after a position, with their texts, in one snapshot of the database. Stops with an
/// error at the first that is not what was appended.
fn walk(
    folder: &StoreFolder,
    db: &mut Connection,
    session: &SessionId,
    (after, limit): (Seq, usize),
    mut visit: impl FnMut(&[u8], RecordedFact),
) -> Result<SessionRow, StoreError> {
    let dir = &folder.dir;
    let failed = |error| sqlite_error(&format!("reading session {session} in"), dir, error);
    let snapshot = db.transaction().map_err(failed)?;
    let row = written(folder, &snapshot, session)?;
    let last = row.end.last;
    if after >= last || limit == 0 {
        return Ok(row);
    }
    let Some(mut link) = link_at(&snapshot, session, row.log, after).map_err(failed)? else {
        let before = Seq(after.0.saturating_sub(1));
        return Err(corrupt(dir, session, before, "the next fact is missing"));
    };
    let mut seq = after;
    let sql = "select seq, link, body from facts where log = ?1 and seq > ?2 and seq <= ?3 \
               order by seq limit ?4";
    let mut statement = snapshot.prepare_cached(sql).map_err(failed)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let range = (row.log, after.0.cast_signed(), last.0.cast_signed(), limit);
    let mut rows = statement.query(range).map_err(failed)?;
    let mut count = 0;
    while let Some(found) = rows.next().map_err(failed)? {
        if found.get::<_, i64>(0).map_err(failed)? != seq.next().0.cast_signed() {
            return Err(corrupt(dir, session, seq, "the next fact is missing"));
        }
        let body = found.get_ref(2).map_err(failed)?;
        let Ok(text) = body.as_bytes() else {
            return Err(corrupt(dir, session, seq, "the next fact has no text"));
        };
        link = link.next(text);
        if found.get::<_, [u8; ChainLink::BYTES]>(1).map(ChainLink).ok() != Some(link) {
            return Err(corrupt(dir, session, seq, "the next fact is not what was appended"));
        }
        visit(text, decode(folder, session, seq, text)?);
        seq = seq.next();
        count += 1;
    }
    if count < limit && seq < last {
        return Err(corrupt(dir, session, seq, "the next fact is missing"));
    }
    if seq == last && link != row.end.link {
        return Err(corrupt(dir, session, seq, "its end is not the one that was appended"));
    }
    drop(rows);
    drop(statement);
    Ok(row)
}

fn decode(
    folder: &StoreFolder,
    session: &SessionId,
    after: Seq,
    text: &[u8],
) -> Result<RecordedFact, StoreError> {
    let dir = &folder.dir;
    match codec::decode(text) {
        Ok(fact) if fact.session == *session && fact.seq == after.next() => Ok(fact),
        Ok(fact) => {
            let what = format!("there stands position {} of session {}", fact.seq, fact.session);
            Err(corrupt(dir, session, after, &what))
        }
        Err(error @ codec::CodecError::Newer { .. }) => Err(StoreError::new(
            StoreErrorKind::Newer,
            format!("reading session {session} in the SQLite store {}: {error}", dir.display()),
        )),
        Err(error @ codec::CodecError::Malformed(_)) => {
            Err(corrupt(dir, session, after, &error.to_string()))
        }
    }
}
