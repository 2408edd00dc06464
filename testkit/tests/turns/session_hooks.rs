//! Hooks about a session: how it starts, that it is let go, and turns of another session.

use expect_test::expect;

use super::check;

#[test]
fn hooks_hear_that_a_session_starts() {
    check(expect![[r#"
        > open hooks=session_start
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 HooksAsked session_start startup: hook 0
             run hook 0@4
        > hook 0 pass context=the-branch-is-main
           5 HookDecided h0 pass, context "the-branch-is-main"
           6 ContextInjected of the hook at 5
           7 InputAccepted input 2
           8 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@8
        > text hi
           9 ItemAdded text "hi"
        > end stop
          10 SampleEnded stop
          11 TurnSettled completed
        > send two
          12 InputQueued "two"
          13 TurnOpened because opened by input 12
          14 InputAccepted input 12
          15 SampleStarted sample 1 attempt 1 because opened by input 12
             run sample@15
    "#]]);
}

#[test]
fn hooks_hear_that_a_process_goes_on_with_a_session() {
    check(expect![[r#"
        > open hooks=session_start@resume
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
           8 TurnSettled completed
        > crash
             the log ends at 8
           9 SessionResumed
        > send two
          10 InputQueued "two"
          11 TurnOpened because opened by input 10
          12 HooksAsked session_start resume: hook 0
             run hook 0@12
        > hook 0 pass context=welcome-back
          13 HookDecided h0 pass, context "welcome-back"
          14 ContextInjected of the hook at 13
          15 InputAccepted input 10
          16 SampleStarted sample 1 attempt 1 because opened by input 10
             run sample@16
    "#]]);
}

#[test]
fn a_session_may_not_start() {
    check(expect![[r#"
        > open hooks=session_start
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 HooksAsked session_start startup: hook 0
             run hook 0@4
        > hook 0 deny the disk is full
           5 HookDecided h0 deny: the disk is full
           6 InputBlocked input 2: the disk is full
           7 TurnSettled blocked: the disk is full
        > send two
           8 InputQueued "two"
           9 TurnOpened because opened by input 8
          10 HooksAsked session_start startup: hook 0
             run hook 0@10
        > hook 0 pass
          11 HookDecided h0 pass
          12 InputAccepted input 8
          13 SampleStarted sample 1 attempt 1 because opened by input 8
             run sample@13
    "#]]);
}

#[test]
fn hooks_hear_that_a_session_is_let_go() {
    check(expect![[r#"
        > open hooks=session_end,session_end
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
           8 TurnSettled completed
        > close
           9 HooksAsked session_end: hook 0
             run hook 0@9
        > hook 0 pass
          10 HookDecided h0 pass
          11 HooksAsked session_end: hook 1
             run hook 1@11
        > hook 0 pass
          12 HookDecided h1 pass
    "#]]);
}

#[test]
fn while_a_turn_is_open_a_session_is_not_let_go() {
    check(expect![[r#"
        > open hooks=session_end
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > close
        > text hi
           6 ItemAdded text "hi"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
    "#]]);
}

#[test]
fn an_input_waits_for_the_hooks_of_the_end() {
    check(expect![[r#"
        > open hooks=session_end
           1 SessionOpened
        > close
           2 HooksAsked session_end: hook 0
             run hook 0@2
        > send one
           3 InputQueued "one"
        > hook 0 pass
           4 HookDecided h0 pass
           5 TurnOpened because opened by input 3
           6 InputAccepted input 3
           7 SampleStarted sample 1 attempt 1 because opened by input 3
             run sample@7
        > text hi
           8 ItemAdded text "hi"
        > end stop
           9 SampleEnded stop
          10 TurnSettled completed
        > close
          11 HooksAsked session_end: hook 0
             run hook 0@11
    "#]]);
}

#[test]
fn a_restart_does_not_ask_the_hooks_of_the_end_again() {
    check(expect![[r#"
        > open hooks=session_end
           1 SessionOpened
        > close
           2 HooksAsked session_end: hook 0
             run hook 0@2
        > crash
             the log ends at 2
           3 HookDecided h0 failed: hook h0 was cut short: its process ended
    "#]]);
}

#[test]
fn the_turn_of_a_child_has_points_of_its_own() {
    check(expect![[r#"
        > open child hooks=sub_turn_start,sub_turn_stop,stop
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 HooksAsked sub_turn_start: hook 0
             run hook 0@4
        > hook 0 pass context=you-are-a-helper
           5 HookDecided h0 pass, context "you-are-a-helper"
           6 ContextInjected of the hook at 5
           7 InputAccepted input 2
           8 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@8
        > text hi
           9 ItemAdded text "hi"
        > end stop
          10 SampleEnded stop
          11 HooksAsked sub_turn_stop 8 continued 0: hook 1
             run hook 1@11
        > hook 0 deny say more
          12 HookDecided h1 deny: say more, context "say more"
          13 ContextInjected of the hook at 12
          14 SampleStarted sample 2 attempt 1 because hook context 12
             run sample@14
        > text hi there
          15 ItemAdded text "hi there"
        > end stop
          16 SampleEnded stop
          17 HooksAsked sub_turn_stop 14 continued 1: hook 1
             run hook 1@17
        > hook 0 pass
          18 HookDecided h1 pass
          19 TurnSettled completed
    "#]]);
}
