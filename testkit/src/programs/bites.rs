//! Each case of the suite finds the fault that it is there for.

use super::broken::{Broken, Fault};
use super::suite::CASES;
use crate::store::Checked;
use crate::suite::every_case_bites;

#[test]
fn every_case_finds_its_fault() -> Checked {
    use Fault::*;
    let bites = [
        (
            "the_guide_is_the_same_and_names_every_tool",
            GuidesToNothing,
            "does not say what look is",
        ),
        (
            "the_guide_states_the_contract_the_inputs_and_the_limits",
            GuidesToTools,
            "does not contain",
        ),
        ("what_is_no_program_is_refused", RunsWhatIsRefused, "must be refused, and ran"),
        (
            "an_unknown_tool_is_refused_before_anything_runs",
            RunsWhatIsRefused,
            "names an unknown tool",
        ),
        (
            "an_unknown_name_is_refused_before_anything_runs",
            RunsWhatIsRefused,
            "an unknown name must",
        ),
        ("without_tools_none_can_be_called", RunsWhatIsRefused, "where there are no tools"),
        ("a_program_is_taken_out_of_an_answer", FindsNoProgram, "is taken out as None"),
        ("an_answer_without_a_program_has_none", FindsProgramsEverywhere, "there is a program"),
        ("a_program_ends_with_a_value", ValuesReturn, "must end with 7"),
        ("a_program_returns_a_value", ReturnsAreValues, "7 must return"),
        ("a_program_gives_up", GivingUpReturns, "must give up"),
        ("a_program_that_breaks_ends_with_a_fault", FaultsAreValues, "must end with a fault"),
        ("a_program_that_has_ended_goes_no_further", EndsAgainAndAgain, "step 2 of a program"),
        ("prints_are_told_line_by_line", PrintsInOneLine, "was printed"),
        ("inputs_are_read", HasOtherInputs, "the input limit is 12"),
        ("the_failure_before_is_an_input", ForgetsFailures, "the failure must be"),
        ("inputs_that_are_no_object_are_refused", HasOtherInputs, "must be refused"),
        ("a_call_has_its_arguments", CallsWithoutArguments, "look must be called with"),
        ("answers_are_data_or_text", WrapsAnswers, "to a program, and was"),
        ("tools_of_a_workspace_give_text", WrapsAnswers, "to a program, and was"),
        ("foreign_answers_do_no_harm", PanicsOverLongAnswers, "panicked"),
        ("a_failed_answer_is_told", FailuresAreAnswers, "a failed call must end with a fault"),
        (
            "a_failed_answer_may_be_gone_on_from",
            FailuresAreAnswers,
            "that goes on from a failed call",
        ),
        (
            "a_failed_answer_that_nobody_looks_at_is_told",
            FailuresAreAnswers,
            "that nobody looks at must end with a fault",
        ),
        ("answers_come_in_the_order_of_the_calls", SwapsAnswers, "two calls must be answered"),
        ("answers_come_in_the_order_of_the_calls", CallsOneByOne, "must be one step"),
        ("calls_come_from_loops_and_functions", CallsWithoutArguments, "must call with n from 0"),
        ("parallel_calls_stand_in_one_step", CallsOneByOne, "six calls at the same time"),
        ("parallel_calls_stand_in_one_step", SwapsAnswers, "a parallel form must return"),
        ("another_number_of_answers_is_a_fault", TakesAnyNumberOfAnswers, "0 answers to 2 calls"),
        ("what_is_kept_lasts", ForgetsMemory, "leaves no memory"),
        ("what_is_removed_is_gone", RemovesNothing, "found was removed, and"),
        ("a_small_change_is_a_small_record", RecordsEverything, "are recorded for a small change"),
        ("what_lasts_is_listed", ListsNothing, "does not list found"),
        ("a_program_that_keeps_nothing_changes_nothing", EmptiesMemory, "found was kept as 7"),
        ("a_program_that_fails_keeps_nothing", KeepsWhenItFails, "failed, and left a memory"),
        ("memory_that_is_foreign_is_refused", TakesAnyMemory, "must be refused"),
        ("memory_is_bounded", HasNoLimits, "keeping more than it may must end"),
        (
            "memory_of_a_wider_limit_stays_usable",
            RefusesLargeMemory,
            "a program beside memory of a wider limit",
        ),
        ("the_same_answers_make_the_same_run", CountsOtherRunsSteps, "at first, and then"),
        ("a_run_goes_on_from_recorded_answers", CountsOtherRunsSteps, "lost after 0 steps"),
        ("programs_do_not_see_each_other", CountsOtherRunsSteps, "beside another"),
        ("any_thread_may_go_on", StaysOnItsThread, "on another thread"),
        ("the_time_is_given", HasItsOwnClock, "the time must be"),
        ("random_numbers_follow_from_the_seed", HasItsOwnClock, "must follow from the seed"),
        ("long_sources_are_refused", HasNoLimits, "longer than it may be ran"),
        ("endless_programs_run_out_of_steps", RenamesFaults, "an endless program must end as"),
        ("rounds_of_a_loop_are_bounded", HasNoLimits, "11 rounds that may have 10 must end"),
        ("memory_bombs_are_stopped", RenamesFaults, "a memory bomb must end as"),
        ("recursion_is_stopped", RenamesFaults, "endless recursion must end as"),
        ("deep_nesting_does_no_harm", RunsWhatIsRefused, "300,000 deep must end with a fault"),
        ("patterns_do_not_run_away", RenamesFaults, "a pattern that runs away must end as"),
        ("calls_are_counted", HasNoLimits, "went on calling tools"),
        ("prints_are_bounded", HasNoLimits, "printing more than it may must end"),
        ("values_are_bounded", HasNoLimits, "returning more than it may must end"),
        ("hostile_programs_end", SaysNothing, "spins has a fault that says nothing"),
        ("a_program_that_is_told_to_stop_ends_soon", IsDeaf, "an endless program must end as"),
        ("a_waiting_program_that_is_told_to_stop_ends", IsDeaf, "a program that waits must end as"),
    ];
    every_case_bites(CASES, &bites, |case, fault| case(&Broken(*fault)))
}
