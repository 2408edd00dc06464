//! Orders of events that are rare: words that cross, hooks that are asked over a stop or a backoff.

use expect_test::expect;

use super::check;

#[test]
fn a_steer_in_a_backoff_waits_for_its_hook() {
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
        > fail server soon
           8 SampleCut server, next attempt in 250 ms
        > steer more
           9 InputQueued "more", steer
          10 HooksAsked prompt_submitted input 9: hook 0
             run hook 0@10
        > wait 500
        > hook 0 pass
          11 HookDecided h0 pass
          12 InputAccepted input 9
          13 SampleStarted sample 2 attempt 1 because pending input 9
             run sample@13
    "#]]);
}

#[test]
fn an_overflow_is_not_retried_however_soon_that_may_be() {
    check(expect![[r#"
        > open window=1500
           1 SessionOpened
        > send x*800
           2 InputQueued "x*800"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text y*800
           6 ItemAdded text "y*800"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send more
           9 InputQueued "more"
          10 TurnOpened because opened by input 9
          11 InputAccepted input 9
          12 SampleStarted sample 1 attempt 1 because opened by input 9
             run sample@12
        > fail context_overflow soon
          13 SampleCut context_overflow, no further attempt
          14 CompactionStarted 1 attempt 1: overflow, clear to 802 bytes
             run compact@14
    "#]]);
}

#[test]
fn a_denial_without_a_word_says_that_a_person_said_no() {
    check(expect![[r#"
        > open permissions=ask
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {}
           7 ItemAdded call write {}
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 604800000 ms
             run approval of call 7@9
        > end stop
          10 SampleEnded stop
        > asked 0 deny
          11 ApprovalAnswered call 7 deny by approver: Denied: a person said no.
          12 CallObserved call 7 denied: Denied: a person said no.
          13 SampleStarted sample 2 attempt 1 because tool results
             run sample@13
    "#]]);
}

#[test]
fn a_compaction_that_ends_after_the_stop_is_late() {
    check(expect![[r#"
        > open window=1500 strategy=slide hooks=interrupt
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
          11 CompactionStarted 1 attempt 1: window, slide to 1609 bytes
             run compact@11
        > interrupt person
          12 InterruptRequested by person: enough
          13 HooksAsked interrupt: hook 0
             run hook 0@13
        > late 0
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
        > late 1
             rejected: the answer of the compaction at 11 came late: that run is no longer waited for
        > late 2
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
        > late 3
             rejected: the answer of the compaction at 11 came late: that run is no longer waited for
        > hook 0 pass
          14 HookDecided h0 pass
          15 TurnSettled interrupted by person, waiting: 9
    "#]]);
}

#[test]
fn hooks_that_see_an_answer_are_not_asked_again_after_a_stop() {
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

#[test]
fn a_read_only_call_that_may_not_run_again_has_changed_nothing() {
    check(expect![[r#"
        > open restarts=0
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
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
        > crash
             the log ends at 9
          10 CallObserved call 6 aborted: Stopped: the process that ran this call ended. The tool changes nothing.
          11 SampleStarted sample 2 attempt 1 because tool results
             run sample@11
    "#]]);
}

#[test]
fn a_steer_at_the_end_waits_for_its_hook() {
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
        > steer more
           8 InputQueued "more", steer
             yield sample@7
        > text hi
           9 ItemAdded text "hi"
        > end stop
          10 SampleEnded stop
          11 HooksAsked prompt_submitted input 8: hook 0
             run hook 0@11
        > interrupt person after
          12 InterruptRequested by person, after the step: enough
        > hook 0 pass
          13 HookDecided h0 pass
          14 TurnSettled interrupted by person, waiting: 8
    "#]]);
}

#[test]
fn a_steer_at_the_end_is_heard_after_its_hook() {
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
        > steer more
           8 InputQueued "more", steer
             yield sample@7
        > text hi
           9 ItemAdded text "hi"
        > end stop
          10 SampleEnded stop
          11 HooksAsked prompt_submitted input 8: hook 0
             run hook 0@11
        > wait 1
        > hook 0 pass
          12 HookDecided h0 pass
          13 InputAccepted input 8
          14 SampleStarted sample 2 attempt 1 because pending input 8
             run sample@14
    "#]]);
}

#[test]
fn a_hook_that_says_no_without_a_word_is_named_a_hook() {
    check(expect![[r#"
        > open hooks=before_tool
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {}
           6 ItemAdded call read {}
           7 HooksAsked before_tool call 6: hook 0
             run hook 0@7
        > hook 0 deny
           8 HookDecided h0 deny
           9 CallDecided call 6 deny by hook
          10 CallObserved call 6 denied: Denied: a hook said no.
    "#]]);
}

#[test]
fn a_hook_that_leaves_nothing_of_a_prompt_has_failed() {
    check(expect![[r#"
        > open hooks=prompt_submitted
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 HooksAsked prompt_submitted input 2: hook 0
             run hook 0@4
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
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {"a":1}
           7 ItemAdded call write {"a":1}
           8 CallDecided call 7 ask: the permissions ask first
           9 HooksAsked permission_request call 7: hook 0
             run hook 0@9
        > hook 0 allow edit={"a":2}
          10 HookDecided h0 allow, edit "{\"a\":2}"
          11 CallDecided call 7 deny by rule
          12 CallObserved call 7 denied: Denied: a rule of the user forbids this call.
    "#]]);
}

#[test]
fn a_hook_that_changes_arguments_into_what_a_rule_denies_denies() {
    check(expect![[r#"
        > open permissions=ask rules=deny:write(a=2) hooks=permission_request
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {"a":1}
           7 ItemAdded call write {"a":1}
           8 CallDecided call 7 ask: the permissions ask first
           9 HooksAsked permission_request call 7: hook 0
             run hook 0@9
        > hook 0 pass edit={"a":2}
          10 HookDecided h0 pass, edit "{\"a\":2}"
          11 CallDecided call 7 deny by rule
          12 CallObserved call 7 denied: Denied: a rule of the user forbids this call.
    "#]]);
}
