//! Goals: a turn that settles with a goal that is not met opens another.

use expect_test::expect;

use super::check;

#[test]
fn a_goal_opens_turns_until_it_is_met() {
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
        > text One is red.
          13 ItemAdded text "One is red."
        > end stop
          14 SampleEnded stop
          15 TurnSettled completed
          16 TurnOpened because goal 2
          17 ContextInjected goal: "The goal is not met yet (turn 2 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          18 SampleStarted sample 1 attempt 1 because goal 2
             run sample@18
        > call goal_met {}
          19 ItemAdded call goal_met {}
          20 CallDecided call 19 allow: the tool is read-only
          21 CallObserved call 19 done: Noted: the goal is met.
          22 GoalEnded met, says call 19
        > end stop
          23 SampleEnded stop
          24 SampleStarted sample 2 attempt 1 because tool results
             run sample@24
        > text All green.
          25 ItemAdded text "All green."
        > end stop
          26 SampleEnded stop
          27 TurnSettled completed
    "#]]);
}

#[test]
fn a_goal_has_a_budget_of_turns() {
    check(expect![[r#"
           1 SessionOpened
        > goal turns=1 make the tests pass
           2 GoalSet "make the tests pass", 1 turns
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
          11 ContextInjected goal: "The goal is not met yet (turn 1 of 1):\nmake the tests pass\nGo on. When it is met, call goal_met."
          12 SampleStarted sample 1 attempt 1 because goal 2
             run sample@12
        > text One is red.
          13 ItemAdded text "One is red."
        > end stop
          14 SampleEnded stop
          15 TurnSettled completed
          16 GoalEnded exhausted
    "#]]);
}

#[test]
fn a_turn_that_fails_ends_the_goal() {
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
        > fail authentication never
           7 SampleCut authentication, no further attempt
           8 TurnSettled failed: authentication: the provider said so
           9 GoalEnded stopped: a turn for it failed
    "#]]);
}

#[test]
fn an_input_goes_before_the_goal() {
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
        > text hi
          14 ItemAdded text "hi"
        > end stop
          15 SampleEnded stop
          16 TurnSettled completed
          17 TurnOpened because goal 2
          18 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          19 SampleStarted sample 1 attempt 1 because goal 2
             run sample@19
    "#]]);
}

#[test]
fn an_interrupt_stops_the_goal_too() {
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
        > interrupt person
           7 InterruptRequested by person: enough
             wind sample@6
        > fail cancelled never
           8 SampleCut cancelled, no further attempt
           9 TurnSettled interrupted by person
        > send go on
          10 InputQueued "go on"
          11 TurnOpened because opened by input 10
          12 InputAccepted input 10
          13 SampleStarted sample 1 attempt 1 because opened by input 10
             run sample@13
        > text ok
          14 ItemAdded text "ok"
        > end stop
          15 SampleEnded stop
          16 TurnSettled completed
          17 TurnOpened because goal 2
          18 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          19 SampleStarted sample 1 attempt 1 because goal 2
             run sample@19
    "#]]);
}

#[test]
fn a_goal_may_be_taken_away() {
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
        > goal none
           7 GoalSet none
        > text I have begun.
           8 ItemAdded text "I have begun."
        > end stop
           9 SampleEnded stop
          10 TurnSettled completed
    "#]]);
}

#[test]
fn a_goal_set_while_a_turn_opens_for_another_gets_its_own_turns() {
    check(expect![[r#"
        > open child hooks=sub_turn_start
           1 SessionOpened
        > goal turns=3 make the tests pass
           2 GoalSet "make the tests pass", 3 turns
        > send begin
           3 InputQueued "begin"
           4 TurnOpened because opened by input 3
           5 HooksAsked sub_turn_start: hook 0
             run hook 0@5
        > hook 0 pass
           6 HookDecided h0 pass
           7 InputAccepted input 3
           8 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@8
        > text I have begun.
           9 ItemAdded text "I have begun."
        > end stop
          10 SampleEnded stop
          11 TurnSettled completed
          12 TurnOpened because goal 2
          13 HooksAsked sub_turn_start: hook 0
             run hook 0@13
        > goal turns=2 write the docs
          14 GoalSet "write the docs", 2 turns
        > hook 0 pass
          15 HookDecided h0 pass
          16 TurnSettled blocked: the goal was taken away
          17 TurnOpened because goal 14
          18 HooksAsked sub_turn_start: hook 0
             run hook 0@18
        > hook 0 pass
          19 HookDecided h0 pass
          20 ContextInjected goal: "The goal is not met yet (turn 1 of 2):\nwrite the docs\nGo on. When it is met, call goal_met."
          21 SampleStarted sample 1 attempt 1 because goal 14
             run sample@21
        > text I write.
          22 ItemAdded text "I write."
        > end stop
          23 SampleEnded stop
          24 TurnSettled completed
          25 TurnOpened because goal 14
          26 HooksAsked sub_turn_start: hook 0
             run hook 0@26
    "#]]);
}

#[test]
fn a_goal_taken_away_while_its_turn_opens_is_not_gone_on_with() {
    check(expect![[r#"
        > open child hooks=sub_turn_start
           1 SessionOpened
        > goal turns=3 make the tests pass
           2 GoalSet "make the tests pass", 3 turns
        > send begin
           3 InputQueued "begin"
           4 TurnOpened because opened by input 3
           5 HooksAsked sub_turn_start: hook 0
             run hook 0@5
        > hook 0 pass
           6 HookDecided h0 pass
           7 InputAccepted input 3
           8 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@8
        > text I have begun.
           9 ItemAdded text "I have begun."
        > end stop
          10 SampleEnded stop
          11 TurnSettled completed
          12 TurnOpened because goal 2
          13 HooksAsked sub_turn_start: hook 0
             run hook 0@13
        > goal none
          14 GoalSet none
        > hook 0 pass
          15 HookDecided h0 pass
          16 TurnSettled blocked: the goal was taken away
    "#]]);
}

#[test]
fn a_goal_needs_words_and_turns() {
    check(expect![[r#"
           1 SessionOpened
        > goal turns=0 make the tests pass
             rejected: the goal needs words, and at least one turn
        > goal turns=1 
             rejected: the goal needs words, and at least one turn
        > goal none
    "#]]);
}

#[test]
fn without_a_goal_there_is_nothing_to_meet() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call goal_met {}
           6 ItemAdded call goal_met {}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallObserved call 6 failed: There is no goal that could be met.
        > end stop
           9 SampleEnded stop
          10 SampleStarted sample 2 attempt 1 because tool results
             run sample@10
    "#]]);
}
