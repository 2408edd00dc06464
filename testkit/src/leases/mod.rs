//! The conformance suite of the leases port: one case for each promise in [`Leases`]'s documentation.
//!
//! An adapter's `tests/leases.rs` gives the suite a [`LeasesFixture`]:
//!
//! ```text
//! windlass_testkit::leases_suite!(Place::new());
//! ```
//!
//! The expression is evaluated once a case. What is particular to one technology (a server that goes
//! away, a clock that jumps) is not here: the adapter tests it beside the suite. That no case passes
//! without looking is shown by `testkit/tests/lease_suite_bites`.
//!
//! Where time passes by itself, a machine that stands still for a while must not make a sound store
//! fail. So each case measures how much of a lease's time may have passed at most, and asks that the
//! lease still stands only where it must.

mod checks;
mod ending;
mod holding;
mod taking;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_ports::Leases;

pub use ending::*;
pub use holding::*;
pub use taking::*;

pub use crate::store::{Checked, Violation};

/// A fresh place where leases are kept, and the way to reach it.
#[async_trait]
pub trait LeasesFixture: Send + Sync {
    /// Opens an object that grants the leases of this place, independent of all others: as another
    /// process does. Several are open at the same time, and the suite opens one again when all before
    /// were dropped.
    async fn open(&self) -> Arc<dyn Leases>;

    /// Lets at least so many milliseconds pass on the clock that the leases live by. The default
    /// sleeps, for the clock of a server; a clock that is moved is moved by just so much.
    async fn pass(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

/// One case of the suite: holds leases to one promise.
pub type Case = fn(&dyn LeasesFixture) -> Checked;

/// Expands to one `#[test]` a case of the leases suite, each on a fixture of its own.
///
/// The argument is an expression of a type that implements
/// [`LeasesFixture`](crate::leases::LeasesFixture).
#[macro_export]
macro_rules! leases_suite {
    ($fixture:expr) => {
        $crate::lease_cases! { [$crate::suite_tests] leases_suite, leases, $fixture }
    };
}

/// Hands the names of all cases to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! lease_cases {
    ([$($callback:tt)*] $($extra:tt)*) => {
        $($callback)*! { [$($extra)*]
            a_lease_is_held_by_one,
            of_many_at_once_one_holds_it,
            names_are_apart,
            the_same_holder_takes_it_anew,
            epochs_of_leases_grow,
            what_is_out_of_range_is_invalid,
            a_lease_ends_when_its_time_is_over,
            renewing_keeps_a_lease,
            a_lease_that_is_over_is_renewed_or_lost,
            renewing_after_another_had_it_is_lost,
            a_released_lease_is_free_at_once,
            releasing_a_stale_lease_changes_nothing,
        }
    };
}

crate::lease_cases! { [crate::suite::table] }
