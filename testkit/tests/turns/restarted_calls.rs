//! Restarts while tools run: again if that is safe, else unknown.

use expect_test::expect;

use super::check;

#[test]
fn a_restart_runs_a_read_only_call_again() {
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
        > done 0 ok
          11 CallObserved call 6 done: ok
          12 SampleStarted sample 2 attempt 1 because tool results
             run sample@12
        > text Hi!
          13 ItemAdded text "Hi!"
        > end stop
          14 SampleEnded stop
          15 TurnSettled completed
    "#]]);
}

#[test]
fn a_restart_runs_an_idempotent_call_again_under_the_same_key() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call put {}
           6 ItemAdded call put {}
           7 CallDecided call 6 allow: the permissions allow it
           8 CallStarted call 6 attempt 1
             run call 6@8
        > end stop
           9 SampleEnded stop
        > crash
             the log ends at 9
          10 CallStarted call 6 attempt 2
             run call 6@10
        > done 0 ok
          11 CallObserved call 6 done: ok
          12 SampleStarted sample 2 attempt 1 because tool results
             run sample@12
    "#]]);
}

#[test]
fn a_restart_does_not_run_an_effectful_call_again() {
    check(expect![[r#"
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
        > end stop
           9 SampleEnded stop
        > crash
             the log ends at 9
          10 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          11 SampleStarted sample 2 attempt 1 because tool results
             run sample@11
        > text I will check.
          12 ItemAdded text "I will check."
        > end stop
          13 SampleEnded stop
          14 TurnSettled completed
    "#]]);
}

#[test]
fn a_restart_keeps_what_was_observed() {
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
        > call write {"n":2}
           9 ItemAdded call write {"n":2}
          10 CallDecided call 9 allow: the permissions allow it
          11 CallStarted call 9 attempt 1
             run call 9@11
        > call shell {"n":3}
          12 ItemAdded call shell {"n":3}
          13 CallDecided call 12 allow: the permissions allow it
        > end stop
          14 SampleEnded stop
        > done 1 two
          15 CallObserved call 9 done: two
        > crash
             the log ends at 15
          16 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          17 CallStarted call 12 attempt 1
             run call 12@17
    "#]]);
}

#[test]
fn restarts_of_a_call_are_limited() {
    check(expect![[r#"
        > open restarts=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call put {}
           6 ItemAdded call put {}
           7 CallDecided call 6 allow: the permissions allow it
           8 CallStarted call 6 attempt 1
             run call 6@8
        > end stop
           9 SampleEnded stop
        > crash
             the log ends at 9
          10 CallStarted call 6 attempt 2
             run call 6@10
        > crash
             the log ends at 10
          11 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          12 SampleStarted sample 2 attempt 1 because tool results
             run sample@12
    "#]]);
}

#[test]
fn a_repeat_that_never_began_does_not_hide_the_first_run() {
    check(expect![[r#"
        > open lazy
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call put {}
           6 ItemAdded call put {}
           7 CallDecided call 6 allow: the permissions allow it
           8 CallStarted call 6 attempt 1
        > call read {}
           9 ItemAdded call read {}
          10 CallDecided call 9 allow: the tool is read-only
          11 CallStarted call 9 attempt 1
             run call 9@11
        > end stop
          12 SampleEnded stop
        > sync
             run call 6@8
        > crash
             the log ends at 12
          13 CallStarted call 6 attempt 2
          14 CallStarted call 9 attempt 2
             run call 9@14
        > interrupt person
          15 InterruptRequested by person: enough
             wind call 9@14
             never call 6@13
          16 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did, and it was not run again. It may have taken effect or not; check before you repeat it.
    "#]]);
}
