//! The log store in a PostgreSQL database.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use windlass_core::{Epoch, Recorded, Seq, SessionId};
use windlass_kit_log::{Batch, LogEnd};
use windlass_ports::{
    Claimed, Durability, Fencing, Link, LogStore, MAX_FACT_BYTES, SessionFilter, SessionHead,
    Snapshot, StoreCapabilities, StoreError, StoreErrorKind, Summary, Verified,
};

use crate::blobs::PostgresBlobs;
use crate::config::{Listen, PostgresConfig};
use crate::database::Database;
use crate::error::{corrupt, not_claimed, unknown};
use crate::gather::{self, Job, conflict};
use crate::group::seq;
use crate::inbox::PostgresInbox;
use crate::mail::{self, Mail};
use crate::node::{self, Node};
use crate::presence::{self, Channels, Presence};
use crate::relay::{self, Live, PostgresRelay};
use crate::returns::{self, Returns};
use crate::slots::{Slot, Slots};
use crate::tails::Tails;
use crate::{read, record, schema, snapshots, tls};

/// Interval at which claims that could not be released are released again.
const GIVE_BACK: Duration = Duration::from_secs(1);
/// Most tries of a claim when this node's lease expired, or another node just left.
const CLAIMS: u32 = 5;

/// A log store in PostgreSQL, for any number of nodes.
pub struct PostgresStore {
    pub(crate) presence: Arc<Presence>,
    put: mpsc::Sender<Job>,
    durability: Durability,
    poll_ms: u64,
    blob_bytes: u64,
    replies_ms: u64,
    linger_ms: Option<u64>,
}

/// State that the store shares with its tasks.
pub(crate) struct Shared {
    pub(crate) database: Arc<Database>,
    pub(crate) node: Arc<Node>,
    pub(crate) slots: Slots,
    pub(crate) returns: Returns,
    pub(crate) tails: Arc<Tails>,
    pub(crate) mail: Arc<Mail>,
    pub(crate) live: Arc<Live>,
    /// Tells this store object's notifications from those of others.
    pub(crate) unique: String,
}

impl PostgresStore {
    /// Connects, brings the tables to this version, and checks that the server keeps what the store
    /// declares. Is called within a tokio runtime, which then carries the store's tasks: it must
    /// have I/O and time.
    ///
    /// # Errors
    /// `Unavailable` when the server is away for longer than the patience; `Invalid` for settings
    /// that are wrong, and for a server that does not sync; `ReadOnly` for a standby; `Newer` where
    /// a newer engine made the tables; `Unsupported` for a server that is too old; `Io` when the
    /// server lets the user not in or there is no such database.
    pub async fn connect(config: PostgresConfig) -> Result<Self, StoreError> {
        let database = Arc::new(Database::new(&config)?);
        let told = schema::look(&database, config.durability).await?;
        schema::migrate(&database).await?;
        let name = config.node.clone().unwrap_or_else(|| told.unique.clone());
        let shared = Arc::new(Shared {
            node: Node::start(&database, name, config.lease_ms),
            database,
            slots: Slots::default(),
            returns: Returns::default(),
            tails: Arc::default(),
            mail: Arc::default(),
            live: Arc::new(Live::new(&told.unique, config.linger_ms)),
            unique: told.unique,
        });
        let weak = || Arc::downgrade(&shared);
        let tails = || Arc::clone(&shared.tails);
        let poll = Duration::from_millis(config.poll_ms);
        tokio::spawn(presence::tell(weak(), tails()));
        tokio::spawn(presence::ask(weak(), tails(), poll));
        tokio::spawn(returns::give_back(weak(), GIVE_BACK));
        let channels = Channels::of(&config.schema);
        let (mail, live) = (|| Arc::clone(&shared.mail), || Arc::clone(&shared.live));
        tokio::spawn(mail::tell(weak(), mail(), channels.mail));
        tokio::spawn(mail::ask(weak(), mail(), poll, config.replies_ms));
        let listens = match &config.listen {
            Listen::Here => Some(config.server.clone()),
            Listen::At(server) => Some(server.as_ref().clone()),
            Listen::Never => None,
        };
        if let Some(server) = listens {
            let tls = tls::connector(&config)?;
            tokio::spawn(presence::listen(weak(), server, tls));
            tokio::spawn(relay::send(weak(), live(), channels.live));
            let linger_ms = config.linger_ms;
            tokio::spawn(relay::announce(weak(), live(), channels.hears, linger_ms));
        }
        let put = gather::start(&shared, config.writers);
        let runtime = Handle::current();
        Ok(Self {
            presence: Arc::new(Presence { shared, runtime }),
            put,
            durability: config.durability,
            poll_ms: config.poll_ms,
            blob_bytes: config.blob_bytes,
            replies_ms: config.replies_ms,
            linger_ms: (!matches!(config.listen, Listen::Never)).then_some(config.linger_ms),
        })
    }

    /// The inbox beside these logs, by the same connections.
    #[must_use]
    pub fn inbox(&self) -> PostgresInbox {
        PostgresInbox::new(
            &self.presence,
            self.durability,
            self.poll_ms,
            self.replies_ms,
        )
    }

    /// A live relay to all other nodes, by the database's notifications; `None` where this store does
    /// not listen to them (`listen=never`).
    #[must_use]
    pub fn relay(&self) -> Option<PostgresRelay> {
        let linger_ms = self.linger_ms?;
        Some(PostgresRelay::new(&self.presence, linger_ms))
    }

    /// The blobs beside these logs, by the same connections.
    #[must_use]
    pub fn blobs(&self) -> PostgresBlobs {
        PostgresBlobs::new(&self.presence, self.blob_bytes, self.durability)
    }

    /// Gives this node's lease back, and all of its claims with it. Dropping the store does the same
    /// in its runtime's own time, as far as that still runs; else the lease ends by itself.
    ///
    /// # Errors
    /// `Unavailable`, `Io`.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.shared().node.leave().await
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.presence.shared
    }

    fn database(&self) -> &Database {
        &self.shared().database
    }

    /// One try to claim.
    async fn try_claim(&self, session: &SessionId) -> Result<Claim, StoreError> {
        const SQL: &str = "select outcome, epoch, last, link, waiting, changed, turning, tenant, \
            holder, left_ms from SCHEMA.claim($1, $2, $3)";
        let owner = self.shared().node.lease().await?;
        let genesis = Link::genesis(session);
        let params = &[
            (&session.as_str() as _, Type::TEXT),
            (&owner as _, Type::INT8),
            (&&genesis.0[..] as _, Type::BYTEA),
        ];
        let doing = format!("claiming session {session}");
        let asking = self.shared().returns.telling(session, None, owner);
        let rows = self.database().rows(&doing, SQL, params).await?;
        asking.done();
        let place = &self.database().place;
        let broken = |after, what: &str| corrupt(place, session, after, what);
        let Some(row) = rows.first() else {
            return Err(broken(Seq::ZERO, "no answer to a claim"));
        };
        match row.get::<_, &str>(0) {
            "claimed" => {}
            "over" => return Ok(Claim::Over { owner }),
            "locked" => {
                let context = format!(
                    "{doing} in {place}: node {} holds it, for another {} ms without a renewal; \
                     ask that node, or wait for it to end",
                    row.get::<_, &str>(8),
                    row.get::<_, i64>(9)
                );
                let error = StoreError::new(StoreErrorKind::Locked, context);
                return Ok(Claim::Locked {
                    holder: row.get(8),
                    error,
                });
            }
            _ => return Err(broken(Seq::ZERO, "its last row is missing")),
        }
        let end = end(session, row, 2);
        let end = end.ok_or_else(|| broken(Seq::ZERO, "where it ends does not read"))?;
        let epoch = Epoch(row.get::<_, i64>(1).cast_unsigned());
        let last = end.last;
        let slot = Slot {
            epoch,
            owner,
            end,
            before: None,
        };
        self.shared().slots.keep(session, slot);
        Ok(Claim::Done(Claimed {
            epoch,
            last,
            repaired: None,
        }))
    }

    /// Returns the end of a log, as the server has it, if the claim is in force.
    async fn end(&self, session: &SessionId, slot: &Slot) -> Result<Option<LogEnd>, StoreError> {
        const SQL: &str = "select last, link, waiting, changed, turning, tenant \
            from SCHEMA.sessions \
            where id = $1 and epoch = $2 and owner = $3 and SCHEMA.alive(owner)";
        let epoch = slot.epoch.0.cast_signed();
        let params = &[
            (&session.as_str() as _, Type::TEXT),
            (&epoch as _, Type::INT8),
            (&slot.owner as _, Type::INT8),
        ];
        let rows = self.database().rows("appending", SQL, params).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let read = end(session, row, 0);
        let broken = || {
            let what = "where it ends does not read";
            corrupt(&self.database().place, session, Seq::ZERO, what)
        };
        read.map(Some).ok_or_else(broken)
    }
}

/// Reads the end of a log from columns of a row, starting at `first`.
fn end(session: &SessionId, row: &Row, first: usize) -> Option<LogEnd> {
    let last: i32 = row.get(first);
    if last == 0 {
        return Some(LogEnd::empty(session));
    }
    Some(LogEnd {
        last: seq(last),
        link: Link(row.get::<_, &[u8]>(first + 1).try_into().ok()?),
        summary: Some(read::summary(row, first, first + 2)?),
    })
}

/// Returns the end of a log after a following batch.
fn follow(end: &LogEnd, batch: &Batch) -> LogEnd {
    let facts = batch.facts.iter().map(Arc::as_ref);
    LogEnd {
        last: batch.last(),
        link: batch.links(&end.link).pop().unwrap_or(end.link),
        summary: Summary::after(end.summary.clone(), facts),
    }
}

/// Result of one try to claim.
enum Claim {
    Done(Claimed),
    /// This node's lease is over.
    Over {
        owner: i64,
    },
    Locked {
        holder: String,
        error: StoreError,
    },
}

#[async_trait]
impl LogStore for PostgresStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities {
            durability: self.durability,
            max_fact_bytes: MAX_FACT_BYTES,
            fencing: Fencing::Place,
            tail: Some(self.poll_ms.saturating_mul(2)),
            erase: true,
            snapshots: Some(snapshots::MOST_BYTES),
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<Claimed, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let departures = node::departures();
            match self.try_claim(session).await? {
                Claim::Done(claimed) => return Ok(claimed),
                Claim::Over { owner } if tries < CLAIMS => {
                    self.shared().node.forget(owner).await;
                }
                Claim::Over { .. } => {
                    let doing = "claiming";
                    return Err(not_claimed(&self.database().place, session, doing));
                }
                Claim::Locked { holder, error } => {
                    if tries >= CLAIMS || !node::left(&holder, departures).await {
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let Some(slot) = self.shared().slots.of(session, epoch) else {
            return Ok(());
        };
        // An append that is under way ends first.
        let owner = slot.lock().await.owner;
        let doing = format!("giving session {session} back");
        let params = &[
            (&session.as_str() as _, Type::TEXT),
            (&epoch.0.cast_signed() as _, Type::INT8),
            (&owner as _, Type::INT8),
        ];
        // Over for this store object, whatever becomes of the word to the server.
        self.shared().slots.forget(session, epoch);
        let telling = self.shared().returns.telling(session, Some(epoch), owner);
        let sql = "select SCHEMA.release($1, $2, $3)";
        self.database().rows(&doing, sql, params).await?;
        telling.done();
        Ok(())
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<Recorded>],
    ) -> Result<(), StoreError> {
        let place = &self.database().place;
        let refused = || not_claimed(place, session, "appending to");
        let Some(slot) = self.shared().slots.of(session, epoch) else {
            return Err(refused());
        };
        let batch = Batch::new(place, session, after, facts)?;
        let mut slot = slot.lock_owned().await;
        if slot.end_at(after).is_none() {
            let end = self.end(session, &slot).await?;
            let end = end.ok_or_else(refused)?;
            // One whose answer was lost for good has moved it.
            if end != slot.end {
                slot.end = end;
                slot.before = None;
            }
        }
        let Some(end) = slot.end_at(after) else {
            return Err(conflict(place, session, after, slot.end.last));
        };
        let end = follow(end, &batch);
        if i32::try_from(end.last.0).is_err() {
            let context = format!("session {session} in {place} is full: begin a new session");
            return Err(StoreError::new(StoreErrorKind::TooLarge, context));
        }
        let body = record::body(&batch.texts);
        let (answer, answered) = oneshot::channel();
        let job = Job {
            crc: record::crc(session, after, &body),
            session: batch.session,
            slot,
            after,
            body,
            end,
            answer,
        };
        let gone = || {
            let context = format!("appending to session {session} in {place}: the store is gone");
            StoreError::new(StoreErrorKind::Unavailable, context)
        };
        self.put.send(job).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        read::read(self.database(), session, after, limit).await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        schema::ready(self.database()).await
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionHead>, StoreError> {
        read::sessions(self.database(), filter, after, limit).await
    }

    async fn verify(&self, session: &SessionId) -> Result<Verified, StoreError> {
        read::verify(self.database(), session).await
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        let mut tail = self.shared().tails.wait(session);
        let doing = format!("following session {session}");
        let sql = "select last from SCHEMA.sessions where id = $1 and last > 0";
        let params = &[(&session.as_str() as _, Type::TEXT)];
        let rows = self.database().rows(&doing, sql, params).await?;
        let gone = || unknown(&self.database().place, session);
        let last = rows.first().map(|row| seq(row.get(0))).ok_or_else(gone)?;
        if last > after {
            return Ok(last);
        }
        let grown = tail.ends.wait_for(|end| end.is_none_or(|end| end > after));
        match tokio::time::timeout(patience, grown).await {
            Ok(Ok(end)) => end.ok_or_else(gone),
            // The sender lives as long as this tail does.
            Ok(Err(_)) | Err(_) => Ok(last),
        }
    }

    async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let refused = || not_claimed(&self.database().place, session, "erasing");
        let Some(slot) = self.shared().slots.of(session, epoch) else {
            return Err(refused());
        };
        let owner = slot.lock().await.owner;
        let doing = format!("erasing session {session}");
        let params = &[
            (&session.as_str() as _, Type::TEXT),
            (&epoch.0.cast_signed() as _, Type::INT8),
            (&owner as _, Type::INT8),
        ];
        let sql = "select SCHEMA.erase($1, $2, $3), \
                   exists (select from SCHEMA.sessions where id = $1)";
        let answer = self.database().ask(&doing, sql, params).await?;
        let Some(row) = answer.rows.first() else {
            return Err(refused());
        };
        // The exists sees what was there before: after a lost answer, nothing.
        let (erased, was_there): (bool, bool) = (row.get(0), row.get(1));
        if !erased && (was_there || !answer.tried_before) {
            return Err(refused());
        }
        self.shared().slots.forget(session, epoch);
        self.shared().tails.told(session, None);
        Ok(())
    }

    async fn keep_snapshot(
        &self,
        session: &SessionId,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        snapshots::keep(self.database(), session, snapshot).await
    }

    async fn snapshot(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<Snapshot>, StoreError> {
        snapshots::kept(self.database(), session, version).await
    }
}
