//! Eager start: calls run while their answer streams, and what happens when it breaks off.

use expect_test::expect;

use super::check;

#[test]
fn results_may_come_before_the_answer_is_whole() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {"n":1}
           6 ItemAdded call read {"n":1}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > done 0 one
           9 CallObserved call 6 done: one
        > text And another.
          10 ItemAdded text "And another."
        > call read {"n":2}
          11 ItemAdded call read {"n":2}
          12 CallDecided call 11 allow: the tool is read-only
          13 CallStarted call 11 attempt 1
             run call 11@13
        > end stop
          14 SampleEnded stop
        > done 0 two
          15 CallObserved call 11 done: two
          16 SampleStarted sample 2 attempt 1 because tool results
             run sample@16
    "#]]);
}

#[test]
fn what_stands_of_a_broken_answer_ends_with_the_last_call_that_began() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text Let me look.
           6 ItemAdded text "Let me look."
        > call read {"n":1}
           7 ItemAdded call read {"n":1}
           8 CallDecided call 7 allow: the tool is read-only
           9 CallStarted call 7 attempt 1
             run call 7@9
        > call shell {"n":2}
          10 ItemAdded call shell {"n":2}
          11 CallDecided call 10 allow: the permissions allow it
        > text And then
          12 ItemAdded text "And then"
        > fail truncated soon
          13 SampleCut truncated, stands through 7, next attempt in 250 ms
        > done 0 one
          14 CallObserved call 7 done: one
        > wait 250
          15 SampleStarted sample 2 attempt 1 because tool results
             run sample@15
    "#]]);
}

#[test]
fn the_results_may_take_longer_than_the_backoff() {
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
        > fail truncated soon
           9 SampleCut truncated, stands through 6, next attempt in 250 ms
        > wait 250
        > done 0 ok
          10 CallObserved call 6 done: ok
          11 SampleStarted sample 2 attempt 1 because tool results
             run sample@11
    "#]]);
}

#[test]
fn without_a_further_attempt_the_calls_that_began_end_first() {
    check(expect![[r#"
        > open attempts=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {}
           6 ItemAdded call write {}
           7 CallDecided call 6 allow: the permissions allow it
           8 CallStarted call 6 attempt 1
             run call 6@8
        > fail truncated soon
           9 SampleCut truncated, stands through 6, no further attempt
        > done 0 ok
          10 CallObserved call 6 done: ok
          11 TurnSettled failed: truncated: the provider said so
    "#]]);
}

#[test]
fn a_restart_while_the_answer_streams_runs_nothing_twice() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {"n":1}
           6 ItemAdded call write {"n":1}
           7 CallDecided call 6 allow: the permissions allow it
           8 CallStarted call 6 attempt 1
             run call 6@8
        > call read {"n":2}
           9 ItemAdded call read {"n":2}
          10 CallDecided call 9 allow: the tool is read-only
          11 CallStarted call 9 attempt 1
             run call 9@11
        > crash
             the log ends at 11
          12 SampleCut restart, stands through 9, next attempt in 0 ms
          13 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          14 CallStarted call 9 attempt 2
             run call 9@14
        > done 0 two
          15 CallObserved call 9 done: two
          16 SampleStarted sample 2 attempt 1 because tool results
             run sample@16
    "#]]);
}

#[test]
fn nothing_that_was_denied_before_the_cut_stands() {
    check(expect![[r#"
        > open mode=plan
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "This is plan mode: only tools that change nothing run. Say what should be done instead of doing it."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {}
           7 ItemAdded call write {}
           8 CallDecided call 7 deny
           9 CallObserved call 7 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
        > fail truncated soon
          10 SampleCut truncated, next attempt in 250 ms
        > wait 250
          11 SampleStarted sample 1 attempt 2 because retry
             run sample@11
    "#]]);
}

#[test]
fn what_may_not_be_tried_again_ends_the_turn_after_its_calls() {
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
        > fail server never
           9 SampleCut server, stands through 6, no further attempt
        > done 0 ok
          10 CallObserved call 6 done: ok
          11 TurnSettled failed: server: the provider said so
    "#]]);
}

#[test]
fn an_interrupt_while_the_answer_streams_pairs_each_call() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {"n":1}
           6 ItemAdded call write {"n":1}
           7 CallDecided call 6 allow: the permissions allow it
           8 CallStarted call 6 attempt 1
             run call 6@8
        > call shell {"n":2}
           9 ItemAdded call shell {"n":2}
          10 CallDecided call 9 allow: the permissions allow it
        > interrupt person
          11 InterruptRequested by person: enough
          12 CallObserved call 9 not_started: Not run: the turn was asked to stop before this call began.
             wind sample@5
             wind call 6@8
        > aborted 0 stopped
          13 CallObserved call 6 aborted: stopped
        > fail cancelled never
          14 SampleCut cancelled, stands through 6, no further attempt
          15 TurnSettled interrupted by person
    "#]]);
}
