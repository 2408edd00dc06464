//! The conformance suite of the blobs port: one case for each promise in [`BlobStore`]'s
//! documentation; and a store in memory that fails where a test says so.
//!
//! An adapter's `tests/conformance.rs` gives the suite a [`BlobFixture`]:
//!
//! ```text
//! windlass_testkit::blob_suite!(Place::new());
//! ```
//!
//! The expression is evaluated once a case. What is particular to one technology (a full disk, who
//! may see a file) is not here: the adapter tests it beside the suite. That no case passes without
//! looking is shown by `testkit/tests/blob_suite_bites`.

mod bounds;
mod checks;
mod ending;
mod erasing;
mod held;
mod keeping;

use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::SessionId;
use windlass_ports::BlobStore;

pub use bounds::*;
pub use ending::*;
pub use erasing::*;
pub use held::HeldBlobs;
pub use keeping::*;

pub use crate::store::{Checked, Violation};

/// A fresh place for one store, and the ways to open it.
#[async_trait]
pub trait BlobFixture: Send + Sync {
    /// Opens the store at this place, as it is by default.
    ///
    /// The suite opens it again after it has dropped the store object before, as a process does
    /// that starts again. A store that declares `Durability::Memory` may then be empty.
    async fn open(&self) -> Arc<dyn BlobStore>;

    /// Opens the store at this place so that it keeps at most so many bytes of one blob.
    async fn open_small(&self, max_bytes: u64) -> Arc<dyn BlobStore>;

    /// Changes a byte of a blob behind the store's back. False where nobody can.
    fn damage(&self, session: &SessionId, sha256: &str) -> bool;
}

/// One case of the suite: holds a store to one promise.
pub type Case = fn(&dyn BlobFixture) -> Checked;

/// Expands to one `#[test]` a case of the blob suite, each on a fixture of its own.
///
/// The argument is an expression of a type that implements
/// [`BlobFixture`](crate::blobs::BlobFixture).
#[macro_export]
macro_rules! blob_suite {
    ($fixture:expr) => {
        $crate::blob_cases! { [$crate::suite_tests] blob_suite, blobs, $fixture }
    };
}

/// Hands the names of all cases to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! blob_cases {
    ([$($callback:tt)*] $($extra:tt)*) => {
        $($callback)*! { [$($extra)*]
            what_was_written_is_read_back,
            a_blob_is_named_by_its_digest,
            the_same_bytes_twice_are_one_blob,
            many_at_once_are_all_kept,
            a_session_does_not_see_what_another_keeps,
            what_is_not_there_is_not_found,
            verifying_finds_what_was_changed,
            what_is_beyond_the_limit_is_not_kept,
            what_was_not_finished_is_not_there,
            an_abandoned_write_is_no_blob,
            an_abandoned_finish_is_whole_or_not_there,
            reopening_keeps_what_was_finished,
            an_erased_session_keeps_nothing,
        }
    };
}

crate::blob_cases! { [crate::suite::table] }
