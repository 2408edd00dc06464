//! Hooks about a session: how it starts, that it is let go, and turns of another session.

use expect_test::expect;

use super::check;

#[test]
fn hooks_hear_that_a_session_starts() {
    check(expect![[r#"
        > open hooks=session_start
        > send one => first turn, of input 2
           4 HooksAsked session_start startup: hook 0 => runs
        > hook 0 pass context=the-branch-is-main
           5 HookDecided h0 pass, context "the-branch-is-main"
           6 ContextInjected of the hook at 5
           7 InputAccepted input 2 => sample@8
        > text hi => item 9
        > end stop => completed at 11
        > send two => turn, sample@15
    "#]]);
}

#[test]
fn hooks_hear_that_a_process_goes_on_with_a_session() {
    check(expect![[r#"
        > open hooks=session_start@resume
        > send one => first turn, sample@5
        > text hi => item 6
        > end stop => completed at 8
        > crash => log ends at 8
           9 SessionResumed
        > send two => turn of input 10
          12 HooksAsked session_start resume: hook 0 => runs
        > hook 0 pass context=welcome-back
          13 HookDecided h0 pass, context "welcome-back"
          14 ContextInjected of the hook at 13
          15 InputAccepted input 10 => sample@16
    "#]]);
}

#[test]
fn a_session_may_not_start() {
    check(expect![[r#"
        > open hooks=session_start
        > send one => first turn, of input 2
           4 HooksAsked session_start startup: hook 0 => runs
        > hook 0 deny the disk is full
           5 HookDecided h0 deny: the disk is full
           6 InputBlocked input 2: the disk is full
           7 TurnSettled blocked: the disk is full
        > send two => turn of input 8
          10 HooksAsked session_start startup: hook 0 => runs
        > hook 0 pass => passed at 11, input 8 accepted, sample@13
    "#]]);
}

#[test]
fn hooks_hear_that_a_session_is_let_go() {
    check(expect![[r#"
        > open hooks=session_end,session_end
        > send one => first turn, sample@5
        > text hi => item 6
        > end stop => completed at 8
        > close
           9 HooksAsked session_end: hook 0 => runs
        > hook 0 pass => passed at 10
          11 HooksAsked session_end: hook 1 => runs
        > hook 0 pass
          12 HookDecided h1 pass
    "#]]);
}

#[test]
fn while_a_turn_is_open_a_session_is_not_let_go() {
    check(expect![[r#"
        > open hooks=session_end
        > send one => first turn, sample@5
        > close
        > text hi => item 6
        > end stop => completed at 8
    "#]]);
}

#[test]
fn an_input_waits_for_the_hooks_of_the_end() {
    check(expect![[r#"
        > open hooks=session_end
           1 SessionOpened
        > close
           2 HooksAsked session_end: hook 0 => runs
        > send one => input 3
        > hook 0 pass => passed at 4
           5 TurnOpened because opened by input 3 => sample@7
        > text hi => item 8
        > end stop => completed at 10
        > close
          11 HooksAsked session_end: hook 0 => runs
    "#]]);
}

#[test]
fn a_restart_does_not_ask_the_hooks_of_the_end_again() {
    check(expect![[r#"
        > open hooks=session_end
           1 SessionOpened
        > close
           2 HooksAsked session_end: hook 0 => runs
        > crash => log ends at 2
           3 HookDecided h0 failed: hook h0 was cut short: its process ended
    "#]]);
}

#[test]
fn the_turn_of_a_child_has_points_of_its_own() {
    check(expect![[r#"
        > open child hooks=sub_turn_start,sub_turn_stop,stop
        > send one => first turn, of input 2
           4 HooksAsked sub_turn_start: hook 0 => runs
        > hook 0 pass context=you-are-a-helper
           5 HookDecided h0 pass, context "you-are-a-helper"
           6 ContextInjected of the hook at 5
           7 InputAccepted input 2 => sample@8
        > text hi => item 9
        > end stop => sample ended at 10
          11 HooksAsked sub_turn_stop 8 continued 0: hook 1 => runs
        > hook 0 deny say more
          12 HookDecided h1 deny: say more, context "say more"
          13 ContextInjected of the hook at 12
          14 SampleStarted sample 2 attempt 1 because hook context 12 => runs
        > text hi there => item 15
        > end stop => sample ended at 16
          17 HooksAsked sub_turn_stop 14 continued 1: hook 1 => runs
        > hook 0 pass
          18 HookDecided h1 pass
          19 TurnSettled completed
    "#]]);
}
