//! Questions that are open: over restarts, deadlines, interrupts, hooks and other calls.

use expect_test::expect;

use super::check;

#[test]
fn a_question_outlives_its_process_and_the_tool_runs_once() {
    check(expect![[r#"
        > open permissions=ask approval_ms=100
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
           9 ApprovalAsked call 7, within 100 ms
             run approval of call 7@9
        > end stop
          10 SampleEnded stop
        > crash away=60
             the log ends at 10
          11 ApprovalAsked call 7, attempt 2, within 40 ms
             run approval of call 7@11
        > late 0
             rejected: the answer of the sample at 6 came late: that run is no longer waited for
        > answer 0 allow
          12 ApprovalAnswered call 7 allow by somebody
          13 CallStarted call 7 attempt 1
             run call 7@13
        > done 0 written
          14 CallObserved call 7 done: written
          15 SampleStarted sample 2 attempt 1 because tool results
             run sample@15
        > wait 100
    "#]]);
}

#[test]
fn a_question_whose_time_ran_out_while_no_process_looked_is_denied() {
    check(expect![[r#"
        > open permissions=ask approval_ms=100
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
           9 ApprovalAsked call 7, within 100 ms
             run approval of call 7@9
        > end stop
          10 SampleEnded stop
        > crash away=100
             the log ends at 10
          11 ApprovalAnswered call 7 deny by the system: Denied: nobody answered in time.
          12 CallObserved call 7 denied: Denied: nobody answered in time.
          13 SampleStarted sample 2 attempt 1 because tool results
             run sample@13
    "#]]);
}

#[test]
fn an_interrupt_takes_the_question_back() {
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
        > interrupt person
          11 InterruptRequested by person: enough
          12 CallObserved call 7 not_started: Not run: the turn was asked to stop before this call began.
          13 TurnSettled interrupted by person
        > answer 0 allow
             rejected: nobody is asked about call 7: it was answered already, or never asked
    "#]]);
}

#[test]
fn a_hook_answers_in_the_place_of_a_person() {
    check(expect![[r#"
        > open permissions=ask hooks=permission_request
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {"n":1}
           7 ItemAdded call write {"n":1}
           8 CallDecided call 7 ask: the permissions ask first
           9 HooksAsked permission_request call 7: hook 0
             run hook 0@9
        > call write {"n":2}
          10 ItemAdded call write {"n":2}
          11 CallDecided call 10 ask: the permissions ask first
          12 HooksAsked permission_request call 10: hook 0
             run hook 0@12
        > call write {"n":3}
          13 ItemAdded call write {"n":3}
          14 CallDecided call 13 ask: the permissions ask first
          15 HooksAsked permission_request call 13: hook 0
             run hook 0@15
        > end stop
          16 SampleEnded stop
        > hook 0 allow
          17 HookDecided h0 allow
          18 CallDecided call 7 allow by hook: a hook allows it
          19 CallStarted call 7 attempt 1
             run call 7@19
        > hook 0 deny never
          20 HookDecided h0 deny: never
          21 CallDecided call 10 deny by hook
          22 CallObserved call 10 denied: never
        > hook 0 pass edit={"n":4}
          23 HookDecided h0 pass, edit "{\"n\":4}"
          24 ApprovalAsked call 13, within 604800000 ms
             run approval of call 13@24
        > asked 0 allow
          25 ApprovalAnswered call 13 allow by approver
          26 CallStarted call 13 attempt 1
             run call 13@26
    "#]]);
}

#[test]
fn other_calls_run_while_a_question_is_open() {
    check(expect![[r#"
        > open rules=ask:write
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {"n":1}
           6 ItemAdded call write {"n":1}
           7 CallDecided call 6 ask by rule: a rule asks first
           8 ApprovalAsked call 6, within 604800000 ms
             run approval of call 6@8
        > call put {"n":2}
           9 ItemAdded call put {"n":2}
          10 CallDecided call 9 allow: the permissions allow it
          11 CallStarted call 9 attempt 1
             run call 9@11
        > call shell {"n":3}
          12 ItemAdded call shell {"n":3}
          13 CallDecided call 12 allow: the permissions allow it
        > end stop
          14 SampleEnded stop
        > done 0 two
          15 CallObserved call 9 done: two
          16 CallStarted call 12 attempt 1
             run call 12@16
    "#]]);
}
