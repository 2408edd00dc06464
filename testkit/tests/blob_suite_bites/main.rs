//! The blob suite bites: each of its cases fails on a store that breaks just its promise, and for
//! the reason that it is meant to find. A store that keeps them all passes.

mod reference;

use std::sync::Arc;

use async_trait::async_trait;
use reference::{Fault, Place};
use windlass_core::SessionId;
use windlass_ports::BlobStore;
use windlass_testkit::blobs::{BlobFixture, CASES, Checked, HeldBlobs};
use windlass_testkit::suite::every_case_bites;

windlass_testkit::blob_suite!(Place::new(Fault::None));

/// A case, a fault that it must find, and words of what it must say.
const BITES: &[(&str, Fault, &str)] = &[
    ("what_was_written_is_read_back", Fault::ReadsFromTheStart, "bytes that must be kept, more"),
    ("a_blob_is_named_by_its_digest", Fault::NamesByLength, "and must be as"),
    ("the_same_bytes_twice_are_one_blob", Fault::NumbersItsBlobs, "the same bytes are kept as"),
    ("many_at_once_are_all_kept", Fault::MixesWriters, "bytes that must be kept"),
    (
        "a_session_does_not_see_what_another_keeps",
        Fault::SharesSessions,
        "another session keeps succeeded",
    ),
    (
        "what_is_not_there_is_not_found",
        Fault::TakesAnyName,
        "succeeded and must be refused as NotFound",
    ),
    ("verifying_finds_what_was_changed", Fault::VerifiesBlindly, "that was changed succeeded"),
    ("what_is_beyond_the_limit_is_not_kept", Fault::SaysTheWholeLength, "are said to be"),
    (
        "what_was_not_finished_is_not_there",
        Fault::KeepsWhatIsDropped,
        "whose writer is gone succeeded",
    ),
    (
        "an_abandoned_write_is_no_blob",
        Fault::LosesAbandonedWrites,
        "after a write that did not end",
    ),
    ("an_abandoned_finish_is_whole_or_not_there", Fault::FinishesByHalves, "of 500000 bytes"),
    ("reopening_keeps_what_was_finished", Fault::ForgetsOnReopening, "NotFound"),
    (
        "an_erased_session_keeps_nothing",
        Fault::ErasesNothing,
        "reading the 100000 bytes of a session that was erased succeeded",
    ),
    (
        "an_erased_session_keeps_nothing",
        Fault::ErasesOneBlob,
        "of a session that was erased succeeded",
    ),
    ("an_erased_session_keeps_nothing", Fault::ErasesForAll, "from 0 on failed with NotFound"),
    (
        "an_erased_session_keeps_nothing",
        Fault::ErasesUntilReopening,
        "of a session that was erased before succeeded",
    ),
];

#[test]
fn each_case_finds_the_fault_that_it_is_there_for() -> Checked {
    every_case_bites(CASES, BITES, |case, fault| case(&Place::new(*fault)))
}

/// The kit's own fake is held to the same promises.
mod held {
    use super::*;

    struct Held(HeldBlobs);

    #[async_trait]
    impl BlobFixture for Held {
        async fn open(&self) -> Arc<dyn BlobStore> {
            Arc::new(self.0.clone())
        }

        async fn open_small(&self, max_bytes: u64) -> Arc<dyn BlobStore> {
            Arc::new(HeldBlobs::new(max_bytes))
        }

        fn damage(&self, session: &SessionId, sha256: &str) -> bool {
            self.0.damage(session, sha256)
        }
    }

    windlass_testkit::blob_suite!(Held(HeldBlobs::new(1 << 30)));
}
