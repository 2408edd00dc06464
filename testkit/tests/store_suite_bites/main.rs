//! The log store suite bites: each of its cases fails on a store that breaks just its promise,
//! and for the reason that it is meant to find. A store that keeps them all passes.

mod reference;

use reference::{Fault, Place};
use windlass_testkit::store::{CASES, Checked};
use windlass_testkit::suite::every_case_bites;

windlass_testkit::log_store_suite!(Place::sound());

/// A case, a fault that it must find, and words of what it must say.
const BITES: &[(&str, Fault, &str)] = &[
    (
        "an_append_is_read_back",
        Fault::ReadsBackwards,
        "was read where",
    ),
    (
        "a_wrong_position_is_a_conflict",
        Fault::TakesAnyPosition,
        "succeeded and must be refused",
    ),
    (
        "an_append_without_a_claim_is_refused",
        Fault::NeedsNoClaim,
        "without a claim succeeded",
    ),
    (
        "an_empty_batch_is_invalid",
        Fault::TakesEmptyBatches,
        "appending nothing succeeded",
    ),
    (
        "a_batch_of_another_session_is_invalid",
        Fault::TakesForeignFacts,
        "another session at 0 of 3",
    ),
    (
        "a_misnumbered_batch_is_invalid",
        Fault::TakesAnyNumbers,
        "appending positions [2] after 2",
    ),
    (
        "a_refused_batch_leaves_nothing",
        Fault::KeepsFactsBeforeABadOne,
        "has 51 facts, 2 were",
    ),
    (
        "a_refused_append_leaves_the_claim",
        Fault::DropsTheClaimOnRefusal,
        "NotClaimed",
    ),
    (
        "a_big_batch_is_whole",
        Fault::CutsBigBatches,
        "log of s has 1001 facts",
    ),
    (
        "a_fact_that_is_too_large_is_refused",
        Fault::TakesTooLargeFacts,
        "a byte too many succeeded",
    ),
    (
        "every_kind_of_fact_comes_back_byte_for_byte",
        Fault::DropsNulCharacters,
        "byte for byte",
    ),
    (
        "a_claim_alone_creates_nothing",
        Fault::ShowsClaimedSessions,
        "only claimed is listed",
    ),
    (
        "a_claim_tells_the_last_position",
        Fault::ClaimsAtZero,
        "that ends at 1 says",
    ),
    (
        "epochs_grow",
        Fault::CountsEpochsBySession,
        "is not larger than",
    ),
    (
        "a_released_claim_appends_nothing",
        Fault::KeepsReleasedClaims,
        "after the release succeeded",
    ),
    (
        "a_released_session_is_claimed_again",
        Fault::ClaimsOnlyOnce,
        "after a release failed",
    ),
    (
        "a_later_claim_supersedes_the_earlier",
        Fault::KeepsEarlierClaims,
        "superseded succeeded",
    ),
    (
        "releasing_a_stale_claim_changes_nothing",
        Fault::ReleasesAnyClaim,
        "NotClaimed",
    ),
    (
        "reading_pages",
        Fault::CountsTheCursorIn,
        "position 1 was read where 2 must stand",
    ),
    (
        "reading_pages",
        Fault::IgnoresTheLimit,
        "gave 7 facts and not 0",
    ),
    (
        "an_unknown_session_is_unknown",
        Fault::ReadsUnknownAsEmpty,
        "reading unknown succeeded",
    ),
    (
        "reading_needs_no_claim",
        Fault::ReadsOnlyWhenClaimed,
        "NotClaimed",
    ),
    (
        "verifying_tells_the_end",
        Fault::VerifiesWithoutLooking,
        "that ends at 5 says",
    ),
    (
        "verifying_tells_the_end",
        Fault::ChainsNothing,
        "its chain still ends in",
    ),
    (
        "sessions_are_listed_in_order",
        Fault::ListsInOrderOfFileNames,
        "sessions after None gave",
    ),
    (
        "sessions_are_paged",
        Fault::ListsTheCursorToo,
        "sessions after Some",
    ),
    (
        "a_reader_sees_whole_batches_and_all_that_was_acknowledged",
        Fault::AppendsFactByFact,
        "of whole batches of 3",
    ),
    (
        "appends_to_many_sessions_at_once_are_all_kept",
        Fault::LosesWhatComesAtOnce,
        "Conflict",
    ),
    (
        "of_appends_at_one_position_one_wins",
        Fault::ChecksThenActs,
        "appends at one position won",
    ),
    (
        "of_claims_at_once_the_latest_writes",
        Fault::GivesAnEpochTwice,
        "share an epoch",
    ),
    (
        "of_claims_at_once_the_latest_writes",
        Fault::KeepsEarlierClaims,
        "when the latest is",
    ),
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
    (
        "reopening_keeps_what_was_acknowledged",
        Fault::ForgetsOnOpening,
        "reading all of released",
    ),
    (
        "reopening_goes_on_where_it_stood",
        Fault::ForgetsOnOpening,
        "that ended at 1 is claimed as",
    ),
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
    (
        "the_chain_is_that_of_the_log",
        Fault::ChainsNothing,
        "the log's chain ends in",
    ),
    (
        "other_writers_are_fenced_as_declared",
        Fault::DeclaresNoFencing,
        "the fencing of Object is declared",
    ),
    (
        "other_writers_are_fenced_as_declared",
        Fault::FencesNoOtherObject,
        "find that of Object",
    ),
];

#[test]
fn every_case_finds_the_fault_that_it_is_there_for() -> Checked {
    every_case_bites(CASES, BITES, |case, fault| case(&Place::faulty(*fault)))
}
