//! Compute slots: limit the programs that compute at once, share them fairly, and replace slots whose
//! programs do not end.
//!
//! One slot is reserved for short steps: long ones take all but one. Those that wait are served by
//! tenant in turn, see [`FairQueue`].
//!
//! A blocked thread cannot be ended from outside. So a program that ignores its stop signal keeps
//! its thread, and nothing waits for it. Its slot is lost and replaced, at most as many times as
//! there are slots; beyond that the number of slots shrinks. A program that ends later returns its
//! slot.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use windlass_core::SessionId;
use windlass_ports::sync::Mutex;

use super::fair_queue::FairQueue;

/// Slots in which programs compute: a fixed number for all engines that share them. Clones are the
/// same slots.
///
/// Steps that take long have all slots but one, so that short steps of others always find one. The
/// wait for a slot is bounded in time, and tenants are served in turn. At most twice as many threads
/// are used, half of them by programs that ignore their stop signal.
#[derive(Debug, Clone)]
pub struct ComputeSlots(Arc<SlotPool>);

#[derive(Debug)]
struct SlotPool {
    max_slots: usize,
    state: Mutex<PoolState>,
}

#[derive(Debug, Default)]
struct PoolState {
    free: usize,
    /// Number of slots in which long steps compute.
    long: usize,
    short_waiters: FairQueue<Waiter>,
    long_waiters: FairQueue<Waiter>,
    lost: LostSlots,
}

type Waiter = oneshot::Sender<GrantedSlot>;

/// Slots whose programs have not ended in time.
#[derive(Debug, Default)]
struct LostSlots {
    /// Number of lost slots that were replaced.
    replaced: usize,
    /// Number of lost slots that were not replaced.
    missing: usize,
}

/// Length of a step, as known so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepLength {
    Short,
    Long,
}

/// State of a slot's permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PermitState {
    Computing(StepLength),
    Lost,
    Ended,
}

/// Slot in use, on the computing side. Dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct ComputePermit {
    computes: PermitWatch,
    /// Dropped last, so that its receiver finds the slot free.
    _ended: oneshot::Sender<()>,
}

/// Slot in use, on the watching side.
#[derive(Debug, Clone)]
pub(crate) struct PermitWatch {
    places: ComputeSlots,
    hold: Arc<Mutex<PermitState>>,
}

/// Signal that a slot is free again.
pub(crate) type PermitReleased = oneshot::Receiver<()>;

/// A slot, for its computation and for those who watch it.
#[derive(Debug)]
pub(super) struct GrantedSlot {
    pub(super) permit: ComputePermit,
    pub(super) watch: PermitWatch,
    pub(super) released: PermitReleased,
}

impl ComputeSlots {
    /// Creates this many slots, at least one.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let max_slots = most.max(1);
        let state = PoolState { free: max_slots, ..PoolState::default() };
        Self(Arc::new(SlotPool { max_slots, state: Mutex::new(state) }))
    }

    /// Waits for a slot. Never `None` while the engine lives.
    pub(super) async fn acquire(
        &self,
        tenant: &Arc<str>,
        length: StepLength,
    ) -> Option<GrantedSlot> {
        let (sender, receiver) = oneshot::channel();
        self.with(|pool| match self.known(length) {
            StepLength::Short => pool.short_waiters.push(tenant, sender),
            StepLength::Long => pool.long_waiters.push(tenant, sender),
        });
        self.serve();
        receiver.await.ok()
    }

    /// Returns advice for the case that no slot became free.
    pub(super) fn hint(&self) -> &'static str {
        match self.with(|pool| pool.lost.missing) {
            0 => "Try again later.",
            _ => {
                "Places are taken by programs that do not stop. Answer without a program; this process \
                 is to be restarted."
            }
        }
    }

    /// Grants free slots to those that wait.
    fn serve(&self) {
        while let Some((waiter, length)) = self.next_waiter() {
            let (ending, released) = oneshot::channel();
            let hold = Arc::new(Mutex::new(PermitState::Computing(length)));
            let watch = PermitWatch { places: self.clone(), hold };
            let permit = ComputePermit { computes: watch.clone(), _ended: ending };
            // A waiter that has given up drops the permit, which frees the slot.
            drop(waiter.send(GrantedSlot { permit, watch, released }));
        }
    }

    /// Takes a slot for the next waiter. Long steps come first while a slot may be theirs, since
    /// short ones always have another.
    fn next_waiter(&self) -> Option<(Waiter, StepLength)> {
        let waits = |waiter: &Waiter| !waiter.is_closed();
        self.with(|pool| {
            if pool.free == 0 {
                return None;
            }
            let mut next = None;
            if pool.long < self.max_long() {
                next = pool.long_waiters.pop(waits).map(|waiter| (waiter, StepLength::Long));
            }
            if next.is_none() {
                next = pool.short_waiters.pop(waits).map(|waiter| (waiter, StepLength::Short));
            }
            let (waiter, length) = next?;
            pool.free = pool.free.saturating_sub(1);
            pool.count(length, usize::saturating_add);
            Some((waiter, length))
        })
    }

    /// Returns the most slots for long steps. A single slot is for all steps.
    fn max_long(&self) -> usize {
        self.0.max_slots.saturating_sub(1)
    }

    /// Returns the length by which a step waits: a single slot knows no difference.
    fn known(&self, length: StepLength) -> StepLength {
        match self.max_long() {
            0 => StepLength::Short,
            _ => length,
        }
    }

    fn with<T>(&self, of: impl FnOnce(&mut PoolState) -> T) -> T {
        of(&mut self.0.state.lock())
    }
}

impl PoolState {
    fn count(&mut self, length: StepLength, change: fn(usize, usize) -> usize) {
        match length {
            StepLength::Short => {}
            StepLength::Long => self.long = change(self.long, 1),
        }
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

    /// Returns true if a step that turned out to be long may continue in its slot: fewer long steps
    /// compute than may, and none waits.
    pub(super) fn lengthen(&self) -> bool {
        let most = self.places.max_long();
        let mut hold = self.hold.lock();
        if *hold != PermitState::Computing(StepLength::Short) || most == 0 {
            return true;
        }
        let fits = self.places.with(|pool| {
            let waits = pool.long_waiters.has(|waiter| !waiter.is_closed());
            let fits = pool.long < most && !waits;
            if fits {
                pool.count(StepLength::Long, usize::saturating_add);
            }
            fits
        });
        if fits {
            *hold = PermitState::Computing(StepLength::Long);
        }
        fits
    }

    /// Records that a slot was lost, and replaces it unless the maximum is reached.
    pub(super) fn lose(&self, session: &SessionId, grace: Duration) {
        let length = {
            let mut hold = self.hold.lock();
            let PermitState::Computing(length) = *hold else { return };
            *hold = PermitState::Lost;
            length
        };
        let most = self.places.0.max_slots;
        let (replaced, missing) = self.places.with(|pool| {
            pool.count(length, usize::saturating_sub);
            if pool.lost.replaced < most {
                pool.lost.replaced = pool.lost.replaced.saturating_add(1);
                pool.free = pool.free.saturating_add(1);
            } else {
                pool.lost.missing = pool.lost.missing.saturating_add(1);
            }
            (pool.lost.replaced, pool.lost.missing)
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
        self.places.serve();
    }
}

impl Drop for ComputePermit {
    fn drop(&mut self) {
        let before = std::mem::replace(&mut *self.computes.hold.lock(), PermitState::Ended);
        let places = &self.computes.places;
        places.with(|pool| {
            let freed = match before {
                PermitState::Computing(length) => {
                    pool.count(length, usize::saturating_sub);
                    true
                }
                // A returning slot first fills up the missing ones.
                PermitState::Lost if pool.lost.missing > 0 => {
                    pool.lost.missing = pool.lost.missing.saturating_sub(1);
                    true
                }
                PermitState::Lost => {
                    pool.lost.replaced = pool.lost.replaced.saturating_sub(1);
                    false
                }
                PermitState::Ended => false,
            };
            pool.free = pool.free.saturating_add(usize::from(freed));
        });
        places.serve();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_millis(7);

    async fn take(places: &ComputeSlots) -> (ComputePermit, PermitWatch, PermitReleased) {
        let granted = places.acquire(&Arc::from("t"), StepLength::Short).await.unwrap();
        (granted.permit, granted.watch, granted.released)
    }

    fn free(places: &ComputeSlots) -> usize {
        places.with(|pool| pool.free)
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

    #[tokio::test(start_paused = true)]
    async fn long_steps_leave_one_slot_to_short_ones() {
        let places = ComputeSlots::new(3);
        let tenant = Arc::from("t");
        let first = places.acquire(&tenant, StepLength::Long).await.unwrap();
        let (second, watch, _ended) = take(&places).await;
        assert!(watch.lengthen() && watch.lengthen());
        let (third, short, _ended) = take(&places).await;
        assert!(!short.lengthen(), "two of three slots are taken by long steps");
        let waits = places.acquire(&tenant, StepLength::Long);
        tokio::pin!(waits);
        assert!(timeout(GRACE, &mut waits).await.is_err());
        drop(third);
        assert!(timeout(GRACE, &mut waits).await.is_err(), "the last slot is for short steps");
        let (third, short, _ended) = take(&places).await;
        drop(second);
        let waited = waits.await.unwrap();
        drop(first);
        assert!(short.lengthen(), "nothing else waits");
        drop((waited, third));
        assert_eq!(places.with(|pool| (pool.free, pool.long)), (3, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_have_given_up_take_no_slot() {
        let places = ComputeSlots::new(1);
        let (place, _, _ended) = take(&places).await;
        assert!(timeout(GRACE, take(&places)).await.is_err());
        drop(place);
        assert_eq!(free(&places), 1);
    }
}
