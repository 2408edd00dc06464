//! Compactions that a user asks for: a turn of their own, between the turns of inputs.

use expect_test::expect;

use super::check;

#[test]
fn between_turns_a_compaction_has_a_turn_of_its_own() {
    check(expect![[r#"
        > open
        > send one => first turn, sample@5
        > text x*3000 => item 6
        > end stop => completed at 8
        > compact the ports
           9 CompactionRequested on "the ports"
          10 TurnOpened because compaction requested at 9
          11 CompactionStarted 1 attempt 1: manual, summary to 1501 bytes => runs
        > compacted They spoke of ports.
          12 Compacted cleared before 0, left out before 2, summary "They spoke of ports.", leaves 76 bytes in 1 items
          13 TurnSettled completed
        > send two => turn, sample@17
    "#]]);
}

#[test]
fn during_a_turn_a_compaction_waits_and_precedes_the_next_input() {
    check(expect![[r#"
        > open strategy=slide
        > send one => first turn, sample@5
        > send two => input 6
        > compact
           7 CompactionRequested
        > compact the ports
           8 CompactionRequested on "the ports"
        > text x*3000 => item 9
        > end stop => sample ended at 10, turn completed at 11, leaves 6
          12 TurnOpened because compaction requested at 8
          13 CompactionStarted 1 attempt 1: manual, summary to 1501 bytes => runs
        > compacted They spoke of ports.
          14 Compacted cleared before 0, left out before 2, summary "They spoke of ports.", leaves 76 bytes in 1 items
          15 TurnSettled completed, waiting: 6
          16 TurnOpened because opened by input 6 => sample@18
    "#]]);
}

#[test]
fn an_empty_conversation_is_not_compacted() {
    check(expect![[r#"
        > open
           1 SessionOpened
        > compact
             rejected: the conversation is empty, so there is nothing to compact
        > send one => turn, sample@5
        > compact
           6 CompactionRequested
        > interrupt person => request 7, wind sample@5
    "#]]);
}

#[test]
fn a_compaction_is_made_again_after_a_restart() {
    check(expect![[r#"
        > open restarts=1
        > send one => first turn, sample@5
        > text x*3000 => item 6
        > end stop => completed at 8
        > compact
           9 CompactionRequested
          10 TurnOpened because compaction requested at 9
          11 CompactionStarted 1 attempt 1: manual, summary to 1501 bytes => runs
        > crash => log ends at 11
          12 CompactionStarted 1 attempt 2: manual, summary to 1501 bytes => runs
        > compacted They spoke.
          13 Compacted cleared before 0, left out before 2, summary "They spoke.", leaves 67 bytes in 1 items
          14 TurnSettled completed
    "#]]);
}

#[test]
fn a_compaction_that_fails_fails_its_turn() {
    check(expect![[r#"
        > open
        > send one => first turn, sample@5
        > text x*3000 => item 6
        > end stop => completed at 8
        > compact
           9 CompactionRequested
          10 TurnOpened because compaction requested at 9
          11 CompactionStarted 1 attempt 1: manual, summary to 1501 bytes => runs
        > compacted fail
          12 CompactionFailed the script says so
          13 TurnSettled failed: compaction: the script says so
        > compact
          14 CompactionRequested
          15 TurnOpened because compaction requested at 14
          16 CompactionStarted 1 attempt 1: manual, summary to 1501 bytes => runs
        > compacted They spoke.
          17 Compacted cleared before 0, left out before 2, summary "They spoke.", leaves 67 bytes in 1 items
          18 TurnSettled completed
    "#]]);
}

#[test]
fn an_interrupt_ends_a_compaction() {
    check(expect![[r#"
        > open
        > send one => first turn, sample@5
        > text x*3000 => item 6
        > end stop => completed at 8
        > compact
           9 CompactionRequested
          10 TurnOpened because compaction requested at 9
          11 CompactionStarted 1 attempt 1: manual, summary to 1501 bytes => runs
        > send two => input 12
        > interrupt person => request 13
          14 TurnSettled interrupted by person, waiting: 12
        > continue
          15 TurnOpened because opened by input 12 => sample@17
    "#]]);
}

#[test]
fn a_compaction_leaves_inputs_held() {
    check(expect![[r#"
        > open
        > send one => first turn, sample@5
        > text x*3000 => item 6
        > end stop => completed at 8
        > send two => turn, sample@12
        > send three => input 13
        > interrupt person => request 14, wind sample@12
        > fail cancelled never
          15 SampleCut cancelled, about 1139 tokens, no further attempt
          16 TurnSettled interrupted by person, waiting: 13
        > compact
          17 CompactionRequested
          18 TurnOpened because compaction requested at 17
          19 CompactionStarted 1 attempt 1: manual, summary to 1612 bytes => runs
        > compacted They spoke.
          20 Compacted cleared before 0, left out before 2, summary "They spoke.", leaves 289 bytes in 3 items
          21 TurnSettled completed, waiting: 13
        > continue
          22 TurnOpened because opened by input 13 => sample@24
    "#]]);
}

#[test]
fn a_request_of_an_interrupted_turn_waits_for_the_user() {
    check(expect![[r#"
        > open
        > send one => first turn, sample@5
        > text x*3000 => item 6
        > end stop => completed at 8
        > send two => turn, sample@12
        > compact
          13 CompactionRequested
        > interrupt person => request 14, wind sample@12
        > fail cancelled never
          15 SampleCut cancelled, about 1139 tokens, no further attempt
          16 TurnSettled interrupted by person
        > continue
          17 TurnOpened because compaction requested at 13
          18 CompactionStarted 1 attempt 1: manual, summary to 1612 bytes => runs
        > compacted They spoke.
          19 Compacted cleared before 0, left out before 2, summary "They spoke.", leaves 289 bytes in 3 items
          20 TurnSettled completed
    "#]]);
}

#[test]
fn a_steer_does_not_reach_a_compaction() {
    check(expect![[r#"
        > open
        > send one => first turn, sample@5
        > text x*3000 => item 6
        > end stop => completed at 8
        > compact
           9 CompactionRequested
          10 TurnOpened because compaction requested at 9
          11 CompactionStarted 1 attempt 1: manual, summary to 1501 bytes => runs
        > steer and this => input 12
        > compacted They spoke.
          13 Compacted cleared before 0, left out before 2, summary "They spoke.", leaves 67 bytes in 1 items
          14 TurnSettled completed, waiting: 12
          15 TurnOpened because opened by input 12 => sample@17
    "#]]);
}

#[test]
fn hooks_may_deny_a_compaction() {
    check(expect![[r#"
        > open hooks=before_compaction@manual
        > send one => first turn, sample@5
        > text x*3000 => item 6
        > end stop => completed at 8
        > compact
           9 CompactionRequested
          10 TurnOpened because compaction requested at 9
          11 HooksAsked before_compaction 1 manual: hook 0 => runs
        > hook 0 deny not now
          12 HookDecided h0 deny: not now
          13 TurnSettled blocked: not now
    "#]]);
}

#[test]
fn a_turn_that_compacts_does_nothing_for_the_goal() {
    check(expect![[r#"
        > open compactions=0
        > send one => first turn, sample@5
        > goal turns=2 win
           6 GoalSet "win", 2 turns
        > compact
           7 CompactionRequested
        > text x*3000 => item 8
        > end stop => completed at 10
          11 TurnOpened because compaction requested at 7
          12 TurnSettled exhausted: compactions
          13 TurnOpened because goal 6
          14 ContextInjected goal: "The goal is not met yet (turn 1 of 2):\nwin\nGo on. When it is met, call goal_met."
          15 SampleStarted sample 1 attempt 1 because goal 6 => runs
    "#]]);
}

#[test]
fn a_compaction_that_comes_again_under_a_key_is_made_once() {
    check(expect![[r#"
        > open
        > send one => first turn, sample@5
        > text x*3000 => item 6
        > end stop => completed at 8
        > keyed k compact
           9 CompactionRequested, keyed k
          10 TurnOpened because compaction requested at 9
          11 CompactionStarted 1 attempt 1: manual, summary to 1501 bytes => runs
        > compacted They spoke.
          12 Compacted cleared before 0, left out before 2, summary "They spoke.", leaves 67 bytes in 1 items
          13 TurnSettled completed
        > keyed k compact
             rejected: an input with this key was taken at 9 already
    "#]]);
}

#[test]
fn the_word_to_continue_reaches_the_inputs_behind_a_compaction() {
    check(expect![[r#"
        > open
        > send one => first turn, sample@5
        > text x*3000 => item 6
        > end stop => completed at 8
        > send two => turn, sample@12
        > compact
          13 CompactionRequested
        > send three => input 14
        > interrupt person => request 15, wind sample@12
        > fail cancelled never
          16 SampleCut cancelled, about 1139 tokens, no further attempt
          17 TurnSettled interrupted by person, waiting: 14
        > continue
          18 TurnOpened because compaction requested at 13
          19 CompactionStarted 1 attempt 1: manual, summary to 1612 bytes => runs
        > compacted They spoke.
          20 Compacted cleared before 0, left out before 2, summary "They spoke.", leaves 289 bytes in 3 items
          21 TurnSettled completed, waiting: 14
          22 TurnOpened because opened by input 14 => sample@24
    "#]]);
}

#[test]
fn a_compaction_that_exceeds_the_budget_says_so() {
    check(expect![[r#"
        > open price=926798/0/4303449 cost_micros=2750
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, money set aside: 2749, answer up to 614 => runs
        > text hi => item 6
        > end stop tokens=1429
           7 SampleEnded stop, 1429 tokens
           8 TurnSettled completed, cost 1325
        > compact
           9 CompactionRequested
          10 TurnOpened because compaction requested at 9
          11 CompactionStarted 1 attempt 1: manual, summary to 3 bytes, money set aside: 1341 => runs
        > crash => log ends at 11
          12 CompactionStarted 1 attempt 2: manual, summary to 3 bytes, money set aside: 1341, money lost: 1341 => runs
        > compacted after 1 in short
          13 Compacted cleared before 0, left out before 0, 1 requests unmeasured, leaves 7 bytes in 2 items
          14 TurnSettled exhausted: cost, cost 2778
    "#]]);
}
