//! A clock whose time moves only when a test moves it, and the laws of every clock.

pub mod suite;

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use windlass_core::Timestamp;
use windlass_ports::Clock;
use windlass_ports::sync::Mutex;

/// A clock whose time moves only by [`advance`](Self::advance). Clones are the same clock.
///
/// Its entropy is a counter behind a fixed mixing function: the same seed gives the same numbers,
/// so it can be foreseen by anybody who knows the seed. It is for tests only.
///
/// ```
/// use windlass_core::Timestamp;
/// use windlass_ports::Clock;
/// use windlass_testkit::clock::ManualClock;
///
/// let clock = ManualClock::new(Timestamp(1_000), 7);
/// clock.advance(250);
/// assert_eq!(clock.now(), Timestamp(1_250));
/// assert_ne!(clock.entropy(), clock.entropy());
/// assert_eq!(ManualClock::new(Timestamp(0), 7).entropy(), ManualClock::new(Timestamp(9), 7).entropy());
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock {
    shared: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    now: Timestamp,
    entropy: u64,
    next_sleeper: u64,
    sleepers: BTreeMap<u64, Sleeper>,
    watchers: Vec<Waker>,
}

#[derive(Debug)]
struct Sleeper {
    until: Timestamp,
    waker: Waker,
}

impl Default for ManualClock {
    /// A clock that stands at 0, with the seed 1.
    fn default() -> Self {
        Self::new(Timestamp(0), 1)
    }
}

impl ManualClock {
    /// A clock that stands at `now`, with a seed for its entropy.
    #[must_use]
    pub fn new(now: Timestamp, seed: u64) -> Self {
        let state = State {
            now,
            entropy: seed,
            next_sleeper: 0,
            sleepers: BTreeMap::new(),
            watchers: Vec::new(),
        };
        Self { shared: Arc::new(Mutex::new(state)) }
    }

    /// Moves time on and wakes whoever slept until then. Answers the new time.
    pub fn advance(&self, ms: u64) -> Timestamp {
        let mut state = self.shared.lock();
        state.now = state.now.plus_ms(ms);
        let now = state.now;
        let due = state.sleepers.values().filter(|sleeper| sleeper.until <= now);
        let wakers: Vec<Waker> = due.map(|sleeper| sleeper.waker.clone()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        now
    }

    /// Moves time on to the earliest moment that somebody sleeps until; `None` when nobody
    /// sleeps.
    pub fn advance_to_next(&self) -> Option<Timestamp> {
        let until = self.next_wake()?;
        let ms = until.since_ms(self.now());
        Some(self.advance(ms))
    }

    /// The earliest moment that somebody sleeps until.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.shared.lock().sleepers.values().map(|sleeper| sleeper.until).min()
    }

    /// How many sleep.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        self.shared.lock().sleepers.len()
    }

    /// Waits until at least `count` sleep, so that a test can move time when it is waited for.
    pub async fn wait_sleepers(&self, count: usize) {
        poll_fn(|cx| {
            let mut state = self.shared.lock();
            if state.sleepers.len() >= count {
                return Poll::Ready(());
            }
            if !state.watchers.iter().any(|waker| waker.will_wake(cx.waker())) {
                state.watchers.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.shared.lock().now
    }

    async fn sleep_until(&self, moment: Timestamp) {
        Sleep { clock: self, until: moment, id: None }.await;
    }

    fn entropy(&self) -> u64 {
        let mut state = self.shared.lock();
        state.entropy = state.entropy.wrapping_add(1);
        mix(state.entropy)
    }
}

/// The finaliser of SplitMix64: a bijection, so a counter behind it repeats only when the counter
/// does (<https://prng.di.unimi.it/splitmix64.c>, public domain).
fn mix(counter: u64) -> u64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

struct Sleep<'a> {
    clock: &'a ManualClock,
    until: Timestamp,
    id: Option<u64>,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.shared.lock();
        if state.now >= self.until {
            return Poll::Ready(());
        }
        let id = self.id.unwrap_or(state.next_sleeper);
        state.next_sleeper = state.next_sleeper.max(id + 1);
        let sleeper = Sleeper { until: self.until, waker: cx.waker().clone() };
        state.sleepers.insert(id, sleeper);
        let watchers = std::mem::take(&mut state.watchers);
        drop(state);
        self.id = Some(id);
        watchers.into_iter().for_each(Waker::wake);
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.clock.shared.lock().sleepers.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    mod laws {
        use super::*;

        crate::clock_suite!(suite::Subject::manual(ManualClock::new(Timestamp(5), 1)));
    }

    #[tokio::test]
    async fn wakes_those_who_are_due_and_forgets_those_who_left() {
        let clock = ManualClock::new(Timestamp(0), 0);
        let sleep = |ms| {
            let clock = clock.clone();
            tokio::spawn(async move { clock.sleep_until(Timestamp(ms)).await })
        };
        let (early, late, gone) = (sleep(10), sleep(20), sleep(15));
        clock.wait_sleepers(3).await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        assert_eq!(clock.sleepers(), 2);
        assert_eq!(clock.advance_to_next(), Some(Timestamp(10)));
        early.await.unwrap();
        assert!(!late.is_finished());
        assert_eq!(clock.next_wake(), Some(Timestamp(20)));
        clock.advance(10);
        late.await.unwrap();
        assert_eq!(clock.advance_to_next(), None);
    }
}
