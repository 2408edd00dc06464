//! A store whose own check of a log tells something else than the log says.

use async_trait::async_trait;
use windlass_engine::core::{RecordedFact, Seq, SessionId};
use windlass_engine::ports::{ChainLink, LogStore, LogVerification, StoreError, StoreErrorKind};
use windlass_testkit::faulty::FaultyStore;

pub(crate) struct Lying {
    store: FaultyStore,
    /// After which position its logs are damaged.
    damaged: Option<Seq>,
}

impl Lying {
    pub(crate) fn another_chain(store: FaultyStore) -> Self {
        Self { store, damaged: None }
    }

    /// What stands behind this position does not read.
    pub(crate) fn damaged_after(store: FaultyStore, after: Seq) -> Self {
        Self { store, damaged: Some(after) }
    }
}

fn damage(after: Seq) -> StoreError {
    let kind = StoreErrorKind::Corrupt { after, offset: None };
    StoreError::new(kind, "damaged")
}

#[async_trait]
impl LogStore for Lying {
    windlass_testkit::forward!(store: capabilities, claim, release, append, sessions);

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        let facts = self.store.read(session, after, limit).await?;
        match self.damaged {
            Some(stands) if facts.last().is_some_and(|last| last.seq > stands) => {
                Err(damage(stands))
            }
            Some(_) | None => Ok(facts),
        }
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        if let Some(after) = self.damaged {
            return Err(damage(after));
        }
        let verified = self.store.verify(session).await?;
        Ok(LogVerification { chain: ChainLink::genesis(session), ..verified })
    }
}
