//! Policy: what mode, permissions and a dry run let through.

use expect_test::expect;

use super::check;

#[test]
fn plan_mode_denies_what_changes_something() {
    check(expect![[r#"
        > open mode=plan
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "This is plan mode: only tools that change nothing run. Say what should be done instead of doing it."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call read {"n":1}
           7 ItemAdded call read {"n":1}
           8 CallDecided call 7 allow: the tool is read-only
           9 CallStarted call 7 attempt 1
             run call 7@9
        > call put {"n":2}
          10 ItemAdded call put {"n":2}
          11 CallDecided call 10 deny
          12 CallObserved call 10 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
        > call write {"n":3}
          13 ItemAdded call write {"n":3}
          14 CallDecided call 13 deny
          15 CallObserved call 13 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
        > end stop
          16 SampleEnded stop
        > done 0 ok
          17 CallObserved call 7 done: ok
          18 SampleStarted sample 2 attempt 1 because tool results
             run sample@18
    "#]]);
}

#[test]
fn read_only_permissions_deny_what_changes_something() {
    check(expect![[r#"
        > open permissions=read_only
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "Only tools that change nothing run; every other call is denied."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {}
           7 ItemAdded call write {}
           8 CallDecided call 7 deny
           9 CallObserved call 7 denied: Denied: the permissions of this session are read-only.
        > end stop
          10 SampleEnded stop
          11 SampleStarted sample 2 attempt 1 because tool results
             run sample@11
    "#]]);
}

#[test]
fn where_nobody_can_be_asked_what_needs_asking_is_denied() {
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
        > call read {}
           7 ItemAdded call read {}
           8 CallDecided call 7 allow: the tool is read-only
           9 CallStarted call 7 attempt 1
             run call 7@9
        > call write {}
          10 ItemAdded call write {}
          11 CallDecided call 10 ask: the permissions ask first
          12 ApprovalAsked call 10, within 604800000 ms
             run approval of call 10@12
        > end stop
          13 SampleEnded stop
        > asked 0 nobody
          14 ApprovalAnswered call 10 deny by the system: nobody can be asked here
          15 CallObserved call 10 denied: nobody can be asked here
        > done 0 ok
          16 CallObserved call 7 done: ok
          17 SampleStarted sample 2 attempt 1 because tool results
             run sample@17
    "#]]);
}

#[test]
fn a_dry_run_runs_only_what_changes_nothing() {
    check(expect![[r#"
           1 SessionOpened
        > send dry hello
           2 InputQueued "hello", dry run
           3 TurnOpened because opened by input 2, dry run
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {"n":1}
           6 ItemAdded call read {"n":1}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > call write {"n":2}
           9 ItemAdded call write {"n":2}
          10 CallDecided call 9 allow: the permissions allow it
          11 CallStarted call 9 attempt 1, plan
             run call 9@11
        > end stop
          12 SampleEnded stop
        > done 0 ok
          13 CallObserved call 6 done: ok
        > not_started 0 Would write 2.
          14 CallObserved call 9 not_started: Would write 2.
          15 SampleStarted sample 2 attempt 1 because tool results
             run sample@15
        > text I would write 2.
          16 ItemAdded text "I would write 2."
        > end stop
          17 SampleEnded stop
          18 TurnSettled completed
    "#]]);
}
