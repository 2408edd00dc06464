//! Calls: one, many, side by side, alone, and those that cannot be run.

use expect_test::expect;

use super::check;

#[test]
fn a_tool_is_run_and_its_result_is_shown() {
    check(expect![[r#"
        > send what is in a? => first turn, sample@5
        > text Let me look. => item 6
        > call read id=c1 {"path":"a"}
           7 ItemAdded call read {"path":"a"}
           8 CallDecided call 7 allow: the tool is read-only
           9 CallStarted call 7 attempt 1 => runs
        > end stop => sample ended at 10
        > done 0 a is empty => call 7 observed at 11, sample 2@12
        > text Nothing. => item 13
        > end stop => completed at 15
    "#]]);
}

#[test]
fn parallel_tools_finish_in_any_order() {
    check(expect![[r#"
        > send look around => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > call put {"n":2} => permitted call 9@11
        > call write {"n":3} => permitted call 12@14
        > end stop => sample ended at 15
        > done 2 three => call 12 observed at 16
        > failed 0 one => call 6 observed at 17
        > done 0 two => call 9 observed at 18, sample 2@19
        > text All seen. => item 20
        > end stop => completed at 22
    "#]]);
}

#[test]
fn an_exclusive_tool_runs_alone_and_in_its_turn() {
    check(expect![[r#"
        > send look around => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > call shell {"n":2} => permitted call 9 decided
        > call read {"n":3} => read-only call 11 decided
        > call look {"n":4} => read-only call 13 decided
        > end stop => sample ended at 15
        > done 0 one => call 6 observed at 16
          17 CallStarted call 9 attempt 1 => runs
        > done 0 two => call 9 observed at 18
          19 CallStarted call 11 attempt 1 => runs
        > done 0 three => call 11 observed at 20
          21 CallStarted call 13 attempt 1 => runs
        > done 0 four => call 13 observed at 22, sample 2@23
    "#]]);
}

#[test]
fn no_more_calls_run_at_the_same_time_than_the_limit_allows() {
    check(expect![[r#"
        > open parallel_calls=2
        > send look around => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > call read {"n":2} => read-only call 9@11
        > call read {"n":3} => read-only call 12 decided
        > end stop => sample ended at 14
        > done 0 one => call 6 observed at 15
          16 CallStarted call 12 attempt 1 => runs
        > done 0 two => call 9 observed at 17
        > done 0 three => call 12 observed at 18, sample 2@19
    "#]]);
}

#[test]
fn an_unknown_tool_fails_its_call_alone() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call absent {} => call 6
           7 CallObserved call 6 failed: Not run: there is no tool "absent". The tools are: read, look, put, swap, write, shell, deploy, goal_met.
        > call read {} => read-only call 8@10
        > end stop => sample ended at 11
        > done 0 ok => call 8 observed at 12, sample 2@13
        > text Sorry. => item 14
        > end stop => completed at 16
    "#]]);
}

#[test]
fn broken_arguments_fail_their_call_alone() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call write fault=not-JSON {"a":
           6 ItemAdded call write {"a":
           7 CallObserved call 6 failed: Not run: the arguments of write cannot be used. not-JSON
        > call read {} => read-only call 8@10
        > end stop => sample ended at 11
        > done 0 ok => call 8 observed at 12, sample 2@13
        > text Sorry. => item 14
        > end stop => completed at 16
    "#]]);
}

#[test]
fn of_two_calls_with_one_id_the_first_runs() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call read id=c1 {"n":1}
           6 ItemAdded call read {"n":1}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1 => runs
        > call read id=c1 {"n":2}
           9 ItemAdded call read {"n":2}
          10 CallObserved call 9 failed: Not run: another call of the same answer has the same id. Give each call an id of its own.
        > call read {"n":3} => read-only call 11@13
        > call read {"n":4} => read-only call 14@16
        > end stop => sample ended at 17
    "#]]);
}

#[test]
fn calls_of_an_answer_that_failed_before_they_began_never_run() {
    check(expect![[r#"
        > open hooks=after_answer
        > send hello => first turn, sample@5
        > call write {} => call 6
        > fail truncated soon
           7 SampleCut truncated, about 130 tokens, next attempt in 250 ms
        > wait 250 => sample 1 again@8
        > text Hi! => item 9
        > end stop => sample ended at 10, hook 0@11 sees the answer of 8
        > hook 0 pass => passed at 12
          13 TurnSettled completed
    "#]]);
}

#[test]
fn late_answers_are_refused() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > late 0
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
        > done 0 ok => call 6 observed at 10, sample 2@11
        > late 1
             rejected: the answer of the run at 8 of call 6 came late: that run is no longer waited for
    "#]]);
}
