//! Orders of events that are rare, over hooks, compactions and the clock.

use expect_test::expect;

use super::check;

#[test]
fn the_next_hook_is_asked_though_the_clock_was_set_back() {
    check(expect![[r#"
        > open hooks=before_sample,before_sample
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 HooksAsked before_sample 1: hook 0
             run hook 0@5
        > hook 0 pass
           6 HookDecided h0 pass
           7 HooksAsked before_sample 1: hook 1
             run hook 1@7
        > hook 0 pass
           8 HookDecided h1 pass
           9 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@9
        > call read {}
          10 ItemAdded call read {}
          11 CallDecided call 10 allow: the tool is read-only
          12 CallStarted call 10 attempt 1
             run call 10@12
        > fail truncated soon
          13 SampleCut truncated, stands through 10, next attempt in 250 ms
        > done 0 ok
          14 CallObserved call 10 done: ok
        > wait 500
          15 HooksAsked before_sample 2: hook 0
             run hook 0@15
        > back 1000
        > hook 0 pass
          16 HookDecided h0 pass
          17 HooksAsked before_sample 2: hook 1
             run hook 1@17
        > hook 0 pass
          18 HookDecided h1 pass
    "#]]);
}

#[test]
fn a_first_input_that_is_too_large_is_let_in_before_it_is_compacted() {
    check(expect![[r#"
        > open window=1500
           1 SessionOpened
        > send x*9000
           2 InputQueued "x*9000"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 CompactionStarted 1 attempt 1: window, clear to 1657 bytes
             run compact@5
    "#]]);
}

#[test]
fn a_pause_waits_for_the_hooks_that_are_asked() {
    check(expect![[r#"
        > open hooks=before_sample
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 HooksAsked before_sample 1: hook 0
             run hook 0@5
        > interrupt person after
           6 InterruptRequested by person, after the step: enough
        > hook 0 pass
           7 HookDecided h0 pass
           8 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn a_compaction_is_taken_up_again_as_often_as_it_may_be() {
    check(expect![[r#"
        > open restarts=1 window=1500
           1 SessionOpened
        > send x*1600
           2 InputQueued "x*1600"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text y*2000
           6 ItemAdded text "y*2000"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send more
           9 InputQueued "more"
          10 TurnOpened because opened by input 9
          11 CompactionStarted 1 attempt 1: window, clear to 1609 bytes
             run compact@11
        > crash
             the log ends at 11
          12 CompactionStarted 1 attempt 2: window, clear to 1609 bytes
             run compact@12
        > crash
             the log ends at 12
          13 CompactionFailed the process ended each time while it was made
          14 InputAccepted input 9
          15 TurnSettled exhausted: context
    "#]]);
}

#[test]
fn the_first_denial_of_parallel_hooks_outlasts_what_the_others_say_after_it() {
    check(expect![[r#"
        > open hooks=before_tool:parallel,before_tool:parallel,before_tool:parallel
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {}
           6 ItemAdded call write {}
           7 HooksAsked before_tool call 6: hook 0, 1, 2
             run hook 0@7
             run hook 1@7
             run hook 2@7
        > end stop
           8 SampleEnded stop
        > hook 0 deny not this one
           9 HookDecided h0 deny: not this one
        > hook 0 ask
          10 HookDecided h1 ask
        > hook 0 deny nor that one
          11 HookDecided h2 deny: nor that one
          12 CallDecided call 6 deny by hook
          13 CallObserved call 6 denied: not this one
          14 SampleStarted sample 2 attempt 1 because tool results
             run sample@14
    "#]]);
}

#[test]
fn a_price_without_a_budget_of_money_sets_none_aside() {
    check(expect![[r#"
        > open tokens=100000 price=1000000/100000/2000000
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 115 tokens set aside
             run sample@5
    "#]]);
}

#[test]
fn hooks_that_pass_an_answer_take_nothing_from_the_continuations() {
    check(expect![[r#"
        > open hooks=after_answer continuations=0
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {}
           6 ItemAdded call read {}
        > end stop
           7 SampleEnded stop
           8 HooksAsked after_answer 5: hook 0
             run hook 0@8
        > hook 0 pass
           9 HookDecided h0 pass
          10 CallDecided call 6 allow: the tool is read-only
          11 CallStarted call 6 attempt 1
             run call 6@11
        > done 0 ok
          12 CallObserved call 6 done: ok
          13 SampleStarted sample 2 attempt 1 because tool results
             run sample@13
    "#]]);
}

#[test]
fn what_a_hook_gives_with_a_steer_that_it_denies_is_for_nobody() {
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
        > steer and this
          12 InputQueued "and this", steer
        > done 0 ok
          13 CallObserved call 8 done: ok
          14 HooksAsked prompt_submitted input 12: hook 0
             run hook 0@14
        > hook 0 deny context=note not now
          15 HookDecided h0 deny: not now, context "note"
          16 InputBlocked input 12: not now
          17 SampleStarted sample 2 attempt 1 because tool results
             run sample@17
    "#]]);
}

#[test]
fn a_stop_does_not_wait_for_the_hooks_that_see_the_answer() {
    check(expect![[r#"
        > open hooks=after_answer
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {}
           6 ItemAdded call read {}
        > interrupt person
           7 InterruptRequested by person: enough
           8 CallObserved call 6 not_started: Not run: the turn was asked to stop before this call began.
             wind sample@5
    "#]]);
    check(expect![[r#"
        > open hooks=after_answer
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {}
           6 ItemAdded call read {}
        > end stop
           7 SampleEnded stop
           8 HooksAsked after_answer 5: hook 0
             run hook 0@8
        > interrupt person
           9 InterruptRequested by person: enough
          10 CallObserved call 6 not_started: Not run: the turn was asked to stop before this call began.
          11 TurnSettled interrupted by person
    "#]]);
}
