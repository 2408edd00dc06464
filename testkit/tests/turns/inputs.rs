//! Inputs: what a user says while a turn runs, after an interrupt, twice, or not at all.

use expect_test::expect;
use windlass_testkit::world::transcript;

use super::check;

#[test]
fn an_input_that_comes_meanwhile_opens_the_next_turn() {
    check(expect![[r#"
        > send one => first turn, sample@5
        > send two => input 6
        > text First. => item 7
        > end stop => completed at 9, turn of waiting 6, sample@12
        > text Second. => item 13
        > end stop => completed at 15
    "#]]);
}

#[test]
fn an_interrupt_holds_what_waits_until_a_user_goes_on() {
    check(expect![[r#"
        > send one => first turn, sample@5
        > send two => input 6
        > interrupt person => request 7, wind sample@5
        > fail cancelled never
           8 SampleCut cancelled, about 114 tokens, no further attempt
           9 TurnSettled interrupted by person, waiting: 6
        > wait 1000
        > crash => log ends at 9
        > continue
          10 TurnOpened because opened by input 6 => sample@12
        > text Second. => item 13
        > end stop => completed at 15
    "#]]);
}

#[test]
fn a_word_lifts_the_hold() {
    check(expect![[r#"
        > send one => first turn, sample@5
        > send two => input 6
        > interrupt person => request 7, wind sample@5
        > fail cancelled never
           8 SampleCut cancelled, about 114 tokens, no further attempt
           9 TurnSettled interrupted by person, waiting: 6
        > send three => input 10
          11 TurnOpened because opened by input 6 => sample@13
        > text Second. => item 14
        > end stop => completed at 16, turn of waiting 10, sample@19
    "#]]);
}

#[test]
fn a_word_after_the_interrupt_opens_the_next_turn() {
    check(expect![[r#"
        > send one => first turn, sample@5
        > interrupt person => request 6, wind sample@5
        > send no, two => input 7
        > fail cancelled never
           8 SampleCut cancelled, about 114 tokens, no further attempt
           9 TurnSettled interrupted by person, waiting: 7
          10 TurnOpened because opened by input 7 => sample@12
    "#]]);
}

#[test]
fn a_key_is_taken_once() {
    check(expect![[r#"
           1 SessionOpened
        > send key=k hello
           2 InputQueued "hello", key k
           3 TurnOpened because opened by input 2 => sample@5
        > send key=k hello again
             rejected: an input with this key was taken at 2 already
        > text Hi! => item 6
        > end stop => completed at 8
        > send key=k hello
             rejected: an input with this key was taken at 2 already
        > send key=l hello
           9 InputQueued "hello", key l
          10 TurnOpened because opened by input 9 => sample@12
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
        > send one => first turn, sample@5
        > configure mode=plan samples=3
           6 SettingsChanged mode plan, permissions auto
        > configure mode=plan samples=3
        > call write {} => permitted call 7@9
        > end stop => sample ended at 10
        > done 0 ok => call 7 observed at 11, sample 2@12
        > text Done. => item 13
        > end stop => completed at 15
        > send two => turn of input 16
          18 ContextInjected posture: "This is plan mode: only tools that change nothing run. Say what should be done instead of doing it."
          19 InputAccepted input 16 => sample@20
        > call write {} => call 21
          22 CallDecided call 21 deny
          23 CallObserved call 21 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
        > end stop => sample ended at 24
          25 SampleStarted sample 2 attempt 1 because tool results => runs
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
