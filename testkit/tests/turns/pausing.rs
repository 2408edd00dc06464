//! Asked to stop after the step, and the turn ends by itself: nothing new begins until somebody says
//! so.

use expect_test::expect;

use super::check;

#[test]
fn what_waits_is_held_though_the_turn_completes() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send next
           6 InputQueued "next"
        > interrupt shutdown after
           7 InterruptRequested by shutdown, after the step: enough
        > text hi
           8 ItemAdded text "hi"
        > end stop
           9 SampleEnded stop
          10 TurnSettled completed, waiting: 6
        > continue
          11 TurnOpened because opened by input 6
          12 InputAccepted input 6
          13 SampleStarted sample 1 attempt 1 because opened by input 6
             run sample@13
        > text ok
          14 ItemAdded text "ok"
        > end stop
          15 SampleEnded stop
          16 TurnSettled completed
    "#]]);
}

#[test]
fn what_waits_is_held_though_the_turn_fails() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send next
           6 InputQueued "next"
        > interrupt person after
           7 InterruptRequested by person, after the step: enough
        > fail authentication never
           8 SampleCut authentication, no further attempt
           9 TurnSettled failed: authentication: the provider said so, waiting: 6
    "#]]);
}

#[test]
fn a_goal_is_held_though_the_turn_completes() {
    check(expect![[r#"
           1 SessionOpened
        > goal turns=3 make the tests pass
           2 GoalSet "make the tests pass", 3 turns
        > send hello
           3 InputQueued "hello"
           4 TurnOpened because opened by input 3
           5 InputAccepted input 3
           6 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@6
        > interrupt shutdown after
           7 InterruptRequested by shutdown, after the step: enough
        > text hi
           8 ItemAdded text "hi"
        > end stop
           9 SampleEnded stop
          10 TurnSettled completed
        > send go on
          11 InputQueued "go on"
          12 TurnOpened because opened by input 11
          13 InputAccepted input 11
          14 SampleStarted sample 1 attempt 1 because opened by input 11
             run sample@14
        > text ok
          15 ItemAdded text "ok"
        > end stop
          16 SampleEnded stop
          17 TurnSettled completed
          18 TurnOpened because goal 2
          19 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          20 SampleStarted sample 1 attempt 1 because goal 2
             run sample@20
    "#]]);
}

#[test]
fn what_waits_is_held_though_the_time_of_the_turn_is_over() {
    check(expect![[r#"
        > open turn_ms=3000 grace_ms=500
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send next
           6 InputQueued "next"
        > interrupt shutdown after
           7 InterruptRequested by shutdown, after the step: enough
        > wait 3000
           8 InterruptRequested by deadline: the turn has run for 3000 ms, which is its limit
             wind sample@5
        > wait 500
           9 SampleCut cancelled, no further attempt
          10 TurnSettled exhausted: wall_clock, waiting: 6
    "#]]);
}

#[test]
fn the_time_of_a_turn_is_about_that_turn_only() {
    check(expect![[r#"
        > open turn_ms=3000 grace_ms=500
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send next
           6 InputQueued "next"
        > wait 3000
           7 InterruptRequested by deadline: the turn has run for 3000 ms, which is its limit
             wind sample@5
        > continue
        > wait 500
           8 SampleCut cancelled, no further attempt
           9 TurnSettled exhausted: wall_clock, waiting: 6
          10 TurnOpened because opened by input 6
          11 InputAccepted input 6
          12 SampleStarted sample 1 attempt 1 because opened by input 6
             run sample@12
    "#]]);
}

#[test]
fn a_user_who_has_spoken_since_is_heard() {
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
        > send next
           7 InputQueued "next"
        > text hi
           8 ItemAdded text "hi"
        > end stop
           9 SampleEnded stop
          10 TurnSettled completed, waiting: 7
          11 TurnOpened because opened by input 7
          12 InputAccepted input 7
          13 SampleStarted sample 1 attempt 1 because opened by input 7
             run sample@13
    "#]]);
}

#[test]
fn who_speaks_after_the_word_and_before_the_end_of_the_time_is_heard() {
    check(expect![[r#"
        > open turn_ms=3000 grace_ms=500
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > interrupt person after
           6 InterruptRequested by person, after the step: enough
        > send next
           7 InputQueued "next"
        > wait 3000
           8 InterruptRequested by deadline: the turn has run for 3000 ms, which is its limit
             wind sample@5
        > wait 500
           9 SampleCut cancelled, no further attempt
          10 TurnSettled exhausted: wall_clock, waiting: 7
          11 TurnOpened because opened by input 7
          12 InputAccepted input 7
          13 SampleStarted sample 1 attempt 1 because opened by input 7
             run sample@13
    "#]]);
}

#[test]
fn a_person_is_heard_though_the_turn_stops_for_its_time() {
    check(expect![[r#"
        > open turn_ms=3000 grace_ms=500
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send next
           6 InputQueued "next"
        > wait 3000
           7 InterruptRequested by deadline: the turn has run for 3000 ms, which is its limit
             wind sample@5
        > interrupt person
           8 InterruptRequested by person: enough
        > interrupt person after
             rejected: the turn has been asked to stop already
        > wait 500
           9 SampleCut cancelled, no further attempt
          10 TurnSettled exhausted: wall_clock, waiting: 6
    "#]]);
}

#[test]
fn a_person_is_heard_though_a_hook_ends_the_turn() {
    check(expect![[r#"
        > open hooks=before_tool
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send next
           6 InputQueued "next"
        > call write {}
           7 ItemAdded call write {}
           8 HooksAsked before_tool call 7: hook 0
             run hook 0@8
        > call read {}
           9 ItemAdded call read {}
          10 HooksAsked before_tool call 9: hook 0
             run hook 0@10
        > hook 0 halt enough
          11 HookDecided h0 halt: enough
          12 CallObserved call 7 not_started: Not run: the turn was asked to stop before this call began.
          13 CallObserved call 9 not_started: Not run: the turn was asked to stop before this call began.
             wind sample@5
        > interrupt shutdown after
          14 InterruptRequested by shutdown, after the step: enough
        > interrupt shutdown
             rejected: the turn has been asked to stop already
        > fail cancelled never
          15 SampleCut cancelled, no further attempt
          16 TurnSettled blocked: h0: enough, waiting: 6
    "#]]);
}

#[test]
fn who_asks_to_go_on_too_early_is_told_so() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send next
           6 InputQueued "next"
        > continue
        > interrupt person after
           7 InterruptRequested by person, after the step: enough
        > continue
             rejected: the turn has been asked to stop already
        > interrupt person
           8 InterruptRequested by person: enough
             wind sample@5
        > continue
             rejected: the turn has been asked to stop already
        > fail cancelled never
           9 SampleCut cancelled, no further attempt
          10 TurnSettled interrupted by person, waiting: 6
        > continue
          11 TurnOpened because opened by input 6
          12 InputAccepted input 6
          13 SampleStarted sample 1 attempt 1 because opened by input 6
             run sample@13
    "#]]);
}
