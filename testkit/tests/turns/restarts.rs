//! Restarts: a new process goes on from what is durable.

use expect_test::expect;

use super::check;

#[test]
fn a_restart_asks_again() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text Half => item 6
        > crash => log ends at 6
           7 SampleCut restart, about 129 tokens, next attempt in 0 ms
           8 SampleStarted sample 1 attempt 2 because retry => runs
        > text Whole. => item 9
        > end stop => completed at 11
    "#]]);
}

#[test]
fn a_restart_after_an_interrupt_settles() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > interrupt person => request 6, wind sample@5
        > crash => log ends at 6
           7 SampleCut restart, about 115 tokens, no further attempt
           8 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn a_restart_in_a_backoff_waits_on() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > fail server soon
           6 SampleCut server, about 115 tokens, next attempt in 250 ms
        > wait 100
        > crash => log ends at 6
        > wait 150 => sample 1 again@7
    "#]]);
}

#[test]
fn restarts_of_a_sample_are_limited() {
    check(expect![[r#"
        > open restarts=1
        > send hello => first turn, sample@5
        > crash => log ends at 5
           6 SampleCut restart, about 115 tokens, next attempt in 0 ms
           7 SampleStarted sample 1 attempt 2 because retry => runs
        > crash => log ends at 7
           8 SampleCut restart, about 115 tokens, no further attempt
           9 TurnSettled failed: restart: the process ended while the model answered
    "#]]);
}

#[test]
fn an_answer_from_before_a_restart_is_refused() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > crash => log ends at 9
          10 CallStarted call 6 attempt 2 => runs
        > late 1
             rejected: the answer of the run at 8 of call 6 came late: that run is no longer waited for
        > late 0
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
        > done 0 ok => call 6 observed at 11, sample 2@12
    "#]]);
}

#[test]
fn a_restart_past_the_deadline_still_lets_the_input_in() {
    check(expect![[r#"
        > open lazy turn_ms=10
        > send hello => first turn, sample@5
        > crash lose=2 away=10
             the log ends at 3
           4 InputAccepted input 2
           5 InterruptRequested by deadline: the turn has run for 10 ms, which is its limit
           6 TurnSettled exhausted: wall_clock
    "#]]);
}

#[test]
fn a_restart_past_the_deadline_keeps_an_answer_that_was_whole() {
    check(expect![[r#"
        > open lazy turn_ms=10
        > send hello => first turn, sample@5
        > text Hi! => item 6
        > sync
        > end stop => completed at 8
        > crash lose=1 away=10
             the log ends at 7
           8 TurnSettled completed
    "#]]);
}
