//! The provider suite bites: each of its cases fails on a provider that breaks just its promise,
//! and for the reason that it is meant to find. A provider that keeps them all passes.

mod answer;
mod fault;
mod protocol;
mod reference;
mod request;
mod wire;

use fault::Fault;
use reference::Making;
use windlass_testkit::provider::suite::CASES;
use windlass_testkit::store::Checked;
use windlass_testkit::suite::every_case_bites;

windlass_testkit::provider_suite!(Making(Fault::None));

/// A case, a fault that it must find, and words of what it must say.
#[rustfmt::skip]
const BITES: &[(&str, Fault, &str)] = &[
    ("an_answer_is_read_as_it_was_given", Fault::TellsOnlyTheFirstCall, "was told where"),
    ("usage_and_the_reason_to_stop_are_told", Fault::TellsNoUsage, "is told as None"),
    ("usage_and_the_reason_to_stop_are_told", Fault::StopsForOneReason, "ended by Length"),
    ("calls_of_one_id_are_all_told", Fault::TellsOneCallAnId, "two calls of one id"),
    ("pieces_of_any_size_make_the_same_answer", Fault::DecodesEachReadAlone, "in pieces of 1 "),
    ("an_answer_may_come_as_one_body", Fault::TakesNoBodyForAnAnswer, "failed as Protocol"),
    ("line_ends_and_keep_alives_change_nothing", Fault::KnowsOnlyLineFeeds, "with CR"),
    ("a_wait_may_be_dropped_at_every_byte", Fault::LosesWhatADroppedWaitHadRead, "an answer of dropped waits"),
    ("a_connection_closed_at_any_byte_is_no_answer", Fault::TakesAClosedConnectionForTheEnd, "passed for an answer"),
    ("a_connection_closed_at_any_byte_is_no_answer", Fault::TellsHalfACall, "is told as"),
    ("a_connection_closed_at_any_byte_is_no_answer", Fault::TakesTheEndAfterTextForAnAnswer, "passed for an answer"),
    ("a_connection_closed_at_any_byte_is_no_answer", Fault::TakesTheEndAfterReasoningForAnAnswer, "passed for an answer"),
    ("a_body_cut_short_at_any_byte_is_no_answer", Fault::TakesACutBodyForTheEnd, "passed for an answer"),
    ("a_connection_reset_at_any_byte_is_no_answer", Fault::TakesAResetForTheEnd, "passed for an answer"),
    ("a_repeated_event_is_told_once", Fault::OpensACallAnew, "twice"),
    ("an_event_that_is_missing_is_no_shorter_answer", Fault::PassesOverLostOpenings, "passed for an answer"),
    ("data_that_cannot_be_read_is_an_error", Fault::PassesOverDamagedData, "passed for an answer"),
    ("an_error_inside_an_answer_is_an_error", Fault::PassesOverErrors, "passed for an answer"),
    ("an_empty_answer_is_an_error", Fault::TakesNothingForAnAnswer, "passed for an answer"),
    ("a_page_is_no_answer", Fault::TakesAPageForAnAnswer, "passed for an answer"),
    ("a_length_that_lies_is_no_answer", Fault::PassesOverTheLength, "too short a length passed"),
    ("what_is_compressed_is_no_answer", Fault::PassesOverWhatItCannotRead, "passed for []"),
    ("bytes_that_are_no_text_are_not_dropped", Fault::DropsBrokenText, "between a and b"),
    ("a_line_without_an_end_is_too_large", Fault::TakesAnyLine, "must be of [TooLarge]"),
    ("an_event_without_an_end_is_too_large", Fault::TakesAnyEvent, "must be of [TooLarge]"),
    ("an_answer_without_an_end_is_too_large", Fault::TakesAnyAnswer, "passed for an answer"),
    ("an_answer_without_an_end_is_too_large", Fault::TakesAnyBody, "must be of [TooLarge]"),
    ("a_refusal_without_an_end_is_read_in_part", Fault::ReadsAllOfARefusal, "read on until"),
    ("a_refusal_has_its_class", Fault::TakesRefusalsForTheServers, "of the class Server"),
    ("a_refusal_is_told_from_its_words", Fault::LooksOnlyAtTheStatus, "must be of [ContextOverflow]"),
    ("a_wait_that_is_asked_for_is_told", Fault::KnowsNoDates, "08:50:07"),
    ("a_redirect_is_not_followed", Fault::FollowsRedirects, "passed for an answer"),
    ("nobody_there_is_unavailable", Fault::GivesUpOnWhoIsNotThere, "Never of another try"),
    ("one_request_is_sent_for_one_sample", Fault::AsksAgain, "2 requests came for 1"),
    ("the_key_is_shown_to_the_server_alone", Fault::ShowsTheKey, "shows the key"),
    ("a_dropped_answer_ends_its_request", Fault::ReadsOnWhenDropped, "was still open"),
    ("a_dropped_sample_ends_its_request", Fault::AsksOnWhenDropped, "was still open"),
    ("answers_at_once_do_not_mix", Fault::MixesAnswers, "at once"),
    ("answers_at_once_do_not_mix", Fault::OneAtATime, "beside one another"),
    ("a_provider_goes_on_after_a_failure", Fault::SulksAfterAFailure, "after failure 0"),
    ("requests_keep_the_grammar", Fault::SendsBrokenArguments, "arguments: "),
    ("no_longer_answer_is_asked_for_than_is_left", Fault::KnowsNoBudget, "tokens a budget leaves"),
    ("no_longer_answer_is_asked_for_than_is_left", Fault::IgnoresTheLimit, "None are asked for"),
    ("the_instructions_are_sent", Fault::DropsTheInstructions, "were sent as None"),
    ("each_tool_is_sent_whole", Fault::EmptiesDescriptions, "the tools"),
    ("the_choice_of_tools_is_sent", Fault::IgnoresTheChoice, "was sent as Auto"),
    ("each_effort_is_sent", Fault::SendsOneEffort, "sent as another"),
    ("images_are_sent_as_declared", Fault::SendsWordsForImages, "images are declared"),
    ("images_are_sent_as_declared", Fault::ForgetsImagesOfResults, "the image of a result"),
    ("the_schema_of_the_answer_is_sent_as_declared", Fault::SendsNoSchema, "sent as None"),
    ("failed_results_say_so", Fault::HidesThatACallFailed, "say of failing [false, false"),
    ("a_conversation_keeps_its_order", Fault::SendsResultsFirst, "was sent as"),
    ("all_that_was_said_is_sent", Fault::DropsContext, "was sent as"),
    ("calls_keep_their_names", Fault::SendsCallsUnderOneName, "were sent as"),
    ("the_opaque_part_of_a_call_comes_back", Fault::LosesSeals, "is told with None"),
    ("calls_keep_their_results", Fault::ForgetsEdits, "only two ran"),
    ("what_is_declared_is_done", Fault::RefusesWhatItDeclares, "declared and refused"),
    ("what_is_declared_is_done", Fault::DropsToolsThatItDeclares, "declared and not sent"),
    ("what_is_not_declared_is_unsupported", Fault::DeclaresNoToolsAndSendsThem, "not declared and"),
    ("sources_are_told_where_searches_are_declared", Fault::DropsSources, "one source was given"),
    ("sources_are_told_where_searches_are_declared", Fault::CountsSourcesInBytes, "was told as one of"),
    ("reasoning_comes_back_as_declared", Fault::DeclaresReasoningThatItHasNot, "declared and not"),
];

#[test]
fn every_case_finds_the_fault_that_it_is_there_for() -> Checked {
    every_case_bites(CASES, BITES, |case, fault| case(&Making(*fault)))
}
