//! The conformance suite of the inbox port: one case for each promise in [`Mailbox`]'s documentation.
//!
//! An adapter's `tests/inbox.rs` gives the suite an [`InboxFixture`]:
//!
//! ```text
//! windlass_testkit::inbox_suite!(Place::new());
//! ```
//!
//! The expression is evaluated once a case. What is particular to one technology (a notification that
//! is lost, a server that goes away) is not here: the adapter tests it beside the suite. That no case
//! passes without looking is shown by `testkit/tests/inbox_suite_bites`.

mod checks;
mod claims;
mod leaving;
mod replying;
mod telling;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_ports::{LogStore, Mailbox};

pub use claims::*;
pub use leaving::*;
pub use replying::*;
pub use telling::*;

pub use crate::store::{Checked, Violation};

/// A fresh place where logs and letters are kept, and the way to reach it.
#[async_trait]
pub trait InboxFixture: Send + Sync {
    /// Opens a store object of this place with its inbox, independent of all others: as another
    /// process does. Several are open at the same time, and the suite opens one again when all before
    /// were dropped. Replies are kept for at least a minute.
    async fn open(&self) -> Opened;

    /// The same, where replies are kept for at most two seconds, if that can be set. Without it the
    /// case `replies_are_kept_and_go` is not run, and is named on standard error.
    async fn open_brief(&self) -> Option<Opened> {
        None
    }

    /// Lets at least so many milliseconds pass on the clock that replies are kept by. The default
    /// sleeps, for the clock of a server; a clock that is moved is moved by just so much.
    async fn pass(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    /// How long what must come may take beside what is declared: far longer than any takes, also on a
    /// machine that does other work besides.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// What a node has open.
#[derive(Clone)]
pub struct Opened {
    /// Its store object.
    pub store: Arc<dyn LogStore>,
    /// The inbox of that.
    pub inbox: Arc<dyn Mailbox>,
}

/// One case of the suite: holds an inbox to one promise.
pub type Case = fn(&dyn InboxFixture) -> Checked;

/// Expands to one `#[test]` a case of the inbox suite, each on a fixture of its own.
///
/// The argument is an expression of a type that implements
/// [`InboxFixture`](crate::inbox::InboxFixture).
#[macro_export]
macro_rules! inbox_suite {
    ($fixture:expr) => {
        $crate::inbox_cases! { [$crate::suite_tests] inbox_suite, inbox, $fixture }
    };
}

/// Hands the names of all cases to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! inbox_cases {
    ([$($callback:tt)*] $($extra:tt)*) => {
        $($callback)*! { [$($extra)*]
            a_letter_is_taken_as_it_was_left,
            letters_are_taken_in_order,
            a_letter_left_twice_is_one,
            letters_of_sessions_are_apart,
            a_full_session_takes_no_more,
            of_many_left_at_once_each_stands_once,
            what_is_too_large_is_refused,
            a_reply_takes_the_letter_away,
            the_first_reply_stands,
            a_reply_reaches_who_waits,
            patience_ends_without_a_reply,
            replies_are_kept_and_go,
            arrivals_are_told_everywhere,
            what_waits_is_told_again,
            sessions_with_letters_are_listed,
            letters_are_for_the_latest_claim,
            letters_outlive_who_left_and_who_drove,
            erasing_takes_letters_and_replies_along,
        }
    };
}

crate::inbox_cases! { [crate::suite::table] }
