//! Dry runs: every gate runs and is recorded, and the tools say what they would do.

use expect_test::expect;

use super::check;

#[test]
fn gates_run_and_the_tool_plans() {
    check(expect![[r#"
        > open permissions=ask hooks=before_tool@write
           1 SessionOpened
        > send dry hello
           2 InputQueued "hello", dry run
           3 TurnOpened because opened by input 2, dry run
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call read {"n":1}
           7 ItemAdded call read {"n":1}
           8 CallDecided call 7 allow: the tool is read-only
           9 CallStarted call 7 attempt 1
             run call 7@9
        > call write {"n":2}
          10 ItemAdded call write {"n":2}
          11 HooksAsked before_tool call 10: hook 0
             run hook 0@11
        > end stop
          12 SampleEnded stop
        > hook 0 pass
          13 HookDecided h0 pass
          14 CallDecided call 10 ask: the permissions ask first
          15 ApprovalAsked call 10, within 604800000 ms
             run approval of call 10@15
        > asked 0 allow
          16 ApprovalAnswered call 10 allow by approver
          17 CallStarted call 10 attempt 1, plan
             run call 10@17
        > done 0 one
          18 CallObserved call 7 done: one
        > not_started 0 Would write 2.
          19 CallObserved call 10 not_started: Would write 2.
          20 SampleStarted sample 2 attempt 1 because tool results
             run sample@20
    "#]]);
}

#[test]
fn what_is_denied_is_not_even_planned() {
    check(expect![[r#"
        > open rules=deny:shell
           1 SessionOpened
        > send dry hello
           2 InputQueued "hello", dry run
           3 TurnOpened because opened by input 2, dry run
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call shell {}
           6 ItemAdded call shell {}
           7 CallDecided call 6 deny by rule
           8 CallObserved call 6 denied: Denied: a rule of the user forbids this call.
        > end stop
           9 SampleEnded stop
          10 SampleStarted sample 2 attempt 1 because tool results
             run sample@10
    "#]]);
}

#[test]
fn a_plan_may_be_made_again_after_a_restart() {
    check(expect![[r#"
           1 SessionOpened
        > send dry hello
           2 InputQueued "hello", dry run
           3 TurnOpened because opened by input 2, dry run
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {}
           6 ItemAdded call write {}
           7 CallDecided call 6 allow: the permissions allow it
           8 CallStarted call 6 attempt 1, plan
             run call 6@8
        > end stop
           9 SampleEnded stop
        > crash
             the log ends at 9
          10 CallStarted call 6 attempt 2, plan
             run call 6@10
        > not_started 0 Would write.
          11 CallObserved call 6 not_started: Would write.
          12 SampleStarted sample 2 attempt 1 because tool results
             run sample@12
    "#]]);
}

#[test]
fn a_dry_steer_to_a_turn_that_runs_for_real_is_planned_in_the_next() {
    check(expect![[r#"
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > steer dry what would you do
           6 InputQueued "what would you do", follow-up, dry run
        > text hi
           7 ItemAdded text "hi"
        > end stop
           8 SampleEnded stop
           9 TurnSettled completed, waiting: 6
          10 TurnOpened because opened by input 6, dry run
          11 InputAccepted input 6
          12 SampleStarted sample 1 attempt 1 because opened by input 6
             run sample@12
        > call write {}
          13 ItemAdded call write {}
          14 CallDecided call 13 allow: the permissions allow it
          15 CallStarted call 13 attempt 1, plan
             run call 13@15
        > end stop
          16 SampleEnded stop
    "#]]);
}

#[test]
fn a_steer_does_not_turn_a_dry_run_into_another() {
    check(expect![[r#"
           1 SessionOpened
        > send dry hello
           2 InputQueued "hello", dry run
           3 TurnOpened because opened by input 2, dry run
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {}
           6 ItemAdded call write {}
           7 CallDecided call 6 allow: the permissions allow it
           8 CallStarted call 6 attempt 1, plan
             run call 6@8
        > end stop
           9 SampleEnded stop
        > steer now do it
          10 InputQueued "now do it", steer
        > not_started 0 Would write.
          11 CallObserved call 6 not_started: Would write.
          12 InputAccepted input 10
          13 SampleStarted sample 2 attempt 1 because pending input 10
             run sample@13
        > call write {}
          14 ItemAdded call write {}
          15 CallDecided call 14 allow: the permissions allow it
          16 CallStarted call 14 attempt 1, plan
             run call 14@16
        > end stop
          17 SampleEnded stop
    "#]]);
}
