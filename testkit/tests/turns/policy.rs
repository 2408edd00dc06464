//! Policy: what mode, permissions and a dry run let through.

use expect_test::expect;

use super::check;

#[test]
fn plan_mode_denies_what_changes_something() {
    check(expect![[r#"
        > open mode=plan
        > send hello => first turn, of input 2
           4 ContextInjected posture: "This is plan mode: only tools that change nothing run. Say what should be done instead of doing it."
           5 InputAccepted input 2 => sample@6
        > call read {"n":1} => read-only call 7@9
        > call put {"n":2} => call 10
          11 CallDecided call 10 deny
          12 CallObserved call 10 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
        > call write {"n":3} => call 13
          14 CallDecided call 13 deny
          15 CallObserved call 13 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
        > end stop => sample ended at 16
        > done 0 ok => call 7 observed at 17, sample 2@18
    "#]]);
}

#[test]
fn read_only_permissions_deny_what_changes_something() {
    check(expect![[r#"
        > open permissions=read_only
        > send hello => first turn, of input 2
           4 ContextInjected posture: "Only tools that change nothing run; every other call is denied."
           5 InputAccepted input 2 => sample@6
        > call write {} => call 7
           8 CallDecided call 7 deny
           9 CallObserved call 7 denied: Denied: the permissions of this session are read-only. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
        > end stop => sample ended at 10
          11 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn where_nobody_can_be_asked_what_needs_asking_is_denied() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call read {} => read-only call 7@9
        > call write {} => approval of call 10@12 within a week
        > end stop => sample ended at 13
        > asked 0 nobody
          14 ApprovalAnswered call 10 deny by the system: nobody can be asked here
          15 CallObserved call 10 denied: Denied: nobody can be asked here
        > done 0 ok => call 7 observed at 16, sample 2@17
    "#]]);
}

#[test]
fn a_dry_run_runs_only_what_changes_nothing() {
    check(expect![[r#"
        > send dry hello => first dry turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > call write {"n":2} => permitted call 9 decided
          11 CallStarted call 9 attempt 1, plan => runs
        > end stop => sample ended at 12
        > done 0 ok => call 6 observed at 13
        > not_started 0 Would write 2.
          14 CallObserved call 9 not_started: Would write 2.
          15 SampleStarted sample 2 attempt 1 because tool results => runs
        > text I would write 2. => item 16
        > end stop => completed at 18
    "#]]);
}
