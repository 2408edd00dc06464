//! Reconciling: a tool that can say what became of a call is asked after a restart.

use expect_test::expect;

use super::check;

#[test]
fn the_tool_says_what_became_of_its_call() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call deploy {} => permitted call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9, reconcile call 6@10
        > reconciled 0 done deployed
          11 CallObserved call 6 done: deployed
          12 SampleStarted sample 2 attempt 1 because tool results => runs
        > text Done. => item 13
        > end stop => completed at 15
    "#]]);
}

#[test]
fn a_tool_that_does_not_know_leaves_it_unknown() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call deploy {} => permitted call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9, reconcile call 6@10
        > reconciled 0 none
          11 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          12 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn the_question_is_asked_again_after_another_restart() {
    check(expect![[r#"
        > open restarts=2
        > send hello => first turn, sample@5
        > call deploy {} => permitted call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9, reconcile call 6@10
        > crash => log ends at 10
          11 ReconcileStarted call 6 attempt 2 => runs
        > late 1
             rejected: the answer of the run at 8 of call 6 came late: that run is no longer waited for
        > crash => log ends at 11
          12 ReconcileStarted call 6 attempt 3 => runs
    "#]]);
}

#[test]
fn restarts_of_the_question_are_limited() {
    check(expect![[r#"
        > open restarts=0
        > send hello => first turn, sample@5
        > call deploy {} => permitted call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9, reconcile call 6@10
        > crash => log ends at 10
          11 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          12 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn an_interrupt_winds_the_question_down() {
    check(expect![[r#"
        > open grace_ms=50
        > send hello => first turn, sample@5
        > call deploy {} => permitted call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9, reconcile call 6@10
        > interrupt person => request 11
             wind reconcile call 6@10
        > wait 50
          12 CallObserved call 6 unknown: Unknown: the user interrupted the turn and this call did not end in time. It may have taken effect or not; check before you repeat it.
          13 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn hooks_see_what_was_reconciled() {
    check(expect![[r#"
        > open hooks=after_tool
        > send hello => first turn, sample@5
        > call deploy {} => permitted call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9, reconcile call 6@10
        > reconciled 0 done deployed
          11 CallObserved call 6 done: deployed
          12 HooksAsked after_tool call 6: hook 0 => runs
        > hook 0 pass context=noted
          13 HookDecided h0 pass, context "noted"
          14 ContextInjected of the hook at 13
          15 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn after_a_stop_nothing_is_asked() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call deploy {} => permitted call 6@8
        > end stop => sample ended at 9
        > interrupt person => request 10
             wind call 6@8
        > crash => log ends at 10
          11 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          12 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn a_question_what_became_of_a_call_is_answered_by_its_latest_run() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call deploy {} => permitted call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9, reconcile call 6@10
        > crash => log ends at 10
          11 ReconcileStarted call 6 attempt 2 => runs
        > late 0
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
        > late 1
             rejected: the answer of the run at 8 of call 6 came late: that run is no longer waited for
        > late 2
             rejected: the answer of the question at 10 of what became of call 6 came late: that run is no longer waited for
        > late 3
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
        > reconciled 0 done ok
          12 CallObserved call 6 done: ok
          13 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}
