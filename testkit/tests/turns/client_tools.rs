//! Client tools: a call waits for the client that runs it, whatever becomes of processes.

use expect_test::expect;

use super::check;

#[test]
fn a_client_returns_the_result_of_its_call() {
    check(expect![[r#"
        > open client=write
        > send hello => first turn, sample@5
        > call write {} => permitted call 6 decided
           8 CallStarted call 6 attempt 1, by a client
        > end stop => sample ended at 9
        > submit 0 done written
          10 CallObserved call 6 done: written
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > submit 0 done written
             rejected: no result of call 6 is awaited: it has one, its time is over, or no client runs it
    "#]]);
}

#[test]
fn a_restart_changes_nothing_about_a_call_that_waits() {
    check(expect![[r#"
        > open client=write
        > send hello => first turn, sample@5
        > call write {} => permitted call 6 decided
           8 CallStarted call 6 attempt 1, by a client
        > end stop => sample ended at 9
        > crash => log ends at 9
        > crash => log ends at 9
        > submit 0 failed no such file
          10 CallObserved call 6 failed: no such file
          11 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_result_after_the_deadline_is_late() {
    check(expect![[r#"
        > open client=shell
        > send hello => first turn, sample@5
        > call shell {} => permitted call 6 decided
           8 CallStarted call 6 attempt 1, by a client
        > end stop => sample ended at 9
        > wait 4999
        > crash => log ends at 9
        > wait 1
          10 CallObserved call 6 unknown: Unknown: the client returned no result in time, and the client may have run this call or not. Check before you repeat it.
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > submit 0 done late
             rejected: no result of call 6 is awaited: it has one, its time is over, or no client runs it
    "#]]);
}

#[test]
fn a_tool_that_changes_nothing_fails_at_its_deadline() {
    check(expect![[r#"
        > open client=read call_ms=1000
        > send hello => first turn, sample@5
        > call read {} => read-only call 6 decided
           8 CallStarted call 6 attempt 1, by a client
        > end stop => sample ended at 9
        > wait 1000
          10 CallObserved call 6 failed: Stopped: the client returned no result in time. The tool changes nothing.
          11 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn an_interrupt_does_not_wait_for_the_client() {
    check(expect![[r#"
        > open client=write
        > send hello => first turn, sample@5
        > call write {} => permitted call 6 decided
           8 CallStarted call 6 attempt 1, by a client
        > call read {} => read-only call 9@11
        > end stop => sample ended at 12
        > interrupt person => request 13
          14 CallObserved call 6 unknown: Unknown: the user interrupted the turn, and the client may have run this call or not. Check before you repeat it.
             wind call 9@11
        > submit 0 done written
             rejected: no result of call 9 is awaited: it has one, its time is over, or no client runs it
    "#]]);
}

#[test]
fn a_dry_run_hands_no_call_to_a_client() {
    check(expect![[r#"
        > open client=write
        > send dry hello => first dry turn, sample@5
        > call write {} => permitted call 6 decided
           8 CallStarted call 6 attempt 1, plan => runs
        > end stop => sample ended at 9
        > done 0 It would write. => call 6 observed at 10, sample 2@11
        > submit 0 done written
             rejected: no result of call 6 is awaited: it has one, its time is over, or no client runs it
    "#]]);
}

#[test]
fn a_person_is_asked_before_a_client_runs_what_changes_something() {
    check(expect![[r#"
        > open client=write permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > submit 0 done written
        > asked 0 allow
          11 ApprovalAnswered call 7 allow by approver
          12 CallStarted call 7 attempt 1, by a client
        > submit 0 done written
          13 CallObserved call 7 done: written
          14 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_program_waits_for_the_client_that_runs_its_call() {
    check(expect![[r#"
        > open client=write program=5
        > send hello => first turn, sample@5
        > call run_program {} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 calls write {}
          10 ProgramCalled program 6: write {}
          11 CallDecided call 10 allow: the permissions allow it
          12 CallStarted call 10 attempt 1, by a client
        > submit 0 done written
          13 CallObserved call 10 done: written
             run call 6@13
        > program 0 return 1 => program 6 returned at 14, turn completed at 16
    "#]]);
}

#[test]
fn a_key_makes_a_result_one() {
    check(expect![[r#"
        > open client=write
        > send hello => first turn, sample@5
        > call write {} => permitted call 6 decided
           8 CallStarted call 6 attempt 1, by a client
        > end stop => sample ended at 9
        > keyed k submit 0 done written
          10 CallObserved call 6 done: written, keyed k
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > keyed k submit 0 done other
             rejected: an input with this key was taken at 10 already
    "#]]);
}
