//! The store: a connection, a place, and the claims of this store object.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_kit_log::LogEnd;
use windlass_ports::sync::Mutex;
use windlass_ports::{
    ChainLink, Fencing, LogStore, LogVerification, MAX_FACT_BYTES, SessionClaim, SessionFilter,
    SessionListing, StoreCapabilities, StoreError, StoredCheckpoint,
};

use crate::assembly::ReadPosition;
use crate::blobs::NatsBlobs;
use crate::config::{ErasurePolicy, NatsConfig};
use crate::durability;
use crate::header::{HeaderError, MessageHeader};
use crate::leases::NatsLeases;
use crate::live_bus::NatsLiveBus;
use crate::lookup::BatchLookup;
use crate::mailbox::NatsMailbox;
use crate::node::Node;
use crate::open;
use crate::releases::UnconfirmedReleases;
use crate::server::{Server, StoredMessage};
use crate::server_error::bad_head;
use crate::unclaimed::UnclaimedSessionTracker;

/// The most bytes of a snapshot.
pub(crate) const MAX_CHECKPOINT_BYTES: usize = 16 * 1024 * 1024;

/// Of how many sessions it is remembered where in their stream a reader stood.
const MOST_SPOTS: usize = 4_096;

/// Within how many milliseconds the append of another store object is seen.
pub(crate) const TAIL_MS: u64 = 1_000;

/// A log store on NATS JetStream. See the crate's documentation for how the logs lie there and for
/// what is promised under which settings of the servers.
#[derive(Debug)]
pub struct NatsStore {
    pub(crate) server: Server,
    pub(crate) shown: String,
    pub(crate) node: Arc<Node>,
    pub(crate) claim_wait: Duration,
    blobs: NatsBlobs,
    capabilities: StoreCapabilities,
    replies_ms: u64,
    linger_ms: u64,
    slots: Mutex<HashMap<SessionId, ClaimSlot>>,
    epochs: AtomicU64,
    spots: Mutex<BTreeMap<SessionId, ReadPosition>>,
    pub(crate) unclaimed: Arc<UnclaimedSessionTracker>,
    pub(crate) returns: UnconfirmedReleases,
    pub(crate) together: BatchLookup,
}

/// State of a claimed session. Operations on one session wait for each other.
pub(crate) type ClaimSlot = Arc<tokio::sync::Mutex<Option<HeldClaim>>>;

/// A claim that stands, as far as this store object knows.
#[derive(Debug, Clone)]
pub(crate) struct HeldClaim {
    pub(crate) epoch: Epoch,
    pub(crate) end: LogEnd,
    /// The last message of the session's subject.
    pub(crate) seq: u64,
    /// End of the log before the last append under this claim.
    pub(crate) last_append: Option<(Seq, ChainLink)>,
    /// True if these are known; false after an append that ended without an answer.
    pub(crate) sure: bool,
}

impl HeldClaim {
    /// Takes in where the log was found to end under this claim.
    pub(crate) fn ends(&mut self, end: LogEnd, seq: u64) {
        if end.last != self.end.last {
            // What was open is kept, and began where the log ended before.
            self.last_append = Some((self.end.last, self.end.link));
        }
        self.end = end;
        self.seq = seq;
        self.sure = true;
    }
}

impl NatsStore {
    /// Connects to a server and opens a place there; makes it when it is not there.
    ///
    /// # Errors
    /// `Invalid` for a configuration that cannot be, or another than the place has; `Unavailable`;
    /// `Unsupported` for a server that is too old; `Newer`; `Full`; `Io`.
    pub async fn open(config: &NatsConfig) -> Result<Self, StoreError> {
        let mut server = open::connect(config, &config.login).await?;
        let logs = open::place(&mut server, config).await?;
        let durability = durability::durability(config, &logs).await?;
        let alone = logs.iter().all(|info| info.config.num_replicas == 1);
        let erase = alone || config.erasing == ErasurePolicy::Late;
        let name = config.node.clone().unwrap_or_else(|| {
            let inbox = server.client.new_inbox();
            let (_, unique) = inbox.rsplit_once('.').unwrap_or(("", &inbox));
            unique.to_owned()
        });
        let leases = NatsLeases::new(server.clone());
        let node = Arc::new(Node::new(name, leases, config.lease_ms));
        Ok(Self {
            shown: config.shown(),
            blobs: NatsBlobs::new(server.clone(), Arc::clone(&node), durability),
            node,
            claim_wait: Duration::from_millis(config.claim_wait_ms),
            capabilities: StoreCapabilities {
                durability,
                max_fact_bytes: MAX_FACT_BYTES,
                fencing: Fencing::AllWriters,
                tail_delay_ms: Some(TAIL_MS),
                erase,
                retention_ms: None,
                max_checkpoint_bytes: Some(MAX_CHECKPOINT_BYTES),
            },
            server,
            replies_ms: config.replies_ms,
            linger_ms: config.linger_ms,
            slots: Mutex::default(),
            epochs: AtomicU64::new(0),
            spots: Mutex::default(),
            unclaimed: Arc::default(),
            returns: UnconfirmedReleases::default(),
            together: BatchLookup::default(),
        })
    }

    /// The leases of this place.
    #[must_use]
    pub fn leases(&self) -> NatsLeases {
        NatsLeases::new(self.server.clone())
    }

    /// Blobs beside the logs.
    #[must_use]
    pub fn blobs(&self) -> NatsBlobs {
        self.blobs.clone()
    }

    /// The inbox beside the logs. Is called within a tokio runtime, which then carries its tasks.
    #[must_use]
    pub fn mailbox(&self) -> NatsMailbox {
        let durability = self.capabilities.durability;
        NatsMailbox::new(self.server.clone(), durability, self.replies_ms)
    }

    /// A live relay to all others that have one of this place. Is called within a tokio runtime, which
    /// then carries its tasks.
    #[must_use]
    pub fn live_bus(&self) -> NatsLiveBus {
        NatsLiveBus::new(self.server.clone(), self.linger_ms)
    }

    /// Gives this node's lease back, and all of its claims with it. Dropping the store does the same
    /// in its runtime's own time, as far as that still runs; else the lease ends by itself.
    pub async fn close(&self) {
        self.node.release_lease().await;
    }

    /// The name of this node, as others see it.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node.name
    }

    /// A larger epoch than this store object has given, and than `after`.
    pub(crate) fn next_epoch(&self, after: u64) -> Epoch {
        let next = |given: u64| Some(given.max(after).saturating_add(1));
        let given = self.epochs.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        let given = given.unwrap_or_else(|given| given);
        Epoch(given.max(after).saturating_add(1))
    }

    /// The slot of a session, new or known.
    pub(crate) fn slot(&self, session: &SessionId) -> ClaimSlot {
        let mut slots = self.slots.lock();
        slots.entry(session.clone()).or_default().clone()
    }

    /// The slot of a session that was claimed here.
    pub(crate) fn known_slot(&self, session: &SessionId) -> Option<ClaimSlot> {
        let slots = self.slots.lock();
        slots.get(session).cloned()
    }

    /// Forgets a slot that nobody works on. It must be empty.
    pub(crate) fn forget_slot(&self, session: &SessionId, slot: ClaimSlot) {
        let mut slots = self.slots.lock();
        // The map's and the caller's.
        if Arc::strong_count(&slot) <= 2 {
            slots.remove(session);
        }
    }

    /// Returns the place at or before a position from which to read.
    pub(crate) fn spot(&self, session: &SessionId, after: Seq) -> ReadPosition {
        let spots = self.spots.lock();
        let spot = spots.get(session).filter(|spot| spot.last <= after);
        spot.copied().unwrap_or_else(|| ReadPosition::start(session))
    }

    /// Remembers where a reader stood.
    pub(crate) fn remember(&self, session: &SessionId, spot: ReadPosition) {
        let mut spots = self.spots.lock();
        if spots.len() >= MOST_SPOTS && !spots.contains_key(session) {
            // Any may go: it is only a shortcut.
            spots.pop_first();
        }
        spots.insert(session.clone(), spot);
    }

    /// Forgets where a reader stood.
    pub(crate) fn forget_spot(&self, session: &SessionId) {
        let mut spots = self.spots.lock();
        spots.remove(session);
    }

    pub(crate) fn stream(&self, session: &SessionId) -> String {
        let names = &self.server.names;
        names.log_stream(names.shard(session))
    }

    /// The last message of a session's subject, as the leader has it, with its head.
    pub(crate) async fn last(
        &self,
        session: &SessionId,
        doing: &str,
    ) -> Result<Option<(MessageHeader, LogEnd, StoredMessage)>, StoreError> {
        let subject = self.server.names.log_subject(session);
        let last = self.server.last(&self.stream(session), &subject).await;
        let last = last.map_err(|trouble| trouble.in_store(&self.about(doing, session)))?;
        last.map(|stored| Self::parse_last(session, stored)).transpose()
    }

    /// The last message of a session's subject with its head.
    pub(crate) fn parse_last(
        session: &SessionId,
        stored: StoredMessage,
    ) -> Result<(MessageHeader, LogEnd, StoredMessage), StoreError> {
        let bad = |bad: HeaderError| bad_head(session, Seq::ZERO, stored.seq, &bad);
        let head = MessageHeader::read(stored.header(crate::header::HEADER)).map_err(bad)?;
        let end = head.end(session).map_err(bad)?;
        Ok((head, end, stored))
    }

    /// Describes an operation, for an error.
    pub(crate) fn about(&self, doing: &str, session: &SessionId) -> String {
        format!("{doing} session {session} in {}", self.shown)
    }
}

#[async_trait]
impl LogStore for NatsStore {
    fn capabilities(&self) -> StoreCapabilities {
        self.capabilities
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        self.claim_session(session).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.release_claim(session, epoch).await
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let batch = windlass_kit_log::Batch::new(&self.shown, session, after, facts)?;
        self.append_facts(&batch, epoch).await
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        self.facts(session, after, limit).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        // The clock is a message that is stored like any, and read back.
        let read = self.leases().now_ms().await;
        read.map(|_| ()).map_err(|error| error.in_store(&format!("probing {}", self.shown)))
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        if filter.unclaimed && filter.open == Some(true) {
            return self.list_free(filter, after, limit).await;
        }
        self.list(filter, after, limit).await
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        self.check(session).await
    }

    async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        if !self.capabilities.erase {
            let what = "erasing sessions from streams with replicas, unless it is told erase=late";
            return Err(StoreError::unsupported(session, what));
        }
        self.erase_session(session, epoch).await
    }

    async fn write_checkpoint(
        &self,
        session: &SessionId,
        snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        self.put_checkpoint(session, snapshot).await
    }

    async fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        self.find_checkpoint(session, version).await
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        self.follow(session, after, patience).await
    }
}
