//! The live relay suite bites: each of its cases fails on a relay that breaks just its promise, and for
//! the reason that it is meant to find. One that keeps them all passes.

mod reference;

use reference::{Fault, Place};
use windlass_testkit::live::{CASES, Checked};
use windlass_testkit::suite::every_case_bites;

windlass_testkit::live_suite!(Place::new(None));

/// A case, a fault that it must find, and words of what it must say.
const BITES: &[(&str, Fault, &str)] = &[
    ("what_is_told_is_heard_elsewhere", Fault::HearsItself, "who told hears itself"),
    (
        "what_is_told_is_heard_elsewhere",
        Fault::EndsAtNul,
        "was told again and again, and nobody heard it",
    ),
    ("messages_of_sessions_are_apart", Fault::FoldsNames, "who hears session a heard"),
    ("messages_are_heard_in_order", Fault::Swaps, "is heard after Some("),
    ("messages_are_heard_in_order", Fault::Repeats, "is heard after Some("),
    ("messages_are_heard_in_order", Fault::LosesQuietly, "nobody says that some are missing"),
    ("who_does_not_listen_is_told_that_it_missed", Fault::HoldsAll, "messages waited, and 16 may"),
    (
        "who_does_not_listen_is_told_that_it_missed",
        Fault::CountsNothing,
        "10 were dropped, and 0 are counted",
    ),
    ("telling_drops_what_it_cannot_send", Fault::HoldsAll, "whatever waits has no bound"),
    ("telling_drops_what_it_cannot_send", Fault::CountsNothing, "and 0 are counted as dropped"),
    ("what_is_too_large_is_missed", Fault::TakesAnySize, "is counted as 0"),
    (
        "what_is_too_large_is_missed",
        Fault::DropsTheLargeQuietly,
        "a byte too many was dropped, and nobody says so",
    ),
    ("nobody_hears_what_was_told_before", Fault::TellsAgain, "who began to hear afterwards heard"),
    ("nobody_hears_what_was_told_before", Fault::CountsItself, "and it is told to be heard"),
    ("who_begins_to_hear_is_announced", Fault::AnnouncesTheFirst, "when one on another node began"),
    (
        "who_begins_to_hear_is_announced",
        Fault::AnnouncesItself,
        "a node is told that it hears itself",
    ),
    ("who_hears_no_more_lapses", Fault::NeverLapses, "does not stop being heard"),
    ("who_hears_no_more_lapses", Fault::LapsesWithAny, "it does not count as heard any more"),
    ("hearing_ends_with_the_relay", Fault::NeverEnds, "what it told has no end"),
];

#[test]
fn every_case_finds_the_fault_that_it_is_there_for() -> Checked {
    every_case_bites(CASES, BITES, |case, fault| case(&Place::new(Some(*fault))))
}
