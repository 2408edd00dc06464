//! Inputs: what a user says while a turn runs, after an interrupt, twice, or not at all.

use expect_test::expect;
use windlass_testkit::world::transcript;

use super::check;

#[test]
fn an_input_that_comes_meanwhile_opens_the_next_turn() {
    check(expect![[r#"
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send two
           6 InputQueued "two"
        > text First.
           7 ItemAdded text "First."
        > end stop
           8 SampleEnded stop
           9 TurnSettled completed, waiting: 6
          10 TurnOpened because opened by input 6
          11 InputAccepted input 6
          12 SampleStarted sample 1 attempt 1 because opened by input 6
             run sample@12
        > text Second.
          13 ItemAdded text "Second."
        > end stop
          14 SampleEnded stop
          15 TurnSettled completed
    "#]]);
}

#[test]
fn an_interrupt_holds_what_waits_until_a_user_goes_on() {
    check(expect![[r#"
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send two
           6 InputQueued "two"
        > interrupt person
           7 InterruptRequested by person: enough
             wind sample@5
        > fail cancelled never
           8 SampleCut cancelled, no further attempt
           9 TurnSettled interrupted by person, waiting: 6
        > wait 1000
        > crash
             the log ends at 9
        > continue
          10 TurnOpened because opened by input 6
          11 InputAccepted input 6
          12 SampleStarted sample 1 attempt 1 because opened by input 6
             run sample@12
        > text Second.
          13 ItemAdded text "Second."
        > end stop
          14 SampleEnded stop
          15 TurnSettled completed
    "#]]);
}

#[test]
fn a_word_lifts_the_hold() {
    check(expect![[r#"
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send two
           6 InputQueued "two"
        > interrupt person
           7 InterruptRequested by person: enough
             wind sample@5
        > fail cancelled never
           8 SampleCut cancelled, no further attempt
           9 TurnSettled interrupted by person, waiting: 6
        > send three
          10 InputQueued "three"
          11 TurnOpened because opened by input 6
          12 InputAccepted input 6
          13 SampleStarted sample 1 attempt 1 because opened by input 6
             run sample@13
        > text Second.
          14 ItemAdded text "Second."
        > end stop
          15 SampleEnded stop
          16 TurnSettled completed, waiting: 10
          17 TurnOpened because opened by input 10
          18 InputAccepted input 10
          19 SampleStarted sample 1 attempt 1 because opened by input 10
             run sample@19
    "#]]);
}

#[test]
fn a_word_after_the_interrupt_opens_the_next_turn() {
    check(expect![[r#"
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > interrupt person
           6 InterruptRequested by person: enough
             wind sample@5
        > send no, two
           7 InputQueued "no, two"
        > fail cancelled never
           8 SampleCut cancelled, no further attempt
           9 TurnSettled interrupted by person, waiting: 7
          10 TurnOpened because opened by input 7
          11 InputAccepted input 7
          12 SampleStarted sample 1 attempt 1 because opened by input 7
             run sample@12
    "#]]);
}

#[test]
fn a_key_is_taken_once() {
    check(expect![[r#"
           1 SessionOpened
        > send key=k hello
           2 InputQueued "hello", key k
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > send key=k hello again
             rejected: an input with this key was taken at 2 already
        > text Hi!
           6 ItemAdded text "Hi!"
        > end stop
           7 SampleEnded stop
           8 TurnSettled completed
        > send key=k hello
             rejected: an input with this key was taken at 2 already
        > send key=l hello
           9 InputQueued "hello", key l
          10 TurnOpened because opened by input 9
          11 InputAccepted input 9
          12 SampleStarted sample 1 attempt 1 because opened by input 9
             run sample@12
    "#]]);
}

#[test]
fn an_empty_input_is_refused() {
    check(expect![[r#"
           1 SessionOpened
        > send 
             rejected: the input is empty: say something
    "#]]);
}

#[test]
fn settings_change_between_turns() {
    check(expect![[r#"
           1 SessionOpened
        > send one
           2 InputQueued "one"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > configure mode=plan samples=3
           6 SettingsChanged mode plan, permissions auto
        > configure mode=plan samples=3
        > call write {}
           7 ItemAdded call write {}
           8 CallDecided call 7 allow: the permissions allow it
           9 CallStarted call 7 attempt 1
             run call 7@9
        > end stop
          10 SampleEnded stop
        > done 0 ok
          11 CallObserved call 7 done: ok
          12 SampleStarted sample 2 attempt 1 because tool results
             run sample@12
        > text Done.
          13 ItemAdded text "Done."
        > end stop
          14 SampleEnded stop
          15 TurnSettled completed
        > send two
          16 InputQueued "two"
          17 TurnOpened because opened by input 16
          18 ContextInjected posture: "This is plan mode: only tools that change nothing run. Say what should be done instead of doing it."
          19 InputAccepted input 16
          20 SampleStarted sample 1 attempt 1 because opened by input 16
             run sample@20
        > call write {}
          21 ItemAdded call write {}
          22 CallDecided call 21 deny
          23 CallObserved call 21 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
        > end stop
          24 SampleEnded stop
          25 SampleStarted sample 2 attempt 1 because tool results
             run sample@25
    "#]]);
}

/// The memory of keys is bounded: a key may come again once 64 others came after it.
#[test]
fn a_key_is_forgotten_once_many_came_after_it() {
    let sends = |keys: std::ops::RangeInclusive<u32>| -> String {
        keys.map(|key| format!("send key={key} hello\n")).collect()
    };
    let told = |script: String| transcript(&format!("open queue=99 ceiling.queue=99\n{script}"));
    let known = told(sends(0..=63) + "send key=0 again").unwrap_or_default();
    assert!(known.ends_with("rejected: an input with this key was taken at 2 already\n"));
    let forgotten = told(sends(0..=64) + "send key=0 again").unwrap_or_default();
    assert!(forgotten.ends_with("InputQueued \"again\", key 0\n"));
}
