//! Restarts: a new process goes on from what is durable.

use expect_test::expect;

use super::check;

#[test]
fn a_restart_asks_again() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text Half
           6 ItemAdded text "Half"
        > crash
             the log ends at 6
           7 SampleCut restart, next attempt in 0 ms
           8 SampleStarted sample 1 attempt 2 because retry
             run sample@8
        > text Whole.
           9 ItemAdded text "Whole."
        > end stop
          10 SampleEnded stop
          11 TurnSettled completed
    "#]]);
}

#[test]
fn a_restart_after_an_interrupt_settles() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > interrupt person
           6 InterruptRequested by person: enough
             wind sample@5
        > crash
             the log ends at 6
           7 SampleCut restart, no further attempt
           8 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn a_restart_in_a_backoff_waits_on() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > fail server soon
           6 SampleCut server, next attempt in 250 ms
        > wait 100
        > crash
             the log ends at 6
        > wait 150
           7 SampleStarted sample 1 attempt 2 because retry
             run sample@7
    "#]]);
}

#[test]
fn restarts_of_a_sample_are_limited() {
    check(expect![[r#"
        > open restarts=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > crash
             the log ends at 5
           6 SampleCut restart, next attempt in 0 ms
           7 SampleStarted sample 1 attempt 2 because retry
             run sample@7
        > crash
             the log ends at 7
           8 SampleCut restart, no further attempt
           9 TurnSettled failed: restart: the process ended while the model answered
    "#]]);
}

#[test]
fn an_answer_from_before_a_restart_is_refused() {
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
        > crash
             the log ends at 9
          10 CallStarted call 6 attempt 2
             run call 6@10
        > late 1
             rejected: the answer of the run at 8 of call 6 came late: that run is no longer waited for
        > late 0
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
        > done 0 ok
          11 CallObserved call 6 done: ok
          12 SampleStarted sample 2 attempt 1 because tool results
             run sample@12
    "#]]);
}

#[test]
fn a_restart_past_the_deadline_still_lets_the_input_in() {
    check(expect![[r#"
        > open lazy turn_ms=10
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > crash lose=2 away=10
             the log ends at 3
           4 InputAccepted input 2
           5 InterruptRequested by deadline: the turn has run for 10 ms, which is its limit
           6 TurnSettled exhausted: wall_clock
    "#]]);
}

#[test]
fn a_restart_past_the_deadline_keeps_an_answer_that_was_whole() {
    check(expect![[r#"
        > open lazy turn_ms=10
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text Hi!
           6 ItemAdded text "Hi!"
        > sync
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > crash lose=1 away=10
             the log ends at 7
           8 TurnSettled completed
    "#]]);
}
