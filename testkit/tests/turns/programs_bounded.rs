//! Programs within their bounds: the last sample for work, retries, limits, hooks and dry runs.

use expect_test::expect;

use super::check;

#[test]
fn the_last_sample_for_work_says_so_and_its_program_calls_nothing() {
    check(expect![[r#"
        > open program=5 samples=3 shape=1
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 value 1
          10 ProgramRun program 6 value 1
          11 CallObserved call 6 done: The program ended with this value:
        <data>
        1
        </data>
          12 ContextInjected last sample: "This is the last program of this turn. It cannot call tools: a program that names one is refused. Return the result now, with what is known."
          13 SampleStarted sample 2 attempt 1 because tool results, must return => runs
        > call run_program {"source":"y"} => read-only call 14 decided
        > end stop => call 14@17
        > program 0 calls write {}
          18 ProgramCalled program 14: write {}
          19 CallObserved call 18 failed: Not run: this is the last program for work, and it cannot call tools.
             run call 14@19
        > program 0 value fault=odd 2
          20 ProgramRun program 14 return 2, fault: odd
          21 CallObserved call 14 failed: What the program returned cannot be used:
        <data>
        odd
        </data>
        It returned:
        <data>
        2
        </data>
        Return the result again, in the shape that is asked for.
        Nothing that it defined was kept.
          22 SampleStarted sample 3 attempt 1 because retry return 13, retry => runs
        > spoken z
          23 ItemAdded call run_program z, spoken
          24 CallDecided call 23 allow: the tool is read-only
        > end stop => call 23@26
        > program 0 calls write {}
          27 ProgramCalled program 23: write {}
          28 CallObserved call 27 failed: Not run: this is the last program for work, and it cannot call tools.
             run call 23@28
        > program 0 return 3 => program 23 returned at 29, turn completed at 31
    "#]]);
}

#[test]
fn a_return_that_does_not_fit_is_asked_for_again_from_a_budget_of_its_own() {
    check(expect![[r#"
        > open program=5 samples=6 shape=1
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 return fault=odd keeps=m 1
          10 ProgramRun program 6 return 1, fault: odd
          11 CallObserved call 6 failed: What the program returned cannot be used:
        <data>
        odd
        </data>
        It returned:
        <data>
        1
        </data>
        Return the result again, in the shape that is asked for.
        Nothing that it defined was kept.
          12 SampleStarted sample 2 attempt 1 because retry return 5, retry => runs
        > call run_program {"source":"y"} => read-only call 13 decided
        > end stop => call 13@16
        > program 0 calls read {}
          17 ProgramCalled program 13: read {}
          18 CallDecided call 17 allow: the tool is read-only
          19 CallStarted call 17 attempt 1 => runs
        > done 0 ok => call 17 observed at 20
             run call 13@20
        > program 0 return fault=still_odd 2
          21 ProgramRun program 13 return 2, fault: still_odd
          22 CallObserved call 13 failed: What the program returned cannot be used:
        <data>
        still_odd
        </data>
        It returned:
        <data>
        2
        </data>
        Return the result again, in the shape that is asked for.
        Nothing that it defined was kept.
          23 TurnSettled misshapen: still_odd
    "#]]);
}

#[test]
fn a_program_that_fails_in_the_last_sample_uses_a_retry() {
    check(expect![[r#"
        > open program=5 samples=2 shape=1
        > send hello => first turn, input 2 accepted at 4
           5 ContextInjected last sample: "This is the last program of this turn. It cannot call tools: a program that names one is refused. Return the result now, with what is known."
           6 SampleStarted sample 1 attempt 1 because opened by input 2, must return => runs
        > call run_program {"source":"x"} => read-only call 7 decided
        > end stop => call 7@10
        > program 0 fault it went wrong
          11 ProgramRun program 7 fault simulated: it went wrong, fault: simulated: it went wrong
          12 CallObserved call 7 failed: The program failed:
        <data>
        simulated: it went wrong
        </data>
        The last program of a turn must return the result: correct it.
        Nothing that it defined was kept.
          13 SampleStarted sample 2 attempt 1 because retry return 6, retry => runs
    "#]]);
}

#[test]
fn calls_of_a_program_count_against_its_limit_and_the_turns() {
    check(expect![[r#"
        > open program=2 calls=2
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 calls read {} & read {}
          10 ProgramCalled program 6: read {}
          11 ProgramCalled program 6: read {}
          12 CallDecided call 10 allow: the tool is read-only
          13 CallObserved call 11 failed: Not run: the limit of calls is used up.
          14 CallStarted call 10 attempt 1 => runs
        > done 0 ok => call 10 observed at 15
             run call 6@15
    "#]]);
}

#[test]
fn where_programs_are_written_nothing_else_is_called() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call read {} => call 6
           7 CallObserved call 6 failed: Not run: "read" is no tool here. Call run_program with a program that calls it as a function.
        > call run_program {"source":"x"} => read-only call 8 decided
        > end stop => call 8@11
        > program 0 return 1 => program 8 returned at 12, turn completed at 14
    "#]]);
}

#[test]
fn hooks_hear_of_a_call_of_a_program_before_it_goes_on() {
    check(expect![[r#"
        > open program=5 hooks=before_tool:open,after_tool:open
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => tool hook 0@7 for call 6
        > end stop => sample ended at 8
        > hook 0 pass => passed at 9
          10 CallDecided call 6 allow: the tool is read-only
          11 CallStarted call 6 attempt 1 => runs
        > program 0 calls write {}
          12 ProgramCalled program 6: write {}
          13 HooksAsked before_tool call 12: hook 0 => runs
        > hook 0 pass => passed at 14
          15 CallDecided call 12 allow: the permissions allow it
          16 CallStarted call 12 attempt 1 => runs
        > done 0 ok => call 12 observed at 17
          18 HooksAsked after_tool call 12: hook 1 => runs
        > hook 0 pass context=noted
          19 HookDecided h1 pass, context "noted"
             run call 6@19
        > program 0 return 1 => program 6 returned at 20
          22 HooksAsked after_tool call 6: hook 1 => runs
        > hook 0 pass
          23 HookDecided h1 pass
          24 TurnSettled completed
    "#]]);
}

#[test]
fn a_dry_run_plans_what_a_program_calls() {
    check(expect![[r#"
        > open program=5
        > send dry hello => first dry turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 calls write {} & read {}
          10 ProgramCalled program 6: write {}
          11 ProgramCalled program 6: read {}
          12 CallDecided call 10 allow: the permissions allow it
          13 CallDecided call 11 allow: the tool is read-only
          14 CallStarted call 10 attempt 1, plan
          15 CallStarted call 11 attempt 1
             run call 10@14
             run call 11@15
        > not_started 0 it would write
          16 CallObserved call 10 not_started: it would write
        > done 0 ok => call 11 observed at 17
             run call 6@17
        > program 0 return 1 => program 6 returned at 18, turn completed at 20
    "#]]);
}

#[test]
fn a_last_program_without_a_value_is_corrected_where_a_correction_is_left() {
    check(expect![[r#"
        > open program=5 corrections=2 samples=4
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 value null
          10 ProgramRun program 6 value null
          11 CallObserved call 6 done: The program ended without a value.
          12 SampleStarted sample 2 attempt 1 because tool results => runs
        > call run_program {"source":"y"} => read-only call 13 decided
        > end stop => call 13@16
        > program 0 value 1
          17 ProgramRun program 13 value 1
          18 CallObserved call 13 done: The program ended with this value:
        <data>
        1
        </data>
          19 ContextInjected last sample: "This is the last program of this turn. It cannot call tools: a program that names one is refused. Return the result now, with what is known."
          20 SampleStarted sample 3 attempt 1 because tool results, must return => runs
        > call run_program {"source":"z"} => read-only call 21 decided
        > end stop => call 21@24
        > program 0 value null
          25 ProgramRun program 21 value null, fault: The program returned nothing: it ended without a value, or with a definition.
          26 CallObserved call 21 failed: The program ended without a value, or with a definition. The last program of a turn must return the result: write it again so that it does.
        Nothing that it defined was kept.
          27 SampleStarted sample 4 attempt 1 because retry return 20, retry => runs
        > call run_program {"source":"z"} => read-only call 28 decided
        > end stop => call 28@31
        > program 0 value 2
          32 ProgramRun program 28 return 2
          33 CallObserved call 28 done: The program returned:
        <data>
        2
        </data>
          34 TurnSettled completed
    "#]]);
}

#[test]
fn a_slip_in_the_last_program_is_corrected_until_no_correction_is_left() {
    check(expect![[r#"
        > open program=5 corrections=1 samples=4
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 fault an early slip
          10 ProgramRun program 6 fault simulated: an early slip
          11 CallObserved call 6 failed: The program failed:
        <data>
        simulated: an early slip
        </data>
        Nothing that it defined was kept.
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
        > program 0 fault a slip
          25 ProgramRun program 21 fault simulated: a slip, fault: simulated: a slip
          26 CallObserved call 21 failed: The program failed:
        <data>
        simulated: a slip
        </data>
        The last program of a turn must return the result: correct it.
        Nothing that it defined was kept.
          27 SampleStarted sample 4 attempt 1 because retry return 20, retry => runs
        > call run_program {"source":"z"} => read-only call 28 decided
        > end stop => call 28@31
        > program 0 fault another slip
          32 ProgramRun program 28 fault simulated: another slip, fault: simulated: another slip
          33 CallObserved call 28 failed: The program failed:
        <data>
        simulated: another slip
        </data>
        The last program of a turn must return the result: correct it.
        Nothing that it defined was kept.
          34 TurnSettled misshapen: simulated: another slip
    "#]]);
}

#[test]
fn a_last_program_that_returns_null_has_answered_and_one_that_gives_up_has_failed() {
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
        > program 0 return null => program 21 returned at 25, turn completed at 27
    "#]]);
    check(expect![[r#"
        > open program=5 samples=1
        > send hello => first turn, input 2 accepted at 4
           5 ContextInjected last sample: "This is the last program of this turn. It cannot call tools: a program that names one is refused. Return the result now, with what is known."
           6 SampleStarted sample 1 attempt 1 because opened by input 2, must return => runs
        > call run_program {"source":"x"} => read-only call 7 decided
        > end stop => call 7@10
        > program 0 fail no
          11 ProgramRun program 7 fail no
          12 CallObserved call 7 failed: The program gave up:
        <data>
        no
        </data>
        Nothing that it defined was kept.
          13 TurnSettled failed: program: the program gave up: no
    "#]]);
}

#[test]
fn corrections_take_at_most_a_quarter_of_the_samples() {
    check(expect![[r#"
        > open program=5 corrections=2 samples=3
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
        > call run_program {"source":"y"} => read-only call 13 decided
        > end stop => call 13@16
        > program 0 value 1
          17 ProgramRun program 13 value 1
          18 CallObserved call 13 done: The program ended with this value:
        <data>
        1
        </data>
          19 ContextInjected last sample: "This is the last program of this turn. It cannot call tools: a program that names one is refused. Return the result now, with what is known."
          20 SampleStarted sample 3 attempt 1 because tool results, must return => runs
        > call run_program {"source":"z"} => read-only call 21 decided
        > end stop => call 21@24
        > program 0 value null
          25 ProgramRun program 21 value null, fault: The program returned nothing: it ended without a value, or with a definition.
          26 CallObserved call 21 failed: The program ended without a value, or with a definition. The last program of a turn must return the result: write it again so that it does.
        Nothing that it defined was kept.
          27 TurnSettled misshapen: The program returned nothing: it ended without a value, or with a definition.
    "#]]);
}

#[test]
fn of_two_programs_none_runs_and_the_model_is_corrected() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program id=a {"source":"x"}
           6 ItemAdded call run_program {"source":"x"}
           7 CallDecided call 6 allow: the tool is read-only
        > call run_program id=b {"source":"y"}
           8 ItemAdded call run_program {"source":"y"}
           9 CallObserved call 8 failed: Not run: your answer has more than one program, and none of them was run. Write one that does all of it.
        > end stop => sample ended at 10
          11 CallObserved call 6 failed: Not run: your answer has more than one program, and none of them was run. Write one that does all of it.
          12 SampleStarted sample 2 attempt 1 because tool results => runs
        > call run_program {"source":"x"} => read-only call 13 decided
        > end stop => call 13@16
        > program 0 return 1 => program 13 returned at 17, turn completed at 19
    "#]]);
}

#[test]
fn a_last_answer_without_a_program_that_can_run_is_corrected() {
    check(expect![[r#"
        > open program=5 shape=2 samples=3
        > send hello => first turn, input 2 accepted at 4
           5 ContextInjected last sample: "This is the last program of this turn. It cannot call tools: a program that names one is refused. Return the result now, with what is known."
           6 SampleStarted sample 1 attempt 1 because opened by input 2, must return => runs
        > call read {} => call 7
           8 CallObserved call 7 failed: Not run: "read" is no tool here. Call run_program with a program that calls it as a function.
        > end stop
           9 SampleEnded stop, fault: Not run: "read" is no tool here. Call run_program with a program that calls it as a function.
          10 SampleStarted sample 2 attempt 1 because retry return 6, retry => runs
        > call run_program id=a {"source":"x"}
          11 ItemAdded call run_program {"source":"x"}
          12 CallDecided call 11 allow: the tool is read-only
        > call run_program id=b {"source":"y"}
          13 ItemAdded call run_program {"source":"y"}
          14 CallObserved call 13 failed: Not run: your answer has more than one program, and none of them was run. Write one that does all of it.
        > end stop
          15 SampleEnded stop, fault: Not run: your answer has more than one program, and none of them was run. Write one that does all of it.
          16 CallObserved call 11 failed: Not run: your answer has more than one program, and none of them was run. Write one that does all of it.
          17 SampleStarted sample 3 attempt 1 because retry return 10, retry => runs
        > call run_program fault=odd {"source":"x"}
          18 ItemAdded call run_program {"source":"x"}
          19 CallObserved call 18 failed: Not run: the program cannot be used. odd
        > end stop
          20 SampleEnded stop, fault: Not run: the program cannot be used. odd
          21 TurnSettled misshapen: Not run: the program cannot be used. odd
    "#]]);
}
