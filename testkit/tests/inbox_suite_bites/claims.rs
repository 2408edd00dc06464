//! A log store of which only the claims are there: what an inbox needs of one.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{Epoch, Recorded, Seq, SessionId};
use windlass_ports::{
    Claimed, Durability, Fencing, LogStore, SessionFilter, SessionHead, StoreCapabilities,
    StoreError, StoreErrorKind, Verified,
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
            fencing: Fencing::Place,
            tail: None,
            erase: true,
            snapshots: None,
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<Claimed, StoreError> {
        let mut kept = self.0.kept();
        kept.epoch += 1;
        let epoch = Epoch(kept.epoch);
        kept.claims.insert(session.to_string(), epoch);
        Ok(Claimed {
            epoch,
            last: Seq::ZERO,
            repaired: None,
        })
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
        _facts: &[Arc<Recorded>],
    ) -> Result<(), StoreError> {
        Err(StoreError::unsupported(session, "facts"))
    }

    async fn read(
        &self,
        session: &SessionId,
        _after: Seq,
        _limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        Err(StoreError::unsupported(session, "facts"))
    }

    async fn sessions(
        &self,
        _filter: &SessionFilter,
        _after: Option<&SessionId>,
        _limit: usize,
    ) -> Result<Vec<SessionHead>, StoreError> {
        let context = "this store has only claims";
        Err(StoreError::new(StoreErrorKind::Unsupported, context))
    }

    async fn verify(&self, session: &SessionId) -> Result<Verified, StoreError> {
        Err(StoreError::unsupported(session, "facts"))
    }
}
