//! Goals that are set, or due, while a turn of somebody else runs.

use expect_test::expect;

use super::check;

#[test]
fn a_call_that_began_before_the_goal_was_set_does_not_meet_it() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > goal turns=3 make the tests pass
           6 GoalSet "make the tests pass", 3 turns
        > call goal_met {}
           7 ItemAdded call goal_met {}
           8 CallDecided call 7 allow: the tool is read-only
           9 CallObserved call 7 failed: Not noted: the goal was set after this answer began.
        > end stop
          10 SampleEnded stop
          11 SampleStarted sample 2 attempt 1 because tool results
             run sample@11
        > call goal_met {}
          12 ItemAdded call goal_met {}
          13 CallDecided call 12 allow: the tool is read-only
          14 CallObserved call 12 done: Noted: the goal is met.
          15 GoalEnded met, says call 12
        > end stop
          16 SampleEnded stop
          17 SampleStarted sample 3 attempt 1 because tool results
             run sample@17
    "#]]);
}

#[test]
fn a_goal_that_takes_the_place_of_another_is_not_met_by_its_answer() {
    check(expect![[r#"
           1 SessionOpened
        > goal turns=3 make the tests pass
           2 GoalSet "make the tests pass", 3 turns
        > send begin
           3 InputQueued "begin"
           4 TurnOpened because opened by input 3
           5 InputAccepted input 3
           6 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@6
        > goal turns=2 write the docs
           7 GoalSet "write the docs", 2 turns
        > call goal_met {}
           8 ItemAdded call goal_met {}
           9 CallDecided call 8 allow: the tool is read-only
          10 CallObserved call 8 failed: Not noted: the goal was set after this answer began.
        > end stop
          11 SampleEnded stop
          12 SampleStarted sample 2 attempt 1 because tool results
             run sample@12
    "#]]);
}

#[test]
fn a_goal_that_is_due_ends_with_a_turn_of_the_user_that_fails() {
    check(expect![[r#"
           1 SessionOpened
        > goal turns=3 make the tests pass
           2 GoalSet "make the tests pass", 3 turns
        > send begin
           3 InputQueued "begin"
           4 TurnOpened because opened by input 3
           5 InputAccepted input 3
           6 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@6
        > send and then?
           7 InputQueued "and then?"
        > text I have begun.
           8 ItemAdded text "I have begun."
        > end stop
           9 SampleEnded stop
          10 TurnSettled completed, waiting: 7
          11 TurnOpened because opened by input 7
          12 InputAccepted input 7
          13 SampleStarted sample 1 attempt 1 because opened by input 7
             run sample@13
        > fail authentication never
          14 SampleCut authentication, no further attempt
          15 GoalEnded stopped: a turn before it failed
          16 TurnSettled failed: authentication: the provider said so
    "#]]);
}

#[test]
fn a_goal_that_is_due_is_held_with_a_turn_of_the_user_that_is_interrupted() {
    check(expect![[r#"
           1 SessionOpened
        > goal turns=3 make the tests pass
           2 GoalSet "make the tests pass", 3 turns
        > send begin
           3 InputQueued "begin"
           4 TurnOpened because opened by input 3
           5 InputAccepted input 3
           6 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@6
        > send and then?
           7 InputQueued "and then?"
        > text I have begun.
           8 ItemAdded text "I have begun."
        > end stop
           9 SampleEnded stop
          10 TurnSettled completed, waiting: 7
          11 TurnOpened because opened by input 7
          12 InputAccepted input 7
          13 SampleStarted sample 1 attempt 1 because opened by input 7
             run sample@13
        > interrupt person
          14 InterruptRequested by person: enough
             wind sample@13
        > fail cancelled never
          15 SampleCut cancelled, no further attempt
          16 TurnSettled interrupted by person
        > send go on
          17 InputQueued "go on"
          18 TurnOpened because opened by input 17
          19 InputAccepted input 17
          20 SampleStarted sample 1 attempt 1 because opened by input 17
             run sample@20
        > text ok
          21 ItemAdded text "ok"
        > end stop
          22 SampleEnded stop
          23 TurnSettled completed
          24 TurnOpened because goal 2
          25 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          26 SampleStarted sample 1 attempt 1 because goal 2
             run sample@26
    "#]]);
}

#[test]
fn a_goal_that_is_due_goes_on_after_a_turn_of_the_user_that_ran_out_of_samples() {
    check(expect![[r#"
        > open samples=1
           1 SessionOpened
        > goal turns=3 make the tests pass
           2 GoalSet "make the tests pass", 3 turns
        > send begin
           3 InputQueued "begin"
           4 TurnOpened because opened by input 3
           5 InputAccepted input 3
           6 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@6
        > send and then?
           7 InputQueued "and then?"
        > text I have begun.
           8 ItemAdded text "I have begun."
        > end stop
           9 SampleEnded stop
          10 TurnSettled completed, waiting: 7
          11 TurnOpened because opened by input 7
          12 InputAccepted input 7
          13 SampleStarted sample 1 attempt 1 because opened by input 7
             run sample@13
        > call read {}
          14 ItemAdded call read {}
          15 CallDecided call 14 allow: the tool is read-only
          16 CallStarted call 14 attempt 1
             run call 14@16
        > end stop
          17 SampleEnded stop
        > done 0 ok
          18 CallObserved call 14 done: ok
          19 TurnSettled exhausted: samples
          20 TurnOpened because goal 2
          21 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          22 SampleStarted sample 1 attempt 1 because goal 2
             run sample@22
    "#]]);
}

#[test]
fn a_goal_set_in_a_turn_is_not_ended_by_it() {
    check(expect![[r#"
           1 SessionOpened
        > goal turns=3 make the tests pass
           2 GoalSet "make the tests pass", 3 turns
        > send begin
           3 InputQueued "begin"
           4 TurnOpened because opened by input 3
           5 InputAccepted input 3
           6 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@6
        > text I have begun.
           7 ItemAdded text "I have begun."
        > end stop
           8 SampleEnded stop
           9 TurnSettled completed
          10 TurnOpened because goal 2
          11 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          12 SampleStarted sample 1 attempt 1 because goal 2
             run sample@12
        > goal turns=2 write the docs
          13 GoalSet "write the docs", 2 turns
        > fail authentication never
          14 SampleCut authentication, no further attempt
          15 TurnSettled failed: authentication: the provider said so
          16 TurnOpened because goal 13
          17 ContextInjected goal: "The goal is not met yet (turn 1 of 2):\nwrite the docs\nGo on. When it is met, call goal_met."
          18 SampleStarted sample 1 attempt 1 because goal 13
             run sample@18
        > fail authentication never
          19 SampleCut authentication, no further attempt
          20 TurnSettled failed: authentication: the provider said so
          21 GoalEnded stopped: a turn for it failed
    "#]]);
}
