//! No way around: what a hook, a rule, a budget or the time of a turn says holds at its edges too.

use expect_test::expect;

use super::check;

#[test]
fn only_the_turn_itself_says_that_its_time_is_over() {
    check(expect![[r#"
        > open hooks=prompt_submitted
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 HooksAsked prompt_submitted input 2: hook 0
             run hook 0@4
        > interrupt deadline
             rejected: a deadline is the turn's own affair: set `turn_ms`, or interrupt as somebody
        > hook 0 pass
           5 HookDecided h0 pass
           6 InputAccepted input 2
           7 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@7
    "#]]);
}

#[test]
fn a_turn_whose_time_is_over_before_its_input_is_let_in_leaves_it_waiting() {
    check(expect![[r#"
        > open hooks=prompt_submitted turn_ms=1000
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 HooksAsked prompt_submitted input 2: hook 0
             run hook 0@4
        > wait 1000
           5 InterruptRequested by deadline: the turn has run for 1000 ms, which is its limit
           6 TurnSettled exhausted: wall_clock, waiting: 2
        > continue
           7 TurnOpened because opened by input 2
           8 HooksAsked prompt_submitted input 2: hook 0
             run hook 0@8
        > hook 0 pass
           9 HookDecided h0 pass
          10 InputAccepted input 2
          11 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@11
    "#]]);
}

#[test]
fn the_time_of_a_turn_counts_while_hooks_are_asked_whether_it_may_end() {
    check(expect![[r#"
        > open hooks=stop turn_ms=1000
           1 SessionOpened
        > send one
           2 InputQueued "one"
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
        > wait 1000
           9 InterruptRequested by deadline: the turn has run for 1000 ms, which is its limit
          10 TurnSettled exhausted: wall_clock
        > hook 0 deny more
    "#]]);
}

#[test]
fn a_rule_denies_the_call_that_says_that_the_goal_is_met() {
    check(expect![[r#"
        > open rules=deny:goal_met
           1 SessionOpened
        > goal turns=3 do it
           2 GoalSet "do it", 3 turns
        > send go
           3 InputQueued "go"
           4 TurnOpened because opened by input 3
           5 InputAccepted input 3
           6 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@6
        > call goal_met {}
           7 ItemAdded call goal_met {}
           8 CallDecided call 7 deny by rule
           9 CallObserved call 7 denied: Denied: a rule of the user forbids this call.
        > end stop
          10 SampleEnded stop
          11 SampleStarted sample 2 attempt 1 because tool results
             run sample@11
    "#]]);
}

#[test]
fn a_hook_denies_the_answer_that_says_that_the_goal_is_met() {
    check(expect![[r#"
        > open hooks=after_answer
           1 SessionOpened
        > goal turns=3 do it
           2 GoalSet "do it", 3 turns
        > send go
           3 InputQueued "go"
           4 TurnOpened because opened by input 3
           5 InputAccepted input 3
           6 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@6
        > call goal_met {}
           7 ItemAdded call goal_met {}
        > end stop
           8 SampleEnded stop
           9 HooksAsked after_answer 6: hook 0
             run hook 0@9
        > hook 0 deny not yet
          10 HookDecided h0 deny: not yet, context "not yet"
          11 CallDecided call 7 deny by hook
          12 CallObserved call 7 denied: not yet
          13 ContextInjected of the hook at 10
          14 SampleStarted sample 2 attempt 1 because tool results
             run sample@14
    "#]]);
}

#[test]
fn what_a_hook_gives_at_the_start_outlives_a_blocked_prompt() {
    check(expect![[r#"
        > open hooks=session_start@startup,prompt_submitted
           1 SessionOpened
        > send bad
           2 InputQueued "bad"
           3 TurnOpened because opened by input 2
           4 HooksAsked session_start startup: hook 0
             run hook 0@4
        > hook 0 pass context=the-branch-is-main
           5 HookDecided h0 pass, context "the-branch-is-main"
           6 HooksAsked prompt_submitted input 2: hook 1
             run hook 1@6
        > hook 0 deny no
           7 HookDecided h1 deny: no
           8 InputBlocked input 2: no
           9 TurnSettled blocked: no
        > crash
             the log ends at 9
          10 SessionResumed
        > send good
          11 InputQueued "good"
          12 TurnOpened because opened by input 11
          13 HooksAsked prompt_submitted input 11: hook 1
             run hook 1@13
        > hook 0 pass
          14 HookDecided h1 pass
          15 ContextInjected of the hook at 5
          16 InputAccepted input 11
          17 SampleStarted sample 1 attempt 1 because opened by input 11
             run sample@17
    "#]]);
}

#[test]
fn a_session_that_is_resumed_in_the_middle_of_a_turn_says_so_to_its_hooks() {
    check(expect![[r#"
        > open hooks=session_start@resume
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > crash
             the log ends at 5
           6 SessionResumed
           7 SampleCut restart, next attempt in 0 ms
           8 SampleStarted sample 1 attempt 2 because retry
             run sample@8
        > text hi
           9 ItemAdded text "hi"
        > end stop
          10 SampleEnded stop
          11 TurnSettled completed
        > send two
          12 InputQueued "two"
          13 TurnOpened because opened by input 12
          14 HooksAsked session_start resume: hook 0
             run hook 0@14
        > hook 0 pass context=back-again
          15 HookDecided h0 pass, context "back-again"
          16 ContextInjected of the hook at 15
          17 InputAccepted input 12
          18 SampleStarted sample 1 attempt 1 because opened by input 12
             run sample@18
    "#]]);
}

#[test]
fn a_hook_that_fails_after_a_compaction_and_counts_as_a_denial_ends_the_turn() {
    check(expect![[r#"
        > open window=600 strategy=slide hooks=after_compaction
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text x*1500
           6 ItemAdded text "x*1500"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send two
           9 InputQueued "two"
          10 TurnOpened because opened by input 9
          11 CompactionStarted 1 attempt 1: window, slide to 437 bytes
             run compact@11
        > compacted
          12 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRe...", leaves 109 bytes in 1 items
          13 HooksAsked after_compaction 12 window: hook 0
             run hook 0@13
        > hook 0 failed it-broke
          14 HookDecided h0 failed: it-broke
          15 InputAccepted input 9
          16 TurnSettled blocked: it-broke
    "#]]);
}

#[test]
fn tokens_that_nobody_reports_are_charged_as_they_were_set_aside() {
    check(expect![[r#"
        > open tokens=400
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 114 tokens set aside
             run sample@5
        > call read {}
           6 ItemAdded call read {}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > end stop
           9 SampleEnded stop
        > done 0 x*300
          10 CallObserved call 6 done: x*300
          11 SampleStarted sample 2 attempt 1 because tool results, 240 tokens set aside
             run sample@11
        > call read {}
          12 ItemAdded call read {}
          13 CallDecided call 12 allow: the tool is read-only
          14 CallStarted call 12 attempt 1
             run call 12@14
        > end stop
          15 SampleEnded stop
        > done 0 x*300
          16 CallObserved call 12 done: x*300
          17 TurnSettled exhausted: tokens
    "#]]);
}

#[test]
fn a_summary_that_the_budget_leaves_no_room_for_is_not_asked_for() {
    check(expect![[r#"
        > open window=600 strategy=summary tokens=500
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 114 tokens set aside
             run sample@5
        > text x*1500
           6 ItemAdded text "x*1500"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send two
           9 InputQueued "two"
          10 TurnOpened because opened by input 9
          11 CompactionStarted 1 attempt 1: window, slide to 437 bytes
             run compact@11
        > compacted
          12 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRe...", leaves 109 bytes in 1 items
          13 InputAccepted input 9
          14 SampleStarted sample 1 attempt 1 because opened by input 9, 163 tokens set aside
             run sample@14
        > text ok
          15 ItemAdded text "ok"
        > end stop
          16 SampleEnded stop
          17 TurnSettled completed
    "#]]);
}

#[test]
fn an_answer_with_calls_is_denied_as_often_as_hooks_may_have_the_model_go_on() {
    check(expect![[r#"
        > open continuations=1 hooks=after_answer
           1 SessionOpened
        > send one
           2 InputQueued "one"
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
        > hook 0 deny another-way
           9 HookDecided h0 deny: another-way, context "another-way"
          10 CallDecided call 6 deny by hook
          11 CallObserved call 6 denied: another-way
          12 ContextInjected of the hook at 9
          13 SampleStarted sample 2 attempt 1 because tool results
             run sample@13
        > call read {}
          14 ItemAdded call read {}
        > end stop
          15 SampleEnded stop
          16 HooksAsked after_answer 13: hook 0
             run hook 0@16
        > hook 0 deny another-way
          17 HookDecided h0 deny: another-way, context "another-way"
          18 CallDecided call 14 deny by hook
          19 CallObserved call 14 denied: another-way
          20 TurnSettled exhausted: continuations
    "#]]);
}

#[test]
fn a_hook_that_is_told_of_an_interrupt_does_not_change_how_the_turn_ends() {
    check(expect![[r#"
        > open hooks=interrupt
           1 SessionOpened
        > send one
           2 InputQueued "one"
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
        > interrupt person after
          10 InterruptRequested by person, after the step: enough
        > done 0 ok
          11 CallObserved call 6 done: ok
          12 HooksAsked interrupt: hook 0
             run hook 0@12
        > hook 0 halt nope
          13 HookDecided h0 halt: nope
          14 TurnSettled interrupted by person
    "#]]);
}
