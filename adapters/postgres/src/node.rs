//! The node: what a store object is to others. It holds a lease of its own while it holds claims,
//! renews it well before it ends, and gives it back when the store object goes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio_postgres::types::Type;
use windlass_ports::StoreError;
use windlass_ports::sync::Mutex as Lock;

use crate::database::Database;

/// Longest time that a claim waits for a node of this process that is releasing its lease.
const LEAVING: Duration = Duration::from_secs(5);

/// Nodes of this process that are giving their leases back.
static LEAVERS: Lock<BTreeSet<String>> = Lock::new(BTreeSet::new());
static LEFT: Notify = Notify::const_new();
/// Number of nodes that did.
static DEPARTURES: AtomicU64 = AtomicU64::new(0);

/// A store object as others see it.
pub(crate) struct Node {
    database: Arc<Database>,
    /// Its name: the holder of its lease.
    pub(crate) name: String,
    ttl_ms: i64,
    /// The epoch of its lease.
    lease: Mutex<Option<i64>>,
}

impl Node {
    /// A node without a lease yet, with a task that renews the lease for as long as there is a node.
    pub(crate) fn start(database: &Arc<Database>, name: String, ttl_ms: u64) -> Arc<Self> {
        let node = Arc::new(Self {
            database: Arc::clone(database),
            name,
            ttl_ms: i64::try_from(ttl_ms).unwrap_or(i64::MAX),
            lease: Mutex::new(None),
        });
        let every = Duration::from_millis(ttl_ms / 3);
        tokio::spawn(renew(Arc::downgrade(&node), every));
        node
    }

    fn place(&self) -> String {
        format!("node/{}", self.name)
    }

    /// The epoch of this node's lease, which is taken first where there is none.
    ///
    /// # Errors
    /// `Unavailable`, `Io`.
    pub(crate) async fn lease(&self) -> Result<i64, StoreError> {
        let mut lease = self.lease.lock().await;
        if let Some(epoch) = *lease {
            return Ok(epoch);
        }
        let epoch = self.acquire().await?;
        *lease = Some(epoch);
        Ok(epoch)
    }

    /// Nobody else has the name, so the lease is always given: where one holds it already, that one
    /// is a store object of the same configured name, and its lease is over with that.
    async fn acquire(&self) -> Result<i64, StoreError> {
        let doing = "taking this node's lease";
        let sql = "select given from SCHEMA.acquire($1, $2, $3)";
        let place = self.place();
        let params = &[
            (&place as _, Type::TEXT),
            (&self.name as _, Type::TEXT),
            (&self.ttl_ms as _, Type::INT8),
        ];
        // Leases of nodes that died long ago are nobody's any more.
        let dead = "delete from SCHEMA.leases where until < clock_timestamp() - interval '1 day'";
        self.database.rows(doing, dead, &[]).await?;
        let rows = self.database.rows(doing, sql, params).await?;
        let given = rows.first().map(|row| row.get(0));
        given.ok_or_else(|| {
            let context = format!(
                "{doing} in {}: another holds the name {place}, which no node has; choose another",
                self.database.location
            );
            StoreError::new(windlass_ports::StoreErrorKind::Locked, context)
        })
    }

    /// The lease of this epoch is over: the next claim takes a new one.
    pub(crate) async fn forget(&self, epoch: i64) {
        let mut lease = self.lease.lock().await;
        if *lease == Some(epoch) {
            *lease = None;
        }
    }

    /// Tells whether there is one that is to be renewed again soon, as it was not this time.
    async fn renew(&self) -> bool {
        let Some(epoch) = *self.lease.lock().await else {
            return false;
        };
        let sql = "update SCHEMA.leases set until = clock_timestamp() + \
                   ttl_ms * interval '1 millisecond' \
                   where epoch = $1 and until > clock_timestamp() returning 1";
        let doing = "renewing this node's lease";
        let params = &[(&epoch as _, Type::INT8)];
        match self.database.renewed(doing, sql, params).await {
            Ok(rows) if rows.is_empty() => {
                tracing::error!(node = self.name, "this node's lease was lost, and its claims");
                self.forget(epoch).await;
                false
            }
            Ok(_) => false,
            Err(error) => {
                tracing::warn!(node = self.name, %error, "the lease was not renewed");
                true
            }
        }
    }

    /// Gives the lease back, and the claims with it.
    ///
    /// # Errors
    /// `Unavailable`, `Io`: then it ends by itself.
    pub(crate) async fn release_lease(&self) -> Result<(), StoreError> {
        let Some(epoch) = self.lease.lock().await.take() else {
            return Ok(());
        };
        let sql = "delete from SCHEMA.leases where epoch = $1";
        let doing = "giving this node's lease back";
        let params = &[(&epoch as _, Type::INT8)];
        self.database.rows(doing, sql, params).await.map(|_| ())
    }
}

/// Renews the lease until there is no node any more.
async fn renew(node: Weak<Node>, every: Duration) {
    let mut wait = every;
    loop {
        tokio::time::sleep(wait).await;
        let Some(node) = node.upgrade() else { return };
        wait = match node.renew().await {
            true => every / 6,
            false => every,
        };
    }
}

/// A node of this process that is about to give its lease back: until this is dropped.
pub(crate) struct DepartureGuard(String);

impl DepartureGuard {
    pub(crate) fn of(node: &Node) -> Self {
        let name = node.name.clone();
        leavers().insert(name.clone());
        Self(name)
    }
}

impl Drop for DepartureGuard {
    fn drop(&mut self) {
        leavers().remove(&self.0);
        DEPARTURES.fetch_add(1, Ordering::SeqCst);
        LEFT.notify_waiters();
    }
}

/// Returns the number of nodes of this process that have released their leases.
pub(crate) fn departures() -> u64 {
    DEPARTURES.load(Ordering::SeqCst)
}

/// Waits until a node has given its lease back, if it is one of this process that is about to. Tells
/// whether one has since there were so many departures: then who held a session may hold it no more.
pub(crate) async fn left(name: &str, before: u64) -> bool {
    let left = LEFT.notified();
    if leavers().contains(name) {
        return tokio::time::timeout(LEAVING, left).await.is_ok();
    }
    departures() != before
}

fn leavers() -> std::sync::MutexGuard<'static, BTreeSet<String>> {
    LEAVERS.lock()
}
