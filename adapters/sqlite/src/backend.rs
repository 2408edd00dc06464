//! The backend of the pipeline: the one connection that writes facts.
//!
//! A commit runs in this order: one transaction with all appends, which SQLite syncs; the witness;
//! a look whether the database is still at its path.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use windlass_core::{Seq, SessionId};
use windlass_kit_log::{AppendRequest, CommitBackend, LogEnd};
use windlass_ports::{StoreError, StoreErrorKind, TailRepair};

use crate::checkpoint;
use crate::error::{corrupt, io_error, sqlite_error, twice_if_malformed};
use crate::open::OpenStore;
use crate::owners::{LivingOwners, Owner};
use crate::read::link_at;
use crate::sessions::find;
use crate::witness::Witness;

/// Pause before a claim that could not be released is released again.
const AGAIN: Duration = Duration::from_secs(1);

/// The writer of a store.
#[derive(Debug)]
pub(crate) struct Database {
    store: Arc<OpenStore>,
    db: Connection,
    witness: Witness,
    /// `None` until the first claim.
    owner: Option<Owner>,
    /// Logs of claimed sessions.
    claimed: HashMap<SessionId, i64>,
    /// Sessions that are released here, and could not be in the database.
    unreleased: Vec<SessionId>,
    over: bool,
}

impl Database {
    pub(crate) fn new(store: Arc<OpenStore>, db: Connection, witness: Witness) -> Self {
        let (claimed, unreleased) = (HashMap::new(), Vec::new());
        Self { store, db, witness, owner: None, claimed, unreleased, over: false }
    }

    /// Runs a transaction, and states its commit. Runs it again if SQLite finds the database malformed.
    fn transact<T>(
        &mut self,
        doing: &str,
        act: impl Fn(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        twice_if_malformed(|| self.transact_once(doing, &act))
    }

    fn transact_once<T>(
        &mut self,
        doing: &str,
        act: impl Fn(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let dir = self.store.folder.dir.clone();
        let failed = |error| sqlite_error(doing, &dir, error);
        let step = self.db.transaction_with_behavior(TransactionBehavior::Immediate);
        let step = step.map_err(failed)?;
        let done = act(&step)?;
        let count = "update store set commits = commits + 1 returning commits";
        let commits = {
            let mut count = step.prepare_cached(count).map_err(failed)?;
            count.query_row([], |row| row.get::<_, i64>(0)).map_err(failed)?
        };
        step.commit().map_err(failed)?;
        self.witness.state(commits)?;
        self.check_there()?;
        Ok(done)
    }

    fn check_there(&mut self) -> Result<(), StoreError> {
        let there = self.store.check_there();
        self.over |= there.is_err();
        there
    }

    /// Number of this store object.
    fn owner(&mut self) -> Result<i64, StoreError> {
        let number = match &self.owner {
            Some(owner) => owner.number,
            None => {
                let owner = Owner::register(&self.store.folder, &self.db)?;
                self.owner.insert(owner).number
            }
        };
        Ok(number)
    }

    /// Releases sessions in the database, or all that this store object has claimed.
    fn give_up(&mut self, sessions: Option<&[SessionId]>) -> Result<(), StoreError> {
        let Some(owner) = self.owner.as_ref().map(|owner| owner.number) else {
            return Ok(());
        };
        let store = self.store.clone();
        self.transact("releasing claims in", |step| {
            let run = |sql: &str, id: Option<&str>| {
                let mut statement = step.prepare_cached(sql)?;
                statement.execute((owner, id))
            };
            let ids = match sessions {
                Some(sessions) => sessions.iter().map(|id| Some(id.as_str())).collect(),
                None => vec![None],
            };
            for id in ids {
                let done = run(FORGET_EMPTY, id).and_then(|_| run(RELEASE, id));
                done.map_err(|error| {
                    sqlite_error("releasing claims in", &store.folder.dir, error)
                })?;
            }
            Ok(())
        })
    }
}

/// Overwrites the facts of a log in their places: a row of the same size stays where it is. Deleting
/// them would move other rows, and SQLite leaves old copies of those in its pages.
const OVERWRITE: &str = "update facts set link = zeroblob(length(link)), \
     body = replace(printf('%*c', octet_length(body), ' '), ' ', '0') where log = ?1";

const FORGET_EMPTY: &str =
    "delete from sessions where owner = ?1 and (?2 is null or id = ?2) and last = 0";
const RELEASE: &str =
    "update sessions set owner = null where owner = ?1 and (?2 is null or id = ?2)";

impl CommitBackend for Database {
    fn claim(&mut self, session: &SessionId) -> Result<(LogEnd, Option<TailRepair>), StoreError> {
        self.check_there()?;
        let owner = self.owner()?;
        let store = self.store.clone();
        let doing = format!("claiming session {session} in");
        let (log, end) = self.transact(&doing, |step| claim(&store, step, session, owner))?;
        self.unreleased.retain(|released| released != session);
        self.claimed.insert(session.clone(), log);
        Ok((end, None))
    }

    fn release(&mut self, session: &SessionId) {
        self.claimed.remove(session);
        if let Err(error) = self.give_up(Some(std::slice::from_ref(session))) {
            tracing::warn!(%error, %session, "a claim is released later");
            self.unreleased.push(session.clone());
        }
    }

    fn commit(&mut self, requests: &[AppendRequest]) -> Result<(), StoreError> {
        let owner = self.owner()?;
        let (store, claimed) = (self.store.clone(), std::mem::take(&mut self.claimed));
        let done = self.transact("appending to", |step| {
            for request in requests {
                let log = claimed.get(&request.batch.session).copied();
                append(&store, step, request, log, owner)?;
            }
            Ok(())
        });
        self.claimed = claimed;
        done
    }

    fn erase(&mut self, session: &SessionId) -> Result<(), StoreError> {
        let doing = format!("erasing session {session} in");
        let (store, owner) = (self.store.clone(), self.owner()?);
        let log = self.claimed.get(session).copied();
        self.transact(&doing, |step| {
            let failed = |error| sqlite_error(&doing, &store.folder.dir, error);
            if let Some(log) = log {
                step.execute(OVERWRITE, [log]).map_err(failed)?;
            }
            let row = "delete from sessions where id = ?1 and owner = ?2";
            step.execute(row, (session.as_str(), owner)).map(drop).map_err(failed)
        })?;
        // What was overwritten still stands in the write-ahead log.
        self.empty_log(&doing)?;
        checkpoint::remove(&self.store.folder, session)?;
        self.claimed.remove(session);
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.over
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        let dir = self.store.folder.dir.clone();
        let failed = |error| sqlite_error("probing", &dir, error);
        let written = self.transact("probing", |step| {
            let sql = "update store set probes = probes + 1 returning probes";
            step.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(failed)
        })?;
        let read = self.db.query_row("select probes from store", [], |row| row.get::<_, i64>(0));
        match read.map_err(failed)? {
            // Another process may have probed in between.
            read if read >= written => Ok(()),
            _ => {
                let error = std::io::Error::other("a probe is not read back as it was written");
                Err(io_error("probing", &dir, error))
            }
        }
    }

    fn maintain(&mut self) -> Result<Option<Duration>, StoreError> {
        if self.unreleased.is_empty() {
            return Ok(None);
        }
        let sessions = std::mem::take(&mut self.unreleased);
        if let Err(error) = self.give_up(Some(&sessions)) {
            tracing::debug!(%error, count = sessions.len(), "claims are still to be released");
            self.unreleased = sessions;
            return Ok(Some(AGAIN));
        }
        Ok(None)
    }
}

impl Database {
    /// Copies the write-ahead log into the database and empties it, once no reader needs it.
    fn empty_log(&self, doing: &str) -> Result<(), StoreError> {
        let dir = &self.store.folder.dir;
        let is_busy: bool = twice_if_malformed(|| {
            let done = self.db.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0));
            done.map_err(|error| sqlite_error(doing, dir, error))
        })?;
        if !is_busy {
            return Ok(());
        }
        let context = format!(
            "{doing} the SQLite store {}: another process reads from it for too long, so that what \
             was erased is still in its write-ahead log; erase it again",
            dir.display()
        );
        Err(StoreError::new(StoreErrorKind::Unavailable, context))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !self.over
            && let Err(error) = self.give_up(None)
        {
            tracing::debug!(%error, "claims end with the lock of their store object");
        }
    }
}

/// Becomes the owner of a session, whose row is made if it is new.
fn claim(
    store: &OpenStore,
    step: &Transaction<'_>,
    session: &SessionId,
    owner: i64,
) -> Result<(i64, LogEnd), StoreError> {
    let folder = &store.folder;
    let failed =
        |error| sqlite_error(&format!("claiming session {session} in"), &folder.dir, error);
    let Some(row) = find(step, session).map_err(failed)? else {
        let end = LogEnd::empty(session);
        let sql = "insert into sessions (id, owner, last, link, changed_ms, turn_open, waiting_inputs) \
                   values (?1, ?2, 0, ?3, 0, 0, 0)";
        step.execute(sql, (session.as_str(), owner, end.link.0)).map_err(failed)?;
        return Ok((step.last_insert_rowid(), end));
    };
    let looked_up = |error| io_error("looking up the owner of a claim in", &folder.dir, error);
    if let Some(other) = row.owner.filter(|other| *other != owner)
        && LivingOwners::new(folder).is_alive(other).map_err(looked_up)?
    {
        let context = format!(
            "claiming session {session} in the SQLite store {}: another process, or another store \
             object of this one, holds it; wait for it or end it",
            folder.dir.display()
        );
        return Err(StoreError::new(StoreErrorKind::Locked, context));
    }
    if link_at(step, session, row.log, row.end.last).map_err(failed)? != Some(row.end.link) {
        let before = Seq(row.end.last.0.saturating_sub(1));
        return Err(corrupt(&folder.dir, session, before, "the last fact is missing or changed"));
    }
    let sql = "update sessions set owner = ?1 where log = ?2";
    step.execute(sql, (owner, row.log)).map_err(failed)?;
    Ok((row.log, row.end))
}

/// Writes the facts of an append, and the new end of its log.
fn append(
    store: &OpenStore,
    step: &Transaction<'_>,
    request: &AppendRequest,
    log: Option<i64>,
    owner: i64,
) -> Result<(), StoreError> {
    let (batch, end) = (&request.batch, &request.end);
    let dir = &store.folder.dir;
    let failed =
        |error| sqlite_error(&format!("appending to session {} in", batch.session), dir, error);
    let lost = |kind, what: &str| {
        let (session, dir) = (&batch.session, dir.display());
        Err(StoreError::new(kind, format!("appending to session {session} in {dir}: {what}")))
    };
    let Some(log) = log else {
        return lost(StoreErrorKind::NotClaimed, "it is not claimed");
    };
    let mut fact = step
        .prepare_cached("insert into facts (log, seq, link, body) values (?1, ?2, ?3, ?4)")
        .map_err(failed)?;
    let mut seq = batch.after;
    for (text, link) in batch.texts.iter().zip(&request.links) {
        seq = seq.next();
        let Ok(text) = std::str::from_utf8(text) else {
            return lost(StoreErrorKind::Invalid, "the text form of a fact is not UTF-8");
        };
        fact.execute((log, seq.0.cast_signed(), link.0, text)).map_err(failed)?;
    }
    let mut row = step
        .prepare_cached(
            "update sessions set last = ?1, link = ?2, changed_ms = ?3, tenant = ?4, \
             turn_open = ?5, waiting_inputs = ?6, bytes = ?7 \
             where log = ?8 and owner = ?9 and last = ?10",
        )
        .map_err(failed)?;
    let Some(summary) = &end.summary else {
        return lost(StoreErrorKind::Invalid, "it has no summary");
    };
    let changed = row.execute(rusqlite::params![
        end.last.0.cast_signed(),
        end.link.0,
        summary.changed_at.0.cast_signed(),
        summary.tenant.as_deref(),
        summary.turn_open,
        summary.waiting_inputs,
        summary.bytes.map(u64::cast_signed),
        log,
        owner,
        batch.after.0.cast_signed(),
    ]);
    match changed.map_err(failed)? {
        1 => Ok(()),
        _ => lost(StoreErrorKind::NotClaimed, "somebody changed its row: claim it again"),
    }
}
