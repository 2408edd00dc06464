//! The conformance suite of the log store port: one case for each promise in
//! [`LogStore`]'s documentation.
//!
//! An adapter's `tests/conformance.rs` gives the suite a [`StoreFixture`]:
//!
//! ```text
//! windlass_testkit::log_store_suite!(Place::new());
//! ```
//!
//! The expression is evaluated once a case, so that each case works in a place of its own. What
//! is particular to one technology (a torn tail, a full disk, a lock that another process holds)
//! is not here: it needs that technology's own means, and the adapter tests it beside the suite.
//!
//! That no case passes without looking is shown by `testkit/tests/store_suite_bites`, where each
//! one meets a store that breaks just its promise.

mod appending;
mod beside;
pub(crate) mod child;
mod claiming;
mod damaging;
mod declaring;
mod erased_bytes;
mod erasing;
mod image;
mod inspecting;
mod killing;
#[doc(hidden)]
pub mod layer;
mod listing;
mod losing;
mod probing;
mod racing;
mod reading;
mod recognised;
mod reopening;
mod snapshots;
mod story;
mod summaries;
mod tailing;
mod violation;
mod worlds;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_ports::{LogStore, StoreError};

use crate::world::fixed as facts;
pub use appending::*;
pub use beside::*;
pub use child::{OpenFolder, writer};
pub use claiming::*;
pub use damaging::*;
pub use declaring::*;
pub use erased_bytes::*;
pub use erasing::*;

pub use facts::{NASTY_TEXTS, fact_of_size, letters, newer_facts, numbered_facts, sample_facts};
pub use image::*;
pub use inspecting::{FactDamage, FactDamageKind, Inspection, bytes_of, damage_files};
pub use killing::survives_kills;
pub use listing::*;
pub use losing::*;
pub use probing::*;
pub use racing::*;
pub use reading::*;
pub use recognised::*;
pub use reopening::*;
pub use snapshots::*;
pub use summaries::*;
pub use tailing::*;
pub use violation::{Checked, Violation};
pub(crate) use violation::{done, ensure, run, run_in_parallel};
pub use worlds::*;

/// A fresh place for one store, for example a temporary folder, and the way to open it.
#[async_trait]
pub trait StoreFixture: Send + Sync {
    /// Opens the store at this place.
    ///
    /// The suite opens it again after it has dropped the store object before, as a process does
    /// that ends in good order and starts again. A store that declares [`Durability::Memory`] may
    /// then be empty; one that declares more must hold all that was acknowledged. What a process
    /// that is killed leaves is what [`image`](Self::image) shows.
    ///
    /// [`Durability::Memory`]: windlass_ports::Durability::Memory
    async fn open(&self) -> Arc<dyn LogStore>;

    /// Opens a second store object at this place, while the first one is open.
    ///
    /// # Errors
    /// What the store answers, where only one may be open: `Locked`.
    async fn open_beside(&self) -> Result<Arc<dyn LogStore>, StoreError> {
        Ok(self.open().await)
    }

    /// Opens a copy of what is outside of the process at this moment, while the store objects of
    /// this place live on: what the next process finds when this one is killed now, without a
    /// destructor run. For a store in a folder, [`copy_of`] makes the copy; a store behind a
    /// connection copies its tables, by a connection of its own.
    ///
    /// The default is none. That is right for a store that declares [`Durability::Memory`]; one
    /// that declares more fails [`what_was_acknowledged_is_outside_of_the_process`] without it.
    ///
    /// [`Durability::Memory`]: windlass_ports::Durability::Memory
    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        None
    }

    /// Opens a copy of what is kept, of which a part was lost meanwhile: for a store in a folder,
    /// [`copy_of`] makes the copy, and [`Loss::happen_to`] damages the file that holds the facts. The
    /// suite has dropped the store object before.
    ///
    /// The default is none: nothing that the store keeps can be lost file by file, or a server
    /// keeps it and answers for it.
    async fn damaged(&self, _loss: Loss) -> Option<Result<Arc<dyn LogStore>, StoreError>> {
        None
    }

    /// Opens a copy of what is kept, in which one stored fact was damaged behind the store's back: for
    /// a store in a folder, [`copy_of`] makes the copy, and [`damage_files`] changes a byte. The suite
    /// has dropped the store object before.
    ///
    /// A store that declares more than [`Durability::Memory`] fails without it. A fixture that cannot
    /// do one kind of damage skips it with the reason.
    ///
    /// [`Durability::Memory`]: windlass_ports::Durability::Memory
    async fn damage(
        &self,
        _damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        Inspection::Missing
    }

    /// Returns all bytes that are kept at this moment: of a store in a folder [`bytes_of`] it, of one
    /// on a server the content of its tables or streams. A store that erases must have nothing there of
    /// what was erased.
    async fn bytes(&self) -> Inspection<Vec<u8>> {
        Inspection::Missing
    }

    /// How long what must come at once, or within what is declared, may take besides: far longer than
    /// any takes, also on a machine that does other work besides.
    fn patience(&self) -> Duration {
        Duration::from_secs(30)
    }
}

/// One case of the suite: holds a store to one promise.
pub type Case = fn(&dyn StoreFixture) -> Checked;

/// Expands to one `#[test]` a case of the log store suite, each on a fixture of its own.
///
/// The argument is an expression of a type that implements
/// [`StoreFixture`](crate::store::StoreFixture).
#[macro_export]
macro_rules! log_store_suite {
    ($fixture:expr) => {
        $crate::log_store_cases! { [$crate::suite_tests] log_store_suite, store, $fixture }
    };
}

/// Hands the names of all cases to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! log_store_cases {
    ([$($callback:tt)*] $($extra:tt)*) => {
        $($callback)*! { [$($extra)*]
            an_append_is_read_back,
            a_wrong_position_is_a_conflict,
            an_append_without_a_claim_is_refused,
            an_empty_batch_is_invalid,
            a_batch_of_another_session_is_invalid,
            a_misnumbered_batch_is_invalid,
            a_refused_batch_leaves_nothing,
            a_refused_append_leaves_the_claim,
            a_big_batch_is_whole,
            a_fact_that_is_too_large_is_refused,
            every_kind_of_fact_comes_back_byte_for_byte,
            what_a_newer_version_added_comes_back,
            a_claim_alone_creates_nothing,
            a_claim_tells_the_last_position,
            epochs_grow,
            a_released_claim_appends_nothing,
            a_released_session_is_claimed_again,
            a_later_claim_supersedes_the_earlier,
            releasing_a_stale_claim_changes_nothing,
            reading_pages,
            an_unknown_session_is_unknown,
            reading_needs_no_claim,
            verifying_tells_the_end,
            many_logs_at_once_are_as_each_alone,
            sessions_are_listed_in_order,
            sessions_are_paged,
            a_reader_sees_whole_batches_and_all_that_was_acknowledged,
            appends_to_many_sessions_at_once_are_all_kept,
            of_appends_at_one_position_one_wins,
            of_claims_at_once_the_latest_writes,
            an_abandoned_append_is_kept_whole_or_not_at_all,
            reopening_keeps_what_was_acknowledged,
            reopening_goes_on_where_it_stood,
            a_reopened_store_needs_a_new_claim,
            what_was_acknowledged_is_outside_of_the_process,
            what_is_lost_is_not_absent,
            the_laws_hold_in_worlds_that_it_keeps,
            the_chain_is_that_of_the_log,
            other_writers_are_fenced_as_declared,
            epochs_grow_over_all_who_may_claim,
            the_same_append_again_changes_nothing,
            the_same_append_at_once_is_kept_once,
            other_facts_at_the_same_position_are_a_conflict,
            an_append_is_recognised_only_under_its_claim,
            only_the_last_append_is_recognised,
            a_listing_tells_what_a_log_folds_to,
            a_listing_is_filtered,
            a_filtered_listing_is_paged,
            a_listing_of_free_sessions_has_none_that_is_claimed,
            what_another_store_object_released_is_free,
            a_tail_answers_at_once_where_the_log_goes_on,
            a_tail_wakes_at_an_append,
            a_tail_wakes_at_an_append_of_another_store_object,
            a_tail_answers_when_patience_is_over,
            a_tail_of_no_session_is_unknown,
            an_erased_session_is_gone,
            an_erased_session_begins_anew,
            erasing_needs_the_latest_claim,
            erasing_leaves_other_sessions,
            an_erased_session_stays_gone,
            a_snapshot_is_kept_for_its_version,
            a_snapshot_replaces_the_one_before,
            a_snapshot_is_of_the_log_that_it_was_made_of,
            a_snapshot_beyond_the_end_is_invalid,
            a_snapshot_that_is_too_large_is_refused,
            a_snapshot_of_no_session_is_unknown,
            a_reopened_store_answers_no_wrong_snapshot,
            a_probe_changes_nothing,
            a_claim_sees_what_another_store_object_appended,
            a_read_sees_what_another_store_object_appended,
            a_listing_of_free_sessions_sees_claims_of_other_objects,
            a_busy_store_is_waited_for,
            a_changed_fact_is_corrupt,
            a_missing_fact_is_corrupt,
            verifying_reads_every_fact,
            erased_bytes_are_gone,
        }
    };
}

crate::log_store_cases! { [crate::suite::table] }
