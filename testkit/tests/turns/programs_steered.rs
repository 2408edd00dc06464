//! Programs that are steered near the end of their samples: corrections are not cut off.

use expect_test::expect;

use super::check;

#[test]
fn a_steer_for_which_no_sample_for_work_is_left_waits_for_the_correction_and_a_turn_of_its_own() {
    check(expect![[r#"
        > open program=5 corrections=1 samples=4
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 value 1
          10 ProgramRun program 6 value 1
          11 CallObserved call 6 done: The program ended with this value:
        <data>
        1
        </data>
          12 SampleStarted sample 2 attempt 1 because tool results => runs
        > call run_program {"source":"x"} => read-only call 13 decided
        > end stop => call 13@16
        > program 0 value 1
          17 ProgramRun program 13 value 1
          18 CallObserved call 13 done: The program ended with this value:
        <data>
        1
        </data>
          19 ContextInjected last sample: "This is the last program of this turn. It cannot call tools: a program that names one is refused. Return the result now, with what is known."
          20 SampleStarted sample 3 attempt 1 because tool results, must return => runs
        > call run_program {"source":"y"} => read-only call 21 decided
        > end stop => call 21@24
        > steer and the date => input 25
        > program 0 fault a slip
          26 ProgramRun program 21 fault simulated: a slip, fault: simulated: a slip
          27 CallObserved call 21 failed: The program failed:
        <data>
        simulated: a slip
        </data>
        The last program of a turn must return the result: correct it.
        Nothing that it defined was kept.
          28 SampleStarted sample 4 attempt 1 because retry return 20, retry => runs
        > call run_program {"source":"z"} => read-only call 29 decided
        > end stop => call 29@32
        > program 0 return 2 => program 29 returned at 33
          35 TurnSettled exhausted: samples, waiting: 25
          36 TurnOpened because opened by input 25 => sample@38
        > text It is Thursday. => item 39
        > end stop => completed at 41
    "#]]);
}

#[test]
fn a_steer_does_not_cut_the_first_of_two_corrections() {
    check(expect![[r#"
        > open program=5 corrections=2 samples=8
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 value 1
          10 ProgramRun program 6 value 1
          11 CallObserved call 6 done: The program ended with this value:
        <data>
        1
        </data>
          12 SampleStarted sample 2 attempt 1 because tool results => runs
        > call run_program {"source":"x"} => read-only call 13 decided
        > end stop => call 13@16
        > program 0 value 1
          17 ProgramRun program 13 value 1
          18 CallObserved call 13 done: The program ended with this value:
        <data>
        1
        </data>
          19 SampleStarted sample 3 attempt 1 because tool results => runs
        > call run_program {"source":"x"} => read-only call 20 decided
        > end stop => call 20@23
        > program 0 value 1
          24 ProgramRun program 20 value 1
          25 CallObserved call 20 done: The program ended with this value:
        <data>
        1
        </data>
          26 SampleStarted sample 4 attempt 1 because tool results => runs
        > call run_program {"source":"x"} => read-only call 27 decided
        > end stop => call 27@30
        > program 0 value 1
          31 ProgramRun program 27 value 1
          32 CallObserved call 27 done: The program ended with this value:
        <data>
        1
        </data>
          33 SampleStarted sample 5 attempt 1 because tool results => runs
        > call run_program {"source":"x"} => read-only call 34 decided
        > end stop => call 34@37
        > program 0 value 1
          38 ProgramRun program 34 value 1
          39 CallObserved call 34 done: The program ended with this value:
        <data>
        1
        </data>
          40 ContextInjected last sample: "This is the last program of this turn. It cannot call tools: a program that names one is refused. Return the result now, with what is known."
          41 SampleStarted sample 6 attempt 1 because tool results, must return => runs
        > call run_program {"source":"x"} => read-only call 42 decided
        > end stop => call 42@45
        > program 0 fault odd
          46 ProgramRun program 42 fault simulated: odd, fault: simulated: odd
          47 CallObserved call 42 failed: The program failed:
        <data>
        simulated: odd
        </data>
        The last program of a turn must return the result: correct it.
        Nothing that it defined was kept.
          48 SampleStarted sample 7 attempt 1 because retry return 41, retry => runs
        > steer more => input 49
        > call run_program {"source":"x"} => read-only call 50 decided
        > end stop => call 50@53
        > program 0 return 1 => program 50 returned at 54
          56 TurnSettled exhausted: samples, waiting: 49
          57 TurnOpened because opened by input 49 => sample@59
        > call run_program {"source":"x"} => read-only call 60 decided
        > end stop => call 60@63
        > program 0 return 2 => program 60 returned at 64, turn completed at 66
    "#]]);
}
