//! Hooks whose process ended: those that have not spoken are asked again, the others are not.

use expect_test::expect;

use super::check;

#[test]
fn a_restart_asks_those_that_have_not_spoken() {
    check(expect![[r#"
        > open hooks=before_tool:parallel,before_tool:parallel
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {}
           6 ItemAdded call write {}
           7 HooksAsked before_tool call 6: hook 0, 1
             run hook 0@7
             run hook 1@7
        > end stop
           8 SampleEnded stop
        > hook 0 pass context=heard
           9 HookDecided h0 pass, context "heard"
        > crash
             the log ends at 9
          10 HooksAsked before_tool call 6: hook 1, attempt 2
             run hook 1@10
        > hook 0 pass
          11 HookDecided h1 pass
          12 CallDecided call 6 allow: the permissions allow it
          13 CallStarted call 6 attempt 1
             run call 6@13
        > done 0 ok
          14 CallObserved call 6 done: ok
          15 ContextInjected of the hook at 9
          16 SampleStarted sample 2 attempt 1 because tool results
             run sample@16
    "#]]);
}

#[test]
fn a_restart_does_not_ask_again_who_has_spoken() {
    check(expect![[r#"
        > open hooks=prompt_submitted
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 HooksAsked prompt_submitted input 2: hook 0
             run hook 0@4
        > hook 0 pass edit=bye
           5 HookDecided h0 pass, edit "bye"
           6 InputAccepted input 2
           7 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@7
        > crash
             the log ends at 7
           8 SampleCut restart, next attempt in 0 ms
           9 SampleStarted sample 1 attempt 2 because retry
             run sample@9
    "#]]);
}

#[test]
fn restarts_of_a_hook_are_limited() {
    check(expect![[r#"
        > open hooks=before_tool restarts=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {}
           6 ItemAdded call write {}
           7 HooksAsked before_tool call 6: hook 0
             run hook 0@7
        > end stop
           8 SampleEnded stop
        > crash
             the log ends at 8
           9 HooksAsked before_tool call 6: hook 0, attempt 2
             run hook 0@9
        > crash
             the log ends at 9
          10 HookDecided h0 failed: hook h0 was cut short: its process ended
          11 CallDecided call 6 deny by hook
          12 CallObserved call 6 denied: hook h0 was cut short: its process ended
          13 SampleStarted sample 2 attempt 1 because tool results
             run sample@13
    "#]]);
}

#[test]
fn a_hook_whose_call_does_not_stand_is_not_asked_again() {
    check(expect![[r#"
        > open hooks=before_tool
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {}
           6 ItemAdded call write {}
           7 HooksAsked before_tool call 6: hook 0
             run hook 0@7
        > crash
             the log ends at 7
           8 SampleCut restart, next attempt in 0 ms
           9 SampleStarted sample 1 attempt 2 because retry
             run sample@9
    "#]]);
}
