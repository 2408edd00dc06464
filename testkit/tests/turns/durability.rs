//! What waits for the log and what does not: how far the world may run ahead of it, and what a
//! crash then takes.

use expect_test::expect;

use super::check;

#[test]
fn an_effect_that_changes_something_waits_for_the_log() {
    check(expect![[r#"
        > open lazy
        > send hello => first turn, sample@5
        > sync
        > call read {"n":1} => read-only call 6@8
        > call write {"n":2} => permitted call 9 decided
          11 CallStarted call 9 attempt 1
        > end stop => sample ended at 12
        > sync
             run call 9@11
    "#]]);
}

#[test]
fn the_next_sample_need_not_wait_for_the_log() {
    check(expect![[r#"
        > open lazy
        > send hello => first turn, sample@5
        > sync
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > done 0 ok => call 6 observed at 10, sample 2@11
        > call read {} => read-only call 12@14
        > end stop => sample ended at 15
        > done 0 ok => call 12 observed at 16
          17 SampleStarted sample 3 attempt 1 because tool results
        > sync
             run sample@17
    "#]]);
}

#[test]
fn a_crash_forgets_what_was_not_durable() {
    check(expect![[r#"
        > open lazy
        > send hello => first turn, sample@5
        > sync
        > text Hi! => item 6
        > call write {} => permitted call 7 decided
           9 CallStarted call 7 attempt 1
        > end stop => sample ended at 10
        > crash lose=99
             the log ends at 5
           6 SampleCut restart, about 115 tokens, next attempt in 0 ms
           7 SampleStarted sample 1 attempt 2 because retry => runs
        > text Hi again! => item 8
        > end stop => completed at 10
    "#]]);
}

#[test]
fn no_sample_runs_ahead_of_the_log_by_more_than_one() {
    check(expect![[r#"
        > open lazy
        > send one => first turn, sample@5
        > send two => input 6
        > send three => input 7
        > text First. => item 8
        > end stop => sample ended at 9
          10 TurnSettled completed, waiting: 6, 7
          11 TurnOpened because opened by input 6 => accepted at 12
          13 SampleStarted sample 1 attempt 1 because opened by input 6
        > sync
             run sample@13
        > text Second. => item 14
        > end stop => completed at 16, turn of waiting 7, sample@19
    "#]]);
}
