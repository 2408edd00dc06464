//! Answers that do not have their shape, and what comes between them: users, stops, other limits,
//! hooks, compactions, goals.

use expect_test::expect;

use super::check;

#[test]
fn what_a_user_says_over_a_faulty_answer_is_heard_in_its_place() {
    check(expect![[r#"
        > open shape=1 hooks=prompt_submitted
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 HooksAsked prompt_submitted input 2: hook 0
             run hook 0@4
        > hook 0 pass
           5 HookDecided h0 pass
           6 InputAccepted input 2
           7 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@7
        > steer more
           8 InputQueued "more", steer
             yield sample@7
        > text one
           9 ItemAdded text "one"
        > end stop fault=odd
          10 SampleEnded stop, fault: odd
          11 HooksAsked prompt_submitted input 8: hook 0
             run hook 0@11
        > hook 0 pass
          12 HookDecided h0 pass
          13 InputAccepted input 8
          14 SampleStarted sample 2 attempt 1 because pending input 8
             run sample@14
        > text two
          15 ItemAdded text "two"
        > end stop fault=odd
          16 SampleEnded stop, fault: odd
          17 ContextInjected shape of the answer of 14: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
          18 SampleStarted sample 3 attempt 1 because retry return 14
             run sample@18
        > text three
          19 ItemAdded text "three"
        > end stop
          20 SampleEnded stop
          21 TurnSettled completed
    "#]]);
}

#[test]
fn what_a_user_says_after_the_return_is_heard_in_the_same_turn() {
    check(expect![[r#"
        > open shape=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text one
           6 ItemAdded text "one"
        > end stop fault=odd
           7 SampleEnded stop, fault: odd
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5
             run sample@9
        > steer more
          10 InputQueued "more", steer
             yield sample@9
        > yielded tw
          11 SampleCut steered, partial "tw", what it said stands, next attempt in 0 ms
          12 InputAccepted input 10
          13 SampleStarted sample 3 attempt 1 because pending input 10
             run sample@13
        > text three
          14 ItemAdded text "three"
        > end stop fault=odd
          15 SampleEnded stop, fault: odd
          16 TurnSettled misshapen: odd
    "#]]);
}

#[test]
fn a_stop_comes_before_the_return() {
    check(expect![[r#"
        > open shape=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > interrupt person after
           6 InterruptRequested by person, after the step: enough
        > text one
           7 ItemAdded text "one"
        > end stop fault=odd
           8 SampleEnded stop, fault: odd
           9 TurnSettled interrupted by person
    "#]]);
    check(expect![[r#"
        > open shape=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text one
           6 ItemAdded text "one"
        > end stop fault=odd
           7 SampleEnded stop, fault: odd
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5
             run sample@9
        > interrupt person
          10 InterruptRequested by person: enough
             wind sample@9
        > fail cancelled never
          11 SampleCut cancelled, no further attempt
          12 TurnSettled interrupted by person
    "#]]);
    check(expect![[r#"
        > open shape=0
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > interrupt person after
           6 InterruptRequested by person, after the step: enough
        > text one
           7 ItemAdded text "one"
        > end stop fault=odd
           8 SampleEnded stop, fault: odd
           9 TurnSettled misshapen: odd
    "#]]);
}

#[test]
fn another_limit_ends_the_turn_for_its_own_reason() {
    check(expect![[r#"
        > open shape=5 samples=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text one
           6 ItemAdded text "one"
        > end stop fault=odd
           7 SampleEnded stop, fault: odd
           8 TurnSettled exhausted: samples
    "#]]);
    check(expect![[r#"
        > open shape=5 turn_ms=1000
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text one
           6 ItemAdded text "one"
        > end stop fault=odd
           7 SampleEnded stop, fault: odd
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5
             run sample@9
        > wait 1000
          10 InterruptRequested by deadline: the turn has run for 1000 ms, which is its limit
             wind sample@9
        > fail cancelled never
          11 SampleCut cancelled, no further attempt
          12 TurnSettled exhausted: wall_clock
    "#]]);
}

#[test]
fn hooks_see_only_an_answer_that_fits() {
    check(expect![[r#"
        > open shape=1 hooks=after_answer,stop
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text one
           6 ItemAdded text "one"
        > end stop fault=odd
           7 SampleEnded stop, fault: odd
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5
             run sample@9
        > text two
          10 ItemAdded text "two"
        > end stop
          11 SampleEnded stop
          12 HooksAsked after_answer 9: hook 0
             run hook 0@12
        > hook 0 pass
          13 HookDecided h0 pass
          14 HooksAsked stop 9 continued 0: hook 1
             run hook 1@14
        > hook 0 deny say more
          15 HookDecided h1 deny: say more, context "say more"
          16 ContextInjected of the hook at 15
          17 SampleStarted sample 3 attempt 1 because hook context 15
             run sample@17
        > text three
          18 ItemAdded text "three"
        > end stop fault=odd
          19 SampleEnded stop, fault: odd
          20 TurnSettled misshapen: odd
    "#]]);
}

#[test]
fn a_request_that_is_refused_as_too_large_is_no_further_return() {
    check(expect![[r#"
        > open shape=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text x*900
           6 ItemAdded text "x*900"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send again
           9 InputQueued "again"
          10 TurnOpened because opened by input 9
          11 InputAccepted input 9
          12 SampleStarted sample 1 attempt 1 because opened by input 9
             run sample@12
        > text one
          13 ItemAdded text "one"
        > end stop fault=odd
          14 SampleEnded stop, fault: odd
          15 ContextInjected shape of the answer of 12: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
          16 SampleStarted sample 2 attempt 1 because retry return 12
             run sample@16
        > fail context_overflow never
          17 SampleCut context_overflow, no further attempt
          18 CompactionStarted 1 attempt 1: overflow, clear to 559 bytes
             run compact@18
        > compacted
          19 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, th...", leaves 352 bytes in 4 items
          20 SampleStarted sample 3 attempt 1 because compacted
             run sample@20
        > text two
          21 ItemAdded text "two"
        > end stop
          22 SampleEnded stop
          23 TurnSettled completed
    "#]]);
}

#[test]
fn a_compaction_may_come_before_the_return() {
    check(expect![[r#"
        > open shape=1 window=700
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text x*900
           6 ItemAdded text "x*900"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send again
           9 InputQueued "again"
          10 TurnOpened because opened by input 9
          11 InputAccepted input 9
          12 SampleStarted sample 1 attempt 1 because opened by input 9
             run sample@12
        > text x*900
          13 ItemAdded text "x*900"
        > end stop fault=odd
          14 SampleEnded stop, fault: odd
          15 ContextInjected shape of the answer of 12: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
          16 CompactionStarted 1 attempt 1: window, clear to 548 bytes
             run compact@16
        > compacted
          17 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, ...", leaves 1247 bytes in 4 items
          18 SampleStarted sample 2 attempt 1 because retry return 12
             run sample@18
        > text two
          19 ItemAdded text "two"
        > end stop
          20 SampleEnded stop
          21 TurnSettled completed
    "#]]);
}

#[test]
fn a_goal_outlives_a_turn_without_its_shape() {
    check(expect![[r#"
        > open shape=0
           1 SessionOpened
        > goal turns=2 all is well
           2 GoalSet "all is well", 2 turns
        > send hello
           3 InputQueued "hello"
           4 TurnOpened because opened by input 3
           5 InputAccepted input 3
           6 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@6
        > text one
           7 ItemAdded text "one"
        > end stop fault=odd
           8 SampleEnded stop, fault: odd
           9 TurnSettled misshapen: odd
          10 TurnOpened because goal 2
          11 ContextInjected goal: "The goal is not met yet (turn 1 of 2):\nall is well\nGo on. When it is met, call goal_met."
          12 SampleStarted sample 1 attempt 1 because goal 2
             run sample@12
        > call goal_met {}
          13 ItemAdded call goal_met {}
          14 CallDecided call 13 allow: the tool is read-only
          15 CallObserved call 13 done: Noted: the goal is met.
          16 GoalEnded met, says call 13
        > end stop
          17 SampleEnded stop
          18 SampleStarted sample 2 attempt 1 because tool results
             run sample@18
        > text two
          19 ItemAdded text "two"
        > end stop fault=odd
          20 SampleEnded stop, fault: odd
          21 TurnSettled misshapen: odd
    "#]]);
}
