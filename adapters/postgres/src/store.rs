//! The log store in a PostgreSQL database.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_kit_log::{Batch, LogEnd};
use windlass_ports::{
    ChainLink, Durability, Fencing, LogStore, LogVerification, MAX_FACT_BYTES, SessionClaim,
    SessionFilter, SessionListing, SessionSummary, StoreCapabilities, StoreError, StoreErrorKind,
    StoredCheckpoint,
};

use crate::background::{self, Channels, StoreLeaseGuard};
use crate::blobs::PostgresBlobs;
use crate::config::{ListenMode, PostgresConfig};
use crate::database::Database;
use crate::error::{corrupt, not_claimed, unknown};
use crate::gather::{self, AppendJob, conflict};
use crate::group::seq;
use crate::live_bus::{self, LiveBusState, PostgresLiveBus};
use crate::mailbox::PostgresMailbox;
use crate::mailbox_waiters::{self, MailboxWaiters};
use crate::node::{self, Node};
use crate::releases::{self, UnconfirmedReleases};
use crate::slots::{ClaimSlot, ClaimSlots};
use crate::tails::Tails;
use crate::{checkpoints, read, record, schema, tls};

/// Interval at which claims that could not be released are released again.
const RELEASE_INTERVAL: Duration = Duration::from_secs(1);
/// Most tries of a claim when this node's lease expired, or another node just left.
const CLAIMS: u32 = 5;

/// A log store in PostgreSQL, for any number of nodes.
pub struct PostgresStore {
    pub(crate) presence: Arc<StoreLeaseGuard>,
    appends: mpsc::Sender<AppendJob>,
    durability: Durability,
    poll_ms: u64,
    blob_bytes: u64,
    replies_ms: u64,
    linger_ms: Option<u64>,
}

/// State that the store shares with its tasks.
pub(crate) struct StoreContext {
    pub(crate) database: Arc<Database>,
    pub(crate) node: Arc<Node>,
    pub(crate) slots: ClaimSlots,
    pub(crate) releases: UnconfirmedReleases,
    pub(crate) tails: Arc<Tails>,
    pub(crate) mailbox_waiters: Arc<MailboxWaiters>,
    pub(crate) live: Arc<LiveBusState>,
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
        let told = schema::inspect_server(&database, config.durability).await?;
        schema::migrate(&database).await?;
        let name = config.node.clone().unwrap_or_else(|| told.unique.clone());
        let shared = Arc::new(StoreContext {
            node: Node::start(&database, name, config.lease_ms),
            database,
            slots: ClaimSlots::default(),
            releases: UnconfirmedReleases::default(),
            tails: Arc::default(),
            mailbox_waiters: Arc::default(),
            live: Arc::new(LiveBusState::new(&told.unique, config.linger_ms)),
            unique: told.unique,
        });
        let weak = || Arc::downgrade(&shared);
        let tails = || Arc::clone(&shared.tails);
        let poll = Duration::from_millis(config.poll_ms);
        tokio::spawn(background::publish_appends(weak(), tails()));
        tokio::spawn(background::ask(weak(), tails(), poll));
        tokio::spawn(releases::retry_releases(weak(), RELEASE_INTERVAL));
        let channels = Channels::of(&config.schema);
        let (mail, live) = (|| Arc::clone(&shared.mailbox_waiters), || Arc::clone(&shared.live));
        tokio::spawn(mailbox_waiters::send_notices(weak(), mail(), channels.mail));
        tokio::spawn(mailbox_waiters::ask(weak(), mail(), poll, config.replies_ms));
        let listens = match &config.listen {
            ListenMode::Here => Some(config.server.clone()),
            ListenMode::At(server) => Some(server.as_ref().clone()),
            ListenMode::Never => None,
        };
        if let Some(server) = listens {
            let tls = tls::connector(&config)?;
            tokio::spawn(background::listen(weak(), server, tls));
            tokio::spawn(live_bus::send(weak(), live(), channels.live));
            let linger_ms = config.linger_ms;
            tokio::spawn(live_bus::announce(weak(), live(), channels.interest, linger_ms));
        }
        let put = gather::start(&shared, config.writers);
        let runtime = Handle::current();
        Ok(Self {
            presence: Arc::new(StoreLeaseGuard { shared, runtime }),
            appends: put,
            durability: config.durability,
            poll_ms: config.poll_ms,
            blob_bytes: config.blob_bytes,
            replies_ms: config.replies_ms,
            linger_ms: (!matches!(config.listen, ListenMode::Never)).then_some(config.linger_ms),
        })
    }

    /// The inbox beside these logs, by the same connections.
    #[must_use]
    pub fn mailbox(&self) -> PostgresMailbox {
        PostgresMailbox::new(&self.presence, self.durability, self.poll_ms, self.replies_ms)
    }

    /// A live relay to all other nodes, by the database's notifications; `None` where this store does
    /// not listen to them (`listen=never`).
    #[must_use]
    pub fn live_bus(&self) -> Option<PostgresLiveBus> {
        let linger_ms = self.linger_ms?;
        Some(PostgresLiveBus::new(&self.presence, linger_ms))
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
        self.shared().node.release_lease().await
    }

    pub(crate) fn shared(&self) -> &StoreContext {
        &self.presence.shared
    }

    fn database(&self) -> &Database {
        &self.shared().database
    }

    /// One try to claim.
    async fn try_claim(&self, session: &SessionId) -> Result<ClaimAttempt, StoreError> {
        const SQL: &str = "select outcome, epoch, last, link, waiting, changed, turning, tenant, \
            bytes, holder, left_ms from SCHEMA.claim_counted($1, $2, $3)";
        let owner = self.shared().node.lease().await?;
        let genesis = ChainLink::genesis(session);
        let params = &[
            (&session.as_str() as _, Type::TEXT),
            (&owner as _, Type::INT8),
            (&&genesis.0[..] as _, Type::BYTEA),
        ];
        let doing = format!("claiming session {session}");
        let asking = self.shared().releases.begin(session, None, owner);
        let rows = self.database().rows(&doing, SQL, params).await?;
        asking.done();
        let place = &self.database().location;
        let broken = |after, what: &str| corrupt(place, session, after, what);
        let Some(row) = rows.first() else {
            return Err(broken(Seq::ZERO, "no answer to a claim"));
        };
        match row.get::<_, &str>(0) {
            "claimed" => {}
            "over" => return Ok(ClaimAttempt::Over { owner }),
            "locked" => {
                let context = format!(
                    "{doing} in {place}: node {} holds it, for another {} ms without a renewal; \
                     ask that node, or wait for it to end",
                    row.get::<_, &str>(9),
                    row.get::<_, i64>(10)
                );
                let error = StoreError::new(StoreErrorKind::Locked, context);
                return Ok(ClaimAttempt::Locked { holder: row.get(9), error });
            }
            _ => return Err(broken(Seq::ZERO, "its last row is missing")),
        }
        let end = end(session, row, 2);
        let end = end.ok_or_else(|| broken(Seq::ZERO, "where it ends does not read"))?;
        let epoch = Epoch(row.get::<_, i64>(1).cast_unsigned());
        let last = end.last;
        let slot = ClaimSlot { epoch, owner, end, before: None };
        self.shared().slots.insert(session, slot);
        Ok(ClaimAttempt::Done(SessionClaim { epoch, last, repaired: None }))
    }

    /// Returns the end of a log, as the server has it, if the claim is in force.
    async fn end(
        &self,
        session: &SessionId,
        slot: &ClaimSlot,
    ) -> Result<Option<LogEnd>, StoreError> {
        const SQL: &str = "select last, link, waiting, changed, turning, tenant, bytes \
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
            corrupt(&self.database().location, session, Seq::ZERO, what)
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
        link: ChainLink(row.get::<_, &[u8]>(first + 1).try_into().ok()?),
        summary: Some(read::summary(row, first, first + 2)?),
    })
}

/// Returns the end of a log after a following batch.
fn follow(end: &LogEnd, batch: &Batch) -> LogEnd {
    let facts = batch.facts.iter().map(Arc::as_ref);
    LogEnd {
        last: batch.last(),
        link: batch.links(&end.link).pop().unwrap_or(end.link),
        summary: SessionSummary::after(end.summary.clone(), facts),
    }
}

/// Result of one try to claim.
enum ClaimAttempt {
    Done(SessionClaim),
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
            fencing: Fencing::AllWriters,
            tail_delay_ms: Some(self.poll_ms.saturating_mul(2)),
            erase: true,
            retention_ms: None,
            max_checkpoint_bytes: Some(checkpoints::MOST_BYTES),
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let departures = node::departures();
            match self.try_claim(session).await? {
                ClaimAttempt::Done(claimed) => return Ok(claimed),
                ClaimAttempt::Over { owner } if tries < CLAIMS => {
                    self.shared().node.forget(owner).await;
                }
                ClaimAttempt::Over { .. } => {
                    let doing = "claiming";
                    return Err(not_claimed(&self.database().location, session, doing));
                }
                ClaimAttempt::Locked { holder, error } => {
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
        let telling = self.shared().releases.begin(session, Some(epoch), owner);
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
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let place = &self.database().location;
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
        let job = AppendJob {
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
        self.appends.send(job).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        read::read(self.database(), session, after, limit).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        schema::probe(self.database()).await
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        read::sessions(self.database(), filter, after, limit).await
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
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
        let gone = || unknown(&self.database().location, session);
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
        let refused = || not_claimed(&self.database().location, session, "erasing");
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
        self.shared().tails.set_end(session, None);
        Ok(())
    }

    async fn write_checkpoint(
        &self,
        session: &SessionId,
        snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        checkpoints::put(self.database(), session, snapshot).await
    }

    async fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        checkpoints::get(self.database(), session, version).await
    }
}
