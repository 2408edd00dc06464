//! Restarts while tools run: again if that is safe, else unknown.

use expect_test::expect;

use super::check;

#[test]
fn a_restart_runs_a_read_only_call_again() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9
          10 CallStarted call 6 attempt 2 => runs
        > done 0 ok => call 6 observed at 11, sample 2@12
        > text Hi! => item 13
        > end stop => completed at 15
    "#]]);
}

#[test]
fn a_restart_runs_an_idempotent_call_again_under_the_same_key() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call put {} => permitted call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9
          10 CallStarted call 6 attempt 2 => runs
        > done 0 ok => call 6 observed at 11, sample 2@12
    "#]]);
}

#[test]
fn a_restart_does_not_run_an_effectful_call_again() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call write {} => permitted call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9
          10 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > text I will check. => item 12
        > end stop => completed at 14
    "#]]);
}

#[test]
fn a_restart_keeps_what_was_observed() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call write {"n":1} => permitted call 6@8
        > call write {"n":2} => permitted call 9@11
        > call shell {"n":3} => permitted call 12 decided
        > end stop => sample ended at 14
        > done 1 two => call 9 observed at 15
        > crash => log ends at 15
          16 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          17 CallStarted call 12 attempt 1 => runs
    "#]]);
}

#[test]
fn restarts_of_a_call_are_limited() {
    check(expect![[r#"
        > open restarts=1
        > send hello => first turn, sample@5
        > call put {} => permitted call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9
          10 CallStarted call 6 attempt 2 => runs
        > crash => log ends at 10
          11 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          12 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_repeat_that_never_began_does_not_hide_the_first_run() {
    check(expect![[r#"
        > open lazy
        > send hello => first turn, sample@5
        > call put {} => permitted call 6 decided
           8 CallStarted call 6 attempt 1
        > call read {} => read-only call 9@11
        > end stop => sample ended at 12
        > sync
             run call 6@8
        > crash => log ends at 12
          13 CallStarted call 6 attempt 2
          14 CallStarted call 9 attempt 2 => runs
        > interrupt person => request 15
             wind call 9@14
             never call 6@13
          16 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did, and it was not run again. It may have taken effect or not; check before you repeat it.
    "#]]);
}
