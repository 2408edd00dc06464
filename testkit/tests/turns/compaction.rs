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
        > done 0 a*2000
          10 CallObserved call 6 done: a*2000, shown in 1641 bytes
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > call read {"n":2} => read-only call 12@14
        > end stop => sample ended at 15
        > done 0 b*2000
          16 CallObserved call 12 done: b*2000, shown in 1641 bytes
          17 SampleStarted sample 3 attempt 1 because tool results => runs
        > call read {"n":3} => read-only call 18@20
        > end stop => sample ended at 21
        > done 0 c*2000
          22 CallObserved call 18 done: c*2000, shown in 1641 bytes
          23 SampleStarted sample 4 attempt 1 because tool results => runs
        > call read {"n":4} => read-only call 24@26
        > end stop => sample ended at 27
        > done 0 d*2000
          28 CallObserved call 24 done: d*2000, shown in 1641 bytes
          29 CompactionStarted 1 attempt 1: window, clear to 3875 bytes => runs
        > compacted
          30 Compacted cleared before 5, left out before 0, leaves 3581 bytes in 9 items
          31 SampleStarted sample 5 attempt 1 because tool results => runs
        > text All seen. => item 32
        > end stop => completed at 34
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
          11 CompactionStarted 1 attempt 1: window, slide to 2242 bytes => runs
        > compacted
          12 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\nThe assistant said, shortened, the latest last:\n- \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...", leaves 560 bytes in 1 items
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
          11 CompactionStarted 1 attempt 1: window, summary to 2242 bytes => runs
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
          11 CompactionStarted 1 attempt 1: window, summary to 2242 bytes => runs
        > compacted
          12 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"\nThe assistant said, shortened, the latest last:\n- \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...\"", fallback: the model gave no summary, leaves 808 bytes in 1 items
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
        > done 0 a*1500
          10 CallObserved call 6 done: a*1500, shown in 984 bytes
          11 SampleStarted sample 2 attempt 1 because tool results => runs
        > call read {"n":2} => read-only call 12@14
        > end stop => sample ended at 15
        > done 0 b*1500
          16 CallObserved call 12 done: b*1500, shown in 984 bytes
          17 SampleStarted sample 3 attempt 1 because tool results => runs
        > call read {"n":3} => read-only call 18@20
        > end stop => sample ended at 21
        > done 0 c*1500
          22 CallObserved call 18 done: c*1500, shown in 984 bytes
          23 CompactionStarted 1 attempt 1: window, slide to 2168 bytes => runs
        > compacted
          24 Compacted cleared before 0, left out before 5, summary "Left out here to make room: 2 answers of 1 turn.\nTools called: read (2).", leaves 1922 bytes in 4 items
          25 SampleStarted sample 4 attempt 1 because tool results => runs
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
          15 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...", leaves 333 bytes in 2 items
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
          15 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...", leaves 333 bytes in 2 items
          16 SampleStarted sample 2 attempt 1 because compacted => runs
        > fail context_overflow never
          17 SampleCut context_overflow, no further attempt
          18 CompactionStarted 2 attempt 1: overflow, clear to 166 bytes => runs
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
          11 CompactionStarted 1 attempt 1: window, slide to 2242 bytes => runs
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

#[test]
fn results_at_the_same_time_share_the_window_and_are_shown_once() {
    check(expect![[r#"
        > open window=1500
        > send look at all => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > call read {"n":2} => read-only call 9@11
        > call read {"n":3} => read-only call 12@14
        > call read {"n":4} => read-only call 15@17
        > call read {"n":5} => read-only call 18@20
        > call read {"n":6} => read-only call 21@23
        > end stop => sample ended at 24
        > done 0 a*900 => call 6 observed at 25
        > done 0 b*100 => call 9 observed at 26
        > done 0 c*900 => call 12 observed at 27
        > done 0 d*900 => call 15 observed at 28
        > done 0 e*900 => call 18 observed at 29
        > done 0 f*900 => call 21 observed at 30
          31 CompactionStarted 1 attempt 1: window, clear to 2096 bytes => runs
        > compacted
          32 Compacted cleared before 0, left out before 0, results cut to 383 bytes, leaves 2092 bytes in 13 items
          33 SampleStarted sample 2 attempt 1 because tool results => runs
        > call read {"n":7} => read-only call 34@36
        > end stop => sample ended at 37
        > done 0 g*980 => call 34 observed at 38
          39 SampleStarted sample 3 attempt 1 because tool results => runs
        > compacted
        > text All seen. => item 40
        > end stop => completed at 42
    "#]]);
}

#[test]
fn what_the_provider_refuses_is_cut_and_not_cleared() {
    check(expect![[r#"
        > send look at it => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > done 0 a*3000 => call 6 observed at 10, sample 2@11
        > fail context_overflow never
          12 SampleCut context_overflow, no further attempt
          13 CompactionStarted 1 attempt 1: overflow, clear to 1508 bytes => runs
        > compacted
          14 Compacted cleared before 0, left out before 0, results cut to 1492 bytes, leaves 1508 bytes in 3 items
          15 SampleStarted sample 3 attempt 1 because compacted => runs
        > text Seen. => item 16
        > end stop => completed at 18
    "#]]);
}

#[test]
fn results_that_a_stop_kept_from_the_model_are_in_the_next_turn() {
    check(expect![[r#"
        > open window=1500
        > send look at it => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > call read {"n":2} => read-only call 9@11
        > end stop => sample ended at 12
        > done 0 a*900 => call 6 observed at 13
        > interrupt person => request 14
             wind call 9@11
        > done 0 b*900 => call 9 observed at 15
          16 TurnSettled interrupted by person
        > send x*2400 => turn of input 17
          19 CompactionStarted 1 attempt 1: window, clear to 614 bytes => runs
        > compacted
          20 Compacted cleared before 0, left out before 5, summary "Left out here to make room: 1 answer of 1 turn.\nTools called: read (2).", leaves 346 bytes in 2 items
          21 InputAccepted input 17 => sample@22
        > text Seen. => item 23
        > end stop => completed at 25
    "#]]);
}

#[test]
fn reports_on_programs_in_the_text_of_answers_are_cleared_once_they_were_shown() {
    check(expect![[r#"
        > open program=9 window=2500
        > send look around => first turn, sample@5
        > spoken x
           6 ItemAdded call run_program x, spoken
           7 CallDecided call 6 allow: the tool is read-only
        > end stop => call 6@9
        > program 0 value a*2000
          10 ProgramRun program 6 value a*2000
          11 CallObserved call 6 done: The program ended with this value:
        <data>
        a*2000
        </data>
          12 SampleStarted sample 2 attempt 1 because tool results => runs
        > spoken y
          13 ItemAdded call run_program y, spoken
          14 CallDecided call 13 allow: the tool is read-only
        > end stop => call 13@16
        > program 0 value b*2000
          17 ProgramRun program 13 value b*2000
          18 CallObserved call 13 done: The program ended with this value:
        <data>
        b*2000
        </data>
          19 SampleStarted sample 3 attempt 1 because tool results => runs
        > spoken z
          20 ItemAdded call run_program z, spoken
          21 CallDecided call 20 allow: the tool is read-only
        > end stop => call 20@23
        > program 0 value c*2000
          24 ProgramRun program 20 value c*2000
          25 CallObserved call 20 done: The program ended with this value:
        <data>
        c*2000
        </data>
          26 CompactionStarted 1 attempt 1: window, clear to 4023 bytes => runs
        > compacted
          27 Compacted cleared before 3, left out before 0, leaves 2415 bytes in 4 items
          28 SampleStarted sample 4 attempt 1 because tool results => runs
        > text All seen. => item 29
        > end stop => completed at 31
    "#]]);
}
