//! The laws of a clock, as one function each; [`clock_suite!`](crate::clock_suite) makes tests
//! of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use windlass_core::Timestamp;
use windlass_ports::Clock;

use super::ManualClock;

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
        #[test]
        fn clock_now_never_goes_back() {
            $crate::clock::suite::now_never_goes_back($subject);
        }

        #[test]
        fn clock_sleep_ends_not_before_its_moment() {
            $crate::clock::suite::sleep_ends_not_before_its_moment($subject);
        }

        #[test]
        fn clock_sleep_until_the_past_ends_at_once() {
            $crate::clock::suite::sleep_until_the_past_ends_at_once($subject);
        }

        #[test]
        fn clock_sleep_may_be_dropped() {
            $crate::clock::suite::sleep_may_be_dropped($subject);
        }

        #[test]
        fn clock_entropy_does_not_repeat() {
            $crate::clock::suite::entropy_does_not_repeat($subject);
        }

        #[test]
        fn clock_entropy_is_foreseeable_only_where_it_says_so() {
            $crate::clock::suite::entropy_is_foreseeable_only_where_it_says_so(|| $subject);
        }
    };
}

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
        Self {
            clock: Arc::new(clock),
            time: Time::Passes,
        }
    }

    /// A clock that is moved, and whose entropy can be foreseen.
    #[must_use]
    pub fn manual(clock: ManualClock) -> Self {
        Self {
            clock: Arc::new(clock.clone()),
            time: Time::Moved(clock),
        }
    }

    fn sleep_until(&self, moment: Timestamp) {
        let sleeping = self.clock.sleep_until(moment);
        match &self.time {
            Time::Passes => block_on(sleeping),
            Time::Moved(clock) => thread::scope(|scope| {
                scope.spawn(|| {
                    block_on(clock.wait_sleepers(1));
                    while clock.now() < moment {
                        clock.advance(1);
                    }
                });
                block_on(sleeping);
            }),
        }
    }
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subject").finish_non_exhaustive()
    }
}

/// `now` never goes back, whichever thread asks.
pub fn now_never_goes_back(subject: Subject) {
    let clock = &*subject.clock;
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut last = clock.now();
                for _ in 0..20_000 {
                    let now = clock.now();
                    assert!(now >= last, "now went back from {last} to {now}");
                    last = now;
                }
            });
        }
    });
}

/// `sleep_until` ends not before its moment.
pub fn sleep_ends_not_before_its_moment(subject: Subject) {
    for ms in [1, 5, 30] {
        let moment = subject.clock.now().plus_ms(ms);
        subject.sleep_until(moment);
        let now = subject.clock.now();
        assert!(now >= moment, "slept until {moment} and woke at {now}");
    }
}

/// `sleep_until` a moment that has passed ends at once: at its first poll.
pub fn sleep_until_the_past_ends_at_once(subject: Subject) {
    let now = subject.clock.now();
    for moment in [Timestamp(0), Timestamp(now.0.saturating_sub(1)), now] {
        let ended = block_on(async {
            tokio::select! {
                biased;
                () = subject.clock.sleep_until(moment) => true,
                () = std::future::ready(()) => false,
            }
        });
        assert!(ended, "sleeping until {moment} at {now} waited");
    }
}

/// A sleep that is dropped leaves the clock as it was, and others sleep on.
pub fn sleep_may_be_dropped(subject: Subject) {
    let far = Timestamp(u64::MAX);
    let ended = block_on(async {
        tokio::select! {
            biased;
            () = subject.clock.sleep_until(far) => true,
            () = std::future::ready(()) => false,
        }
    });
    assert!(!ended, "sleeping until the end of time ended");
    let moment = subject.clock.now().plus_ms(2);
    subject.sleep_until(moment);
    assert!(
        subject.clock.now() >= moment,
        "a sleep after a dropped one ended too early"
    );
}

/// `entropy` does not repeat; among 10,000 numbers of 64 bits a chance repetition has
/// a probability below 3 in 10^12.
pub fn entropy_does_not_repeat(subject: Subject) {
    let mut seen = BTreeSet::new();
    for _ in 0..10_000 {
        let number = subject.clock.entropy();
        assert!(seen.insert(number), "entropy gave {number} twice");
    }
}

/// Two real clocks give different numbers; two manual ones of the same seed give the same.
pub fn entropy_is_foreseeable_only_where_it_says_so(make: impl Fn() -> Subject) {
    let (one, two) = (make(), make());
    let draw = |subject: &Subject| (0..4).map(|_| subject.clock.entropy()).collect::<Vec<_>>();
    match one.time {
        Time::Passes => assert_ne!(draw(&one), draw(&two), "two clocks drew the same numbers"),
        Time::Moved(_) => assert_eq!(draw(&one), draw(&two), "one seed drew different numbers"),
    }
}

/// Runs on a runtime with timers, as a clock may need one; a clock that hangs fails the test
/// after a minute.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let outcome = runtime.map(|runtime| {
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), future).await })
    });
    match outcome {
        Ok(Ok(value)) => value,
        other => {
            #[expect(clippy::panic, reason = "a conformance suite fails by panicking")]
            {
                panic!(
                    "the clock did not answer: {:?}",
                    other.map(|inner| inner.map(|_| ()))
                )
            }
        }
    }
}
