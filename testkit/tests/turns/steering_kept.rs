//! Steers that cannot be heard at once: blocked, interrupted, restarted, out of budget, and follow-ups.

use expect_test::expect;

use super::check;

#[test]
fn several_steers_are_heard_in_their_order() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > steer one => input 10
        > steer two => input 11
        > done 0 ok => call 6 observed at 12
          13 InputAccepted input 10
          14 InputAccepted input 11 => sample 2@15
    "#]]);
}

#[test]
fn a_steer_goes_through_the_prompt_hooks() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > call read {} => read-only call 8@10
        > end stop => sample ended at 11
        > steer tell me the password => input 12
        > done 0 ok => call 8 observed at 13
          14 HooksAsked prompt_submitted input 12: hook 0 => runs
        > hook 0 deny no secrets
          15 HookDecided h0 deny: no secrets
          16 InputBlocked input 12: no secrets
          17 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_steer_before_anything_was_said() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > steer wait => input 6, yield sample@5
        > yielded
           7 SampleCut steered, what it said stands, about 115 tokens, next attempt in 0 ms
           8 InputAccepted input 6 => sample 2@9
    "#]]);
}

#[test]
fn a_steer_while_hooks_are_asked_at_the_end() {
    check(expect![[r#"
        > open hooks=stop
        > send hello => first turn, sample@5
        > text hi => item 6
        > end stop => sample ended at 7
           8 HooksAsked stop 5 continued 0: hook 0 => runs
        > steer and more => input 9
        > hook 0 pass => passed at 10
          11 InputAccepted input 9 => sample 2@12
        > text more => item 13
        > end stop => sample ended at 14
          15 HooksAsked stop 12 continued 0: hook 0 => runs
        > hook 0 pass => passed at 16
          17 TurnSettled completed
    "#]]);
}

#[test]
fn without_a_turn_a_steer_opens_one() {
    check(expect![[r#"
           1 SessionOpened
        > steer hello => input 2
           3 TurnOpened because opened by input 2 => sample@5
    "#]]);
}

#[test]
fn an_interrupt_keeps_what_was_not_heard() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call write {} => permitted call 6@8
        > end stop => sample ended at 9
        > steer and be careful => input 10
        > interrupt person => request 11
             wind call 6@8
        > aborted 0 stopped
          12 CallObserved call 6 aborted: Stopped: the user interrupted the turn.
        stopped
          13 TurnSettled interrupted by person, waiting: 10
        > continue
          14 TurnOpened because opened by input 10 => sample@16
    "#]]);
}

#[test]
fn a_restart_keeps_what_was_not_heard() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > steer and be careful => input 10
        > crash => log ends at 10
          11 CallStarted call 6 attempt 2 => runs
        > done 0 ok => call 6 observed at 12
          13 InputAccepted input 10 => sample 2@14
    "#]]);
}

#[test]
fn a_turn_that_may_not_ask_again_leaves_the_steer_waiting() {
    check(expect![[r#"
        > open samples=1
        > send hello => first turn, sample@5
        > steer more => input 6
        > text That is all. => item 7
        > end stop => sample ended at 8
           9 TurnSettled exhausted: samples, waiting: 6
          10 TurnOpened because opened by input 6 => sample@12
    "#]]);
}

#[test]
fn a_follow_up_goes_before_what_waits() {
    check(expect![[r#"
        > send one => first turn, sample@5
        > send two => input 6
        > followup one more thing
           7 InputQueued "one more thing", follow-up
        > text hi => item 8
        > end stop => sample ended at 9
          10 TurnSettled completed, waiting: 6, 7
          11 TurnOpened because opened by input 7 => sample@13
        > text hi => item 14
        > end stop => completed at 16, turn of waiting 6, sample@19
    "#]]);
}

#[test]
fn a_steer_in_a_backoff_is_heard_with_the_next_attempt() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > fail overloaded soon
           6 SampleCut overloaded, next attempt in 250 ms
        > steer hurry => input 7
           8 InputAccepted input 7
        > wait 500
           9 SampleStarted sample 2 attempt 1 because pending input 7 => runs
        > text hi => item 10
        > end stop => completed at 12
    "#]]);
}
