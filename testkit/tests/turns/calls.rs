//! Calls: one, many, side by side, alone, and those that cannot be run.

use expect_test::expect;

use super::check;

#[test]
fn a_tool_is_run_and_its_result_is_shown() {
    check(expect![[r#"
           1 SessionOpened
        > send what is in a?
           2 InputQueued "what is in a?"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text Let me look.
           6 ItemAdded text "Let me look."
        > call read id=c1 {"path":"a"}
           7 ItemAdded call read {"path":"a"}
           8 CallDecided call 7 allow: the tool is read-only
           9 CallStarted call 7 attempt 1
             run call 7@9
        > end stop
          10 SampleEnded stop
        > done 0 a is empty
          11 CallObserved call 7 done: a is empty
          12 SampleStarted sample 2 attempt 1 because tool results
             run sample@12
        > text Nothing.
          13 ItemAdded text "Nothing."
        > end stop
          14 SampleEnded stop
          15 TurnSettled completed
    "#]]);
}

#[test]
fn parallel_tools_finish_in_any_order() {
    check(expect![[r#"
           1 SessionOpened
        > send look around
           2 InputQueued "look around"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {"n":1}
           6 ItemAdded call read {"n":1}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > call put {"n":2}
           9 ItemAdded call put {"n":2}
          10 CallDecided call 9 allow: the permissions allow it
          11 CallStarted call 9 attempt 1
             run call 9@11
        > call write {"n":3}
          12 ItemAdded call write {"n":3}
          13 CallDecided call 12 allow: the permissions allow it
          14 CallStarted call 12 attempt 1
             run call 12@14
        > end stop
          15 SampleEnded stop
        > done 2 three
          16 CallObserved call 12 done: three
        > failed 0 one
          17 CallObserved call 6 failed: one
        > done 0 two
          18 CallObserved call 9 done: two
          19 SampleStarted sample 2 attempt 1 because tool results
             run sample@19
        > text All seen.
          20 ItemAdded text "All seen."
        > end stop
          21 SampleEnded stop
          22 TurnSettled completed
    "#]]);
}

#[test]
fn an_exclusive_tool_runs_alone_and_in_its_turn() {
    check(expect![[r#"
           1 SessionOpened
        > send look around
           2 InputQueued "look around"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {"n":1}
           6 ItemAdded call read {"n":1}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > call shell {"n":2}
           9 ItemAdded call shell {"n":2}
          10 CallDecided call 9 allow: the permissions allow it
        > call read {"n":3}
          11 ItemAdded call read {"n":3}
          12 CallDecided call 11 allow: the tool is read-only
        > call look {"n":4}
          13 ItemAdded call look {"n":4}
          14 CallDecided call 13 allow: the tool is read-only
        > end stop
          15 SampleEnded stop
        > done 0 one
          16 CallObserved call 6 done: one
          17 CallStarted call 9 attempt 1
             run call 9@17
        > done 0 two
          18 CallObserved call 9 done: two
          19 CallStarted call 11 attempt 1
             run call 11@19
        > done 0 three
          20 CallObserved call 11 done: three
          21 CallStarted call 13 attempt 1
             run call 13@21
        > done 0 four
          22 CallObserved call 13 done: four
          23 SampleStarted sample 2 attempt 1 because tool results
             run sample@23
    "#]]);
}

#[test]
fn no_more_calls_run_at_the_same_time_than_the_limit_allows() {
    check(expect![[r#"
        > open parallel_calls=2
           1 SessionOpened
        > send look around
           2 InputQueued "look around"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {"n":1}
           6 ItemAdded call read {"n":1}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > call read {"n":2}
           9 ItemAdded call read {"n":2}
          10 CallDecided call 9 allow: the tool is read-only
          11 CallStarted call 9 attempt 1
             run call 9@11
        > call read {"n":3}
          12 ItemAdded call read {"n":3}
          13 CallDecided call 12 allow: the tool is read-only
        > end stop
          14 SampleEnded stop
        > done 0 one
          15 CallObserved call 6 done: one
          16 CallStarted call 12 attempt 1
             run call 12@16
        > done 0 two
          17 CallObserved call 9 done: two
        > done 0 three
          18 CallObserved call 12 done: three
          19 SampleStarted sample 2 attempt 1 because tool results
             run sample@19
    "#]]);
}

#[test]
fn an_unknown_tool_fails_its_call_alone() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call absent {}
           6 ItemAdded call absent {}
           7 CallObserved call 6 failed: Not run: there is no tool "absent". The tools are: read, look, put, swap, write, shell, deploy, goal_met.
        > call read {}
           8 ItemAdded call read {}
           9 CallDecided call 8 allow: the tool is read-only
          10 CallStarted call 8 attempt 1
             run call 8@10
        > end stop
          11 SampleEnded stop
        > done 0 ok
          12 CallObserved call 8 done: ok
          13 SampleStarted sample 2 attempt 1 because tool results
             run sample@13
        > text Sorry.
          14 ItemAdded text "Sorry."
        > end stop
          15 SampleEnded stop
          16 TurnSettled completed
    "#]]);
}

#[test]
fn broken_arguments_fail_their_call_alone() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write fault=not-JSON {"a":
           6 ItemAdded call write {"a":
           7 CallObserved call 6 failed: Not run: the arguments of write cannot be used. not-JSON
        > call read {}
           8 ItemAdded call read {}
           9 CallDecided call 8 allow: the tool is read-only
          10 CallStarted call 8 attempt 1
             run call 8@10
        > end stop
          11 SampleEnded stop
        > done 0 ok
          12 CallObserved call 8 done: ok
          13 SampleStarted sample 2 attempt 1 because tool results
             run sample@13
        > text Sorry.
          14 ItemAdded text "Sorry."
        > end stop
          15 SampleEnded stop
          16 TurnSettled completed
    "#]]);
}

#[test]
fn of_two_calls_with_one_id_the_first_runs() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read id=c1 {"n":1}
           6 ItemAdded call read {"n":1}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > call read id=c1 {"n":2}
           9 ItemAdded call read {"n":2}
          10 CallObserved call 9 failed: Not run: another call of the same answer has the same id. Give each call an id of its own.
        > call read {"n":3}
          11 ItemAdded call read {"n":3}
          12 CallDecided call 11 allow: the tool is read-only
          13 CallStarted call 11 attempt 1
             run call 11@13
        > call read {"n":4}
          14 ItemAdded call read {"n":4}
          15 CallDecided call 14 allow: the tool is read-only
          16 CallStarted call 14 attempt 1
             run call 14@16
        > end stop
          17 SampleEnded stop
    "#]]);
}

#[test]
fn calls_of_an_answer_that_failed_before_they_began_never_run() {
    check(expect![[r#"
        > open hooks=after_answer
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {}
           6 ItemAdded call write {}
        > fail truncated soon
           7 SampleCut truncated, next attempt in 250 ms
        > wait 250
           8 SampleStarted sample 1 attempt 2 because retry
             run sample@8
        > text Hi!
           9 ItemAdded text "Hi!"
        > end stop
          10 SampleEnded stop
          11 HooksAsked after_answer 8: hook 0
             run hook 0@11
        > hook 0 pass
          12 HookDecided h0 pass
          13 TurnSettled completed
    "#]]);
}

#[test]
fn late_answers_are_refused() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {}
           6 ItemAdded call read {}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > end stop
           9 SampleEnded stop
        > late 0
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
        > done 0 ok
          10 CallObserved call 6 done: ok
          11 SampleStarted sample 2 attempt 1 because tool results
             run sample@11
        > late 1
             rejected: the answer of the run at 8 of call 6 came late: that run is no longer waited for
    "#]]);
}
