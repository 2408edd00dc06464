//! Around a compaction: hooks, failures, restarts, steers and interrupts.

use expect_test::expect;

use super::check;

#[test]
fn hooks_hear_of_it_before_and_after() {
    check(expect![[r#"
        > open window=1500 strategy=slide hooks=before_compaction@window,after_compaction
           1 SessionOpened
        > send x*1600
           2 InputQueued "x*1600"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text y*2000
           6 ItemAdded text "y*2000"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send what was it?
           9 InputQueued "what was it?"
          10 TurnOpened because opened by input 9
          11 HooksAsked before_compaction 1 window: hook 0
             run hook 0@11
        > hook 0 pass
          12 HookDecided h0 pass
          13 CompactionStarted 1 attempt 1: window, slide to 1606 bytes
             run compact@13
        > compacted
          14 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"", leaves 275 bytes in 1 items
          15 HooksAsked after_compaction 14 window: hook 1
             run hook 1@15
        > hook 0 pass context=reread-the-plan
          16 HookDecided h1 pass, context "reread-the-plan"
          17 ContextInjected of the hook at 16
          18 InputAccepted input 9
          19 SampleStarted sample 1 attempt 1 because opened by input 9
             run sample@19
    "#]]);
}

#[test]
fn a_hook_may_refuse_it() {
    check(expect![[r#"
        > open window=1500 strategy=slide hooks=before_compaction
           1 SessionOpened
        > send x*1600
           2 InputQueued "x*1600"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text y*2000
           6 ItemAdded text "y*2000"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send what was it?
           9 InputQueued "what was it?"
          10 TurnOpened because opened by input 9
          11 HooksAsked before_compaction 1 window: hook 0
             run hook 0@11
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
           1 SessionOpened
        > send x*1600
           2 InputQueued "x*1600"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text y*2000
           6 ItemAdded text "y*2000"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send what was it?
           9 InputQueued "what was it?"
          10 TurnOpened because opened by input 9
          11 CompactionStarted 1 attempt 1: window, slide to 1606 bytes
             run compact@11
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
           1 SessionOpened
        > send x*1600
           2 InputQueued "x*1600"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text y*2000
           6 ItemAdded text "y*2000"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send what was it?
           9 InputQueued "what was it?"
          10 TurnOpened because opened by input 9
          11 CompactionStarted 1 attempt 1: window, slide to 1606 bytes
             run compact@11
        > crash
             the log ends at 11
          12 CompactionStarted 1 attempt 2: window, slide to 1606 bytes
             run compact@12
        > late 1
             rejected: the answer of the compaction at 11 came late: that run is no longer waited for
        > compacted
          13 Compacted cleared before 0, left out before 2, summary "Left out here to make room: 1 answer of 1 turn.\nRequests among it, shortened, the latest last:\n- \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"", leaves 275 bytes in 1 items
          14 InputAccepted input 9
          15 SampleStarted sample 1 attempt 1 because opened by input 9
             run sample@15
    "#]]);
}

#[test]
fn restarts_of_it_are_limited() {
    check(expect![[r#"
        > open window=1500 strategy=slide restarts=0
           1 SessionOpened
        > send x*1600
           2 InputQueued "x*1600"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text y*2000
           6 ItemAdded text "y*2000"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send what was it?
           9 InputQueued "what was it?"
          10 TurnOpened because opened by input 9
          11 CompactionStarted 1 attempt 1: window, slide to 1606 bytes
             run compact@11
        > crash
             the log ends at 11
          12 CompactionFailed the process ended each time while it was made
          13 InputAccepted input 9
          14 TurnSettled exhausted: context
    "#]]);
}

#[test]
fn after_an_interrupt_nobody_waits_for_it() {
    check(expect![[r#"
        > open window=1500 strategy=slide
           1 SessionOpened
        > send x*1600
           2 InputQueued "x*1600"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text y*2000
           6 ItemAdded text "y*2000"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send what was it?
           9 InputQueued "what was it?"
          10 TurnOpened because opened by input 9
          11 CompactionStarted 1 attempt 1: window, slide to 1606 bytes
             run compact@11
        > interrupt person
          12 InterruptRequested by person: enough
          13 TurnSettled interrupted by person, waiting: 9
    "#]]);
}

#[test]
fn a_steer_that_does_not_fit_makes_room_first() {
    check(expect![[r#"
        > open window=1500 strategy=slide
           1 SessionOpened
        > send x*1200
           2 InputQueued "x*1200"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {}
           6 ItemAdded call read {}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > end stop
           9 SampleEnded stop
        > steer z*1800
          10 InputQueued "z*1800", steer
        > done 0 y*600
          11 CallObserved call 6 done: y*600
          12 CompactionStarted 1 attempt 1: window, slide to 721 bytes
             run compact@12
        > compacted
          13 Compacted cleared before 3, left out before 0, leaves 1300 bytes in 3 items
          14 InputAccepted input 10
          15 SampleStarted sample 2 attempt 1 because pending input 10
             run sample@15
    "#]]);
}
