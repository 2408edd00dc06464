//! Approvals: a person is asked, the first answer counts, and the question outlives its process.

use expect_test::expect;

use super::check;

#[test]
fn a_person_is_asked_and_the_tool_runs() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call read {} => read-only call 7@9
        > call write {} => approval of call 10@12 within a week
        > end stop => sample ended at 13
        > done 0 ok => call 7 observed at 14
        > asked 0 allow
          15 ApprovalAnswered call 10 allow by approver
          16 CallStarted call 10 attempt 1 => runs
        > done 0 written => call 10 observed at 17, sample 2@18
    "#]]);
}

#[test]
fn a_person_says_no() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > asked 0 deny not on a Friday
          11 ApprovalAnswered call 7 deny by approver: not on a Friday
          12 CallObserved call 7 denied: Denied by a person: not on a Friday
          13 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn whoever_answers_first_counts() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > answer 0 allow
          11 ApprovalAnswered call 7 allow by somebody
          12 CallStarted call 7 attempt 1 => runs
        > late 1
             rejected: the answer of the question at 9 about call 7 came late: that run is no longer waited for
        > answer 0 deny
             rejected: nobody is asked about call 7: it was answered already, or never asked
    "#]]);
}

#[test]
fn an_answer_is_for_the_exact_arguments() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {"a":1} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > answer 0 about={"a":2} allow
             rejected: the answer is about other arguments than those of call 7: look at it again
        > answer 0 allow
          11 ApprovalAnswered call 7 allow by somebody
          12 CallStarted call 7 attempt 1 => runs
    "#]]);
}

#[test]
fn a_person_may_change_the_arguments_and_the_model_is_told() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {"a":1} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > asked 0 allow edit={"a":2}
          11 ApprovalAnswered call 7 allow by approver, edit "{\"a\":2}"
          12 CallStarted call 7 attempt 1 => runs
        > done 0 wrote 2 => call 7 observed at 13, sample 2@14
    "#]]);
}

#[test]
fn arguments_that_a_person_breaks_fail_the_call() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > asked 0 allow edit=nonsense
          11 ApprovalAnswered call 7 allow by approver, edit "nonsense" (the arguments are not a JSON object)
          12 CallObserved call 7 failed: Not run: the arguments that were put in the place of the model's cannot be used. the arguments are not a JSON object
          13 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn no_answer_is_a_denial_once_the_time_is_over() {
    check(expect![[r#"
        > open permissions=ask approval_ms=100
        > send hello => first turn, people are asked, sample@6
        > call write {} => call 7
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 100 ms => runs
        > end stop => sample ended at 10
        > wait 99
        > wait 1
          11 ApprovalAnswered call 7 deny by the system: Denied: nobody answered in time.
          12 CallObserved call 7 denied: Denied: nobody answered in time. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
          13 SampleStarted sample 2 attempt 1 because tool results => runs
        > answer 0 allow
    "#]]);
}
