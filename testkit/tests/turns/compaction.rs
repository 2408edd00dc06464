//! Compaction: when the conversation is made smaller, and what stays.

use expect_test::expect;

use super::check;

#[test]
fn results_that_are_old_are_cleared() {
    check(expect![[r#"
        > open window=2500
        > send look around => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > end stop => sample ended at 9
        > done 0 a*2000 => call 6 observed at 10, sample 2@11
        > call read {"n":2} => read-only call 12@14
        > end stop => sample ended at 15
        > done 0 b*2000 => call 12 observed at 16
          17 SampleStarted sample 3 attempt 1 because tool results => runs
        > call read {"n":3} => read-only call 18@20
        > end stop => sample ended at 21
        > done 0 c*2000 => call 18 observed at 22
          23 CompactionStarted 1 attempt 1: window, clear to 2853 bytes => runs
        > compacted
          24 Compacted cleared before 3, left out before 5, summary "Left out here to make room: 2 answers of 1 turn.\nTools called: read (2).", leaves 2150 bytes in 4 items
          25 SampleStarted sample 4 attempt 1 because tool results => runs
        > text All seen. => item 26
        > end stop => completed at 28
    "#]]);
}

#[test]
fn the_oldest_parts_leave_and_the_request_stays() {
    check(expect![[r#"
        > open window=1500 strategy=slide
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send what was it? => turn of input 9
          11 CompactionStarted 1 attempt 1: window, slide to 1606 bytes => runs
        > compacted
          12 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"", leaves 275 bytes in 1 items
          13 InputAccepted input 9 => sample@14
        > text It was nothing. => item 15
        > end stop => completed at 17
    "#]]);
}

#[test]
fn a_summary_takes_their_place() {
    check(expect![[r#"
        > open window=1500 strategy=summary
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send what was it? => turn of input 9
          11 CompactionStarted 1 attempt 1: window, summary to 1606 bytes => runs
        > compacted They exchanged letters.
          12 Compacted cleared before 0, left out before 2, summary "They exchanged letters.", leaves 79 bytes in 1 items
          13 InputAccepted input 9 => sample@14
        > text It was nothing. => item 15
        > end stop => completed at 17
    "#]]);
}

#[test]
fn without_a_usable_summary_a_plain_list_does() {
    check(expect![[r#"
        > open window=1500 strategy=summary
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send what was it? => turn of input 9
          11 CompactionStarted 1 attempt 1: window, summary to 1606 bytes => runs
        > compacted
          12 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"", fallback: the model gave no summary, leaves 275 bytes in 1 items
          13 InputAccepted input 9 => sample@14
    "#]]);
}

#[test]
fn between_steps_the_current_request_stays() {
    check(expect![[r#"
        > open window=1500 strategy=slide
        > send x*800 => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > end stop => sample ended at 9
        > done 0 a*1500 => call 6 observed at 10, sample 2@11
        > call read {"n":2} => read-only call 12@14
        > end stop => sample ended at 15
        > done 0 b*1500 => call 12 observed at 16
          17 CompactionStarted 1 attempt 1: window, slide to 1582 bytes => runs
        > compacted
          18 Compacted cleared before 5, left out before 3, summary "Left out here to make room: 1 answer of 1 turn.\nTools called: read (1).", leaves 1033 bytes in 4 items
          19 SampleStarted sample 3 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn the_provider_refuses_a_request_as_too_large() {
    check(expect![[r#"
        > send x*1600 => first turn, sample@5
        > text y*1600 => item 6
        > end stop => completed at 8
        > send and now? => turn, sample@12
        > fail context_overflow never
          13 SampleCut context_overflow, no further attempt
          14 CompactionStarted 1 attempt 1: overflow, clear to 1604 bytes => runs
        > compacted
          15 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"", leaves 283 bytes in 2 items
          16 SampleStarted sample 2 attempt 1 because compacted => runs
        > text Now it is fine. => item 17
        > end stop => completed at 19
    "#]]);
}

#[test]
fn each_refusal_compacts_once_more_up_to_the_limit() {
    check(expect![[r#"
        > open compactions=2
        > send x*1600 => first turn, sample@5
        > text y*1600 => item 6
        > end stop => completed at 8
        > send and now? => turn, sample@12
        > fail context_overflow never
          13 SampleCut context_overflow, no further attempt
          14 CompactionStarted 1 attempt 1: overflow, clear to 1604 bytes => runs
        > compacted
          15 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"", leaves 283 bytes in 2 items
          16 SampleStarted sample 2 attempt 1 because compacted => runs
        > fail context_overflow never
          17 SampleCut context_overflow, no further attempt
          18 CompactionStarted 2 attempt 1: overflow, clear to 141 bytes => runs
        > compacted
          19 Compacted cleared before 0, left out before 1, summary "", leaves 64 bytes in 2 items
          20 SampleStarted sample 3 attempt 1 because compacted => runs
        > fail context_overflow never
          21 SampleCut context_overflow, no further attempt
          22 TurnSettled failed: context_overflow: the provider said so
    "#]]);
}

#[test]
fn the_very_first_request_cannot_be_made_smaller() {
    check(expect![[r#"
        > send x*1600 => first turn, sample@5
        > fail context_overflow never
           6 SampleCut context_overflow, no further attempt
           7 CompactionStarted 1 attempt 1: overflow, clear to 800 bytes => runs
        > compacted
           8 Compacted cleared before 0, left out before 0, leaves 1600 bytes in 1 items
           9 TurnSettled exhausted: context
    "#]]);
}

#[test]
fn what_gains_too_little_ends_the_turn() {
    check(expect![[r#"
        > open window=1500 strategy=slide
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send what was it? => turn of input 9
          11 CompactionStarted 1 attempt 1: window, slide to 1606 bytes => runs
        > compacted idle
          12 Compacted cleared before 0, left out before 0, leaves 3600 bytes in 2 items
          13 InputAccepted input 9
          14 TurnSettled exhausted: context
    "#]]);
}

#[test]
fn too_many_compactions_end_the_turn() {
    check(expect![[r#"
        > open window=1500 strategy=slide compactions=0
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send what was it? => turn of input 9
          11 InputAccepted input 9
          12 TurnSettled exhausted: compactions
    "#]]);
}

#[test]
fn a_turn_that_is_done_is_not_compacted() {
    check(expect![[r#"
        > open window=1500
        > send x*1600 => first turn, sample@5
        > text y*4000 => item 6
        > end stop => completed at 8
    "#]]);
}

#[test]
fn the_frame_of_what_waits_counts() {
    let begins = |window: u32| {
        let script = format!(
            "open window={window} strategy=slide\nsend x*1600\ntext y*2000\nend stop\nsend what was it?"
        );
        let told = windlass_testkit::world::transcript(&script).unwrap();
        told.contains("CompactionStarted")
    };
    // 1340 tokens, of which the frame of the last item is 12; an eighth is left for the answer.
    assert!(begins(1531));
    assert!(!begins(1532));
}
