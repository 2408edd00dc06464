//! Hooks at calls: who is asked when, what they may change, and what their word counts for.

use expect_test::expect;

use super::check;

#[test]
fn a_hook_that_has_nothing_to_say_lets_a_call_pass() {
    check(expect![[r#"
        > open hooks=before_tool@write
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > call write {} => tool hook 0@10 for call 9
        > hook 0 pass => passed at 11
          12 CallDecided call 9 allow: the permissions allow it
          13 CallStarted call 9 attempt 1 => runs
        > end stop => sample ended at 14
    "#]]);
}

#[test]
fn a_denial_of_a_hook_is_what_the_model_hears() {
    check(expect![[r#"
        > open hooks=before_tool
        > send hello => first turn, sample@5
        > call write {} => tool hook 0@7 for call 6
        > end stop => sample ended at 8
        > hook 0 deny not in this folder
           9 HookDecided h0 deny: not in this folder
          10 CallDecided call 6 deny by hook
          11 CallObserved call 6 denied: Denied by a hook: not in this folder
          12 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn sequential_hooks_are_asked_one_by_one_and_see_what_was_changed() {
    check(expect![[r#"
        > open hooks=before_tool,before_tool
        > send hello => first turn, sample@5
        > call write {"a":1} => tool hook 0@7 for call 6
        > end stop => sample ended at 8
        > hook 0 pass edit={"a":2}
           9 HookDecided h0 pass, edit "{\"a\":2}"
          10 HooksAsked before_tool call 6: hook 1 => runs
        > hook 0 pass edit={"a":3}
          11 HookDecided h1 pass, edit "{\"a\":3}"
          12 CallDecided call 6 allow: the permissions allow it
          13 CallStarted call 6 attempt 1 => runs
        > done 0 ok => call 6 observed at 14, sample 2@15
    "#]]);
}

#[test]
fn parallel_hooks_are_asked_together_after_the_sequential_ones() {
    check(expect![[r#"
        > open hooks=before_tool:parallel,before_tool,before_tool:parallel
        > send hello => first turn, sample@5
        > call write {} => call 6
           7 HooksAsked before_tool call 6: hook 1 => runs
        > end stop => sample ended at 8
        > hook 0 pass context=first
           9 HookDecided h1 pass, context "first"
          10 HooksAsked before_tool call 6: hook 0, 2 => runs
             run hook 2@10
        > hook 1 pass context=third
          11 HookDecided h2 pass, context "third"
        > hook 0 pass context=second
          12 HookDecided h0 pass, context "second"
          13 CallDecided call 6 allow: the permissions allow it
          14 CallStarted call 6 attempt 1 => runs
        > done 0 ok => call 6 observed at 15
          16 ContextInjected of the hook at 12
          17 ContextInjected of the hook at 9
          18 ContextInjected of the hook at 11
          19 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_parallel_hook_changes_nothing() {
    check(expect![[r#"
        > open hooks=before_tool:parallel
        > send hello => first turn, sample@5
        > call write {} => tool hook 0@7 for call 6
        > end stop => sample ended at 8
        > hook 0 pass edit={}
           9 HookDecided h0 failed: hook h0 is declared parallel and changes something
          10 CallDecided call 6 deny by hook
          11 CallObserved call 6 denied: Denied by a hook: hook h0 is declared parallel and changes something
          12 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn deny_beats_ask_beats_allow() {
    check(expect![[r#"
        > open hooks=before_tool:parallel,before_tool:parallel,before_tool:parallel
        > send hello => first turn, sample@5
        > call write {"n":1} => call 6
           7 HooksAsked before_tool call 6: hook 0, 1, 2 => runs
             run hook 1@7
             run hook 2@7
        > call write {"n":2} => call 8
           9 HooksAsked before_tool call 8: hook 0, 1, 2 => runs
             run hook 1@9
             run hook 2@9
        > end stop => sample ended at 10
        > hook 0 deny no
          11 HookDecided h0 deny: no
        > hook 1 ask
          12 HookDecided h1 ask
        > hook 2 allow
          13 HookDecided h2 allow
          14 CallDecided call 6 deny by hook
          15 CallObserved call 6 denied: Denied by a hook: no
        > hook 0 allow
          16 HookDecided h0 allow
        > hook 1 pass
          17 HookDecided h2 pass
        > hook 2 ask
          18 HookDecided h1 ask
          19 CallDecided call 8 ask by hook: a hook asks first
          20 ApprovalAsked call 8, within 604800000 ms => runs
    "#]]);
}

#[test]
fn the_first_denial_ends_the_round() {
    check(expect![[r#"
        > open hooks=before_tool,before_tool
        > send hello => first turn, sample@5
        > call write {} => tool hook 0@7 for call 6
        > end stop => sample ended at 8
        > hook 0 deny no
           9 HookDecided h0 deny: no
          10 CallDecided call 6 deny by hook
          11 CallObserved call 6 denied: Denied by a hook: no
          12 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_failure_counts_as_it_is_declared() {
    check(expect![[r#"
        > open hooks=before_tool@write,before_tool:open@put
        > send hello => first turn, sample@5
        > call write {} => tool hook 0@7 for call 6
        > call put {} => call 8
           9 HooksAsked before_tool call 8: hook 1 => runs
        > end stop => sample ended at 10
        > hook 0 failed it took too long
          11 HookDecided h0 failed: it took too long
          12 CallDecided call 6 deny by hook
          13 CallObserved call 6 denied: Denied by a hook: it took too long
        > hook 0 failed it took too long
          14 HookDecided h1 failed: it took too long
          15 CallDecided call 8 allow: the permissions allow it
          16 CallStarted call 8 attempt 1 => runs
    "#]]);
}

#[test]
fn arguments_that_a_hook_breaks_fail_the_call() {
    check(expect![[r#"
        > open hooks=before_tool
        > send hello => first turn, sample@5
        > call write {} => tool hook 0@7 for call 6
        > end stop => sample ended at 8
        > hook 0 pass edit=[]
           9 HookDecided h0 pass, edit "[]" (the arguments are not a JSON object)
          10 CallObserved call 6 failed: Not run: the arguments that were put in the place of the model's cannot be used. the arguments are not a JSON object
          11 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn what_hooks_say_of_results_comes_after_them_in_call_order() {
    check(expect![[r#"
        > open hooks=after_tool
        > send hello => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > call read {"n":2} => read-only call 9@11
        > end stop => sample ended at 12
        > done 1 two => call 9 observed at 13
          14 HooksAsked after_tool call 9: hook 0 => runs
        > hook 0 deny check two again
          15 HookDecided h0 deny: check two again, context "check two again"
        > done 0 one => call 6 observed at 16
          17 HooksAsked after_tool call 6: hook 0 => runs
        > hook 0 pass context=one-is-fine
          18 HookDecided h0 pass, context "one-is-fine"
          19 ContextInjected of the hook at 18
          20 ContextInjected of the hook at 15
          21 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}
