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
           5 InputAccepted input 2 => sample@6
        > call read {"n":1} => read-only call 7@9
        > call write {"n":2} => tool hook 0@11 for call 10
        > end stop => sample ended at 12
        > hook 0 pass => passed at 13
          14 CallDecided call 10 ask: the permissions ask first
          15 ApprovalAsked call 10, within 604800000 ms => runs
        > asked 0 allow
          16 ApprovalAnswered call 10 allow by approver
          17 CallStarted call 10 attempt 1, plan => runs
        > done 0 one => call 7 observed at 18
        > not_started 0 Would write 2.
          19 CallObserved call 10 not_started: Would write 2.
          20 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn what_is_denied_is_not_even_planned() {
    check(expect![[r#"
        > open rules=deny:shell
        > send dry hello => first dry turn, sample@5
        > call shell {} => call 6
           7 CallDecided call 6 deny by rule
           8 CallObserved call 6 denied: Denied by a rule of the user, which forbids this call. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
        > end stop => sample ended at 9
          10 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_plan_may_be_made_again_after_a_restart() {
    check(expect![[r#"
        > send dry hello => first dry turn, sample@5
        > call write {} => permitted call 6 decided
           8 CallStarted call 6 attempt 1, plan => runs
        > end stop => sample ended at 9
        > crash => log ends at 9
          10 CallStarted call 6 attempt 2, plan => runs
        > not_started 0 Would write.
          11 CallObserved call 6 not_started: Would write.
          12 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_dry_steer_to_a_turn_that_runs_for_real_is_planned_in_the_next() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > steer dry what would you do
           6 InputQueued "what would you do", follow-up, dry run
        > text hi => item 7
        > end stop => sample ended at 8, turn completed at 9, leaves 6
          10 TurnOpened because opened by input 6, dry run
          11 InputAccepted input 6 => sample@12
        > call write {} => permitted call 13 decided
          15 CallStarted call 13 attempt 1, plan => runs
        > end stop => sample ended at 16
    "#]]);
}

#[test]
fn a_steer_does_not_turn_a_dry_run_into_another() {
    check(expect![[r#"
        > send dry hello => first dry turn, sample@5
        > call write {} => permitted call 6 decided
           8 CallStarted call 6 attempt 1, plan => runs
        > end stop => sample ended at 9
        > steer now do it => input 10
        > not_started 0 Would write.
          11 CallObserved call 6 not_started: Would write.
          12 InputAccepted input 10 => sample 2@13
        > call write {} => permitted call 14 decided
          16 CallStarted call 14 attempt 1, plan => runs
        > end stop => sample ended at 17
    "#]]);
}
