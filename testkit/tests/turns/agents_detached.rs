//! Detached agents: what becomes of their results.

use expect_test::expect;

use super::check;

#[test]
fn a_result_waits_for_the_next_turn() {
    check(expect![[r#"
        > open samples=9 agent=2
        > send hello => first turn, sample@5
        > call put {"prompt":"look"} => permitted call 6 decided
        > end stop => sample ended at 8
           9 CallStarted call 6 attempt 1, lent 2 samples => runs
        > detach 0 goes on
          10 CallObserved call 6 done: goes on, took 2 samples, detached
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > text It looks. => item 12
        > end stop => sample ended at 13
          14 TurnSettled completed, detached: 6
        > ended 0 a tree
          15 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @6 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.6, result of call 6
        > send what did it find? => turn of input 16
          18 InputAccepted input 16
          19 InputAccepted input 15
          20 SampleStarted sample 1 attempt 1 because pending input 15 => runs
        > text A tree. => item 21
        > end stop => completed at 23
    "#]]);
}

#[test]
fn a_result_may_open_a_turn() {
    check(expect![[r#"
        > open samples=9 agent=2 wakes=true
        > send hello => first turn, sample@5
        > call put {"prompt":"look"} => permitted call 6 decided
        > end stop => sample ended at 8
           9 CallStarted call 6 attempt 1, lent 2 samples => runs
        > detach 0 goes on
          10 CallObserved call 6 done: goes on, took 2 samples, detached
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > text It looks. => item 12
        > end stop => sample ended at 13
          14 TurnSettled completed, detached: 6
        > ended 0 a tree
          15 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @6 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.6, result of call 6
          16 TurnOpened because opened by input 15 => sample@18
        > text A tree. => item 19
        > end stop => completed at 21
    "#]]);
}

#[test]
fn a_result_enters_once() {
    check(expect![[r#"
        > open samples=9 agent=2
        > send hello => first turn, sample@5
        > call put {"prompt":"look"} => permitted call 6 decided
        > end stop => sample ended at 8
           9 CallStarted call 6 attempt 1, lent 2 samples => runs
        > detach 0 goes on
          10 CallObserved call 6 done: goes on, took 2 samples, detached
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > ended 0 a tree
          12 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @6 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.6, result of call 6
        > ended 0 a tree
             rejected: an input with this key was taken at 12 already
        > crash => log ends at 12
          13 SampleCut restart, about 148 tokens, next attempt in 0 ms
          14 SampleStarted sample 2 attempt 2 because retry => runs
        > ended 0 a tree
             rejected: an input with this key was taken at 12 already
    "#]]);
}

/// It neither cuts the answer nor keeps the turn from its end.
#[test]
fn a_result_joins_the_turn_at_its_next_request() {
    check(expect![[r#"
        > open samples=9 agent=2 wakes=true
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > call put {"prompt":"b"} => permitted call 8 decided
        > end stop => sample ended at 10
          11 CallStarted call 6 attempt 1, lent 2 samples
          12 CallStarted call 8 attempt 1, lent 2 samples
             run call 6@11
             run call 8@12
        > detach 0 goes on
          13 CallObserved call 6 done: goes on, took 2 samples, detached
        > detach 0 goes on
          14 CallObserved call 8 done: goes on, took 2 samples, detached
          15 SampleStarted sample 2 attempt 1 because tool results => runs
        > call read {} => read-only call 16@18
        > ended 0 a tree
          19 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @6 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.6, result of call 6
        > end stop => sample ended at 20
        > done 0 read => call 16 observed at 21
          22 InputAccepted input 19
          23 SampleStarted sample 3 attempt 1 because pending input 19 => runs
        > text Done, => item 24
        > ended 0 another tree
          25 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @8 started. It ended. Its answer:\nanother tree\n</context>", steer, key result simulated.8, result of call 8
        > end stop => completed at 27, turn of waiting 25, sample@30
    "#]]);
}

#[test]
fn a_result_waits_behind_a_user_who_steers() {
    check(expect![[r#"
        > open samples=9 agent=2
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > end stop => sample ended at 8
           9 CallStarted call 6 attempt 1, lent 2 samples => runs
        > detach 0 goes on
          10 CallObserved call 6 done: goes on, took 2 samples, detached
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > text On it. => item 12
        > ended 0 a tree
          13 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @6 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.6, result of call 6
        > steer stop looking => input 14, yield sample@11
        > yielded
          15 SampleCut steered, what it said stands, about 161 tokens, next attempt in 0 ms
          16 InputAccepted input 14
          17 InputAccepted input 13
          18 SampleStarted sample 3 attempt 1 because pending input 13 => runs
        > text All right. => item 19
        > end stop => completed at 21
    "#]]);
}

#[test]
fn a_result_that_waits_goes_on_when_a_user_continues() {
    check(expect![[r#"
        > open samples=9 agent=2
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > end stop => sample ended at 8
           9 CallStarted call 6 attempt 1, lent 2 samples => runs
        > detach 0 goes on
          10 CallObserved call 6 done: goes on, took 2 samples, detached
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > text On it. => item 12
        > end stop => sample ended at 13
          14 TurnSettled completed, detached: 6
        > ended 0 a tree
          15 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @6 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.6, result of call 6
        > continue
          16 TurnOpened because opened by input 15 => sample@18
    "#]]);
}

/// A user who interrupted is not overruled.
#[test]
fn a_result_does_not_lift_the_hold_of_an_interrupt() {
    check(expect![[r#"
        > open samples=9 agent=2 wakes=true
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > end stop => sample ended at 8
           9 CallStarted call 6 attempt 1, lent 2 samples => runs
        > interrupt person => request 10
             wind call 6@9
        > detach 0 goes on
          11 CallObserved call 6 done: goes on, took 2 samples, detached
          12 TurnSettled interrupted by person, detached: 6
        > ended 0 a tree
          13 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @6 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.6, result of call 6
        > send go on => turn of input 14
          16 InputAccepted input 14
          17 InputAccepted input 13
          18 SampleStarted sample 1 attempt 1 because pending input 13 => runs
    "#]]);
}

/// The process died after the interrupt: the call ends without its agent, whose answer still comes.
#[test]
fn the_answer_of_an_agent_outlives_an_interrupt_and_a_crash() {
    check(expect![[r#"
        > open samples=9 agent=2
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > call put {"prompt":"b"} => permitted call 8 decided
        > end stop => sample ended at 10
          11 CallStarted call 6 attempt 1, lent 2 samples
          12 CallStarted call 8 attempt 1, lent 2 samples
             run call 6@11
             run call 8@12
        > interrupt person => request 13
             wind call 6@11
             wind call 8@12
        > crash => log ends at 13
          14 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it., took 2 samples, detached
          15 CallObserved call 8 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it., took 2 samples, detached
          16 TurnSettled interrupted by person, detached: 6, 8
        > ended 1 a tree
          17 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @8 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.8, result of call 8
        > ended 0 another tree
          18 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @6 started. It ended. Its answer:\nanother tree\n</context>", steer, key result simulated.6, result of call 6
        > send go on => turn of input 19
          21 InputAccepted input 19
          22 InputAccepted input 17
          23 InputAccepted input 18
          24 SampleStarted sample 1 attempt 1 because pending input 18 => runs
    "#]]);
}

#[test]
fn the_answer_of_an_agent_outlives_its_grace() {
    check(expect![[r#"
        > open samples=9 agent=2
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > call put {"prompt":"b"} => permitted call 8 decided
        > end stop => sample ended at 10
          11 CallStarted call 6 attempt 1, lent 2 samples
          12 CallStarted call 8 attempt 1, lent 2 samples
             run call 6@11
             run call 8@12
        > done 1 b
          13 CallObserved call 8 done: b, took 2 samples
        > interrupt person => request 14
             wind call 6@11
        > wait 2000
          15 CallObserved call 6 unknown: Unknown: the user interrupted the turn and this call did not end in time. It may have taken effect or not; check before you repeat it., took 2 samples, detached
          16 TurnSettled interrupted by person, detached: 6
        > ended 0 a tree
          17 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @6 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.6, result of call 6
    "#]]);
}

#[test]
fn a_sibling_that_fails_costs_no_answer() {
    check(expect![[r#"
        > open samples=9 agent=2
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > call put {"prompt":"b"} => permitted call 8 decided
        > end stop => sample ended at 10
          11 CallStarted call 6 attempt 1, lent 2 samples
          12 CallStarted call 8 attempt 1, lent 2 samples
             run call 6@11
             run call 8@12
        > failed 0 took=1/0/0 the provider is gone
          13 CallObserved call 6 failed: the provider is gone, took 1 samples
        > done 0 took=1/0/0 a tree
          14 CallObserved call 8 done: a tree, took 1 samples
          15 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

/// A steer that its hooks may block is screened before anything is cut, also behind a result.
#[test]
fn a_result_does_not_cut_an_answer_for_a_steer_that_is_blocked() {
    check(expect![[r#"
        > open samples=9 agent=2 hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > call put {"prompt":"a"} => permitted call 8 decided
        > end stop => sample ended at 10
          11 CallStarted call 8 attempt 1, lent 2 samples => runs
        > detach 0 goes on
          12 CallObserved call 8 done: goes on, took 2 samples, detached
          13 SampleStarted sample 2 attempt 1 because tool results => runs
        > text On it. => item 14
        > ended 0 a tree
          15 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @8 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.8, result of call 8
        > steer stop looking => input 16
          17 HooksAsked prompt_submitted input 16: hook 0 => runs
        > hook 0 deny no
          18 HookDecided h0 deny: no
          19 InputBlocked input 16: no
        > end stop => sample ended at 20, turn completed at 21, leaves 15
    "#]]);
}

/// The hooks on a result that waits are asked again behind a steer of a user.
#[test]
fn a_steer_goes_before_a_result_that_hooks_are_asked_about() {
    check(expect![[r#"
        > open samples=9 agent=2 hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > call put {"prompt":"a"} => permitted call 8 decided
        > call read {} => read-only call 10 decided
        > end stop => sample ended at 12
          13 CallStarted call 8 attempt 1, lent 2 samples
          14 CallStarted call 10 attempt 1 => runs
             run call 8@13
        > detach 0 goes on
          15 CallObserved call 8 done: goes on, took 2 samples, detached
        > ended 0 a tree
          16 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @8 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.8, result of call 8
        > done 0 ok => call 10 observed at 17
          18 HooksAsked prompt_submitted input 16: hook 0 => runs
        > steer stop looking => input 19
          20 HooksAsked prompt_submitted input 19: hook 0 => runs
        > hook 0 pass context=seen
          21 HookDecided h0 pass, context "seen"
          22 ContextInjected of the hook at 21
          23 InputAccepted input 19
          24 HooksAsked prompt_submitted input 16: hook 0 => runs
        > hook 0 pass context=read
          25 HookDecided h0 pass, context "read"
          26 ContextInjected of the hook at 25
          27 InputAccepted input 16 => sample 2@28
    "#]]);
}

#[test]
fn results_that_wait_leave_room_for_inputs() {
    check(expect![[r#"
        > open samples=9 agent=2 queue=0
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > end stop => sample ended at 8
           9 CallStarted call 6 attempt 1, lent 2 samples => runs
        > detach 0 goes on
          10 CallObserved call 6 done: goes on, took 2 samples, detached
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > text On it. => item 12
        > end stop => sample ended at 13
          14 TurnSettled completed, detached: 6
        > ended 0 a tree
          15 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @6 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.6, result of call 6
        > send and now => turn of input 16
          18 InputAccepted input 16
          19 InputAccepted input 15
          20 SampleStarted sample 1 attempt 1 because pending input 15 => runs
    "#]]);
}

/// What an agent did and found stays outside of a rewind, and the model is told.
#[test]
fn a_rewind_tells_of_a_result_that_it_takes_out() {
    check(expect![[r#"
        > open samples=9 agent=2
        > send hello => first turn, sample@5
        > call put {"prompt":"a"} => permitted call 6 decided
        > end stop => sample ended at 8
           9 CallStarted call 6 attempt 1, lent 2 samples => runs
        > detach 0 goes on
          10 CallObserved call 6 done: goes on, took 2 samples, detached
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > text On it. => item 12
        > end stop => sample ended at 13
          14 TurnSettled completed, detached: 6
        > ended 0 a tree
          15 InputQueued "<context from=\"agent put\">\nNo user wrote this: it is the result of the agent put, which call @6 started. It ended. Its answer:\na tree\n</context>", steer, key result simulated.6, result of call 6
        > send and now => turn of input 16
          18 InputAccepted input 16
          19 InputAccepted input 15
          20 SampleStarted sample 1 attempt 1 because pending input 15 => runs
        > text A tree. => item 21
        > end stop => completed at 23
        > rewind 14
          24 SessionRewound to 14: The user went back to this point of the conversation. Effects of calls after this point remain: files and other things may have changed. A result of an agent that was shown after this point is not shown any more.
        > send what next => turn, sample@28
    "#]]);
}
