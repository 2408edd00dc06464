//! Policy: what mode, permissions and a dry run let through.

use expect_test::expect;

use super::check;

#[test]
fn plan_mode_denies_what_changes_something() {
    check(
        r#"
            open mode=plan
            send hello
            call read {"n":1}
            call put {"n":2}
            call write {"n":3}
            end stop
            done 0 ok
        "#,
        expect![[r#"
               1 SessionOpened
            > send hello
               2 InputQueued "hello"
               3 TurnOpened because opened by input 2
               4 InputAccepted input 2
               5 SampleStarted sample 1 attempt 1 because opened by input 2
                 run sample@5
            > call read {"n":1}
               6 ItemAdded call read {"n":1}
            > call put {"n":2}
               7 ItemAdded call put {"n":2}
            > call write {"n":3}
               8 ItemAdded call write {"n":3}
            > end stop
               9 SampleEnded stop
              10 CallDecided call 6 allow: the tool is read-only
              11 CallDecided call 7 deny
              12 CallObserved call 7 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
              13 CallDecided call 8 deny
              14 CallObserved call 8 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
              15 CallStarted call 6 attempt 1
                 run call 6@15
            > done 0 ok
              16 CallObserved call 6 done: ok
              17 SampleStarted sample 2 attempt 1 because tool results
                 run sample@17
        "#]],
    );
}

#[test]
fn read_only_permissions_deny_what_changes_something() {
    check(
        r#"
            open permissions=read_only
            send hello
            call write {}
            end stop
        "#,
        expect![[r#"
               1 SessionOpened
            > send hello
               2 InputQueued "hello"
               3 TurnOpened because opened by input 2
               4 InputAccepted input 2
               5 SampleStarted sample 1 attempt 1 because opened by input 2
                 run sample@5
            > call write {}
               6 ItemAdded call write {}
            > end stop
               7 SampleEnded stop
               8 CallDecided call 6 deny
               9 CallObserved call 6 denied: Denied: the permissions of this session are read-only.
              10 SampleStarted sample 2 attempt 1 because tool results
                 run sample@10
        "#]],
    );
}

#[test]
fn where_nobody_can_be_asked_what_needs_asking_is_denied() {
    check(
        r#"
            open permissions=ask
            send hello
            call read {}
            call write {}
            end stop
        "#,
        expect![[r#"
               1 SessionOpened
            > send hello
               2 InputQueued "hello"
               3 TurnOpened because opened by input 2
               4 InputAccepted input 2
               5 SampleStarted sample 1 attempt 1 because opened by input 2
                 run sample@5
            > call read {}
               6 ItemAdded call read {}
            > call write {}
               7 ItemAdded call write {}
            > end stop
               8 SampleEnded stop
               9 CallDecided call 6 allow: the tool is read-only
              10 CallDecided call 7 deny
              11 CallObserved call 7 denied: Denied: this call needs a person's approval, and nobody can be asked here.
              12 CallStarted call 6 attempt 1
                 run call 6@12
        "#]],
    );
}

#[test]
fn a_dry_run_runs_only_what_changes_nothing() {
    check(
        r#"
            send dry hello
            call read {"n":1}
            call write {"n":2}
            end stop
            done 0 ok
            text I would write 2.
            end stop
        "#,
        expect![[r#"
               1 SessionOpened
            > send dry hello
               2 InputQueued "hello", dry run
               3 TurnOpened because opened by input 2, dry run
               4 InputAccepted input 2
               5 SampleStarted sample 1 attempt 1 because opened by input 2
                 run sample@5
            > call read {"n":1}
               6 ItemAdded call read {"n":1}
            > call write {"n":2}
               7 ItemAdded call write {"n":2}
            > end stop
               8 SampleEnded stop
               9 CallDecided call 6 allow: the tool is read-only
              10 CallDecided call 7 allow: the permissions allow it
              11 CallObserved call 7 not_started: Not run: this is a dry run. With these arguments the call would have run.
              12 CallStarted call 6 attempt 1
                 run call 6@12
            > done 0 ok
              13 CallObserved call 6 done: ok
              14 SampleStarted sample 2 attempt 1 because tool results
                 run sample@14
            > text I would write 2.
              15 ItemAdded text "I would write 2."
            > end stop
              16 SampleEnded stop
              17 TurnSettled completed
        "#]],
    );
}
