//! Orders of events that are rare: words that cross, hooks that are asked over a stop or a backoff.

use expect_test::expect;

use super::check;

#[test]
fn a_steer_in_a_backoff_waits_for_its_hook() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > fail server soon
           8 SampleCut server, about 115 tokens, next attempt in 250 ms
        > steer more => input 9
          10 HooksAsked prompt_submitted input 9: hook 0 => runs
        > wait 500
        > hook 0 pass => passed at 11
          12 InputAccepted input 9 => sample 2@13
    "#]]);
}

#[test]
fn an_overflow_is_not_retried_however_soon_that_may_be() {
    check(expect![[r#"
        > open window=1500
        > send x*800 => first turn, sample@5
        > text y*800 => item 6
        > end stop => completed at 8
        > send more => turn, sample@12
        > fail context_overflow soon
          13 SampleCut context_overflow, no further attempt
          14 CompactionStarted 1 attempt 1: overflow, clear to 802 bytes => runs
    "#]]);
}

#[test]
fn a_denial_without_a_word_says_that_a_person_said_no() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > asked 0 deny
          11 ApprovalAnswered call 7 deny by approver
          12 CallObserved call 7 denied: Denied by a person, who gave no reason. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
          13 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_compaction_that_ends_after_the_stop_is_late() {
    check(expect![[r#"
        > open window=1500 strategy=slide hooks=interrupt
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send more => turn of input 9
          11 CompactionStarted 1 attempt 1: window, slide to 2247 bytes => runs
        > interrupt person => request 12
          13 HooksAsked interrupt: hook 0 => runs
        > late 0
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
        > late 1
             rejected: the answer of the compaction at 11 came late: that run is no longer waited for
        > late 2
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
        > late 3
             rejected: the answer of the compaction at 11 came late: that run is no longer waited for
        > hook 0 pass => passed at 14
          15 TurnSettled interrupted by person, waiting: 9
    "#]]);
}

#[test]
fn hooks_that_see_an_answer_are_not_asked_again_after_a_stop() {
    check(expect![[r#"
        > open hooks=after_answer
        > send hello => first turn, sample@5
        > call read {} => call 6
        > end stop => sample ended at 7, hook 0@8 sees the answer of 5
        > interrupt person => request 9
          10 CallObserved call 6 not_started: Not run: the user interrupted the turn before this call began.
          11 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn a_read_only_call_that_may_not_run_again_has_changed_nothing() {
    check(expect![[r#"
        > open restarts=0
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9
          10 CallObserved call 6 aborted: Stopped: the process that ran this call ended. The tool changes nothing.
          11 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_steer_at_the_end_waits_for_its_hook() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > steer more => input 8
           9 HooksAsked prompt_submitted input 8: hook 0 => runs
        > text hi => item 10
        > end stop => sample ended at 11
        > interrupt person after => request 12
        > hook 0 pass => passed at 13
          14 TurnSettled interrupted by person, waiting: 8
    "#]]);
}

#[test]
fn a_steer_at_the_end_is_heard_after_its_hook() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > steer more => input 8
           9 HooksAsked prompt_submitted input 8: hook 0 => runs
        > text hi => item 10
        > end stop => sample ended at 11
        > wait 1
        > hook 0 pass => passed at 12
          13 InputAccepted input 8 => sample 2@14
    "#]]);
}

#[test]
fn a_hook_that_says_no_without_a_word_is_named_a_hook() {
    check(expect![[r#"
        > open hooks=before_tool
        > send hello => first turn, sample@5
        > call read {} => tool hook 0@7 for call 6
        > hook 0 deny
           8 HookDecided h0 deny
           9 CallDecided call 6 deny by hook
          10 CallObserved call 6 denied: Denied by a hook, which gave no reason. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
    "#]]);
}

#[test]
fn a_hook_that_leaves_nothing_of_a_prompt_has_failed() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass edit=
           5 HookDecided h0 failed: hook h0 leaves nothing of the prompt
           6 InputBlocked input 2: hook h0 leaves nothing of the prompt
           7 TurnSettled blocked: hook h0 leaves nothing of the prompt
    "#]]);
}

#[test]
fn a_hook_that_allows_other_arguments_cannot_allow_what_a_rule_denies() {
    check(expect![[r#"
        > open permissions=ask rules=deny:write(a=2) hooks=permission_request
        > send hello => first turn, people are asked, sample@6
        > call write {"a":1} => call 7
           8 CallDecided call 7 ask: the permissions ask first
           9 HooksAsked permission_request call 7: hook 0 => runs
        > hook 0 allow edit={"a":2}
          10 HookDecided h0 allow, edit "{\"a\":2}"
          11 CallDecided call 7 deny by rule
          12 CallObserved call 7 denied: Denied by a rule of the user, which forbids this call. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
    "#]]);
}

#[test]
fn a_hook_that_changes_arguments_into_what_a_rule_denies_denies() {
    check(expect![[r#"
        > open permissions=ask rules=deny:write(a=2) hooks=permission_request
        > send hello => first turn, people are asked, sample@6
        > call write {"a":1} => call 7
           8 CallDecided call 7 ask: the permissions ask first
           9 HooksAsked permission_request call 7: hook 0 => runs
        > hook 0 pass edit={"a":2}
          10 HookDecided h0 pass, edit "{\"a\":2}"
          11 CallDecided call 7 deny by rule
          12 CallObserved call 7 denied: Denied by a rule of the user, which forbids this call. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
    "#]]);
}
