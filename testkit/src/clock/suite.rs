//! The laws of a clock, as one case each; [`clock_suite!`](crate::clock_suite) makes tests of
//! them. That each case finds its fault is shown at the end of this file.

use std::collections::BTreeSet;
use std::future::{Future, pending, ready};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use windlass_core::Timestamp;
use windlass_ports::Clock;

use super::ManualClock;
use crate::store::{Checked, Violation};

/// The longest a case may take. Far above what any takes: it only ends a clock that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Makes one test for each law of [`Clock`]. The expression makes a fresh
/// [`Subject`].
///
/// ```
/// mod conformance {
///     use windlass_core::Timestamp;
///     use windlass_testkit::clock::{ManualClock, suite::Subject};
///
///     windlass_testkit::clock_suite!(Subject::manual(ManualClock::new(Timestamp(0), 1)));
/// }
/// ```
#[macro_export]
macro_rules! clock_suite {
    ($subject:expr) => {
        $crate::clock_cases! { [$crate::suite_tests] clock_suite, clock::suite, || $subject }
    };
}

/// Hands the names of all cases to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! clock_cases {
    ([$($callback:tt)*] $($extra:tt)*) => {
        $($callback)*! { [$($extra)*]
            now_never_goes_back,
            sleep_ends_not_before_its_moment,
            sleep_until_the_past_ends_at_once,
            sleep_may_be_dropped,
            entropy_does_not_repeat,
            entropy_is_foreseeable_only_where_it_says_so,
        }
    };
}

crate::clock_cases! { [crate::suite::table] }

/// One case of the suite: holds a clock to one promise.
pub type Case = fn(Make<'_>) -> Checked;

/// Makes a clock under test.
pub type Make<'a> = &'a dyn Fn() -> Subject;

/// A clock under test, and what makes its time pass.
pub struct Subject {
    clock: Arc<dyn Clock>,
    time: Time,
}

enum Time {
    Passes,
    Moved(ManualClock),
}

impl Subject {
    /// A clock whose time passes by itself and whose entropy cannot be foreseen.
    #[must_use]
    pub fn real(clock: impl Clock) -> Self {
        Self { clock: Arc::new(clock), time: Time::Passes }
    }

    /// A clock that is moved, and whose entropy can be foreseen.
    #[must_use]
    pub fn manual(clock: ManualClock) -> Self {
        Self { clock: Arc::new(clock.clone()), time: Time::Moved(clock) }
    }

    /// Sleeps, and meanwhile moves the time of a clock that does not pass by itself.
    fn sleep_until(&self, moment: Timestamp) -> Checked {
        let moving = async {
            if let Time::Moved(clock) = &self.time {
                clock.wait_sleepers(1).await;
                while clock.now() < moment {
                    clock.advance(1);
                }
            }
            pending::<()>().await;
        };
        block_on(async {
            tokio::select! {
                biased;
                () = self.clock.sleep_until(moment) => {}
                () = moving => {}
            }
        })
    }

    /// Returns true if a sleep ends at its first poll; it is dropped after that.
    fn ends_at_once(&self, moment: Timestamp) -> Result<bool, Violation> {
        block_on(async {
            tokio::select! {
                biased;
                () = self.clock.sleep_until(moment) => true,
                () = ready(()) => false,
            }
        })
    }
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subject").finish_non_exhaustive()
    }
}

/// `now` never goes back, whichever thread asks.
///
/// # Errors
/// A violation when it does.
pub fn now_never_goes_back(make: Make<'_>) -> Checked {
    let subject = make();
    let clock = &*subject.clock;
    let watch = || {
        let mut last = clock.now();
        for _ in 0..20_000 {
            let now = clock.now();
            ensure(now >= last, || format!("now went back from {last} to {now}"))?;
            last = now;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(watch)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Checked>| {
            thread.join().unwrap_or_else(|_| Err(Violation::new("now panicked")))
        };
        threads.into_iter().try_for_each(join)
    })
}

/// `sleep_until` ends not before its moment.
///
/// # Errors
/// A violation when it does.
pub fn sleep_ends_not_before_its_moment(make: Make<'_>) -> Checked {
    let subject = make();
    for ms in [1, 5, 30] {
        let moment = subject.clock.now().plus_ms(ms);
        subject.sleep_until(moment)?;
        let now = subject.clock.now();
        ensure(now >= moment, || format!("slept until {moment} and woke at {now}"))?;
    }
    Ok(())
}

/// `sleep_until` a moment that has passed ends at its first poll.
///
/// # Errors
/// A violation when it waits.
pub fn sleep_until_the_past_ends_at_once(make: Make<'_>) -> Checked {
    let subject = make();
    let now = subject.clock.now();
    for moment in [Timestamp(0), Timestamp(now.0.saturating_sub(1)), now] {
        let ended = subject.ends_at_once(moment)?;
        ensure(ended, || format!("sleeping until {moment} at {now} waited"))?;
    }
    Ok(())
}

/// A sleep that is dropped leaves the clock as it was, and later ones sleep as long as they must.
///
/// # Errors
/// A violation when one ends too early.
pub fn sleep_may_be_dropped(make: Make<'_>) -> Checked {
    let subject = make();
    for _ in 0..100 {
        let far = Timestamp(u64::MAX);
        let ended = subject.ends_at_once(far)?;
        ensure(!ended, || "sleeping until the end of time ended".into())?;
    }
    let moment = subject.clock.now().plus_ms(2);
    subject.sleep_until(moment)?;
    let now = subject.clock.now();
    ensure(now >= moment, || format!("after dropped sleeps one until {moment} woke at {now}"))
}

/// `entropy` does not repeat: among 10,000 numbers of 64 bits a chance repetition has
/// a probability below 3 in 10^12.
///
/// # Errors
/// A violation when it does.
pub fn entropy_does_not_repeat(make: Make<'_>) -> Checked {
    let subject = make();
    let mut seen = BTreeSet::new();
    (0..10_000).try_for_each(|_| {
        let number = subject.clock.entropy();
        ensure(seen.insert(number), || format!("entropy gave {number} twice"))
    })
}

/// Two real clocks give different numbers; two manual ones of the same seed give the same.
///
/// # Errors
/// A violation when it is the other way round.
pub fn entropy_is_foreseeable_only_where_it_says_so(make: Make<'_>) -> Checked {
    let (one, two) = (make(), make());
    let draw =
        |subject: &Subject| -> Vec<u64> { (0..4).map(|_| subject.clock.entropy()).collect() };
    let same = draw(&one) == draw(&two);
    match one.time {
        Time::Passes => ensure(!same, || "two clocks drew the same numbers".into()),
        Time::Moved(_) => ensure(same, || "one seed drew different numbers".into()),
    }
}

fn ensure(holds: bool, words: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Violation::new(words())) }
}

/// Runs on a runtime with timers, as a clock may need one.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Violation> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Violation::new(format!("no runtime for the case: {error}")))?;
    let bounded = async { tokio::time::timeout(PATIENCE, future).await };
    runtime
        .block_on(bounded)
        .map_err(|_| Violation::new(format!("the clock did not answer within {PATIENCE:?}")))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use async_trait::async_trait;

    use super::*;
    use crate::suite::every_case_bites;

    /// A clock that breaks each law in turn: its time and its numbers go round, and its sleeps
    /// are as long as the test says.
    struct Broken {
        ticks: AtomicU64,
        sleep: Sleep,
    }

    #[derive(Debug, Clone, Copy)]
    enum Sleep {
        None,
        Yields,
    }

    #[async_trait]
    impl Clock for Broken {
        fn now(&self) -> Timestamp {
            Timestamp(1_000 - self.ticks.fetch_add(1, Ordering::SeqCst) % 1_000)
        }

        async fn sleep_until(&self, _: Timestamp) {
            match self.sleep {
                Sleep::None => {}
                Sleep::Yields => tokio::task::yield_now().await,
            }
        }

        fn entropy(&self) -> u64 {
            7
        }
    }

    #[test]
    fn every_case_finds_its_fault() -> Checked {
        let bites = [
            ("now_never_goes_back", Sleep::None, "went back"),
            ("sleep_ends_not_before_its_moment", Sleep::None, "woke at"),
            ("sleep_until_the_past_ends_at_once", Sleep::Yields, "waited"),
            ("sleep_may_be_dropped", Sleep::None, "end of time"),
            ("entropy_does_not_repeat", Sleep::None, "twice"),
            ("entropy_is_foreseeable_only_where_it_says_so", Sleep::None, "same numbers"),
        ];
        every_case_bites(CASES, &bites, |case, sleep| {
            case(&|| Subject::real(Broken { ticks: AtomicU64::new(0), sleep: *sleep }))
        })
    }
}
