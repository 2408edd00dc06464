//! What a compaction costs that was cut off: nobody says it, so it is what was set aside for its
//! summary.

use expect_test::expect;

use super::check;

#[test]
fn a_summary_that_an_interrupt_cuts_off_is_charged() {
    check(expect![[r#"
        > open window=600 strategy=summary cost_micros=100000000 price=1000000/100000/2000000
        > send one => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, money set aside: 1086 => runs
        > text x*1500 => item 6
        > end stop
           7 SampleEnded stop, about 626 tokens, about money: 1138
           8 TurnSettled completed, cost 1138
        > send two => turn of input 9
          11 CompactionStarted 1 attempt 1: window, summary to 680 bytes, money set aside: 1078 => runs
        > interrupt person => request 12
          13 TurnSettled interrupted by person, cost 1078, waiting: 9
    "#]]);
}

#[test]
fn a_summary_that_a_restart_cuts_off_is_charged() {
    check(expect![[r#"
        > open window=600 strategy=summary cost_micros=100000000 price=1000000/100000/2000000
        > send one => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, money set aside: 1086 => runs
        > text x*1500 => item 6
        > end stop
           7 SampleEnded stop, about 626 tokens, about money: 1138
           8 TurnSettled completed, cost 1138
        > send two => turn of input 9
          11 CompactionStarted 1 attempt 1: window, summary to 680 bytes, money set aside: 1078 => runs
        > crash => log ends at 11
          12 CompactionStarted 1 attempt 2: window, summary to 680 bytes, money set aside: 1078, money lost: 1078 => runs
        > compacted
          13 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"one\"\nThe assistant said, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"", fallback: the model gave no summary, leaves 511 bytes in 1 items
          14 InputAccepted input 9
          15 SampleStarted sample 1 attempt 1 because opened by input 9, money set aside: 903 => runs
        > text ok => item 16
        > end stop
          17 SampleEnded stop, about 310 tokens, about money: 323
          18 TurnSettled completed, cost 2479
    "#]]);
}

#[test]
fn a_summary_that_is_given_up_is_charged() {
    check(expect![[r#"
        > open window=600 strategy=summary tokens=3000 restarts=0
        > send one => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 600 tokens set aside => runs
        > text x*1500 => item 6
        > end stop
           7 SampleEnded stop, about 626 tokens
           8 TurnSettled completed
        > send two => turn of input 9
          11 CompactionStarted 1 attempt 1: window, summary to 680 bytes, 852 tokens set aside => runs
        > crash => log ends at 11
          12 CompactionFailed the process ended each time while it was made, 852 tokens lost
          13 InputAccepted input 9
          14 TurnSettled exhausted: context
        > text ok
        > end stop
    "#]]);
}

#[test]
fn what_was_lost_leaves_no_room_for_another() {
    check(expect![[r#"
        > open window=600 strategy=summary tokens=1000
        > send one => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 600 tokens set aside => runs
        > text x*1500 => item 6
        > end stop
           7 SampleEnded stop, about 626 tokens
           8 TurnSettled completed
        > send two => turn of input 9
          11 CompactionStarted 1 attempt 1: window, summary to 680 bytes, 852 tokens set aside => runs
        > crash => log ends at 11
          12 CompactionStarted 1 attempt 2: window, slide to 680 bytes, 852 tokens lost => runs
        > compacted
          13 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.", leaves 103 bytes in 1 items
          14 InputAccepted input 9
          15 TurnSettled exhausted: tokens
        > text ok
        > end stop
    "#]]);
}

#[test]
fn each_request_for_a_summary_is_charged() {
    check(expect![[r#"
        > open window=600 strategy=summary tokens=9000
        > send one => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 600 tokens set aside => runs
        > text x*1500 => item 6
        > end stop
           7 SampleEnded stop, about 626 tokens
           8 TurnSettled completed
        > send two => turn of input 9
          11 CompactionStarted 1 attempt 1: window, summary to 680 bytes, 852 tokens set aside => runs
        > compacted after 2 They said x.
          12 Compacted cleared before 0, left out before 2, summary "They said x.", 2 requests unmeasured, leaves 68 bytes in 1 items
          13 InputAccepted input 9
          14 SampleStarted sample 1 attempt 1 because opened by input 9, 600 tokens set aside => runs
        > text ok => item 15
        > end stop
          16 SampleEnded stop, about 162 tokens
          17 TurnSettled completed
    "#]]);
}
