//! Snapshots: one a session, with a digest of its own, and the checksum of the record that its
//! position stands in, which tells its log from another.

use sha2::{Digest as _, Sha256};
use tokio_postgres::types::Type;
use windlass_core::SessionId;
use windlass_ports::{StoreError, StoreErrorKind, StoredCheckpoint};

use crate::database::Database;
use crate::error::unknown;
use crate::group::{position, seq};

/// The most bytes of a snapshot.
pub(crate) const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Keeps a snapshot in place of the one before.
///
/// # Errors
/// As [`LogStore::keep_snapshot`](windlass_ports::LogStore::keep_snapshot).
pub(crate) async fn put(
    database: &Database,
    session: &SessionId,
    snapshot: &StoredCheckpoint,
) -> Result<(), StoreError> {
    const SQL: &str = "insert into SCHEMA.snapshots as n (log, seq, crc, version, sha256, body) \
        select s.log, $2, f.crc, $3, $4, $5 from SCHEMA.sessions s join lateral (\
            select m.crc from SCHEMA.facts m where m.log = s.log and m.last >= $2 \
            order by m.last limit 1\
        ) f on true where s.id = $1 and s.last >= $2 \
        on conflict (log) do update set seq = excluded.seq, crc = excluded.crc, \
            version = excluded.version, sha256 = excluded.sha256, body = excluded.body \
        returning 1";
    let doing = format!("keeping a snapshot of session {session}");
    let refused = |kind, what: &str| {
        let context = format!("{doing} in {}: {what}", database.location);
        StoreError::new(kind, context)
    };
    if snapshot.bytes.len() > MOST_BYTES {
        let what = "it has more than 64 MiB";
        return Err(refused(StoreErrorKind::TooLarge, what));
    }
    let params = &[
        (&session.as_str() as _, Type::TEXT),
        (&position(snapshot.seq) as _, Type::INT4),
        (&snapshot.version.as_bytes() as _, Type::BYTEA),
        (&&digest(snapshot)[..] as _, Type::BYTEA),
        (&snapshot.bytes.as_slice() as _, Type::BYTEA),
    ];
    if !database.rows(&doing, SQL, params).await?.is_empty() {
        return Ok(());
    }
    let sql = "select from SCHEMA.sessions where id = $1 and last > 0";
    let params = &[(&session.as_str() as _, Type::TEXT)];
    if database.rows(&doing, sql, params).await?.is_empty() {
        return Err(unknown(&database.location, session));
    }
    let what = format!("its position {} is behind the log's end", snapshot.seq);
    Err(refused(StoreErrorKind::Invalid, &what))
}

/// The snapshot that is kept of a session, if it is of this version and of this log.
///
/// # Errors
/// As [`LogStore::snapshot`](windlass_ports::LogStore::snapshot).
pub(crate) async fn get(
    database: &Database,
    session: &SessionId,
    version: &str,
) -> Result<Option<StoredCheckpoint>, StoreError> {
    const SQL: &str = "select n.seq, n.sha256, n.body from SCHEMA.sessions s \
        left join lateral (\
            select * from SCHEMA.snapshots k \
            where k.log = s.log and k.version = $2 and k.seq <= s.last and k.crc = (\
                select m.crc from SCHEMA.facts m where m.log = s.log and m.last >= k.seq \
                order by m.last limit 1\
            )\
        ) n on true where s.id = $1 and s.last > 0";
    let doing = format!("reading the snapshot of session {session}");
    let params = &[(&session.as_str() as _, Type::TEXT), (&version.as_bytes() as _, Type::BYTEA)];
    let rows = database.rows(&doing, SQL, params).await?;
    let row = rows.first();
    let row = row.ok_or_else(|| unknown(&database.location, session))?;
    let Some(at) = row.get::<_, Option<i32>>(0) else {
        return Ok(None);
    };
    let snapshot =
        StoredCheckpoint { seq: seq(at), version: version.to_owned(), bytes: row.get(2) };
    let sound = row.get::<_, &[u8]>(1) == digest(&snapshot);
    Ok(sound.then_some(snapshot))
}

fn digest(snapshot: &StoredCheckpoint) -> [u8; 32] {
    Sha256::new()
        .chain_update(snapshot.seq.0.to_le_bytes())
        .chain_update((snapshot.version.len() as u64).to_le_bytes())
        .chain_update(&snapshot.version)
        .chain_update(&snapshot.bytes)
        .finalize()
        .into()
}
