//! Stopping after the step: what runs may end, and the model is not asked again.

use expect_test::expect;

use super::check;

#[test]
fn the_answer_may_end_and_the_turn_completes() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > interrupt person after => request 6
        > text hi => item 7
        > end stop => completed at 9
    "#]]);
}

#[test]
fn the_calls_may_end_and_the_model_is_not_asked_again() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call write {"n":1} => permitted call 6@8
        > interrupt shutdown after
           9 InterruptRequested by shutdown, after the step: enough
        > call shell {"n":2} => permitted call 10 decided
        > end stop => sample ended at 12
        > done 0 one => call 6 observed at 13
          14 CallStarted call 10 attempt 1 => runs
        > done 0 two => call 10 observed at 15
          16 TurnSettled interrupted by shutdown
    "#]]);
}

#[test]
fn it_is_not_asked_for_twice_but_it_may_be_hurried() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call write {} => permitted call 6@8
        > end stop => sample ended at 9
        > interrupt person after => request 10
        > interrupt person after
             rejected: the turn has been asked to stop already
        > interrupt person => request 11
             wind call 6@8
        > aborted 0 stopped
          12 CallObserved call 6 aborted: Stopped: the user interrupted the turn.
        stopped
          13 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn a_backoff_is_not_waited_for() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > fail overloaded soon
           6 SampleCut overloaded, next attempt in 250 ms
        > interrupt shutdown after
           7 InterruptRequested by shutdown, after the step: enough
           8 TurnSettled interrupted by shutdown
    "#]]);
}

#[test]
fn what_waits_is_kept() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > steer more => input 6, yield sample@5
        > interrupt person after => request 7
             go on with sample@5
        > text hi => item 8
        > end stop => sample ended at 9
          10 TurnSettled interrupted by person, waiting: 6
    "#]]);
}

#[test]
fn a_question_may_be_answered() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > interrupt shutdown after
          11 InterruptRequested by shutdown, after the step: enough
        > answer 0 allow
          12 ApprovalAnswered call 7 allow by somebody
          13 CallStarted call 7 attempt 1 => runs
        > done 0 ok => call 7 observed at 14
          15 TurnSettled interrupted by shutdown
    "#]]);
}

#[test]
fn it_survives_a_restart() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > interrupt shutdown after
          10 InterruptRequested by shutdown, after the step: enough
        > crash => log ends at 10
          11 CallStarted call 6 attempt 2 => runs
        > done 0 ok => call 6 observed at 12
          13 TurnSettled interrupted by shutdown
    "#]]);
}
