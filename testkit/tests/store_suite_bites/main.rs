//! The log store suite bites: each of its cases fails on a store that breaks just its promise,
//! and for the reason that it is meant to find. A store that keeps them all passes.

#[path = "../support/meeting.rs"]
mod meeting;
mod reference;

use reference::{Fault, Place};
use windlass_testkit::store::{CASES, Checked};
use windlass_testkit::suite::every_case_bites;

windlass_testkit::log_store_suite!(Place::sound());

/// A case, a fault that it must find, and words of what it must say.
const BITES: &[(&str, Fault, &str)] = &[
    ("an_append_is_read_back", Fault::ReadsBackwards, "was read where"),
    ("a_probe_changes_nothing", Fault::ProbesNothing, "probing an empty store failed"),
    ("a_probe_changes_nothing", Fault::ProbesInASession, "a store that was probed gave"),
    ("a_probe_changes_nothing", Fault::ProbesOverTheLastAppend, "repeating the last append"),
    ("a_wrong_position_is_a_conflict", Fault::TakesAnyPosition, "succeeded and must be refused"),
    ("an_append_without_a_claim_is_refused", Fault::NeedsNoClaim, "without a claim succeeded"),
    ("an_empty_batch_is_invalid", Fault::TakesEmptyBatches, "appending nothing succeeded"),
    (
        "a_batch_of_another_session_is_invalid",
        Fault::TakesForeignFacts,
        "another session at 0 of 3",
    ),
    ("a_misnumbered_batch_is_invalid", Fault::TakesAnyNumbers, "appending positions [2] after 2"),
    ("a_refused_batch_leaves_nothing", Fault::KeepsFactsBeforeABadOne, "has 51 facts, 2 were"),
    ("a_refused_append_leaves_the_claim", Fault::DropsTheClaimOnRefusal, "NotClaimed"),
    ("a_big_batch_is_whole", Fault::CutsBigBatches, "log of s has 1001 facts"),
    ("a_fact_that_is_too_large_is_refused", Fault::TakesTooLargeFacts, "a byte too many succeeded"),
    ("every_kind_of_fact_comes_back_byte_for_byte", Fault::DropsNulCharacters, "byte for byte"),
    ("what_a_newer_version_added_comes_back", Fault::WritesOnlyKnownFields, "byte for byte"),
    ("a_claim_alone_creates_nothing", Fault::ShowsClaimedSessions, "only claimed is listed"),
    ("a_claim_tells_the_last_position", Fault::ClaimsAtZero, "that ends at 1 says"),
    ("epochs_grow", Fault::CountsEpochsBySession, "is not larger than"),
    ("a_released_claim_appends_nothing", Fault::KeepsReleasedClaims, "after the release succeeded"),
    ("a_released_session_is_claimed_again", Fault::ClaimsOnlyOnce, "after a release failed"),
    ("a_later_claim_supersedes_the_earlier", Fault::KeepsEarlierClaims, "superseded succeeded"),
    ("releasing_a_stale_claim_changes_nothing", Fault::ReleasesAnyClaim, "NotClaimed"),
    ("reading_pages", Fault::CountsTheCursorIn, "position 1 was read where 2 must stand"),
    ("reading_pages", Fault::IgnoresTheLimit, "gave 7 facts and not 0"),
    ("an_unknown_session_is_unknown", Fault::ReadsUnknownAsEmpty, "reading unknown succeeded"),
    ("reading_needs_no_claim", Fault::ReadsOnlyWhenClaimed, "NotClaimed"),
    ("verifying_tells_the_end", Fault::VerifiesWithoutLooking, "that ends at 5 says"),
    ("verifying_tells_the_end", Fault::ChainsNothing, "its chain still ends in"),
    ("many_logs_at_once_are_as_each_alone", Fault::MixesUpLogs, "is read at once as"),
    ("many_logs_at_once_are_as_each_alone", Fault::ReadsAllKinds, "facts of another kind are read"),
    ("many_logs_at_once_are_as_each_alone", Fault::VerifiesEachLogAsTheLast, "is verified at once"),
    ("sessions_are_listed_in_order", Fault::ListsInOrderOfFileNames, "sessions after None gave"),
    ("sessions_are_paged", Fault::ListsTheCursorToo, "sessions after Some"),
    (
        "a_reader_sees_whole_batches_and_all_that_was_acknowledged",
        Fault::AppendsFactByFact,
        "of whole batches of 3",
    ),
    ("appends_to_many_sessions_at_once_are_all_kept", Fault::LosesWhatComesAtOnce, "Conflict"),
    ("of_appends_at_one_position_one_wins", Fault::ChecksThenActs, "appends at one position won"),
    ("of_claims_at_once_the_latest_writes", Fault::GivesAnEpochTwice, "share an epoch"),
    ("of_claims_at_once_the_latest_writes", Fault::KeepsEarlierClaims, "when the latest is"),
    (
        "an_abandoned_append_is_kept_whole_or_not_at_all",
        Fault::AppendsFactByFact,
        "of a dropped append of 5 facts",
    ),
    (
        "reopening_keeps_what_was_acknowledged",
        Fault::LosesTheLastAppendOnOpening,
        "has 6 facts, 15 were acknowledged",
    ),
    ("reopening_keeps_what_was_acknowledged", Fault::ForgetsOnOpening, "reading all of released"),
    ("reopening_goes_on_where_it_stood", Fault::ForgetsOnOpening, "that ended at 1 is claimed as"),
    (
        "a_reopened_store_needs_a_new_claim",
        Fault::KeepsClaimsAcrossOpening,
        "that is gone succeeded",
    ),
    (
        "what_was_acknowledged_is_outside_of_the_process",
        Fault::WritesWhenDropped,
        "a killed process would leave: reading all of one failed",
    ),
    (
        "what_was_acknowledged_is_outside_of_the_process",
        Fault::WritesOneAppendLate,
        "a killed process would leave: reading all of one failed",
    ),
    (
        "what_was_acknowledged_is_outside_of_the_process",
        Fault::HasNoImage,
        "implement StoreFixture::image",
    ),
    (
        "what_was_acknowledged_is_outside_of_the_process",
        Fault::HasNoCopy,
        "opens no copy: the log of one has 2 facts",
    ),
    ("what_is_lost_is_not_absent", Fault::ForgetsWhatIsLost, "is not listed"),
    ("what_is_lost_is_not_absent", Fault::ShortensWhatIsLost, "Cut: one verifies up to 3"),
    (
        "the_laws_hold_in_worlds_that_it_keeps",
        Fault::LosesTheLastAppendOnOpening,
        "law 1 is broken: the log was acknowledged up to",
    ),
    (
        "the_laws_hold_in_worlds_that_it_keeps",
        Fault::ReadsBackwards,
        "law 1 is broken: the log held",
    ),
    ("the_chain_is_that_of_the_log", Fault::ChainsNothing, "the log's chain ends in"),
    (
        "other_writers_are_fenced_as_declared",
        Fault::DeclaresNoFencing,
        "the fencing of Object is declared",
    ),
    ("other_writers_are_fenced_as_declared", Fault::FencesNoOtherObject, "find that of Object"),
    (
        "epochs_grow_over_all_who_may_claim",
        Fault::CountsEpochsByObject,
        "which another store object gave",
    ),
    (
        "the_same_append_again_changes_nothing",
        Fault::RecognisesNothing,
        "appending the same 1 facts after 0 again, at once, failed with Conflict",
    ),
    (
        "the_same_append_again_changes_nothing",
        Fault::RecognisesOnlyOneFact,
        "appending the same 3 facts after 1 again, at once, failed with Conflict",
    ),
    (
        "the_same_append_again_changes_nothing",
        Fault::RecognisesUntilItIsRead,
        "again, after a read, failed with Conflict",
    ),
    (
        "the_same_append_at_once_is_kept_once",
        Fault::RecognisesAfterwards,
        "the same append at once failed with Conflict",
    ),
    (
        "other_facts_at_the_same_position_are_a_conflict",
        Fault::RecognisesByPosition,
        "appending 1 facts again, with another one at 0, succeeded",
    ),
    (
        "other_facts_at_the_same_position_are_a_conflict",
        Fault::RecognisesByTheFirstFact,
        "appending 4 facts again, with another one at 1, succeeded",
    ),
    (
        "an_append_is_recognised_only_under_its_claim",
        Fault::RecognisesUnderAnyClaim,
        "that a later one superseded succeeded",
    ),
    (
        "an_append_is_recognised_only_under_its_claim",
        Fault::RecognisesUnderLaterClaims,
        "under the claim that superseded theirs succeeded",
    ),
    (
        "only_the_last_append_is_recognised",
        Fault::RecognisesOlderAppends,
        "appending after 0 again, when the log ends at 3, succeeded",
    ),
    (
        "a_listing_tells_what_a_log_folds_to",
        Fault::SummarisesTheFirstAppend,
        "of one-by-one, which stands at",
    ),
    (
        "a_listing_tells_what_a_log_folds_to",
        Fault::ForgetsSummariesOnOpening,
        "in a store that was opened again, of one-by-one",
    ),
    (
        "a_listing_is_filtered",
        Fault::IgnoresTheFilter,
        "under SessionFilter { tenants: One(\"acme\"), open: None, unclaimed: false } gave",
    ),
    (
        "a_listing_is_filtered",
        Fault::MatchesTenantsLoosely,
        "under SessionFilter { tenants: One(\"acme\"), open: None, unclaimed: false } gave",
    ),
    (
        "a_filtered_listing_is_paged",
        Fault::FiltersAfterTheLimit,
        "sessions after Some(\"s00\") under",
    ),
    (
        "a_listing_of_free_sessions_has_none_that_is_claimed",
        Fault::TakesClaimedForFree,
        "unclaimed: true } gave",
    ),
    (
        "a_listing_of_free_sessions_has_none_that_is_claimed",
        Fault::TakesReleasedForHeld,
        "unclaimed: true } gave",
    ),
    (
        "what_another_store_object_released_is_free",
        Fault::TakesReleasedElsewhereForHeld,
        "is not listed as free after 400ms",
    ),
    (
        "a_tail_answers_at_once_where_the_log_goes_on",
        Fault::DeclaresNoTail,
        "which is not declared, succeeded",
    ),
    (
        "a_tail_answers_at_once_where_the_log_goes_on",
        Fault::TailsOnlyWhatIsNew,
        "a tail after 0 of a log that ends at 3 still waits",
    ),
    (
        "a_tail_wakes_at_an_append",
        Fault::WakesNobody,
        "4 tails after 3 still wait 400ms after an append behind it",
    ),
    ("a_tail_wakes_at_an_append", Fault::TailsWithoutWaiting, "before its patience is over"),
    (
        "a_tail_wakes_at_an_append",
        Fault::WakesAtAnyAppend,
        "a tail after 4 of a log that ends there answers",
    ),
    (
        "a_tail_wakes_at_an_append_of_another_store_object",
        Fault::WakesNoOtherObject,
        "2 tails after 3 still wait",
    ),
    (
        "a_tail_answers_when_patience_is_over",
        Fault::TailsImpatiently,
        "a patience of 60ms gave up after",
    ),
    (
        "a_tail_of_no_session_is_unknown",
        Fault::TailsNothing,
        "following never-seen, which does not exist, succeeded",
    ),
    ("an_erased_session_is_gone", Fault::DeclaresNoErasing, "which is not declared, succeeded"),
    (
        "an_erased_session_is_gone",
        Fault::ErasesNothing,
        "reading a session that was erased succeeded",
    ),
    (
        "an_erased_session_is_gone",
        Fault::ErasesNoClaim,
        "appending under a claim that erased succeeded",
    ),
    ("an_erased_session_begins_anew", Fault::ErasesNothing, "an erased session is claimed as"),
    (
        "an_erased_session_begins_anew",
        Fault::ErasesTheCountOfEpochs,
        "of a claim after erasing is not larger",
    ),
    (
        "erasing_needs_the_latest_claim",
        Fault::ErasesForAnyClaim,
        "which is not the latest, succeeded",
    ),
    (
        "erasing_leaves_other_sessions",
        Fault::ErasesNeighbours,
        "reading all of s.a failed with Unknown",
    ),
    (
        "an_erased_session_stays_gone",
        Fault::ErasesWhenDropped,
        "before the process was killed succeeded",
    ),
    (
        "an_erased_session_stays_gone",
        Fault::ErasesUntilOpening,
        "before the store was opened again succeeded",
    ),
    (
        "a_snapshot_is_kept_for_its_version",
        Fault::DeclaresNoSnapshots,
        "which is not declared, succeeded",
    ),
    (
        "a_snapshot_is_kept_for_its_version",
        Fault::LosesSnapshots,
        "gives none, and must give one at 3",
    ),
    (
        "a_snapshot_is_kept_for_its_version",
        Fault::AnswersAnyVersion,
        "of version \"\" gives one at 3",
    ),
    ("a_snapshot_replaces_the_one_before", Fault::KeepsTheLatestSnapshot, "gives one at 4"),
    (
        "a_snapshot_is_of_the_log_that_it_was_made_of",
        Fault::AnswersOfAnotherLog,
        "gives one at 2 of version",
    ),
    (
        "a_snapshot_beyond_the_end_is_invalid",
        Fault::TakesSnapshotsBeyondTheEnd,
        "keeping a snapshot at 5 of a log that ends at 4 succeeded",
    ),
    (
        "a_snapshot_that_is_too_large_is_refused",
        Fault::TakesTooLargeSnapshots,
        "keeping a snapshot of 65537 bytes succeeded",
    ),
    (
        "a_snapshot_of_no_session_is_unknown",
        Fault::KeepsSnapshotsOfNothing,
        "keeping a snapshot of never-seen, which does not exist, succeeded",
    ),
    (
        "a_reopened_store_answers_no_wrong_snapshot",
        Fault::GarblesSnapshotsOnOpening,
        "a store that was opened again gives one at 3",
    ),
    (
        "a_claim_sees_what_another_store_object_appended",
        Fault::ClaimsFromAnOldLook,
        "another store object appended up to 5, and a claim says",
    ),
    (
        "a_read_sees_what_another_store_object_appended",
        Fault::ReadsFromAnOldLook,
        "another store object appended up to 4, and: the log of s has 1 facts",
    ),
    (
        "a_listing_of_free_sessions_sees_claims_of_other_objects",
        Fault::TakesClaimsElsewhereForFree,
        "are listed as free and not []",
    ),
    (
        "a_busy_store_is_waited_for",
        Fault::FailsWhileBusy,
        "while other store objects wrote too: appending",
    ),
    ("a_changed_fact_is_corrupt", Fault::EndsAtDamage, "ends at 3 as if the log did"),
    ("a_changed_fact_is_corrupt", Fault::ReadsWhatWasChanged, "Changed at 4 of a log of 7: fact 4"),
    ("a_changed_fact_is_corrupt", Fault::ClaimsUpToDamage, "as if the log ended there"),
    ("a_changed_fact_is_corrupt", Fault::HasNoDamage, "implement StoreFixture::damage"),
    ("a_missing_fact_is_corrupt", Fault::EndsAtDamage, "Removed at 4 of a log of 7: reading by"),
    (
        "a_missing_fact_is_corrupt",
        Fault::SkipsGaps,
        "Removed at 4 of a log of 7: position 5 was read where 4 must stand",
    ),
    (
        "verifying_reads_every_fact",
        Fault::VerifiesTheEndAlone,
        "Changed at 4 of a log of 7: it verifies as",
    ),
    ("erased_bytes_are_gone", Fault::LeavesErasedBytes, "is still stored"),
    ("erased_bytes_are_gone", Fault::LeavesErasedCheckpoints, "is still stored"),
    ("erased_bytes_are_gone", Fault::ErasesAllBytes, "all others are gone too"),
    ("erased_bytes_are_gone", Fault::HasNoBytes, "implement StoreFixture::bytes"),
];

#[test]
fn every_case_finds_the_fault_that_it_is_there_for() -> Checked {
    every_case_bites(CASES, BITES, |case, fault| case(&Place::faulty(*fault)))
}
