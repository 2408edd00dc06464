//! Asked to stop after the step, and the turn ends by itself: nothing new begins until somebody says
//! so.

use expect_test::expect;

use super::check;

#[test]
fn what_waits_is_held_though_the_turn_completes() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > send next => input 6
        > interrupt shutdown after
           7 InterruptRequested by shutdown, after the step: enough
        > text hi => item 8
        > end stop => sample ended at 9, turn completed at 10, leaves 6
        > continue
          11 TurnOpened because opened by input 6 => sample@13
        > text ok => item 14
        > end stop => completed at 16
    "#]]);
}

#[test]
fn what_waits_is_held_though_the_turn_fails() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > send next => input 6
        > interrupt person after => request 7
        > fail authentication never
           8 SampleCut authentication, no further attempt
           9 TurnSettled failed: authentication: the provider said so, waiting: 6
    "#]]);
}

#[test]
fn a_goal_is_held_though_the_turn_completes() {
    check(expect![[r#"
        > goal turns=3 make the tests pass => first goal 2
        > send hello => turn, sample@6
        > interrupt shutdown after
           7 InterruptRequested by shutdown, after the step: enough
        > text hi => item 8
        > end stop => completed at 10
        > send go on => turn, sample@14
        > text ok => item 15
        > end stop => completed at 17
          18 TurnOpened because goal 2
          19 ContextInjected goal: "The goal is not met yet (turn 1 of 3):\nmake the tests pass\nGo on. When it is met, call goal_met."
          20 SampleStarted sample 1 attempt 1 because goal 2 => runs
    "#]]);
}

#[test]
fn what_waits_is_held_though_the_time_of_the_turn_is_over() {
    check(expect![[r#"
        > open turn_ms=3000 grace_ms=500
        > send hello => first turn, sample@5
        > send next => input 6
        > interrupt shutdown after
           7 InterruptRequested by shutdown, after the step: enough
        > wait 3000
           8 InterruptRequested by deadline: the turn has run for 3000 ms, which is its limit
             wind sample@5
        > wait 500
           9 SampleCut cancelled, about 115 tokens, no further attempt
          10 TurnSettled exhausted: wall_clock, waiting: 6
    "#]]);
}

#[test]
fn the_time_of_a_turn_is_about_that_turn_only() {
    check(expect![[r#"
        > open turn_ms=3000 grace_ms=500
        > send hello => first turn, sample@5
        > send next => input 6
        > wait 3000
           7 InterruptRequested by deadline: the turn has run for 3000 ms, which is its limit
             wind sample@5
        > continue
        > wait 500
           8 SampleCut cancelled, about 115 tokens, no further attempt
           9 TurnSettled exhausted: wall_clock, waiting: 6
          10 TurnOpened because opened by input 6 => sample@12
    "#]]);
}

#[test]
fn a_user_who_has_spoken_since_is_heard() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > interrupt person after => request 6
        > send next => input 7
        > text hi => item 8
        > end stop => completed at 10, turn of waiting 7, sample@13
    "#]]);
}

#[test]
fn who_speaks_after_the_word_and_before_the_end_of_the_time_is_heard() {
    check(expect![[r#"
        > open turn_ms=3000 grace_ms=500
        > send hello => first turn, sample@5
        > interrupt person after => request 6
        > send next => input 7
        > wait 3000
           8 InterruptRequested by deadline: the turn has run for 3000 ms, which is its limit
             wind sample@5
        > wait 500
           9 SampleCut cancelled, about 115 tokens, no further attempt
          10 TurnSettled exhausted: wall_clock, waiting: 7
          11 TurnOpened because opened by input 7 => sample@13
    "#]]);
}

#[test]
fn a_person_is_heard_though_the_turn_stops_for_its_time() {
    check(expect![[r#"
        > open turn_ms=3000 grace_ms=500
        > send hello => first turn, sample@5
        > send next => input 6
        > wait 3000
           7 InterruptRequested by deadline: the turn has run for 3000 ms, which is its limit
             wind sample@5
        > interrupt person => request 8
        > interrupt person after
             rejected: the turn has been asked to stop already
        > wait 500
           9 SampleCut cancelled, about 115 tokens, no further attempt
          10 TurnSettled exhausted: wall_clock, waiting: 6
    "#]]);
}

#[test]
fn a_person_is_heard_though_a_hook_ends_the_turn() {
    check(expect![[r#"
        > open hooks=before_tool
        > send hello => first turn, sample@5
        > send next => input 6
        > call write {} => tool hook 0@8 for call 7
        > call read {} => tool hook 0@10 for call 9
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
          15 SampleCut cancelled, about 144 tokens, no further attempt
          16 TurnSettled blocked: h0: enough, waiting: 6
    "#]]);
}

#[test]
fn who_asks_to_go_on_too_early_is_told_so() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > send next => input 6
        > continue
        > interrupt person after => request 7
        > continue
             rejected: the turn has been asked to stop already
        > interrupt person => request 8, wind sample@5
        > continue
             rejected: the turn has been asked to stop already
        > fail cancelled never
           9 SampleCut cancelled, about 115 tokens, no further attempt
          10 TurnSettled interrupted by person, waiting: 6
        > continue
          11 TurnOpened because opened by input 6 => sample@13
    "#]]);
}
