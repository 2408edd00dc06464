//! Hooks about a turn as a whole: before and after the model, at its end, and when it is told to stop.

use expect_test::expect;

use super::check;

#[test]
fn a_hook_may_have_the_turn_go_on_at_its_end() {
    check(expect![[r#"
        > open hooks=stop
        > send hello => first turn, sample@5
        > text I am done. => item 6
        > end stop => sample ended at 7
           8 HooksAsked stop 5 continued 0: hook 0 => runs
        > hook 0 deny the tests do not pass
           9 HookDecided h0 deny: the tests do not pass, context "the tests do not pass"
          10 ContextInjected of the hook at 9
          11 SampleStarted sample 2 attempt 1 because hook context 9 => runs
        > text Now they do. => item 12
        > end stop => sample ended at 13
          14 HooksAsked stop 11 continued 1: hook 0 => runs
        > hook 0 pass => passed at 15
          16 TurnSettled completed
    "#]]);
}

#[test]
fn a_hook_that_never_lets_go_is_capped() {
    check(expect![[r#"
        > open hooks=stop continuations=1
        > send hello => first turn, sample@5
        > text I am done. => item 6
        > end stop => sample ended at 7
           8 HooksAsked stop 5 continued 0: hook 0 => runs
        > hook 0 deny
           9 HookDecided h0 deny, context "This is not enough; go on."
          10 ContextInjected of the hook at 9
          11 SampleStarted sample 2 attempt 1 because hook context 9 => runs
        > text I am done. => item 12
        > end stop => sample ended at 13
          14 HooksAsked stop 11 continued 1: hook 0 => runs
        > hook 0 deny
          15 HookDecided h0 deny, context "This is not enough; go on."
          16 TurnSettled exhausted: continuations
    "#]]);
}

#[test]
fn a_hook_sees_each_answer_and_may_ask_for_another_try() {
    check(expect![[r#"
        > open hooks=after_answer
        > send hello => first turn, sample@5
        > text I think so. => item 6
        > end stop => sample ended at 7, hook 0@8 sees the answer of 5
        > hook 0 deny say why
           9 HookDecided h0 deny: say why, context "say why"
          10 ContextInjected of the hook at 9
          11 SampleStarted sample 2 attempt 1 because hook context 9 => runs
        > text Because. => item 12
        > end stop => sample ended at 13, hook 0@14 sees the answer of 11
        > hook 0 pass => passed at 15
          16 TurnSettled completed
    "#]]);
}

#[test]
fn with_such_a_hook_calls_wait_for_its_word() {
    check(expect![[r#"
        > open hooks=after_answer
        > send hello => first turn, sample@5
        > text Let me look. => item 6
        > call read {} => call 7
        > end stop => sample ended at 8, hook 0@9 sees the answer of 5
        > hook 0 pass context=be-quick
          10 HookDecided h0 pass, context "be-quick"
          11 CallDecided call 7 allow: the tool is read-only
          12 CallStarted call 7 attempt 1 => runs
        > done 0 ok => call 7 observed at 13
          14 ContextInjected of the hook at 10
          15 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn an_answer_that_a_hook_refuses_runs_none_of_its_calls() {
    check(expect![[r#"
        > open hooks=after_answer
        > send hello => first turn, sample@5
        > call write {} => call 6
        > end stop => sample ended at 7, hook 0@8 sees the answer of 5
        > hook 0 deny no more changes
           9 HookDecided h0 deny: no more changes, context "no more changes"
          10 CallDecided call 6 deny by hook
          11 CallObserved call 6 denied: Denied by a hook: no more changes
          12 ContextInjected of the hook at 9
          13 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_hook_before_the_model_may_end_the_turn() {
    check(expect![[r#"
        > open hooks=before_sample
        > send hello => first turn, input 2 accepted at 4
           5 HooksAsked before_sample 1: hook 0 => runs
        > hook 0 pass context=mind-the-gap
           6 HookDecided h0 pass, context "mind-the-gap"
           7 ContextInjected of the hook at 6
           8 SampleStarted sample 1 attempt 1 because opened by input 2 => runs
        > call read {} => read-only call 9@11
        > end stop => sample ended at 12
        > done 0 ok => call 9 observed at 13
          14 HooksAsked before_sample 2: hook 0 => runs
        > hook 0 deny enough for today
          15 HookDecided h0 deny: enough for today
          16 TurnSettled blocked: enough for today
    "#]]);
}

#[test]
fn a_hook_halts_the_turn() {
    check(expect![[r#"
        > open hooks=after_tool
        > send hello => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > call write {"n":2} => permitted call 9@11
        > end stop => sample ended at 12
        > done 0 ok => call 6 observed at 13
          14 HooksAsked after_tool call 6: hook 0 => runs
        > hook 0 halt this is not what was meant
          15 HookDecided h0 halt: this is not what was meant
             wind call 9@11
        > aborted 0 stopped
          16 CallObserved call 9 aborted: stopped
          17 TurnSettled blocked: h0: this is not what was meant
    "#]]);
}

#[test]
fn context_beyond_the_budget_fails_loudly() {
    check(expect![[r#"
        > open hooks=before_sample,before_sample context_bytes=60
        > send hello => first turn, input 2 accepted at 4
           5 HooksAsked before_sample 1: hook 0 => runs
        > hook 0 pass context=short
           6 HookDecided h0 pass, context "short"
           7 HooksAsked before_sample 1: hook 1 => runs
        > hook 0 pass context=quite-a-bit-longer
           8 HookDecided h1 overrun: hook h1 gives the model 54 bytes of context, which makes 95 in this turn, and the limit is 60: let it say less, or raise the limit
           9 TurnSettled failed: hook: hook h1 gives the model 54 bytes of context, which makes 95 in this turn, and the limit is 60: let it say less, or raise the limit
    "#]]);
}

#[test]
fn hooks_hear_of_an_interrupt() {
    check(expect![[r#"
        > open hooks=interrupt
        > send hello => first turn, sample@5
        > interrupt person => request 6, wind sample@5
        > fail cancelled never half
           7 SampleCut cancelled, partial "half", what it said stands, stopped by person, about 129 tokens, no further attempt
           8 HooksAsked interrupt: hook 0 => runs
        > hook 0 pass => passed at 9
          10 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn hooks_that_hear_of_an_interrupt_have_its_grace() {
    check(expect![[r#"
        > open hooks=interrupt grace_ms=50
        > send hello => first turn, sample@5
        > interrupt person => request 6, wind sample@5
        > fail cancelled never
           7 SampleCut cancelled, about 115 tokens, no further attempt
           8 HooksAsked interrupt: hook 0 => runs
        > wait 49
        > wait 1
           9 HookDecided h0 failed: hook h0 did not answer in time
          10 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn after_a_stop_nobody_waits_for_a_hook() {
    check(expect![[r#"
        > open hooks=before_tool
        > send hello => first turn, sample@5
        > call write {} => tool hook 0@7 for call 6
        > end stop => sample ended at 8
        > interrupt person => request 9
          10 CallObserved call 6 not_started: Not run: the user interrupted the turn before this call began.
          11 TurnSettled interrupted by person
        > late 0
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
        > late 1
             rejected: the answer of the run at 7 of hook 0 came late: that run is no longer waited for
    "#]]);
}

#[test]
fn at_the_end_of_a_turn_all_hooks_are_asked_and_the_model_reads_each_reason() {
    check(expect![[r#"
        > open hooks=stop,stop,stop
        > send hello => first turn, sample@5
        > text Done. => item 6
        > end stop => sample ended at 7
           8 HooksAsked stop 5 continued 0: hook 0 => runs
        > hook 0 deny The tests fail.
           9 HookDecided h0 deny: The tests fail., context "The tests fail."
          10 HooksAsked stop 5 continued 0: hook 1 => runs
        > hook 1 pass
          11 HookDecided h1 pass
          12 HooksAsked stop 5 continued 0: hook 2 => runs
        > hook 2 deny The docs are old.
          13 HookDecided h2 deny: The docs are old., context "The docs are old."
          14 ContextInjected of the hook at 9
          15 ContextInjected of the hook at 13
          16 SampleStarted sample 2 attempt 1 because hook context 9 => runs
        > text Now it is. => item 17
        > end stop => sample ended at 18
          19 HooksAsked stop 16 continued 1: hook 0 => runs
        > hook 0 pass => passed at 20
          21 HooksAsked stop 16 continued 1: hook 1 => runs
        > hook 1 pass
          22 HookDecided h1 pass
          23 HooksAsked stop 16 continued 1: hook 2 => runs
        > hook 2 pass
          24 HookDecided h2 pass
          25 TurnSettled completed
    "#]]);
}

#[test]
fn at_the_end_of_a_turn_a_halt_beats_a_denial() {
    check(expect![[r#"
        > open hooks=stop,stop
        > send hello => first turn, sample@5
        > text Done. => item 6
        > end stop => sample ended at 7
           8 HooksAsked stop 5 continued 0: hook 0 => runs
        > hook 0 deny The tests fail.
           9 HookDecided h0 deny: The tests fail., context "The tests fail."
          10 HooksAsked stop 5 continued 0: hook 1 => runs
        > hook 1 halt Enough.
          11 HookDecided h1 halt: Enough.
          12 TurnSettled blocked: h1: Enough.
    "#]]);
}
