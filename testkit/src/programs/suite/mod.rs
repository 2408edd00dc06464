//! The conformance suite of the program port: one case for each promise in the documentation of
//! [`ProgramRuntime`]; [`program_suite!`](crate::program_suite) makes tests of them.
//!
//! Languages differ, so a [`ProgramFixture`] says how its language writes each [`Sample`]. Where it
//! cannot write one it says so, and what rests on that sample is not looked at.
//!
//! Each program runs on a thread of its own with the stack of any other thread (2 MiB), and is waited
//! for a bounded time: one that does not end, and one that panics, is a violation.

mod calling;
mod checks;
mod ending;
mod keeping;
mod limits;
mod preparing;
mod repeating;
mod stopping;

use std::sync::Arc;
use std::time::Duration;

use windlass_ports::ProgramRuntime;

use crate::store::{Checked, Violation};

pub use calling::*;
pub use checks::{ANSWERED, Told, World, run_sample};
pub use ending::*;
pub use keeping::*;
pub use limits::*;
pub use preparing::*;
pub use repeating::*;
pub use stopping::*;

/// A runtime under test, and its language.
pub trait ProgramFixture: Send + Sync {
    /// A new runtime, which shares nothing with those before it.
    fn runtime(&self) -> Arc<dyn ProgramRuntime>;

    /// The source of a program that does this, or `None` where the language cannot say it.
    fn write(&self, sample: &Sample<'_>) -> Option<String>;

    /// A whole answer of a model that says something, has this program, and says something more.
    fn answer(&self, source: &str) -> String;

    /// Sources that the language does not have: each is refused before it runs.
    fn malformed(&self) -> Vec<String>;

    /// More programs that mean harm, by name, beside those that every language has. Each is to end
    /// within its limits, whether with a fault or not.
    fn hostile(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The whole memory with one definition, as an earlier version of the runtime recorded it, or `None` if
    /// none did. The value is JSON.
    fn whole_memory(&self, _name: &str, _value: &str) -> Option<String> {
        None
    }

    /// How long any program may take, and how long one that was told to stop.
    fn patience(&self) -> Duration {
        Duration::from_secs(240)
    }
}

/// What a program is to do. Values and arguments are JSON texts; arguments are objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample<'a> {
    /// Ends with this value, and does not return it.
    Value(&'a str),
    /// Returns this value.
    Return(&'a str),
    /// Gives up for this reason.
    Fail(&'a str),
    /// Goes wrong by itself, after it has kept `n` as 1: it is well-formed, and names nothing unknown.
    Broken,
    /// Calls a tool, and returns the answer.
    Call(&'a str, &'a str),
    /// Calls a tool in a branch that is never taken, and returns 1.
    NeverCalled(&'a str),
    /// Calls two tools at the same time, and returns the list of both answers.
    Both([(&'a str, &'a str); 2]),
    /// Calls a tool so many times in a loop, with `{"n":0}` first and `{"n":1}` then, and returns the
    /// list of the answers, or the last of them.
    Loop(&'a str, u32),
    /// The same from a function that another function is given.
    Mapped(&'a str, u32),
    /// The same calls, all at the same time.
    Parallel(&'a str, u32),
    /// Calls a tool and returns the answer; where it fails, returns the text `"recovered"`.
    Recovered(&'a str, &'a str),
    /// Calls this tool without arguments, does not look at the answer, and returns 1.
    Unheeded(&'a str),
    /// Returns the present time, in milliseconds since the Unix epoch.
    Now,
    /// Returns a random number.
    Random,
    /// Reads a name that nothing has, in a branch that is never taken.
    UnknownName,
    /// Returns the input of this name.
    Data(&'a str),
    /// Keeps a value under a name (letters only), and ends with a value.
    Keep(&'a str, &'a str),
    /// Removes what is kept under a name, and ends with a value.
    Remove(&'a str),
    /// Returns what is kept under a name.
    Kept(&'a str),
    /// Keeps a value under a name, and then gives up.
    KeepAndFail(&'a str, &'a str),
    /// Keeps a text of so many letters.
    KeepMuch(usize),
    /// Prints each of these lines (letters only), and ends with a value.
    Print(&'a [&'a str]),
    /// Prints a line of ten letters so many times, and ends with a value.
    PrintMuch(usize),
    /// Returns a text of so many letters.
    ReturnMuch(usize),
    /// Goes round a loop so many times, calls nothing, and ends with a value.
    Rounds(u32),
    /// Goes round for ever and calls nothing.
    Endless,
    /// Calls this tool, and then goes round for ever.
    CallThenEndless(&'a str),
    /// Takes more and more memory and holds on to it, for ever.
    MemoryBomb,
    /// A function calls itself for ever.
    Recursion,
    /// A value that is nested so deep, written out.
    NestedSource(usize),
    /// A value that is nested deeper and deeper, a million times, and is then returned.
    NestedValue,
    /// Matches a pattern that takes a backtracking matcher exponential time.
    Catastrophic,
    /// Calls this tool for ever, one call after the other.
    EndlessCalls(&'a str),
    /// Calls this tool for a million elements at the same time.
    MillionCalls(&'a str),
}

/// Expands to one `#[test]` for each case of the program suite. The expression makes a
/// [`ProgramFixture`](crate::programs::suite::ProgramFixture).
#[macro_export]
macro_rules! program_suite {
    ($fixture:expr) => {
        $crate::program_cases! { [$crate::suite_tests] program_suite, programs::suite, $fixture }
    };
}

/// Hands the names of all cases to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! program_cases {
    ([$($callback:tt)*] $($extra:tt)*) => {
        $($callback)*! { [$($extra)*]
            the_guide_is_the_same_and_names_every_tool,
            the_guide_states_the_contract_the_inputs_and_the_limits,
            what_is_no_program_is_refused,
            an_unknown_tool_is_refused_before_anything_runs,
            an_unknown_name_is_refused_before_anything_runs,
            without_tools_none_can_be_called,
            a_program_is_taken_out_of_an_answer,
            an_answer_without_a_program_has_none,
            a_program_ends_with_a_value,
            a_program_returns_a_value,
            a_program_gives_up,
            a_program_that_breaks_ends_with_a_fault,
            a_program_that_has_ended_goes_no_further,
            prints_are_told_line_by_line,
            inputs_are_read,
            inputs_that_are_no_object_are_refused,
            the_failure_before_is_an_input,
            a_call_has_its_arguments,
            answers_are_data_or_text,
            tools_of_a_workspace_give_text,
            foreign_answers_do_no_harm,
            a_failed_answer_is_told,
            a_failed_answer_may_be_gone_on_from,
            a_failed_answer_that_nobody_looks_at_is_told,
            answers_come_in_the_order_of_the_calls,
            calls_come_from_loops_and_functions,
            parallel_calls_stand_in_one_step,
            another_number_of_answers_is_a_fault,
            what_is_kept_lasts,
            what_is_removed_is_gone,
            a_small_change_is_a_small_record,
            what_lasts_is_listed,
            a_program_that_keeps_nothing_changes_nothing,
            a_program_that_fails_keeps_nothing,
            memory_that_is_foreign_is_refused,
            memory_is_bounded,
            memory_of_a_wider_limit_stays_usable,
            the_same_answers_make_the_same_run,
            a_run_goes_on_from_recorded_answers,
            programs_do_not_see_each_other,
            any_thread_may_go_on,
            the_time_is_given,
            random_numbers_follow_from_the_seed,
            long_sources_are_refused,
            endless_programs_run_out_of_steps,
            rounds_of_a_loop_are_bounded,
            memory_bombs_are_stopped,
            recursion_is_stopped,
            deep_nesting_does_no_harm,
            patterns_do_not_run_away,
            calls_are_counted,
            prints_are_bounded,
            values_are_bounded,
            hostile_programs_end,
            a_program_that_is_told_to_stop_ends_soon,
            a_waiting_program_that_is_told_to_stop_ends,
        }
    };
}

crate::program_cases! { [crate::suite::table] }

/// One case of the suite: holds a runtime to one promise.
pub type Case = fn(&dyn ProgramFixture) -> Checked;
