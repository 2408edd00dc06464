//! Goals that are set, or due, while a turn of somebody else runs.

use expect_test::expect;

use super::check;

#[test]
fn a_call_that_began_before_the_goal_was_set_does_not_meet_it() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > goal turns=3 make the tests pass
           6 GoalSet "make the tests pass", 3 turns
        > call goal_met {} => read-only call 7 decided
           9 CallObserved call 7 failed: Not noted: the goal was set after this answer began.
        > end stop => sample ended at 10
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > call goal_met {} => read-only call 12 decided
          14 CallObserved call 12 done: Noted: the goal is met.
          15 GoalEnded met, says call 12
        > end stop => sample ended at 16
          17 SampleStarted sample 3 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_goal_that_takes_the_place_of_another_is_not_met_by_its_answer() {
    check(expect![[r#"
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn, sample@6
        > goal turns=2 write the docs
           7 GoalSet "write the docs", 2 turns
        > call goal_met {} => read-only call 8 decided
          10 CallObserved call 8 failed: Not noted: the goal was set after this answer began.
        > end stop => sample ended at 11
          12 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_goal_that_is_due_ends_with_a_turn_of_the_user_that_fails() {
    check(expect![[r#"
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn, sample@6
        > send and then? => input 7
        > text I have begun. => item 8
        > end stop => completed at 10, turn of waiting 7, sample@13
        > fail authentication never
          14 SampleCut authentication, no further attempt
          15 GoalEnded stopped: a turn before it failed
          16 TurnSettled failed: authentication: the provider said so
    "#]]);
}

#[test]
fn a_goal_that_is_due_is_held_with_a_turn_of_the_user_that_is_interrupted() {
    check(expect![[r#"
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn, sample@6
        > send and then? => input 7
        > text I have begun. => item 8
        > end stop => completed at 10, turn of waiting 7, sample@13
        > interrupt person => request 14, wind sample@13
        > fail cancelled never
          15 SampleCut cancelled, about 146 tokens, no further attempt
          16 TurnSettled interrupted by person
        > send go on => turn, sample@20
        > text ok => item 21
        > end stop => completed at 23
          24 TurnOpened because goal 2
          25 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          26 SampleStarted sample 1 attempt 1 because goal 2 => runs
    "#]]);
}

#[test]
fn a_goal_that_is_due_goes_on_after_a_turn_of_the_user_that_ran_out_of_samples() {
    check(expect![[r#"
        > open samples=1
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn, sample@6
        > send and then? => input 7
        > text I have begun. => item 8
        > end stop => completed at 10, turn of waiting 7, sample@13
        > call read {} => read-only call 14@16
        > end stop => sample ended at 17
        > done 0 ok => call 14 observed at 18
          19 TurnSettled exhausted: samples
          20 TurnOpened because goal 2
          21 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          22 SampleStarted sample 1 attempt 1 because goal 2 => runs
    "#]]);
}

#[test]
fn a_goal_set_in_a_turn_is_not_ended_by_it() {
    check(expect![[r#"
        > goal turns=3 make the tests pass => first goal 2
        > send begin => turn, sample@6
        > text I have begun. => item 7
        > end stop => completed at 9
          10 TurnOpened because goal 2
          11 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          12 SampleStarted sample 1 attempt 1 because goal 2 => runs
        > goal turns=2 write the docs
          13 GoalSet "write the docs", 2 turns
        > fail authentication never
          14 SampleCut authentication, no further attempt
          15 TurnSettled failed: authentication: the provider said so
          16 TurnOpened because goal 13
          17 ContextInjected goal: "The goal is not met yet (turn 1 of 2):\nwrite the docs\nGo on. When it is met, call goal_met."
          18 SampleStarted sample 1 attempt 1 because goal 13 => runs
        > fail authentication never
          19 SampleCut authentication, no further attempt
          20 TurnSettled failed: authentication: the provider said so
          21 GoalEnded stopped: a turn for it failed
    "#]]);
}
