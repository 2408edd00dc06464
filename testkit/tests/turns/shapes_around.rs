//! Answers that do not have their shape, and what comes between them: users, stops, other limits,
//! hooks, compactions, goals.

use expect_test::expect;

use super::check;

#[test]
fn what_a_user_says_over_a_faulty_answer_is_heard_in_its_place() {
    check(expect![[r#"
        > open shape=1 hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > steer more => input 8
           9 HooksAsked prompt_submitted input 8: hook 0 => runs
        > text one => item 10
        > end stop fault=odd => sample ended at 11
        > hook 0 pass => passed at 12
          13 InputAccepted input 8 => sample 2@14
        > text two => item 15
        > end stop fault=odd => sample ended at 16
          17 ContextInjected shape of the answer of 14: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
          18 SampleStarted sample 3 attempt 1 because retry return 14 => runs
        > text three => item 19
        > end stop => completed at 21
    "#]]);
}

#[test]
fn what_a_user_says_after_the_return_is_heard_in_the_same_turn() {
    check(expect![[r#"
        > open shape=1
        > send hello => first turn, sample@5
        > text one => item 6
        > end stop fault=odd => shape told at 8, of 5, sample 2@9
        > steer more => input 10, yield sample@9
        > yielded tw
          11 SampleCut steered, partial "tw", what it said stands, about 221 tokens, next attempt in 0 ms
          12 InputAccepted input 10
          13 SampleStarted sample 3 attempt 1 because pending input 10 => runs
        > text three => item 14
        > end stop fault=odd => sample ended at 15
          16 TurnSettled misshapen: odd
    "#]]);
}

#[test]
fn a_stop_comes_before_the_return() {
    check(expect![[r#"
        > open shape=1
        > send hello => first turn, sample@5
        > interrupt person after => request 6
        > text one => item 7
        > end stop fault=odd => sample ended at 8
           9 TurnSettled interrupted by person
    "#]]);
    check(expect![[r#"
        > open shape=1
        > send hello => first turn, sample@5
        > text one => item 6
        > end stop fault=odd => shape told at 8, of 5, sample 2@9
        > interrupt person => request 10, wind sample@9
        > fail cancelled never
          11 SampleCut cancelled, about 208 tokens, no further attempt
          12 TurnSettled interrupted by person
    "#]]);
    check(expect![[r#"
        > open shape=0
        > send hello => first turn, sample@5
        > interrupt person after => request 6
        > text one => item 7
        > end stop fault=odd => sample ended at 8
           9 TurnSettled misshapen: odd
    "#]]);
}

#[test]
fn another_limit_ends_the_turn_for_its_own_reason() {
    check(expect![[r#"
        > open shape=5 samples=1
        > send hello => first turn, sample@5
        > text one => item 6
        > end stop fault=odd => sample ended at 7
           8 TurnSettled exhausted: samples
    "#]]);
    check(expect![[r#"
        > open shape=5 turn_ms=1000
        > send hello => first turn, sample@5
        > text one => item 6
        > end stop fault=odd => shape told at 8, of 5, sample 2@9
        > wait 1000
          10 InterruptRequested by deadline: the turn has run for 1000 ms, which is its limit
             wind sample@9
        > fail cancelled never
          11 SampleCut cancelled, about 208 tokens, no further attempt
          12 TurnSettled exhausted: wall_clock
    "#]]);
}

#[test]
fn hooks_see_only_an_answer_that_fits() {
    check(expect![[r#"
        > open shape=1 hooks=after_answer,stop
        > send hello => first turn, sample@5
        > text one => item 6
        > end stop fault=odd => shape told at 8, of 5, sample 2@9
        > text two => item 10
        > end stop => sample ended at 11, hook 0@12 sees the answer of 9
        > hook 0 pass => passed at 13
          14 HooksAsked stop 9 continued 0: hook 1 => runs
        > hook 0 deny say more
          15 HookDecided h1 deny: say more, context "say more"
          16 ContextInjected of the hook at 15
          17 SampleStarted sample 3 attempt 1 because hook context 15 => runs
        > text three => item 18
        > end stop fault=odd => sample ended at 19
          20 TurnSettled misshapen: odd
    "#]]);
}

#[test]
fn a_request_that_is_refused_as_too_large_is_no_further_return() {
    check(expect![[r#"
        > open shape=1
        > send hello => first turn, sample@5
        > text x*900 => item 6
        > end stop => completed at 8
        > send again => turn, sample@12
        > text one => item 13
        > end stop fault=odd => shape told at 15, of 12, sample 2@16
        > fail context_overflow never
          17 SampleCut context_overflow, no further attempt
          18 CompactionStarted 1 attempt 1: overflow, clear to 559 bytes => runs
        > compacted
          19 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.", leaves 316 bytes in 4 items
          20 SampleStarted sample 3 attempt 1 because compacted => runs
        > text two => item 21
        > end stop => completed at 23
    "#]]);
}

#[test]
fn a_compaction_may_come_before_the_return() {
    check(expect![[r#"
        > open shape=1 window=700
        > send hello => first turn, sample@5
        > text x*900 => item 6
        > end stop => completed at 8
        > send again => turn, sample@12
        > text x*900 => item 13
        > end stop fault=odd => sample ended at 14
          15 ContextInjected shape of the answer of 12: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
          16 CompactionStarted 1 attempt 1: window, clear to 832 bytes => runs
        > compacted
          17 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"hello\"", leaves 1270 bytes in 4 items
          18 SampleStarted sample 2 attempt 1 because retry return 12 => runs
        > text two => item 19
        > end stop => completed at 21
    "#]]);
}

#[test]
fn a_goal_outlives_a_turn_without_its_shape() {
    check(expect![[r#"
        > open shape=0
           1 SessionOpened
        > goal turns=2 all is well
           2 GoalSet "all is well", 2 turns
        > send hello => turn, sample@6
        > text one => item 7
        > end stop fault=odd => sample ended at 8
           9 TurnSettled misshapen: odd
          10 TurnOpened because goal 2
          11 ContextInjected goal: "The goal is not met yet (turn 1 of 2):\nall is well\nGo on. When it is met, call goal_met."
          12 SampleStarted sample 1 attempt 1 because goal 2 => runs
        > call goal_met {} => read-only call 13 decided
          15 CallObserved call 13 done: Noted: the goal is met.
          16 GoalEnded met, says call 13
        > end stop => sample ended at 17
          18 SampleStarted sample 2 attempt 1 because tool results => runs
        > text two => item 19
        > end stop fault=odd => sample ended at 20
          21 TurnSettled misshapen: odd
    "#]]);
}
