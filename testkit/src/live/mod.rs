//! The conformance suite of the live relay port: one case for each promise in [`LiveBus`]'s
//! documentation.
//!
//! An adapter's `tests/live.rs` gives the suite a [`LiveFixture`]:
//!
//! ```text
//! windlass_testkit::live_suite!(Place::new());
//! ```
//!
//! The expression is evaluated once a case. What is particular to one technology (a server that goes
//! away) is not here: the adapter tests it beside the suite. That no case passes without looking is
//! shown by `testkit/tests/live_suite_bites`.
//!
//! A relay may lose any message. So no case asks that a message arrives: it tells until one does.

mod checks;
mod hearers;
mod telling;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_ports::LiveBus;

pub use hearers::*;
pub use telling::*;

pub use crate::store::{Checked, Violation};

/// A fresh place between whose nodes live messages go, and the way to reach it.
#[async_trait]
pub trait LiveFixture: Send + Sync {
    /// Opens a relay object of this place, independent of all others: as another process does.
    /// Several are open at the same time. It lingers for at most five seconds.
    async fn open(&self) -> Arc<dyn LiveBus>;

    /// How long what must come may take beside what is declared: far longer than any takes, also on a
    /// machine that does other work besides.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// One case of the suite: holds a relay to one promise.
pub type Case = fn(&dyn LiveFixture) -> Checked;

/// Expands to one `#[test]` a case of the live relay suite, each on a fixture of its own.
///
/// The argument is an expression of a type that implements
/// [`LiveFixture`](crate::live::LiveFixture).
#[macro_export]
macro_rules! live_suite {
    ($fixture:expr) => {
        $crate::live_cases! { [$crate::suite_tests] live_suite, live, $fixture }
    };
}

/// Hands the names of all cases to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! live_cases {
    ([$($callback:tt)*] $($extra:tt)*) => {
        $($callback)*! { [$($extra)*]
            what_is_told_is_heard_elsewhere,
            messages_of_sessions_are_apart,
            messages_are_heard_in_order,
            who_does_not_listen_is_told_that_it_missed,
            telling_drops_what_it_cannot_send,
            what_is_too_large_is_missed,
            nobody_hears_what_was_told_before,
            who_begins_to_hear_is_announced,
            who_hears_no_more_lapses,
            hearing_ends_with_the_relay,
        }
    };
}

crate::live_cases! { [crate::suite::table] }
