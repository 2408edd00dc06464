//! Compute slots: limit the programs that compute at once, and replace slots whose programs do not
//! end.
//!
//! A blocked thread cannot be ended from outside. So a program that ignores its stop signal keeps
//! its thread, and nothing waits for it. Its slot is lost and replaced, at most as many times as
//! there are slots; beyond that the number of slots shrinks. A program that ends later returns its
//! slot.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;
use windlass_core::SessionId;
use windlass_ports::sync::Mutex;

/// Slots in which programs compute: a fixed number for an engine. The wait for a slot is bounded in
/// time. At most twice as many threads are used, half of them by programs that ignore their stop
/// signal.
#[derive(Debug, Clone)]
pub(crate) struct ComputeSlots(Arc<SlotPool>);

#[derive(Debug)]
struct SlotPool {
    max_slots: usize,
    free: Arc<Semaphore>,
    lost: Mutex<LostSlots>,
}

/// Slots whose programs have not ended in time.
#[derive(Debug, Default)]
struct LostSlots {
    /// Number of lost slots that were replaced.
    replaced: usize,
    /// Number of lost slots that were not replaced.
    missing: usize,
}

/// State of a slot's permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PermitState {
    Computing,
    Lost,
    Ended,
}

/// Slot in use, on the computing side. Dropping it frees the slot.
pub(crate) struct ComputePermit {
    permit: Option<OwnedSemaphorePermit>,
    computes: PermitWatch,
    /// Dropped last, so that its receiver finds the slot free.
    _ended: oneshot::Sender<()>,
}

/// Slot in use, on the watching side.
#[derive(Clone)]
pub(crate) struct PermitWatch {
    places: ComputeSlots,
    hold: Arc<Mutex<PermitState>>,
}

/// Signal that a slot is free again.
pub(crate) type PermitReleased = oneshot::Receiver<()>;

impl ComputeSlots {
    pub(crate) fn new(most: usize) -> Self {
        // Half of a semaphore's maximum, since lost slots are replaced.
        let most = most.clamp(1, Semaphore::MAX_PERMITS / 2);
        Self(Arc::new(SlotPool {
            max_slots: most,
            free: Arc::new(Semaphore::new(most)),
            lost: Mutex::default(),
        }))
    }

    /// Waits for a slot. Never `None` while the engine lives.
    pub(super) async fn acquire(&self) -> Option<(ComputePermit, PermitWatch, PermitReleased)> {
        let permit = self.0.free.clone().acquire_owned().await.ok()?;
        let (tells, ended) = oneshot::channel();
        let computes = PermitWatch {
            places: self.clone(),
            hold: Arc::new(Mutex::new(PermitState::Computing)),
        };
        let taken =
            ComputePermit { permit: Some(permit), computes: computes.clone(), _ended: tells };
        Some((taken, computes, ended))
    }

    /// Returns advice for the case that no slot became free.
    pub(super) fn hint(&self) -> &'static str {
        match self.lost(|lost| lost.missing) {
            0 => "Try again later.",
            _ => {
                "Places are taken by programs that do not stop. Answer without a program; this process \
                 is to be restarted."
            }
        }
    }

    fn lost<T>(&self, of: impl FnOnce(&mut LostSlots) -> T) -> T {
        of(&mut self.0.lost.lock())
    }
}

impl PermitWatch {
    /// Waits for the end of a computation that was told to stop, and gives up its slot after the
    /// grace period.
    pub(super) async fn watch(&self, session: &SessionId, grace: Duration, ended: PermitReleased) {
        if timeout(grace, ended).await.is_err() {
            self.lose(session, grace);
        }
    }

    /// Records that a slot was lost, and replaces it unless the maximum is reached.
    pub(super) fn lose(&self, session: &SessionId, grace: Duration) {
        let mut hold = self.hold();
        if *hold != PermitState::Computing {
            return;
        }
        *hold = PermitState::Lost;
        let most = self.places.0.max_slots;
        let (replaced, missing) = self.places.lost(|lost| {
            if lost.replaced < most {
                lost.replaced = lost.replaced.saturating_add(1);
                self.places.0.free.add_permits(1);
            } else {
                lost.missing = lost.missing.saturating_add(1);
            }
            (lost.replaced, lost.missing)
        });
        tracing::error!(
            %session,
            grace_ms = grace.as_millis(),
            replaced,
            missing,
            places = most,
            "a program runtime does not heed its stop signal: its thread is left alone and its place \
             is lost; mend the runtime, and restart this process once places are missing"
        );
    }

    fn hold(&self) -> std::sync::MutexGuard<'_, PermitState> {
        self.hold.lock()
    }
}

impl Drop for ComputePermit {
    fn drop(&mut self) {
        let before = std::mem::replace(&mut *self.computes.hold(), PermitState::Ended);
        if before != PermitState::Lost {
            return;
        }
        // A returning slot first fills up the missing ones.
        let permit = self.permit.take();
        let spare = self.computes.places.lost(|lost| {
            let missing = lost.missing > 0;
            let count = if missing { &mut lost.missing } else { &mut lost.replaced };
            *count = count.saturating_sub(1);
            !missing
        });
        if let (true, Some(permit)) = (spare, permit) {
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_millis(7);

    async fn take(places: &ComputeSlots) -> (ComputePermit, PermitWatch, PermitReleased) {
        places.acquire().await.unwrap()
    }

    fn free(places: &ComputeSlots) -> usize {
        places.0.free.available_permits()
    }

    fn id() -> SessionId {
        SessionId::new("s").unwrap()
    }

    #[tokio::test]
    async fn lost_places_are_replaced_as_often_as_there_are_places_and_come_back_in_any_order() {
        for back in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let places = ComputeSlots::new(2);
            let mut taken = Vec::new();
            for after in [2, 2, 1, 0] {
                let (place, computes, _ended) = take(&places).await;
                computes.lose(&id(), GRACE);
                computes.lose(&id(), GRACE);
                taken.push(Some(place));
                assert_eq!(free(&places), after);
            }
            assert!(places.hint().contains("restarted"), "{}", places.hint());
            for (at, after) in back.into_iter().zip([1, 2, 2, 2]) {
                taken[at] = None;
                assert_eq!(free(&places), after, "{back:?}");
            }
            assert_eq!(places.hint(), "Try again later.");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_ends_within_its_grace_loses_nothing() {
        let places = ComputeSlots::new(1);
        let (place, computes, ended) = take(&places).await;
        drop(place);
        computes.watch(&id(), GRACE, ended).await;
        computes.lose(&id(), GRACE);
        assert_eq!(free(&places), 1);
        let (_place, computes, ended) = take(&places).await;
        computes.watch(&id(), GRACE, ended).await;
        assert_eq!(free(&places), 1, "another one stands for it");
    }
}
