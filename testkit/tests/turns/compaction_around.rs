//! Around a compaction: hooks, failures, restarts, steers and interrupts.

use expect_test::expect;

use super::check;

#[test]
fn hooks_hear_of_it_before_and_after() {
    check(expect![[r#"
        > open window=1500 strategy=slide hooks=before_compaction@window,after_compaction
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send what was it? => turn of input 9
          11 HooksAsked before_compaction 1 window: hook 0 => runs
        > hook 0 pass => passed at 12
          13 CompactionStarted 1 attempt 1: window, slide to 2242 bytes => runs
        > compacted
          14 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\nThe assistant said, shortened, the latest last:\n- \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...", leaves 560 bytes in 1 items
          15 HooksAsked after_compaction 14 window: hook 1 => runs
        > hook 0 pass context=reread-the-plan
          16 HookDecided h1 pass, context "reread-the-plan"
          17 ContextInjected of the hook at 16
          18 InputAccepted input 9 => sample@19
    "#]]);
}

#[test]
fn a_hook_may_refuse_it() {
    check(expect![[r#"
        > open window=1500 strategy=slide hooks=before_compaction
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send what was it? => turn of input 9
          11 HooksAsked before_compaction 1 window: hook 0 => runs
        > hook 0 deny keep everything
          12 HookDecided h0 deny: keep everything
          13 InputAccepted input 9
          14 TurnSettled blocked: keep everything
    "#]]);
}

#[test]
fn one_that_fails_ends_the_turn() {
    check(expect![[r#"
        > open window=1500 strategy=slide
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send what was it? => turn of input 9
          11 CompactionStarted 1 attempt 1: window, slide to 2242 bytes => runs
        > compacted fail
          12 CompactionFailed the script says so
          13 InputAccepted input 9
          14 TurnSettled exhausted: context
    "#]]);
}

#[test]
fn a_restart_begins_it_anew() {
    check(expect![[r#"
        > open window=1500 strategy=slide
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send what was it? => turn of input 9
          11 CompactionStarted 1 attempt 1: window, slide to 2242 bytes => runs
        > crash => log ends at 11
          12 CompactionStarted 1 attempt 2: window, slide to 2242 bytes => runs
        > late 1
             rejected: the answer of the compaction at 11 came late: that run is no longer waited for
        > compacted
          13 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\nThe assistant said, shortened, the latest last:\n- \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...", leaves 560 bytes in 1 items
          14 InputAccepted input 9 => sample@15
    "#]]);
}

#[test]
fn restarts_of_it_are_limited() {
    check(expect![[r#"
        > open window=1500 strategy=slide restarts=0
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send what was it? => turn of input 9
          11 CompactionStarted 1 attempt 1: window, slide to 2242 bytes => runs
        > crash => log ends at 11
          12 CompactionFailed the process ended each time while it was made
          13 InputAccepted input 9
          14 TurnSettled exhausted: context
    "#]]);
}

#[test]
fn after_an_interrupt_nobody_waits_for_it() {
    check(expect![[r#"
        > open window=1500 strategy=slide
        > send x*1600 => first turn, sample@5
        > text y*2000 => item 6
        > end stop => completed at 8
        > send what was it? => turn of input 9
          11 CompactionStarted 1 attempt 1: window, slide to 2242 bytes => runs
        > interrupt person => request 12
          13 TurnSettled interrupted by person, waiting: 9
    "#]]);
}

#[test]
fn a_steer_that_does_not_fit_makes_room_first() {
    check(expect![[r#"
        > open window=1500 strategy=slide
        > send x*1200 => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > steer z*1800 => input 10
        > done 0 y*600 => call 6 observed at 11
          12 CompactionStarted 1 attempt 1: window, slide to 1029 bytes => runs
        > compacted
          13 Compacted cleared before 0, left out before 0, results cut to 320 bytes, leaves 1526 bytes in 3 items
          14 InputAccepted input 10 => sample 2@15
    "#]]);
}
