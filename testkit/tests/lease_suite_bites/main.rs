//! The leases suite bites: each of its cases fails on leases that break just its promise, and for the
//! reason that it is meant to find. Leases that keep them all pass.

#[path = "../support/meeting.rs"]
mod meeting;
mod reference;

use reference::{Fault, Place};
use windlass_testkit::leases::{CASES, Checked};
use windlass_testkit::suite::every_case_bites;

windlass_testkit::leases_suite!(Place::new(None));

/// A case, a fault that it must find, and words of what it must say.
const BITES: &[(&str, Fault, &str)] = &[
    ("a_lease_is_held_by_one", Fault::GrantsPerObject, "nobody holds Lease"),
    ("a_lease_is_held_by_one", Fault::TellsWhoAsks, "is refused since LeaseStatus"),
    ("of_many_at_once_one_holds_it", Fault::ChecksThenActs, "of 8 who took a name at once got it"),
    ("names_are_apart", Fault::FoldsNames, "is told of \"N\", which is free"),
    ("the_same_holder_takes_it_anew", Fault::RefusesTheSameHolder, "failed with Held"),
    (
        "the_same_holder_takes_it_anew",
        Fault::KeepsTheEpochOfTheHolder,
        "taken anew, a name has the epoch",
    ),
    (
        "the_same_holder_takes_it_anew",
        Fault::ReleasesByHolder,
        "after the lease before was released",
    ),
    ("epochs_of_leases_grow", Fault::BeginsAnewOnOpening, "of a lease in opening 1 is not larger"),
    (
        "epochs_of_leases_grow",
        Fault::ForgetsEpochsOfTheReleased,
        "of a lease in opening 0 is not larger",
    ),
    ("what_is_out_of_range_is_invalid", Fault::TakesAnyTime, "a lease of 0 ms succeeded"),
    (
        "what_is_out_of_range_is_invalid",
        Fault::TakesAnyName,
        "a name of 0 bytes for a holder of 4 succeeded",
    ),
    (
        "a_lease_ends_when_its_time_is_over",
        Fault::NeverEnds,
        "which is free since its time is over",
    ),
    ("a_lease_ends_when_its_time_is_over", Fault::EndsEarly, "before its time is over succeeded"),
    ("renewing_keeps_a_lease", Fault::RenewsNothing, "renewed for 500 ms"),
    ("renewing_keeps_a_lease", Fault::RenewsFromTheEnd, "renewed for 500 ms"),
    (
        "a_lease_that_is_over_is_renewed_or_lost",
        Fault::RenewsOnlyInWords,
        "taking what was renewed after its end succeeded",
    ),
    (
        "renewing_after_another_had_it_is_lost",
        Fault::RenewsOverAnother,
        "renewing what another has succeeded",
    ),
    (
        "renewing_after_another_had_it_is_lost",
        Fault::RenewsWhatAnotherHad,
        "renewing what another has had succeeded",
    ),
    (
        "a_released_lease_is_free_at_once",
        Fault::ReleasesNothing,
        "which is free since it was released",
    ),
    (
        "a_released_lease_is_free_at_once",
        Fault::RenewsWhatWasReleased,
        "renewing a lease that was released succeeded",
    ),
    (
        "releasing_a_stale_lease_changes_nothing",
        Fault::ReleasesByName,
        "after a stale lease was released",
    ),
    (
        "releasing_a_stale_lease_changes_nothing",
        Fault::ReleasesByHolder,
        "after a stale lease was released",
    ),
];

#[test]
fn every_case_finds_the_fault_that_it_is_there_for() -> Checked {
    every_case_bites(CASES, BITES, |case, fault| case(&Place::new(Some(*fault))))
}
