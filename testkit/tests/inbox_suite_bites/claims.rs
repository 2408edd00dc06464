//! A log store of which only the claims are there: what an inbox needs of one.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{
    Durability, Fencing, LogStore, LogVerification, SessionClaim, SessionFilter, SessionListing,
    StoreCapabilities, StoreError, StoreErrorKind,
};

use crate::reference::{Fault, Shared};

/// The claims of a place.
pub(crate) struct Claims(pub(crate) Arc<Shared>);

#[async_trait]
impl LogStore for Claims {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities {
            durability: Durability::Process,
            max_fact_bytes: 1_024,
            fencing: Fencing::AllWriters,
            tail_delay_ms: None,
            erase: true,
            retention_ms: None,
            max_checkpoint_bytes: None,
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        let mut kept = self.0.kept();
        kept.epoch += 1;
        let epoch = Epoch(kept.epoch);
        kept.claims.insert(session.to_string(), epoch);
        Ok(SessionClaim { epoch, last: Seq::ZERO, repaired: None })
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let mut kept = self.0.kept();
        if kept.claims.get(session.as_str()) == Some(&epoch) {
            kept.claims.remove(session.as_str());
        }
        Ok(())
    }

    async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.release(session, epoch).await?;
        let fault = self.0.fault;
        let mut kept = self.0.kept();
        let erased = |of: &str| match fault {
            Some(Fault::ErasesByBeginning) => of.starts_with(session.as_str()),
            _ => of == session.as_str(),
        };
        if fault != Some(Fault::ErasesNoLetters) {
            kept.letters.retain(|(of, _)| !erased(of));
        }
        if fault != Some(Fault::ErasesNoReplies) {
            kept.replies.retain(|(of, _), _| !erased(of));
        }
        Ok(())
    }

    async fn append(
        &self,
        session: &SessionId,
        _epoch: Epoch,
        _after: Seq,
        _facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        Err(StoreError::unsupported(session, "facts"))
    }

    async fn read(
        &self,
        session: &SessionId,
        _after: Seq,
        _limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        Err(StoreError::unsupported(session, "facts"))
    }

    async fn sessions(
        &self,
        _filter: &SessionFilter,
        _after: Option<&SessionId>,
        _limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        let context = "this store has only claims";
        Err(StoreError::new(StoreErrorKind::Unsupported, context))
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        Err(StoreError::unsupported(session, "facts"))
    }
}
