//! Reading: pages of records in order, each checked, and the whole log against its chain.

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{
    ChainLink, LogVerification, SessionFilter, SessionListing, SessionSummary, StoreError,
    StoreErrorKind,
};

use crate::database::Database;
use crate::error::{corrupt, unknown};
use crate::group::{position, seq};
use crate::record::{RecordError, StoredRecord};

/// The most records of one page.
const PAGE: i64 = 512;
/// The bytes of records after which a page ends.
const PAGE_BYTES: i64 = 8 * 1024 * 1024;

/// A page: the log's end as it is told beside them, and records.
struct RecordPage {
    rows: Vec<Row>,
    last: Seq,
}

impl RecordPage {
    async fn read(
        database: &Database,
        session: &SessionId,
        after: Seq,
        count: i64,
    ) -> Result<Self, StoreError> {
        const SQL: &str = "select s.last, f.last, f.crc, f.body, s.link, s.waiting, s.changed, \
                s.turning, s.tenant, s.bytes \
            from SCHEMA.sessions s left join lateral (\
                select * from (\
                    select n.last, n.crc, n.body, sum(octet_length(n.body)) over (\
                        order by n.last rows between unbounded preceding and 1 preceding\
                    ) as before \
                    from (select * from SCHEMA.facts m where m.log = s.log and m.last > $2 \
                        order by m.last limit $3) n\
                ) w where coalesce(w.before, 0) < $4\
            ) f on true where s.id = $1 and s.last > 0 order by f.last";
        let doing = format!("reading session {session}");
        let params = &[
            (&session.as_str() as _, Type::TEXT),
            (&position(after) as _, Type::INT4),
            (&count as _, Type::INT8),
            (&PAGE_BYTES as _, Type::INT8),
        ];
        let rows = database.rows(&doing, SQL, params).await?;
        let Some(first) = rows.first() else {
            return Err(unknown(&database.location, session));
        };
        Ok(Self { last: seq(first.get(0)), rows })
    }

    fn records(&self) -> impl Iterator<Item = StoredRecord<'_>> {
        self.rows.iter().filter_map(|row| {
            Some(StoredRecord {
                last: row.get::<_, Option<i32>>(1)?,
                crc: row.get(2),
                body: row.get(3),
            })
        })
    }

    /// Returns the summary of the log, with its last link.
    fn link_and_summary(&self) -> Option<(ChainLink, SessionSummary)> {
        let row = self.rows.first()?;
        let link = row.get::<_, &[u8]>(4).try_into().ok()?;
        Some((ChainLink(link), summary(row, 0, 5)?))
    }
}

/// The summary in a row: the position in one column, the rest from another on.
pub(crate) fn summary(row: &Row, last: usize, rest: usize) -> Option<SessionSummary> {
    let tenant = row.get::<_, Option<&[u8]>>(rest + 3);
    let tenant = tenant.map(str::from_utf8).transpose().ok()?;
    Some(SessionSummary {
        last: seq(row.get(last)),
        waiting_inputs: u32::try_from(row.get::<_, i32>(rest)).ok()?,
        changed_at: windlass_core::Timestamp(row.get::<_, i64>(rest + 1).cast_unsigned()),
        turn_open: row.get(rest + 2),
        tenant: tenant.map(Into::into),
        bytes: row.get::<_, Option<i64>>(rest + 4).map(i64::cast_unsigned),
    })
}

/// Reads up to `limit` facts after a position.
///
/// # Errors
/// As [`LogStore::read`](windlass_ports::LogStore::read).
pub(crate) async fn read(
    database: &Database,
    session: &SessionId,
    after: Seq,
    limit: usize,
) -> Result<Vec<RecordedFact>, StoreError> {
    let mut facts = Vec::new();
    let mut at = after;
    loop {
        let left = i64::try_from(limit - facts.len()).unwrap_or(i64::MAX);
        let page = RecordPage::read(database, session, at, left.min(PAGE)).await?;
        let mut reader = RecordReader::new(database, session, at);
        for record in page.records() {
            // What stands before some damage can be read.
            if facts.len() >= limit {
                break;
            }
            for fact in reader.next_facts(&record)? {
                let (fact, _) = fact?;
                if fact.seq > after && facts.len() < limit {
                    facts.push(fact);
                }
            }
        }
        if facts.len() >= limit || reader.at >= page.last {
            return Ok(facts);
        }
        if reader.at == at {
            return Err(reader.missing());
        }
        at = reader.at;
    }
}

/// Lists sessions.
///
/// # Errors
/// As [`LogStore::sessions`](windlass_ports::LogStore::sessions).
pub(crate) async fn sessions(
    database: &Database,
    filter: &SessionFilter,
    after: Option<&SessionId>,
    limit: usize,
) -> Result<Vec<SessionListing>, StoreError> {
    const SQL: &str = "select s.id, s.last, s.waiting, s.changed, s.turning, s.tenant, s.bytes, \
            exists (select from SCHEMA.facts f where f.log = s.log and f.last = s.last) \
        from SCHEMA.sessions s \
        where s.last > 0 and ($1::text is null or s.id > $1) \
            and ($2::bytea is null or s.tenant = $2) \
            and ($3::boolean is null or s.open = $3) \
            and (not $4 or s.owner is null or not exists (\
                select from SCHEMA.leases l \
                where l.epoch = s.owner and l.until > clock_timestamp())) \
        order by s.id limit $5";
    if filter.unclaimed && filter.open == Some(true) {
        return free(database, filter.tenants.name(), after, limit).await;
    }
    let tenant = filter.tenants.name().map(str::as_bytes);
    let count = i64::try_from(limit).unwrap_or(i64::MAX);
    let params = &[
        (&after.map(SessionId::as_str) as _, Type::TEXT),
        (&tenant as _, Type::BYTEA),
        (&filter.open as _, Type::BOOL),
        (&filter.unclaimed as _, Type::BOOL),
        (&count as _, Type::INT8),
    ];
    let rows = database.rows("listing sessions", SQL, params).await?;
    Ok(heads(&rows))
}

/// Lists open sessions that nobody holds: a look for each holder of open ones, of whom there are few,
/// and none at what those who live hold. All nodes ask for it, again and again. That those without a
/// holder are ordered by it too is what has them found by the index over holders.
async fn free(
    database: &Database,
    tenant: Option<&str>,
    after: Option<&SessionId>,
    limit: usize,
) -> Result<Vec<SessionListing>, StoreError> {
    const SQL: &str = "with recursive holders as (\
            (select s.owner from SCHEMA.sessions s \
                where s.open and s.owner is not null order by s.owner limit 1) \
            union all \
            select (select s.owner from SCHEMA.sessions s \
                where s.open and s.owner > h.owner order by s.owner limit 1) \
            from holders h where h.owner is not null\
        ), found as (\
            select s.* from holders h cross join lateral (\
                select s.id, s.log, s.last, s.waiting, s.changed, s.turning, s.tenant, \
                    s.bytes \
                from SCHEMA.sessions s \
                where s.open and s.owner = h.owner and ($1::text is null or s.id > $1) \
                    and ($2::bytea is null or s.tenant = $2) \
                order by s.id limit $3\
            ) s \
            where h.owner is not null and not exists (\
                select from SCHEMA.leases l \
                where l.epoch = h.owner and l.until > clock_timestamp())\
            union all \
            (select s.id, s.log, s.last, s.waiting, s.changed, s.turning, s.tenant, s.bytes \
            from SCHEMA.sessions s \
            where s.open and s.owner is null and ($1::text is null or s.id > $1) \
                and ($2::bytea is null or s.tenant = $2) \
            order by s.owner, s.id limit $3)\
        ) \
        select s.id, s.last, s.waiting, s.changed, s.turning, s.tenant, s.bytes, \
            exists (select from SCHEMA.facts f where f.log = s.log and f.last = s.last) \
        from found s order by s.id limit $3";
    let count = i64::try_from(limit).unwrap_or(i64::MAX);
    let params = &[
        (&after.map(SessionId::as_str) as _, Type::TEXT),
        (&tenant.map(str::as_bytes) as _, Type::BYTEA),
        (&count as _, Type::INT8),
    ];
    let doing = "listing sessions that nobody holds";
    let rows = database.rows(doing, SQL, params).await?;
    Ok(heads(&rows))
}

fn heads(rows: &[Row]) -> Vec<SessionListing> {
    let heads = rows.iter().filter_map(|row| {
        let id = SessionId::new(row.get(0)).ok()?;
        let sound: bool = row.get(7);
        let summary = if sound { summary(row, 1, 2) } else { None };
        Some(SessionListing { id, summary })
    });
    heads.collect()
}

/// Reads all of a log and checks it: each record, that none is missing, the chain, and what is said
/// of the log in short.
///
/// # Errors
/// As [`LogStore::verify`](windlass_ports::LogStore::verify).
pub(crate) async fn verify(
    database: &Database,
    session: &SessionId,
) -> Result<LogVerification, StoreError> {
    // A log that grows meanwhile is checked up to where it ended at first.
    let first = RecordPage::read(database, session, Seq::ZERO, 0).await?;
    let (last, said) = (first.last, first.link_and_summary());
    let mut link = ChainLink::genesis(session);
    let mut bytes = 0;
    let mut folded: Option<SessionSummary> = None;
    let mut at = Seq::ZERO;
    while at < last {
        let page = RecordPage::read(database, session, at, PAGE).await?;
        let mut reader = RecordReader::new(database, session, at);
        for record in page.records().take_while(|record| seq(record.last) <= last) {
            for fact in reader.next_facts(&record)? {
                let (fact, text) = fact?;
                link = link.next(text);
                bytes += text.len() as u64;
                folded = SessionSummary::after(folded, [&fact]);
            }
        }
        if reader.at == at {
            return Err(reader.missing());
        }
        at = reader.at;
    }
    let broken = |what| corrupt(&database.location, session, Seq::ZERO, what);
    let Some((said_link, said_summary)) = said else {
        return Err(broken("what is said of it in the table of sessions does not read"));
    };
    if said_link != link {
        return Err(broken("its chain does not end as the table of sessions says"));
    }
    // A node of an older version does not count bytes.
    let counted = said_summary.bytes;
    let folded = folded.map(|folded| SessionSummary { bytes: counted, ..folded });
    if folded != Some(said_summary) {
        return Err(broken("the table of sessions says something else of it in short"));
    }
    Ok(LogVerification { last, bytes, torn_bytes: 0, chain: link })
}

/// Takes records in their order.
struct RecordReader<'a> {
    database: &'a Database,
    session: &'a SessionId,
    at: Seq,
    began: Seq,
}

impl<'a> RecordReader<'a> {
    fn new(database: &'a Database, session: &'a SessionId, at: Seq) -> Self {
        Self { database, session, at, began: at }
    }

    /// The facts of the next record, which must begin where the one before ended. The first one may
    /// begin before the position that was asked for.
    fn next_facts<'r>(
        &mut self,
        record: &StoredRecord<'r>,
    ) -> Result<impl Iterator<Item = Result<(RecordedFact, &'r [u8]), StoreError>>, StoreError>
    {
        let place = &self.database.location;
        let damaged = |after, what: &str| corrupt(place, self.session, after, what);
        let Some(after) = record.after() else {
            return Err(damaged(self.at, "a row has more facts than positions"));
        };
        if after > self.at || (after < self.at && self.at != self.began) {
            return Err(damaged(self.at, "the row that follows does not follow on"));
        }
        let checked = record.check(self.session, after);
        checked.map_err(|what| damaged(after, &what))?;
        self.at = seq(record.last);
        let (place, session) = (place.clone(), self.session.clone());
        let mut sound = after;
        let facts = record.facts(self.session, after).collect::<Vec<_>>();
        Ok(facts.into_iter().map(move |fact| {
            let fact = fact.map_err(|wrong| match wrong {
                RecordError::Damaged(what) => corrupt(&place, &session, sound, &what),
                RecordError::Newer(error) => {
                    let context = format!("reading session {session} in {place}: {error}");
                    StoreError::new(StoreErrorKind::Newer, context).caused_by(error)
                }
            })?;
            sound = fact.0.seq;
            Ok(fact)
        }))
    }

    fn missing(&self) -> StoreError {
        let what = "what follows is missing";
        corrupt(&self.database.location, self.session, self.at, what)
    }
}
