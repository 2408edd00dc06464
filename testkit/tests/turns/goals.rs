//! Goals: a turn that settles with a goal that is not met opens another.

use expect_test::expect;

use super::check;

#[test]
fn a_goal_opens_turns_until_it_is_met() {
    check(expect![[r#"
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn, sample@6
        > text I have begun. => item 7
        > end stop => completed at 9
          10 TurnOpened because goal 2
          11 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          12 SampleStarted sample 1 attempt 1 because goal 2 => runs
        > text One is red. => item 13
        > end stop => completed at 15
          16 TurnOpened because goal 2
          17 ContextInjected goal: "The goal is not met yet (turn 2 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          18 SampleStarted sample 1 attempt 1 because goal 2 => runs
        > call goal_met {} => read-only call 19 decided
          21 CallObserved call 19 done: Noted: the goal is met.
          22 GoalEnded met, says call 19
        > end stop => sample ended at 23
          24 SampleStarted sample 2 attempt 1 because tool results => runs
        > text All green. => item 25
        > end stop => completed at 27
    "#]]);
}

#[test]
fn a_goal_has_a_budget_of_turns() {
    check(expect![[r#"
        > goal turns=1 make the tests pass => first goal 2
        > send begin => turn, sample@6
        > text I have begun. => item 7
        > end stop => completed at 9
          10 TurnOpened because goal 2
          11 ContextInjected goal: "The goal is not met yet (turn 1 of 1):\nmake the tests pass\nGo on. When it is met, call goal_met."
          12 SampleStarted sample 1 attempt 1 because goal 2 => runs
        > text One is red. => item 13
        > end stop => completed at 15
          16 GoalEnded exhausted
    "#]]);
}

#[test]
fn a_turn_that_fails_ends_the_goal() {
    check(expect![[r#"
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn, sample@6
        > fail authentication never
           7 SampleCut authentication, no further attempt
           8 TurnSettled failed: authentication: the provider said so
           9 GoalEnded stopped: a turn for it failed
    "#]]);
}

#[test]
fn an_input_goes_before_the_goal() {
    check(expect![[r#"
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn, sample@6
        > send and then? => input 7
        > text I have begun. => item 8
        > end stop => completed at 10, turn of waiting 7, sample@13
        > text hi => item 14
        > end stop => completed at 16
          17 TurnOpened because goal 2
          18 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          19 SampleStarted sample 1 attempt 1 because goal 2 => runs
    "#]]);
}

#[test]
fn an_interrupt_stops_the_goal_too() {
    check(expect![[r#"
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn, sample@6
        > interrupt person => request 7, wind sample@6
        > fail cancelled never
           8 SampleCut cancelled, about 115 tokens, no further attempt
           9 TurnSettled interrupted by person
        > send go on => turn, sample@13
        > text ok => item 14
        > end stop => completed at 16
          17 TurnOpened because goal 2
          18 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          19 SampleStarted sample 1 attempt 1 because goal 2 => runs
    "#]]);
}

#[test]
fn a_goal_may_be_taken_away() {
    check(expect![[r#"
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn, sample@6
        > goal none
           7 GoalSet none
        > text I have begun. => item 8
        > end stop => completed at 10
    "#]]);
}

#[test]
fn a_goal_set_while_a_turn_opens_for_another_gets_its_own_turns() {
    check(expect![[r#"
        > open child hooks=sub_turn_start
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn of input 3
           5 HooksAsked sub_turn_start: hook 0 => runs
        > hook 0 pass => passed at 6, input 3 accepted, sample@8
        > text I have begun. => item 9
        > end stop => completed at 11
          12 TurnOpened because goal 2
          13 HooksAsked sub_turn_start: hook 0 => runs
        > goal turns=2 write the docs
          14 GoalSet "write the docs", 2 turns
        > hook 0 pass => passed at 15
          16 TurnSettled blocked: the goal was taken away
          17 TurnOpened because goal 14
          18 HooksAsked sub_turn_start: hook 0 => runs
        > hook 0 pass => passed at 19
          20 ContextInjected goal: "The goal is not met yet (turn 1 of 2):\nwrite the docs\nGo on. When it is met, call goal_met."
          21 SampleStarted sample 1 attempt 1 because goal 14 => runs
        > text I write. => item 22
        > end stop => completed at 24
          25 TurnOpened because goal 14
          26 HooksAsked sub_turn_start: hook 0 => runs
    "#]]);
}

#[test]
fn a_goal_taken_away_while_its_turn_opens_is_not_gone_on_with() {
    check(expect![[r#"
        > open child hooks=sub_turn_start
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn of input 3
           5 HooksAsked sub_turn_start: hook 0 => runs
        > hook 0 pass => passed at 6, input 3 accepted, sample@8
        > text I have begun. => item 9
        > end stop => completed at 11
          12 TurnOpened because goal 2
          13 HooksAsked sub_turn_start: hook 0 => runs
        > goal none
          14 GoalSet none
        > hook 0 pass => passed at 15
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
        > send hello => first turn, sample@5
        > call goal_met {} => read-only call 6 decided
           8 CallObserved call 6 failed: There is no goal that could be met.
        > end stop => sample ended at 9
          10 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}
