//! The inbox suite bites: each of its cases fails on an inbox that breaks just its promise, and for the
//! reason that it is meant to find. One that keeps them all passes.

mod claims;
#[path = "../support/meeting.rs"]
mod meeting;
mod reference;

use reference::{Fault, Place};
use windlass_testkit::inbox::{CASES, Checked};
use windlass_testkit::suite::every_case_bites;

windlass_testkit::inbox_suite!(Place::new(None));

/// A case, a fault that it must find, and words of what it must say.
const BITES: &[(&str, Fault, &str)] = &[
    ("a_letter_is_taken_as_it_was_left", Fault::EndsAtNul, "and taken the first time as"),
    ("a_letter_is_taken_as_it_was_left", Fault::TakesAway, "and taken the second time as []"),
    ("letters_are_taken_in_order", Fault::OrdersByName, "are taken as"),
    ("letters_are_taken_in_order", Fault::IgnoresLimits, "and up to 0 are taken as"),
    ("a_letter_left_twice_is_one", Fault::LeavesTwice, "was left three times"),
    ("a_letter_left_twice_is_one", Fault::LeavesOver, "was left three times"),
    (
        "a_letter_left_twice_is_one",
        Fault::ForgetsTheReplied,
        "was left again by the one node and waits",
    ),
    ("letters_of_sessions_are_apart", Fault::FoldsNames, "was left, and ["),
    (
        "a_full_session_takes_no_more",
        Fault::NeverFull,
        "one letter more than may wait, by the one node, succeeded",
    ),
    ("a_full_session_takes_no_more", Fault::BoundsAll, "for beside failed with Full"),
    (
        "a_full_session_takes_no_more",
        Fault::RefusesTheKnown,
        "leaving letter n0 for s failed with Full",
    ),
    ("of_many_left_at_once_each_stands_once", Fault::ChecksThenActs, "more were left at once, and"),
    (
        "what_is_too_large_is_refused",
        Fault::TakesAnySize,
        "a letter of one byte too many succeeded",
    ),
    ("a_reply_takes_the_letter_away", Fault::KeepsTheLetter, "has a reply, and these wait"),
    ("a_reply_takes_the_letter_away", Fault::TakesAllAway, "has a reply, and these wait"),
    ("the_first_reply_stands", Fault::LastReplyStands, "after the second reply"),
    ("the_first_reply_stands", Fault::RepliesToNothing, "after a reply to nothing does not wait"),
    ("a_reply_reaches_who_waits", Fault::WakesOnlyHere, "the other node waited"),
    ("patience_ends_without_a_reply", Fault::HasNoPatience, "was over after"),
    ("replies_are_kept_and_go", Fault::ForgetsReplies, "and gone after 0"),
    ("replies_are_kept_and_go", Fault::KeepsReplies, "is there after"),
    (
        "arrivals_are_told_everywhere",
        Fault::TellsOnlyHere,
        "to the other node after the one node left a letter",
    ),
    ("what_waits_is_told_again", Fault::TellsOnce, "while its letter waits"),
    ("what_waits_is_told_again", Fault::TellsTheReplied, "only beside has a letter"),
    ("sessions_with_letters_are_listed", Fault::TellsTheReplied, "letters wait in"),
    ("sessions_with_letters_are_listed", Fault::ListsFromTheBeginning, "letters wait in"),
    ("sessions_with_letters_are_listed", Fault::IgnoresLimits, "a page of 1 has"),
    (
        "letters_are_for_the_latest_claim",
        Fault::TakesUnderAnyClaim,
        "taking letters under no claim succeeded",
    ),
    (
        "letters_are_for_the_latest_claim",
        Fault::RepliesUnderAnyClaim,
        "replying under no claim succeeded",
    ),
    (
        "letters_are_for_the_latest_claim",
        Fault::TakesUnderOldClaims,
        "taking letters under a claim that another followed succeeded",
    ),
    ("letters_outlive_who_left_and_who_drove", Fault::ForgetsOnOpening, "opened again, []"),
    (
        "erasing_takes_letters_and_replies_along",
        Fault::ErasesNoReplies,
        "was erased, and a reply is there",
    ),
    (
        "erasing_takes_letters_and_replies_along",
        Fault::ErasesNoLetters,
        "was erased, and these letters wait",
    ),
    (
        "erasing_takes_letters_and_replies_along",
        Fault::ErasesByBeginning,
        "a reply of another is None",
    ),
];

#[test]
fn every_case_finds_the_fault_that_it_is_there_for() -> Checked {
    every_case_bites(CASES, BITES, |case, fault| case(&Place::new(Some(*fault))))
}
