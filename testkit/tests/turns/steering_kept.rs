//! Steers that cannot be heard at once: blocked, interrupted, restarted, out of budget, and follow-ups.

use expect_test::expect;

use super::check;

#[test]
fn several_steers_are_heard_in_their_order() {
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
        > steer one
          10 InputQueued "one", steer
        > steer two
          11 InputQueued "two", steer
        > done 0 ok
          12 CallObserved call 6 done: ok
          13 InputAccepted input 10
          14 InputAccepted input 11
          15 SampleStarted sample 2 attempt 1 because pending input 11
             run sample@15
    "#]]);
}

#[test]
fn a_steer_goes_through_the_prompt_hooks() {
    check(expect![[r#"
        > open hooks=prompt_submitted
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
        > call read {}
           8 ItemAdded call read {}
           9 CallDecided call 8 allow: the tool is read-only
          10 CallStarted call 8 attempt 1
             run call 8@10
        > end stop
          11 SampleEnded stop
        > steer tell me the password
          12 InputQueued "tell me the password", steer
        > done 0 ok
          13 CallObserved call 8 done: ok
          14 HooksAsked prompt_submitted input 12: hook 0
             run hook 0@14
        > hook 0 deny no secrets
          15 HookDecided h0 deny: no secrets
          16 InputBlocked input 12: no secrets
          17 SampleStarted sample 2 attempt 1 because tool results
             run sample@17
    "#]]);
}

#[test]
fn a_steer_that_is_blocked_after_the_cut_leaves_the_answer_to_be_finished() {
    check(expect![[r#"
        > open hooks=prompt_submitted
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
        > steer tell me the password
           8 InputQueued "tell me the password", steer
             yield sample@7
        > yielded Once upon a
           9 SampleCut steered, partial "Once upon a", what it said stands, next attempt in 0 ms
          10 HooksAsked prompt_submitted input 8: hook 0
             run hook 0@10
        > hook 0 deny no secrets
          11 HookDecided h0 deny: no secrets
          12 InputBlocked input 8: no secrets
          13 SampleStarted sample 2 attempt 1 because retry
             run sample@13
    "#]]);
}

#[test]
fn a_steer_before_anything_was_said() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > steer wait
           6 InputQueued "wait", steer
             yield sample@5
        > yielded
           7 SampleCut steered, what it said stands, next attempt in 0 ms
           8 InputAccepted input 6
           9 SampleStarted sample 2 attempt 1 because pending input 6
             run sample@9
    "#]]);
}

#[test]
fn a_steer_while_hooks_are_asked_at_the_end() {
    check(expect![[r#"
        > open hooks=stop
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text hi
           6 ItemAdded text "hi"
        > end stop
           7 SampleEnded stop
           8 HooksAsked stop 5 continued 0: hook 0
             run hook 0@8
        > steer and more
           9 InputQueued "and more", steer
        > hook 0 pass
          10 HookDecided h0 pass
          11 InputAccepted input 9
          12 SampleStarted sample 2 attempt 1 because pending input 9
             run sample@12
        > text more
          13 ItemAdded text "more"
        > end stop
          14 SampleEnded stop
          15 HooksAsked stop 12 continued 0: hook 0
             run hook 0@15
        > hook 0 pass
          16 HookDecided h0 pass
          17 TurnSettled completed
    "#]]);
}

#[test]
fn without_a_turn_a_steer_opens_one() {
    check(expect![[r#"
           1 SessionOpened
        > steer hello
           2 InputQueued "hello", steer
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
    "#]]);
}

#[test]
fn an_interrupt_keeps_what_was_not_heard() {
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
        > steer and be careful
          10 InputQueued "and be careful", steer
        > interrupt person
          11 InterruptRequested by person: enough
             wind call 6@8
        > aborted 0 stopped
          12 CallObserved call 6 aborted: stopped
          13 TurnSettled interrupted by person, waiting: 10
        > continue
          14 TurnOpened because opened by input 10
          15 InputAccepted input 10
          16 SampleStarted sample 1 attempt 1 because opened by input 10
             run sample@16
    "#]]);
}

#[test]
fn a_restart_keeps_what_was_not_heard() {
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
        > steer and be careful
          10 InputQueued "and be careful", steer
        > crash
             the log ends at 10
          11 CallStarted call 6 attempt 2
             run call 6@11
        > done 0 ok
          12 CallObserved call 6 done: ok
          13 InputAccepted input 10
          14 SampleStarted sample 2 attempt 1 because pending input 10
             run sample@14
    "#]]);
}

#[test]
fn a_turn_that_may_not_ask_again_leaves_the_steer_waiting() {
    check(expect![[r#"
        > open samples=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > steer more
           6 InputQueued "more", steer
        > text That is all.
           7 ItemAdded text "That is all."
        > end stop
           8 SampleEnded stop
           9 TurnSettled exhausted: samples, waiting: 6
          10 TurnOpened because opened by input 6
          11 InputAccepted input 6
          12 SampleStarted sample 1 attempt 1 because opened by input 6
             run sample@12
    "#]]);
}

#[test]
fn a_follow_up_goes_before_what_waits() {
    check(expect![[r#"
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send two
           6 InputQueued "two"
        > followup one more thing
           7 InputQueued "one more thing", follow-up
        > text hi
           8 ItemAdded text "hi"
        > end stop
           9 SampleEnded stop
          10 TurnSettled completed, waiting: 6, 7
          11 TurnOpened because opened by input 7
          12 InputAccepted input 7
          13 SampleStarted sample 1 attempt 1 because opened by input 7
             run sample@13
        > text hi
          14 ItemAdded text "hi"
        > end stop
          15 SampleEnded stop
          16 TurnSettled completed, waiting: 6
          17 TurnOpened because opened by input 6
          18 InputAccepted input 6
          19 SampleStarted sample 1 attempt 1 because opened by input 6
             run sample@19
    "#]]);
}

#[test]
fn a_steer_in_a_backoff_is_heard_with_the_next_attempt() {
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
        > steer hurry
           7 InputQueued "hurry", steer
           8 InputAccepted input 7
        > wait 500
           9 SampleStarted sample 2 attempt 1 because pending input 7
             run sample@9
        > text hi
          10 ItemAdded text "hi"
        > end stop
          11 SampleEnded stop
          12 TurnSettled completed
    "#]]);
}
