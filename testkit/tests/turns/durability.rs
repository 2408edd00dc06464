//! What waits for the log and what does not: how far the world may run ahead of it, and what a
//! crash then takes.

use expect_test::expect;

use super::check;

#[test]
fn an_effect_that_changes_something_waits_for_the_log() {
    check(expect![[r#"
        > open lazy
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > sync
        > call read {"n":1}
           6 ItemAdded call read {"n":1}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > call write {"n":2}
           9 ItemAdded call write {"n":2}
          10 CallDecided call 9 allow: the permissions allow it
          11 CallStarted call 9 attempt 1
        > end stop
          12 SampleEnded stop
        > sync
             run call 9@11
    "#]]);
}

#[test]
fn the_next_sample_need_not_wait_for_the_log() {
    check(expect![[r#"
        > open lazy
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > sync
        > call read {}
           6 ItemAdded call read {}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > end stop
           9 SampleEnded stop
        > done 0 ok
          10 CallObserved call 6 done: ok
          11 SampleStarted sample 2 attempt 1 because tool results
             run sample@11
        > call read {}
          12 ItemAdded call read {}
          13 CallDecided call 12 allow: the tool is read-only
          14 CallStarted call 12 attempt 1
             run call 12@14
        > end stop
          15 SampleEnded stop
        > done 0 ok
          16 CallObserved call 12 done: ok
          17 SampleStarted sample 3 attempt 1 because tool results
        > sync
             run sample@17
    "#]]);
}

#[test]
fn a_crash_forgets_what_was_not_durable() {
    check(expect![[r#"
        > open lazy
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > sync
        > text Hi!
           6 ItemAdded text "Hi!"
        > call write {}
           7 ItemAdded call write {}
           8 CallDecided call 7 allow: the permissions allow it
           9 CallStarted call 7 attempt 1
        > end stop
          10 SampleEnded stop
        > crash lose=99
             the log ends at 5
           6 SampleCut restart, next attempt in 0 ms
           7 SampleStarted sample 1 attempt 2 because retry
             run sample@7
        > text Hi again!
           8 ItemAdded text "Hi again!"
        > end stop
           9 SampleEnded stop
          10 TurnSettled completed
    "#]]);
}

#[test]
fn no_sample_runs_ahead_of_the_log_by_more_than_one() {
    check(expect![[r#"
        > open lazy
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send two
           6 InputQueued "two"
        > send three
           7 InputQueued "three"
        > text First.
           8 ItemAdded text "First."
        > end stop
           9 SampleEnded stop
          10 TurnSettled completed, waiting: 6, 7
          11 TurnOpened because opened by input 6
          12 InputAccepted input 6
          13 SampleStarted sample 1 attempt 1 because opened by input 6
        > sync
             run sample@13
        > text Second.
          14 ItemAdded text "Second."
        > end stop
          15 SampleEnded stop
          16 TurnSettled completed, waiting: 7
          17 TurnOpened because opened by input 7
          18 InputAccepted input 7
          19 SampleStarted sample 1 attempt 1 because opened by input 7
             run sample@19
    "#]]);
}
