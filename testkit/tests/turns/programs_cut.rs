//! Programs of answers that break off: one that was not whole has not run, and is never run.

use expect_test::expect;

use super::check;

#[test]
fn a_program_of_an_answer_that_breaks_off_is_not_run_and_the_next_attempt_writes_another() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > fail truncated soon
           8 SampleCut truncated, about 120 tokens, next attempt in 250 ms
        > wait 250 => sample 1 again@9
        > call run_program {"source":"y"} => read-only call 10 decided
        > end stop => call 10@13
        > program 0 return 1 => program 10 returned at 14, turn completed at 16
    "#]]);
}

#[test]
fn a_program_of_an_answer_that_breaks_off_for_good_is_not_run() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > fail invalid_request never
           8 SampleCut invalid_request, no further attempt
           9 TurnSettled failed: invalid_request: the provider said so
    "#]]);
}

#[test]
fn a_call_that_is_no_program_lets_none_of_a_broken_answer_stand() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > call read {} => call 8
           9 CallObserved call 8 failed: Not run: "read" is no tool here. Call run_program with a program that calls it as a function.
        > fail truncated soon
          10 SampleCut truncated, about 134 tokens, next attempt in 250 ms
        > wait 250 => sample 1 again@11
    "#]]);
}

#[test]
fn a_process_that_ends_before_a_spoken_program_is_whole_runs_none_of_it() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > text I do it so. => item 6
        > spoken x
           7 ItemAdded call run_program x, spoken
           8 CallDecided call 7 allow: the tool is read-only
        > crash => log ends at 8
           9 SampleCut restart, about 115 tokens, next attempt in 0 ms
          10 SampleStarted sample 1 attempt 2 because retry => runs
        > text I do it so. => item 11
        > spoken y
          12 ItemAdded call run_program y, spoken
          13 CallDecided call 12 allow: the tool is read-only
        > end stop => call 12@15
        > program 0 return 1 => program 12 returned at 16, turn completed at 18
    "#]]);
}

#[test]
fn a_user_who_speaks_while_a_program_is_written_is_heard_after_it() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > steer and be quick => input 8
        > end stop => call 6@10
        > program 0 calls write {}
          11 ProgramCalled program 6: write {}
          12 CallDecided call 11 allow: the permissions allow it
          13 CallStarted call 11 attempt 1 => runs
        > done 0 ok => call 11 observed at 14
             run call 6@14
        > program 0 value 1
          15 ProgramRun program 6 value 1
          16 CallObserved call 6 done: The program ended with this value:
        <data>
        1
        </data>
          17 InputAccepted input 8 => sample 2@18
    "#]]);
}

#[test]
fn an_interrupt_while_a_program_is_written_runs_none_of_it() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > spoken x
           6 ItemAdded call run_program x, spoken
           7 CallDecided call 6 allow: the tool is read-only
        > interrupt person => request 8
           9 CallObserved call 6 not_started: Not run: the user interrupted the turn before this call began.
             wind sample@5
        > fail cancelled never
          10 SampleCut cancelled, about 99 tokens, no further attempt
          11 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn a_program_that_is_stopped_tells_of_what_its_calls_have_changed_and_so_does_the_next_request() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 calls write {"n":1} & read {} & write {"n":2}
          10 ProgramCalled program 6: write {"n":1}
          11 ProgramCalled program 6: read {}
          12 ProgramCalled program 6: write {"n":2}
          13 CallDecided call 10 allow: the permissions allow it
          14 CallDecided call 11 allow: the tool is read-only
          15 CallDecided call 12 allow: the permissions allow it
          16 CallStarted call 10 attempt 1
          17 CallStarted call 11 attempt 1
          18 CallStarted call 12 attempt 1
             run call 11@17
             run call 10@16
             run call 12@18
        > done 0 ok => call 10 observed at 19
        > done 0 ok => call 11 observed at 20
        > done 0 ok => call 12 observed at 21
             run call 6@21
        > interrupt person => request 22
          23 CallObserved call 6 aborted: Stopped: the user interrupted the turn while this program ran. The calls that it had made are not undone., tells 10 12
          24 TurnSettled interrupted by person
        > send go on => turn, sample@28
    "#]]);
}

#[test]
fn a_spoken_program_that_is_stopped_tells_of_it_too() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > text I do it so. => item 6
        > spoken x
           7 ItemAdded call run_program x, spoken
           8 CallDecided call 7 allow: the tool is read-only
        > end stop => call 7@10
        > program 0 calls write {"n":1}
          11 ProgramCalled program 7: write {"n":1}
          12 CallDecided call 11 allow: the permissions allow it
          13 CallStarted call 11 attempt 1 => runs
        > done 0 ok => call 11 observed at 14
             run call 7@14
        > program 0 calls write {"n":2}
          15 ProgramCalled program 7: write {"n":2}
          16 CallDecided call 15 allow: the permissions allow it
          17 CallStarted call 15 attempt 1 => runs
        > interrupt person => request 18
             wind call 15@17
        > wait 5000
          19 CallObserved call 15 unknown: Unknown: the user interrupted the turn and this call did not end in time. It may have taken effect or not; check before you repeat it.
          20 CallObserved call 7 aborted: Stopped: the user interrupted the turn while this program ran. The calls that it had made are not undone., tells 11 15
          21 TurnSettled interrupted by person
        > send go on => turn, sample@25
    "#]]);
}
