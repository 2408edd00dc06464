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
fn a_program_that_fails_in_the_last_sample_takes_nothing_from_the_retries() {
    check(expect![[r#"
        > open program=5 samples=2 shape=1
        > send hello => first turn, input 2 accepted at 4
           5 ContextInjected last sample: "This is the last program of this turn. It cannot call tools: a program that names one is refused. Return the result now, with what is known."
           6 SampleStarted sample 1 attempt 1 because opened by input 2, must return => runs
        > call run_program {"source":"x"} => read-only call 7 decided
        > end stop => call 7@10
        > program 0 fault it went wrong
          11 ProgramRun program 7 fault simulated: it went wrong
          12 CallObserved call 7 failed: The program failed:
        <data>
        simulated: it went wrong
        </data>
        Nothing that it defined was kept.
          13 TurnSettled exhausted: samples
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
fn where_programs_are_written_nothing_else_is_called_and_one_program_is_enough() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call read {} => call 6
           7 CallObserved call 6 failed: Not run: "read" is no tool here. Call run_program with a program that calls it as a function.
        > call run_program id=a {"source":"x"}
           8 ItemAdded call run_program {"source":"x"}
           9 CallDecided call 8 allow: the tool is read-only
        > call run_program id=b {"source":"y"}
          10 ItemAdded call run_program {"source":"y"}
          11 CallObserved call 10 failed: Not run: an answer has one program. Write all of it in that one.
        > end stop => call 8@13
        > program 0 return 1 => program 8 returned at 14, turn completed at 16
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
