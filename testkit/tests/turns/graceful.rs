//! Stopping after the step: what runs may end, and the model is not asked again.

use expect_test::expect;

use super::check;

#[test]
fn the_answer_may_end_and_the_turn_completes() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > interrupt person after
           6 InterruptRequested by person, after the step: enough
        > text hi
           7 ItemAdded text "hi"
        > end stop
           8 SampleEnded stop
           9 TurnSettled completed
    "#]]);
}

#[test]
fn the_calls_may_end_and_the_model_is_not_asked_again() {
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
        > interrupt shutdown after
           9 InterruptRequested by shutdown, after the step: enough
        > call shell {"n":2}
          10 ItemAdded call shell {"n":2}
          11 CallDecided call 10 allow: the permissions allow it
        > end stop
          12 SampleEnded stop
        > done 0 one
          13 CallObserved call 6 done: one
          14 CallStarted call 10 attempt 1
             run call 10@14
        > done 0 two
          15 CallObserved call 10 done: two
          16 TurnSettled interrupted by shutdown
    "#]]);
}

#[test]
fn it_is_not_asked_for_twice_but_it_may_be_hurried() {
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
        > interrupt person after
          10 InterruptRequested by person, after the step: enough
        > interrupt person after
             rejected: the turn has been asked to stop already
        > interrupt person
          11 InterruptRequested by person: enough
             wind call 6@8
        > aborted 0 stopped
          12 CallObserved call 6 aborted: stopped
          13 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn a_backoff_is_not_waited_for() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > fail overloaded soon
           6 SampleCut overloaded, next attempt in 250 ms
        > interrupt shutdown after
           7 InterruptRequested by shutdown, after the step: enough
           8 TurnSettled interrupted by shutdown
    "#]]);
}

#[test]
fn what_waits_is_kept() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > steer more
           6 InputQueued "more", steer
             yield sample@5
        > interrupt person after
           7 InterruptRequested by person, after the step: enough
             go on with sample@5
        > text hi
           8 ItemAdded text "hi"
        > end stop
           9 SampleEnded stop
          10 TurnSettled interrupted by person, waiting: 6
    "#]]);
}

#[test]
fn a_question_may_be_answered() {
    check(expect![[r#"
        > open permissions=ask
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {}
           7 ItemAdded call write {}
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 604800000 ms
             run approval of call 7@9
        > end stop
          10 SampleEnded stop
        > interrupt shutdown after
          11 InterruptRequested by shutdown, after the step: enough
        > answer 0 allow
          12 ApprovalAnswered call 7 allow by somebody
          13 CallStarted call 7 attempt 1
             run call 7@13
        > done 0 ok
          14 CallObserved call 7 done: ok
          15 TurnSettled interrupted by shutdown
    "#]]);
}

#[test]
fn it_survives_a_restart() {
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
        > interrupt shutdown after
          10 InterruptRequested by shutdown, after the step: enough
        > crash
             the log ends at 10
          11 CallStarted call 6 attempt 2
             run call 6@11
        > done 0 ok
          12 CallObserved call 6 done: ok
          13 TurnSettled interrupted by shutdown
    "#]]);
}
