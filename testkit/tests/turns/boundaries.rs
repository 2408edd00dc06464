//! Boundaries: where one byte, one token or one moment more decides.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use expect_test::expect;
use windlass_core::Fact;
use windlass_testkit::world::{Script, Transitions, run};

use super::check;

/// The least number for which a script leads to a fact.
fn least(
    numbers: std::ops::Range<usize>,
    script: fn(usize) -> String,
    fact: fn(&Fact) -> bool,
) -> Option<usize> {
    let mut numbers = numbers;
    numbers.find(|number| {
        let script: Script = script(*number).parse().unwrap();
        let world = run(Transitions::CORE, &script).unwrap();
        world.log().iter().any(|recorded| fact(&recorded.fact))
    })
}

#[test]
fn a_request_may_take_all_of_the_window_but_the_answer() {
    let script =
        |bytes| format!("open window=3000\nsend x*3000\ntext y*{bytes}\nend stop\nsend more");
    let least = least(4_400..4_600, script, |fact| matches!(fact, Fact::CompactionStarted(_)));
    expect!["Some(4461)"].assert_eq(&format!("{least:?}"));
}

#[test]
fn hooks_may_give_as_much_context_as_the_limit_says() {
    let script = |bytes| {
        format!(
            "open context_bytes={bytes} hooks=before_sample\nsend hello\nhook 0 pass context=note"
        )
    };
    let least = least(1..200, script, |fact| matches!(fact, Fact::ContextInjected(_)));
    expect!["Some(40)"].assert_eq(&format!("{least:?}"));
}

#[test]
fn presenters_may_give_as_many_bytes_and_parts_as_the_limits_say() {
    let bytes = |bytes| format!("open context_bytes={bytes}\nsend ctx=A:one hello");
    let queued = |fact: &Fact| matches!(fact, Fact::InputQueued(_));
    assert_eq!(least(1..9, bytes, queued), Some(4));
    let parts = |parts: usize| {
        // From 70 parts down, so that the least that is let in has the most parts.
        let parts: Vec<String> = (0..70 - parts).map(|part| format!("ctx=P{part}:one")).collect();
        format!("open\nsend {} hello", parts.join(" "))
    };
    assert_eq!(least(0..9, parts, queued).map(|number| 70 - number), Some(64));
}

#[test]
fn what_was_measured_is_not_estimated_again() {
    check(expect![[r#"
        > open tokens=100000
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 8307 tokens set aside => runs
        > call read {} => read-only call 6@8
        > end stop tokens=340 out=20
           9 SampleEnded stop, 360 tokens
        > done 0 x*300 => call 6 observed at 10
          11 SampleStarted sample 2 attempt 1 because tool results, 8658 tokens set aside => runs
    "#]]);
}

#[test]
fn a_window_leaves_an_eighth_for_the_answer() {
    check(expect![[r#"
        > open window=3000
        > send x*3000 => first turn, sample@5
        > text y*2400 => item 6
        > end stop => completed at 8
        > send more => turn, sample@12
    "#]]);
}

#[test]
fn a_compaction_leaves_room_for_what_waits() {
    check(expect![[r#"
        > open window=1500 strategy=slide
        > send x*3000 => first turn, sample@5
        > text y*3000 => item 6
        > end stop => completed at 8
        > send z*3000 => turn of input 9
          11 CompactionStarted 1 attempt 1: window, slide to 290 bytes => runs
        > text w*3000
        > end stop
        > send more => input 12
    "#]]);
}

#[test]
fn a_user_who_speaks_to_a_turn_without_tokens_is_heard_in_the_next() {
    check(expect![[r#"
        > open tokens=400
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 400 tokens set aside, answer up to 285 => runs
        > steer more => input 6, yield sample@5
        > text hi => item 7
        > end stop tokens=500
           8 SampleEnded stop, 500 tokens
           9 TurnSettled exhausted: tokens, waiting: 6
          10 TurnOpened because opened by input 6 => accepted at 11
          12 TurnSettled exhausted: tokens
    "#]]);
}

#[test]
fn a_budget_that_leaves_an_answer_the_fewest_tokens() {
    check(expect![[r#"
        > open tokens=371
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 371 tokens set aside, answer up to 256 => runs
    "#]]);
    check(expect![[r#"
        > open tokens=370
        > send hello => first turn, input 2 accepted at 4
           5 TurnSettled exhausted: tokens
    "#]]);
}

#[test]
fn money_that_leaves_an_answer_the_fewest_tokens() {
    check(expect![[r#"
        > open cost_micros=627 price=1000000/100000/2000000
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, money set aside: 627, answer up to 256 => runs
    "#]]);
    check(expect![[r#"
        > open cost_micros=626 price=1000000/100000/2000000
        > send hello => first turn, input 2 accepted at 4
           5 TurnSettled exhausted: cost
    "#]]);
}

#[test]
fn an_approval_may_wait_for_ever() {
    check(expect![[r#"
        > open permissions=ask approval_ms=0 ceiling.approval_ms=0
        > send hello => first turn, people are asked, sample@6
        > call write {} => call 7
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7 => runs
    "#]]);
}
