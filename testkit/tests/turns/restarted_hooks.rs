//! Hooks whose process ended: those that have not spoken are asked again, the others are not.

use expect_test::expect;

use super::check;

#[test]
fn a_restart_asks_those_that_have_not_spoken() {
    check(expect![[r#"
        > open hooks=before_tool:parallel,before_tool:parallel
        > send hello => first turn, sample@5
        > call write {} => call 6
           7 HooksAsked before_tool call 6: hook 0, 1 => runs
             run hook 1@7
        > end stop => sample ended at 8
        > hook 0 pass context=heard
           9 HookDecided h0 pass, context "heard"
        > crash => log ends at 9
          10 HooksAsked before_tool call 6: hook 1, attempt 2 => runs
        > hook 0 pass
          11 HookDecided h1 pass
          12 CallDecided call 6 allow: the permissions allow it
          13 CallStarted call 6 attempt 1 => runs
        > done 0 ok => call 6 observed at 14
          15 ContextInjected of the hook at 9
          16 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_restart_does_not_ask_again_who_has_spoken() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass edit=bye
           5 HookDecided h0 pass, edit "bye"
           6 InputAccepted input 2 => sample@7
        > crash => log ends at 7
           8 SampleCut restart, about 114 tokens, next attempt in 0 ms
           9 SampleStarted sample 1 attempt 2 because retry => runs
    "#]]);
}

#[test]
fn restarts_of_a_hook_are_limited() {
    check(expect![[r#"
        > open hooks=before_tool restarts=1
        > send hello => first turn, sample@5
        > call write {} => tool hook 0@7 for call 6
        > end stop => sample ended at 8
        > crash => log ends at 8
           9 HooksAsked before_tool call 6: hook 0, attempt 2 => runs
        > crash => log ends at 9
          10 HookDecided h0 failed: hook h0 was cut short: its process ended
          11 CallDecided call 6 deny by hook
          12 CallObserved call 6 denied: Denied by a hook: hook h0 was cut short: its process ended
          13 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_hook_whose_call_does_not_stand_is_not_asked_again() {
    check(expect![[r#"
        > open hooks=before_tool
        > send hello => first turn, sample@5
        > call write {} => tool hook 0@7 for call 6
        > crash => log ends at 7
           8 SampleCut restart, about 130 tokens, next attempt in 0 ms
           9 SampleStarted sample 1 attempt 2 because retry => runs
    "#]]);
}
