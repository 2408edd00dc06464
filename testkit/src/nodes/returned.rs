//! Cases of what every store of several nodes promises of claims that could not be given back. An
//! adapter's tests hold it to them with two store objects of one place and its own means to disturb it.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep};
use windlass_core::{Seq, SessionId};
use windlass_ports::{LogStore, SessionFilter, StoreErrorKind};

use crate::store::{Checked, Violation, numbered_facts};

/// How long after the place takes it again a claim is given back at most, with what a busy machine adds.
const WITHIN: Duration = Duration::from_secs(60);
/// How often it is looked.
const LOOK: Duration = Duration::from_millis(50);

/// What keeps a store object from giving claims back, while its lease lives on.
#[async_trait]
pub trait Disturbance: Send + Sync {
    /// From now on, releases of the store object fail.
    async fn begin(&self);

    /// They succeed again.
    async fn end(&self);
}

/// A claim that could not be given back is over for its store object at once, and others have the session
/// soon after the place takes releases again, although the lease of the node lives on.
///
/// # Errors
/// What was promised and did not come.
pub async fn what_could_not_be_given_back_is_free_later(
    one: &dyn LogStore,
    other: &dyn LogStore,
    disturbance: &dyn Disturbance,
) -> Checked {
    let id = SessionId::new("returned").map_err(|error| Violation::new(error.to_string()))?;
    let said = |error| Violation::new(format!("{error}"));
    // What a listing remembers must be overtaken by what comes later.
    is_free(one, &id).await?;
    is_free(other, &id).await?;
    let epoch = one.claim(&id).await.map_err(said)?.epoch;
    let facts = numbered_facts(&id, Seq::ZERO, 2);
    let appended = one.append(&id, epoch, Seq::ZERO, &facts).await;
    appended.map_err(said)?;
    disturbance.begin().await;
    if one.release(&id, epoch).await.is_ok() {
        return Err(Violation::new("a release that was disturbed succeeded"));
    }
    let more = numbered_facts(&id, Seq(2), 1);
    match one.append(&id, epoch, Seq(2), &more).await {
        Err(error) if error.kind == StoreErrorKind::NotClaimed => {}
        appended => {
            let what = format!("an append after a release that failed gave {appended:?}");
            return Err(Violation::new(what));
        }
    }
    match other.claim(&id).await {
        Err(error) if error.kind == StoreErrorKind::Locked => {}
        claimed => {
            let what = format!("a claim that is not given back yet was let go: {claimed:?}");
            return Err(Violation::new(what));
        }
    }
    disturbance.end().await;
    let until = Instant::now() + WITHIN;
    // Whoever takes up what nobody drives looks from every node, the one that held it too.
    while !is_free(other, &id).await? {
        let _reached_or_not = is_free(one, &id).await;
        if Instant::now() >= until {
            let what = format!("a claim that could not be given back stands after {WITHIN:?}");
            return Err(Violation::new(what));
        }
        sleep(LOOK).await;
    }
    let claimed = other.claim(&id).await.map_err(said)?;
    if claimed.epoch <= epoch || claimed.last != Seq(2) {
        let what = format!("what was given back late is claimed as {claimed:?}");
        return Err(Violation::new(what));
    }
    Ok(())
}

/// Returns true if a store lists a session as open and free.
async fn is_free(store: &dyn LogStore, id: &SessionId) -> Result<bool, Violation> {
    let filter = SessionFilter { unclaimed: true, ..SessionFilter::ALL_TENANTS.clone().open() };
    let heads = store.sessions(&filter, None, 10).await;
    let heads = heads.map_err(|error| Violation::new(format!("listing free sessions: {error}")))?;
    Ok(heads.iter().any(|head| head.id == *id))
}
