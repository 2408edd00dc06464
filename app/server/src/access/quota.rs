//! Quotas: limit the work of each tenant in this process, so that no tenant uses all of it.
//!
//! Each process counts its own work. Sessions and their bytes are counted in the store.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::{Duration, Instant};
use windlass_engine::ports::sync::Mutex;
use windlass_engine::ports::{LogStore, SessionFilter, StoreError, Tenants};

use super::Quota;
use crate::problem::{Problem, ProblemCode};

/// Time after which sessions are counted again, since other processes open and erase sessions too.
const STALE: Duration = Duration::from_secs(600);
/// The same time for a tenant near one of its limits.
const STALE_NEAR: Duration = Duration::from_secs(10);
/// Sessions of one read of the store.
const PAGE: usize = 1_000;
/// Seconds after which a turn or a stream may be requested again.
const RETRY_SECONDS: u64 = 1;

/// Work in progress, by tenant. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct UsageCounters {
    tenants: Arc<Mutex<HashMap<String, Arc<TenantUsage>>>>,
}

#[derive(Debug, Default)]
struct TenantUsage {
    running: Mutex<RunningCounts>,
    stored: tokio::sync::Mutex<Option<StoredCount>>,
}

#[derive(Debug, Default)]
struct RunningCounts {
    turns: u64,
    streams: u64,
}

/// Number of sessions at the last count, plus those opened here since, and their bytes then.
#[derive(Debug, Clone, Copy)]
struct StoredCount {
    sessions: u64,
    bytes: u64,
    at: Instant,
}

impl StoredCount {
    /// Returns true if it need not be counted again. Bytes grow between two counts, so they count
    /// as near the limit from the half of it on.
    fn is_fresh(&self, quota: &Quota) -> bool {
        let near = self.sessions >= quota.sessions || self.bytes >= quota.bytes / 2;
        self.at.elapsed() < if near { STALE_NEAR } else { STALE }
    }
}

/// Kind of a permit.
#[derive(Debug, Clone, Copy)]
enum PassKind {
    Turn,
    Stream,
}

/// Permit for one turn or one stream, released when dropped.
#[derive(Debug)]
#[must_use = "the room is given back when this is dropped"]
pub(crate) struct UsagePermit {
    count: Arc<TenantUsage>,
    what: PassKind,
}

/// Permit for one more session, until it is opened.
#[derive(Debug)]
#[must_use = "say whether the session was opened"]
pub(crate) struct SessionPermit {
    count: Arc<TenantUsage>,
}

impl UsageCounters {
    /// Reserves room for one more turn of a tenant, whose sessions must have fewer bytes than they
    /// may.
    pub(crate) async fn turn(
        &self,
        tenant: &str,
        quota: &Quota,
        store: &dyn LogStore,
    ) -> Result<UsagePermit, Problem> {
        let detail = "too many turns are in flight: wait until one has ended";
        let permit = self.pass(tenant, PassKind::Turn, quota.turns).ok_or_else(|| {
            Problem::new(ProblemCode::TooManyTurns, detail).retry_after(RETRY_SECONDS)
        })?;
        let count = self.count(tenant);
        require_bytes(quota, known(tenant, quota, store, &mut *count.stored.lock().await).await?)?;
        Ok(permit)
    }

    /// Reserves room for one more stream of a tenant.
    pub(crate) fn stream(&self, tenant: &str, quota: &Quota) -> Result<UsagePermit, Problem> {
        let detail = "too many streams are open: close one";
        self.pass(tenant, PassKind::Stream, quota.streams).ok_or_else(|| {
            Problem::new(ProblemCode::TooManyRequests, detail).retry_after(RETRY_SECONDS)
        })
    }

    /// Reserves room for one more session of a tenant in its store.
    pub(crate) async fn session(
        &self,
        tenant: &str,
        quota: &Quota,
        store: &dyn LogStore,
    ) -> Result<SessionPermit, Problem> {
        let count = self.count(tenant);
        let mut counted = count.stored.lock().await;
        let known = known(tenant, quota, store, &mut counted).await?;
        if known.sessions >= quota.sessions {
            let detail = "the tenant has too many sessions: erase some";
            let seconds = STALE_NEAR.as_secs();
            return Err(Problem::new(ProblemCode::TooManySessions, detail).retry_after(seconds));
        }
        require_bytes(quota, known)?;
        *counted = Some(StoredCount { sessions: known.sessions.saturating_add(1), ..known });
        drop(counted);
        Ok(SessionPermit { count })
    }

    fn pass(&self, tenant: &str, what: PassKind, most: u64) -> Option<UsagePermit> {
        let count = self.count(tenant);
        let mut running = count.running.lock();
        let used = running.count_mut(what);
        if *used >= most {
            return None;
        }
        *used += 1;
        drop(running);
        Some(UsagePermit { count, what })
    }

    fn count(&self, tenant: &str) -> Arc<TenantUsage> {
        let mut tenants = self.tenants.lock();
        tenants.entry(tenant.to_owned()).or_default().clone()
    }
}

impl SessionPermit {
    /// Releases the permit: the session existed before, or was not opened.
    pub(crate) async fn cancel(self) {
        if let Some(counted) = &mut *self.count.stored.lock().await {
            counted.sessions = counted.sessions.saturating_sub(1);
        }
    }
}

impl RunningCounts {
    fn count_mut(&mut self, what: PassKind) -> &mut u64 {
        match what {
            PassKind::Turn => &mut self.turns,
            PassKind::Stream => &mut self.streams,
        }
    }
}

impl Drop for UsagePermit {
    fn drop(&mut self) {
        let mut running = self.count.running.lock();
        let used = running.count_mut(self.what);
        *used = used.saturating_sub(1);
    }
}

/// Returns the last count, or counts again.
async fn known(
    tenant: &str,
    quota: &Quota,
    store: &dyn LogStore,
    counted: &mut Option<StoredCount>,
) -> Result<StoredCount, Problem> {
    if let Some(known) = counted.filter(|counted| counted.is_fresh(quota)) {
        return Ok(known);
    }
    let known = stored(tenant, store).await.map_err(|error| {
        tracing::warn!(tenant, %error, "the sessions cannot be counted");
        Problem::new(ProblemCode::StoreAway, "the store does not answer").retry_after(RETRY_SECONDS)
    })?;
    *counted = Some(known);
    Ok(known)
}

fn require_bytes(quota: &Quota, known: StoredCount) -> Result<(), Problem> {
    if known.bytes < quota.bytes {
        return Ok(());
    }
    let detail = "the sessions of the tenant have too many bytes: erase some";
    let seconds = STALE_NEAR.as_secs();
    Err(Problem::new(ProblemCode::TooManyBytes, detail).retry_after(seconds))
}

async fn stored(tenant: &str, store: &dyn LogStore) -> Result<StoredCount, StoreError> {
    let filter = SessionFilter::of(Tenants::One(tenant.to_owned()));
    let mut count = StoredCount { sessions: 0, bytes: 0, at: Instant::now() };
    let mut after = None;
    loop {
        let heads = store.sessions(&filter, after.as_ref(), PAGE).await?;
        count.sessions += heads.len() as u64;
        let bytes = heads.iter().filter_map(|head| head.summary.as_ref()?.bytes);
        count.bytes = bytes.fold(count.bytes, u64::saturating_add);
        if heads.len() < PAGE {
            return Ok(count);
        }
        after = heads.last().map(|head| head.id.clone());
    }
}

#[cfg(test)]
mod tests {
    use windlass_memory::MemoryStore;

    use super::*;

    fn quota() -> Quota {
        Quota { sessions: 2, turns: 1, streams: 2, ..Quota::default() }
    }

    #[tokio::test]
    async fn what_is_dropped_makes_room_and_tenants_take_none_from_each_other() {
        let (uses, store) = (UsageCounters::default(), MemoryStore::new());
        let turn = async |tenant: &str| uses.turn(tenant, &quota(), &store).await;
        let held = turn("a").await.unwrap();
        let problem = turn("a").await.unwrap_err();
        assert_eq!(problem.code, ProblemCode::TooManyTurns);
        assert!(problem.retry_after.is_some());
        let other = turn("b").await.unwrap();
        let streams = [(); 2].map(|()| uses.stream("a", &quota()).unwrap());
        let problem = uses.stream("a", &quota()).unwrap_err();
        assert_eq!(problem.code, ProblemCode::TooManyRequests);
        drop((held, streams));
        assert!(turn("a").await.is_ok());
        assert!(uses.stream("a", &quota()).is_ok());
        drop(other);
    }

    #[tokio::test]
    async fn sessions_are_counted_with_those_that_are_being_opened() {
        let (uses, store) = (UsageCounters::default(), MemoryStore::new());
        let session = async || uses.session("a", &quota(), &store).await;
        let one = session().await.unwrap();
        let _two = session().await.unwrap();
        let problem = session().await.unwrap_err();
        assert_eq!(problem.code, ProblemCode::TooManySessions);
        one.cancel().await;
        assert!(session().await.is_ok());
    }
}
