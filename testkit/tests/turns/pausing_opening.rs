//! Asked to stop after the step before anything was let in: nothing is.

use expect_test::expect;

use super::check;

#[test]
fn what_is_not_let_in_yet_waits() {
    check(expect![[r#"
        > open hooks=prompt_submitted
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 HooksAsked prompt_submitted input 2: hook 0
             run hook 0@4
        > interrupt person after
           5 InterruptRequested by person, after the step: enough
        > hook 0 pass
           6 HookDecided h0 pass
           7 TurnSettled interrupted by person, waiting: 2
        > continue
           8 TurnOpened because opened by input 2
           9 HooksAsked prompt_submitted input 2: hook 0
             run hook 0@9
        > hook 0 pass
          10 HookDecided h0 pass
          11 InputAccepted input 2
          12 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@12
        > text hi
          13 ItemAdded text "hi"
        > end stop
          14 SampleEnded stop
          15 TurnSettled completed
    "#]]);
}

#[test]
fn what_hooks_keep_out_is_kept_out() {
    check(expect![[r#"
        > open hooks=prompt_submitted
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 HooksAsked prompt_submitted input 2: hook 0
             run hook 0@4
        > send next
           5 InputQueued "next"
        > interrupt person after
           6 InterruptRequested by person, after the step: enough
        > hook 0 deny no
           7 HookDecided h0 deny: no
           8 InputBlocked input 2: no
           9 TurnSettled blocked: no, waiting: 5
        > continue
          10 TurnOpened because opened by input 5
          11 HooksAsked prompt_submitted input 5: hook 0
             run hook 0@11
    "#]]);
}

#[test]
fn hooks_of_the_beginning_are_heard_and_no_others_asked() {
    check(expect![[r#"
        > open hooks=session_start,prompt_submitted,interrupt
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 HooksAsked session_start startup: hook 0
             run hook 0@4
        > interrupt person after
           5 InterruptRequested by person, after the step: enough
        > hook 0 pass
           6 HookDecided h0 pass
           7 HooksAsked interrupt: hook 2
             run hook 2@7
        > hook 0 pass
           8 HookDecided h2 pass
           9 TurnSettled interrupted by person, waiting: 2
    "#]]);
}

#[test]
fn no_compaction_begins() {
    check(expect![[r#"
        > open child hooks=sub_turn_start window=1500 strategy=slide
           1 SessionOpened
        > send x*1600
           2 InputQueued "x*1600"
           3 TurnOpened because opened by input 2
           4 HooksAsked sub_turn_start: hook 0
             run hook 0@4
        > hook 0 pass
           5 HookDecided h0 pass
           6 InputAccepted input 2
           7 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@7
        > text y*2000
           8 ItemAdded text "y*2000"
        > end stop
           9 SampleEnded stop
          10 TurnSettled completed
        > send what was it?
          11 InputQueued "what was it?"
          12 TurnOpened because opened by input 11
          13 HooksAsked sub_turn_start: hook 0
             run hook 0@13
        > interrupt person after
          14 InterruptRequested by person, after the step: enough
        > hook 0 pass
          15 HookDecided h0 pass
          16 TurnSettled interrupted by person, waiting: 11
    "#]]);
}

#[test]
fn a_compaction_that_runs_may_end() {
    check(expect![[r#"
        > open window=1500 strategy=slide
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
        > send what was it?
           9 InputQueued "what was it?"
          10 TurnOpened because opened by input 9
          11 CompactionStarted 1 attempt 1: window, slide to 1606 bytes
             run compact@11
        > interrupt person after
          12 InterruptRequested by person, after the step: enough
        > compacted
          13 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"", leaves 275 bytes in 1 items
          14 TurnSettled interrupted by person, waiting: 9
        > continue
          15 TurnOpened because opened by input 9
          16 InputAccepted input 9
          17 SampleStarted sample 1 attempt 1 because opened by input 9
             run sample@17
    "#]]);
}

#[test]
fn the_turn_of_a_goal_does_not_begin() {
    check(expect![[r#"
        > open child hooks=sub_turn_start
           1 SessionOpened
        > goal turns=3 make the tests pass
           2 GoalSet "make the tests pass", 3 turns
        > send begin
           3 InputQueued "begin"
           4 TurnOpened because opened by input 3
           5 HooksAsked sub_turn_start: hook 0
             run hook 0@5
        > hook 0 pass
           6 HookDecided h0 pass
           7 InputAccepted input 3
           8 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@8
        > text I have begun.
           9 ItemAdded text "I have begun."
        > end stop
          10 SampleEnded stop
          11 TurnSettled completed
          12 TurnOpened because goal 2
          13 HooksAsked sub_turn_start: hook 0
             run hook 0@13
        > interrupt person after
          14 InterruptRequested by person, after the step: enough
        > hook 0 pass
          15 HookDecided h0 pass
          16 TurnSettled interrupted by person
    "#]]);
}
