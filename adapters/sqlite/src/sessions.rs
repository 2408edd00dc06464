//! Rows of sessions: the ends of their logs, and listings.

use rusqlite::{Connection, OptionalExtension as _, Row};
use windlass_core::{Seq, SessionId, Timestamp};
use windlass_kit_log::LogEnd;
use windlass_ports::{ChainLink, SessionFilter, SessionListing, SessionSummary, StoreError};

use crate::error::{corrupt_store, io_error, sqlite_error};
use crate::folder::StoreFolder;
use crate::owners::LivingOwners;

const COLUMNS: &str =
    "log, owner, last, link, changed_ms, tenant, turn_open, waiting_inputs, bytes";

/// Row of a session.
#[derive(Debug)]
pub(crate) struct SessionRow {
    pub(crate) log: i64,
    pub(crate) owner: Option<i64>,
    /// Its summary is `None` for an empty log.
    pub(crate) end: LogEnd,
}

impl SessionRow {
    /// Reads a row, whose columns begin at `at`.
    fn read(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
        let last = Seq(row.get::<_, i64>(at + 2)?.cast_unsigned());
        let summary = SessionSummary {
            last,
            changed_at: Timestamp(row.get::<_, i64>(at + 4)?.cast_unsigned()),
            tenant: row.get::<_, Option<String>>(at + 5)?.map(Into::into),
            turn_open: row.get(at + 6)?,
            waiting_inputs: row.get(at + 7)?,
            bytes: row.get::<_, Option<i64>>(at + 8)?.map(i64::cast_unsigned),
        };
        Ok(Self {
            log: row.get(at)?,
            owner: row.get(at + 1)?,
            end: LogEnd {
                last,
                link: ChainLink(row.get(at + 3)?),
                summary: (last > Seq::ZERO).then_some(summary),
            },
        })
    }
}

/// Finds the row of a session; one that is only claimed has a row too.
pub(crate) fn find(db: &Connection, session: &SessionId) -> rusqlite::Result<Option<SessionRow>> {
    let sql = format!("select {COLUMNS} from sessions where id = ?1");
    let mut statement = db.prepare_cached(&sql)?;
    statement.query_row([session.as_str()], |row| SessionRow::read(row, 0)).optional()
}

/// Lists sessions. One that another store object has claimed is held while that lives.
pub(crate) fn list(
    folder: &StoreFolder,
    db: &Connection,
    filter: &SessionFilter,
    after: Option<&SessionId>,
    limit: usize,
) -> Result<Vec<SessionListing>, StoreError> {
    let failed = |error| sqlite_error("listing the sessions of", &folder.dir, error);
    // Both conditions are tested once more below; the index finds the tenant's.
    let tenant = if filter.tenants.name().is_some() { "and tenant = ?2" } else { "and ?2 is null" };
    let sql = format!(
        "select id, {COLUMNS} from sessions where id > ?1 {tenant} and last > 0 order by id"
    );
    let mut statement = db.prepare_cached(&sql).map_err(failed)?;
    let after = after.map_or("", SessionId::as_str);
    let mut rows = statement.query((after, filter.tenants.name())).map_err(failed)?;
    let mut living = LivingOwners::new(folder);
    let mut listed = Vec::new();
    while listed.len() < limit
        && let Some(row) = rows.next().map_err(failed)?
    {
        let id: String = row.get(0).map_err(failed)?;
        let Ok(id) = SessionId::new(&id) else {
            return Err(corrupt_store(&folder.dir, &format!("a session has the id {id:?}")));
        };
        // A row that does not read is listed too, and reading its log says what is wrong.
        let (owner, summary) = match SessionRow::read(row, 1) {
            Ok(found) => (found.owner, found.end.summary),
            Err(error) => {
                tracing::warn!(%error, session = %id, "the row of a session does not read");
                (None, None)
            }
        };
        let held = match owner {
            Some(owner) if filter.unclaimed => living.is_alive(owner).map_err(|error| {
                io_error("looking up the owner of a claim in", &folder.dir, error)
            })?,
            Some(_) | None => false,
        };
        if filter.matches(summary.as_ref(), || held) {
            listed.push(SessionListing { id, summary });
        }
    }
    Ok(listed)
}
