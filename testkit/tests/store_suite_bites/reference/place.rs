//! Places of such stores, and the ways to open them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use windlass_core::{Seq, SessionId};
use windlass_ports::{LogStore, StoreError, StoreErrorKind};
use windlass_testkit::store::{FactDamage, Inspection, Loss, StoreFixture};

use super::below::Below as _;
use super::{Fault, Kept, Log, Reference, error};

/// A place whose stores all have the same fault.
#[derive(Default)]
pub(crate) struct Place {
    pub(super) fault: Option<Fault>,
    pub(super) kept: Arc<Mutex<Kept>>,
    wake: Arc<Notify>,
}

impl Place {
    pub(crate) fn sound() -> Self {
        Self::default()
    }

    pub(crate) fn faulty(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    fn object(&self) -> Reference {
        let wake = match self.fault {
            Some(Fault::WakesNoOtherObject) => Arc::default(),
            _ => self.wake.clone(),
        };
        Reference::new(self.fault, self.kept.clone(), wake)
    }
}

#[async_trait]
impl StoreFixture for Place {
    async fn open(&self) -> Arc<dyn LogStore> {
        let mut kept = self.kept.lock().unwrap();
        let again = kept.openings > 0;
        kept.openings += 1;
        if again && self.fault == Some(Fault::ForgetsOnOpening) {
            kept.logs.clear();
        }
        for log in kept.logs.values_mut() {
            if self.fault != Some(Fault::KeepsClaimsAcrossOpening) {
                log.claim = None;
                log.given.clear();
            }
            if let Some((snapshot, _)) = &mut log.snapshot
                && self.fault == Some(Fault::GarblesSnapshotsOnOpening)
            {
                snapshot.bytes.pop();
            }
            if self.fault == Some(Fault::LosesTheLastAppendOnOpening) {
                let stays = log.facts.len() - log.last_batch;
                log.facts.truncate(stays);
                log.last_batch = 0;
            }
        }
        if self.fault == Some(Fault::ErasesUntilOpening) {
            let mut erased = std::mem::take(&mut kept.erased);
            kept.logs.append(&mut erased);
        }
        Arc::new(self.object())
    }

    async fn open_beside(&self) -> Result<Arc<dyn LogStore>, StoreError> {
        Ok(Arc::new(self.object()))
    }

    fn patience(&self) -> Duration {
        // What these leave out is waited for in vain, and the case is to find that.
        let hangs = [
            Fault::TakesReleasedElsewhereForHeld,
            Fault::TailsOnlyWhatIsNew,
            Fault::WakesNobody,
            Fault::WakesNoOtherObject,
        ];
        if self.fault.is_some_and(|fault| hangs.contains(&fault)) {
            Duration::from_millis(400)
        } else {
            Duration::from_secs(30)
        }
    }

    async fn damaged(&self, loss: Loss) -> Option<Result<Arc<dyn LogStore>, StoreError>> {
        let kept = self.kept.lock().unwrap();
        let left = |(id, log): (&SessionId, &Log)| {
            let facts = log.facts.iter().take(3).cloned().collect();
            (id.clone(), Log { facts, outside: 3, ..Log::default() })
        };
        let left = match self.fault {
            Some(Fault::ForgetsWhatIsLost) => Kept::default(),
            Some(Fault::ShortensWhatIsLost) if loss == Loss::Cut => {
                Kept { logs: kept.logs.iter().map(left).collect(), ..Kept::default() }
            }
            _ => {
                return Some(Err(error(StoreErrorKind::Corrupt {
                    after: Seq::ZERO,
                    offset: None,
                })));
            }
        };
        let kept = Arc::new(Mutex::new(left));
        Some(Ok(Arc::new(Reference::new(self.fault, kept, Arc::default()))))
    }

    async fn damage(
        &self,
        damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        self.hurt(damage).await
    }

    async fn bytes(&self) -> Inspection<Vec<u8>> {
        self.all_bytes()
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        let kept = self.kept.lock().unwrap();
        let outside = |(id, log): (&SessionId, &Log)| {
            let facts = log.facts[..log.outside].to_vec();
            let (outside, last_batch) = (log.outside, log.last_batch);
            let log = Log { facts, outside, last_batch, ..Log::default() };
            (id.clone(), log)
        };
        let dropped = self.fault == Some(Fault::ErasesWhenDropped);
        let erased = kept.erased.iter().filter(|_| dropped);
        let copy =
            Kept { logs: kept.logs.iter().chain(erased).map(outside).collect(), ..Kept::default() };
        match self.fault {
            Some(Fault::HasNoImage) => None,
            Some(Fault::HasNoCopy) => {
                let kept = self.kept.clone();
                Some(Arc::new(Reference::new(None, kept, Arc::default())))
            }
            fault => {
                let kept = Arc::new(Mutex::new(copy));
                Some(Arc::new(Reference::new(fault, kept, Arc::default())))
            }
        }
    }
}
