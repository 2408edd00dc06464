//! Questions that are open: over restarts, deadlines, interrupts, hooks and other calls.

use expect_test::expect;

use super::check;

#[test]
fn a_question_outlives_its_process_and_the_tool_runs_once() {
    check(expect![[r#"
        > open permissions=ask approval_ms=100
        > send hello => first turn, people are asked, sample@6
        > call write {} => call 7
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 100 ms => runs
        > end stop => sample ended at 10
        > crash away=60
             the log ends at 10
          11 ApprovalAsked call 7, attempt 2, within 40 ms => runs
        > late 0
             rejected: the answer of the sample at 6 came late: that run is no longer waited for
        > answer 0 allow
          12 ApprovalAnswered call 7 allow by somebody
          13 CallStarted call 7 attempt 1 => runs
        > done 0 written => call 7 observed at 14, sample 2@15
        > wait 100
    "#]]);
}

#[test]
fn a_question_whose_time_ran_out_while_no_process_looked_is_denied() {
    check(expect![[r#"
        > open permissions=ask approval_ms=100
        > send hello => first turn, people are asked, sample@6
        > call write {} => call 7
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 100 ms => runs
        > end stop => sample ended at 10
        > crash away=100
             the log ends at 10
          11 ApprovalAnswered call 7 deny by the system: Denied: nobody answered in time.
          12 CallObserved call 7 denied: Denied: nobody answered in time. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
          13 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn an_interrupt_takes_the_question_back() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > interrupt person => request 11
          12 CallObserved call 7 not_started: Not run: the user interrupted the turn before this call began.
          13 TurnSettled interrupted by person
        > answer 0 allow
             rejected: nobody is asked about call 7: it was answered already, or never asked
    "#]]);
}

#[test]
fn a_hook_answers_in_the_place_of_a_person() {
    check(expect![[r#"
        > open permissions=ask hooks=permission_request
        > send hello => first turn, people are asked, sample@6
        > call write {"n":1} => call 7
           8 CallDecided call 7 ask: the permissions ask first
           9 HooksAsked permission_request call 7: hook 0 => runs
        > call write {"n":2} => call 10
          11 CallDecided call 10 ask: the permissions ask first
          12 HooksAsked permission_request call 10: hook 0 => runs
        > call write {"n":3} => call 13
          14 CallDecided call 13 ask: the permissions ask first
          15 HooksAsked permission_request call 13: hook 0 => runs
        > end stop => sample ended at 16
        > hook 0 allow
          17 HookDecided h0 allow
          18 CallDecided call 7 allow by hook: a hook allows it
          19 CallStarted call 7 attempt 1 => runs
        > hook 0 deny never
          20 HookDecided h0 deny: never
          21 CallDecided call 10 deny by hook
          22 CallObserved call 10 denied: Denied by a hook: never
        > hook 0 pass edit={"n":4}
          23 HookDecided h0 pass, edit "{\"n\":4}"
          24 ApprovalAsked call 13, within 604800000 ms => runs
        > asked 0 allow
          25 ApprovalAnswered call 13 allow by approver
          26 CallStarted call 13 attempt 1 => runs
    "#]]);
}

#[test]
fn other_calls_run_while_a_question_is_open() {
    check(expect![[r#"
        > open rules=ask:write
        > send hello => first turn, sample@5
        > call write {"n":1} => call 6
           7 CallDecided call 6 ask by rule: a rule asks first
           8 ApprovalAsked call 6, within 604800000 ms => runs
        > call put {"n":2} => permitted call 9@11
        > call shell {"n":3} => permitted call 12 decided
        > end stop => sample ended at 14
        > done 0 two => call 9 observed at 15
          16 CallStarted call 12 attempt 1 => runs
    "#]]);
}

#[test]
fn a_question_that_expired_while_nothing_ran_is_asked_again() {
    check(expect![[r#"
        > open permissions=ask approval_ms=604800000
        > send hello => first turn, people are asked, sample@6
        > call write {} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > crash away=604800001
             the log ends at 10
          11 ApprovalAsked call 7, attempt 2, within 604800000 ms => runs
        > answer 0 allow
          12 ApprovalAnswered call 7 allow by somebody
          13 CallStarted call 7 attempt 1 => runs
    "#]]);
}

#[test]
fn a_question_that_expired_shortly_before_denies_its_call() {
    check(expect![[r#"
        > open permissions=ask approval_ms=2000
        > send hello => first turn, people are asked, sample@6
        > call write {} => call 7
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 2000 ms => runs
        > end stop => sample ended at 10
        > crash away=3000
             the log ends at 10
          11 ApprovalAnswered call 7 deny by the system: Denied: nobody answered in time.
          12 CallObserved call 7 denied: Denied: nobody answered in time. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
          13 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}
