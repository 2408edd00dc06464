//! What is said under a key: done once, however often it is said, also where the process that took it
//! ended before whoever said it was told.

use expect_test::expect;

use super::check;

#[test]
fn a_sent_input_is_queued_once() {
    check(expect![[r#"
           1 SessionOpened
        > keyed w send hello
           2 InputQueued "hello", keyed w
           3 TurnOpened because opened by input 2 => sample@5
        > keyed w send hello
             rejected: an input with this key was taken at 2 already
        > crash => log ends at 5
           6 SampleCut restart, about 115 tokens, next attempt in 0 ms
           7 SampleStarted sample 1 attempt 2 because retry => runs
        > keyed w send hello
             rejected: an input with this key was taken at 2 already
        > text Hi! => item 8
        > end stop => completed at 10
        > keyed w send hello
             rejected: an input with this key was taken at 2 already
    "#]]);
}

#[test]
fn an_input_with_a_key_of_its_own_is_known_by_both() {
    check(expect![[r#"
           1 SessionOpened
        > keyed w send key=k hello
           2 InputQueued "hello", key k, keyed w
           3 TurnOpened because opened by input 2 => sample@5
        > keyed w send hello
             rejected: an input with this key was taken at 2 already
        > send key=k hello
             rejected: an input with this key was taken at 2 already
        > keyed v send key=k hello
             rejected: an input with this key was taken at 2 already
        > crash => log ends at 5
           6 SampleCut restart, about 115 tokens, next attempt in 0 ms
           7 SampleStarted sample 1 attempt 2 because retry => runs
        > keyed w send key=k hello
             rejected: an input with this key was taken at 2 already
        > send key=w hello
             rejected: an input with this key was taken at 2 already
    "#]]);
}

#[test]
fn settings_are_changed_once() {
    check(expect![[r#"
           1 SessionOpened
        > keyed w configure mode=plan
           2 SettingsChanged mode plan, permissions auto, keyed w
        > configure meant
           3 SettingsChanged mode build, permissions auto
        > keyed w configure mode=plan
             rejected: an input with this key was taken at 2 already
        > crash => log ends at 3
        > keyed w configure mode=plan
             rejected: an input with this key was taken at 2 already
        > keyed v configure
        > keyed v configure mode=plan
           4 SettingsChanged mode plan, permissions auto, keyed v
    "#]]);
}

#[test]
fn a_goal_is_set_once() {
    check(expect![[r#"
           1 SessionOpened
        > keyed w goal turns=2 all is well
           2 GoalSet "all is well", 2 turns, keyed w
        > goal none
           3 GoalSet none
        > keyed w goal turns=2 all is well
             rejected: an input with this key was taken at 2 already
        > crash => log ends at 3
        > keyed w goal turns=2 all is well
             rejected: an input with this key was taken at 2 already
        > keyed v goal turns=0 never
             rejected: the goal needs words, and at least one turn
        > keyed v goal turns=1 enough
           4 GoalSet "enough", 1 turns, keyed v
    "#]]);
}

#[test]
fn an_interrupt_stops_one_turn() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > keyed w interrupt person
           6 InterruptRequested by person: enough, keyed w
             wind sample@5
        > crash => log ends at 6
           7 SampleCut restart, about 115 tokens, no further attempt
           8 TurnSettled interrupted by person
        > keyed w interrupt person
             rejected: an input with this key was taken at 6 already
        > send more => turn, sample@12
        > keyed w interrupt person
             rejected: an input with this key was taken at 6 already
        > keyed v interrupt person after
          13 InterruptRequested by person, after the step: enough, keyed v
        > keyed v interrupt person
             rejected: an input with this key was taken at 13 already
    "#]]);
}

#[test]
fn a_question_is_answered_once() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {} => approval of call 7@9 within a week
        > call write {"a":1} => approval of call 10@12 within a week
        > end stop => sample ended at 13
        > keyed w answer 0 allow
          14 ApprovalAnswered call 7 allow by somebody, keyed w
          15 CallStarted call 7 attempt 1 => runs
        > keyed w answer 0 allow
             rejected: an input with this key was taken at 14 already
        > crash => log ends at 15
          16 CallObserved call 7 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          17 ApprovalAsked call 10, attempt 2, within 604800000 ms => runs
        > keyed w answer 0 deny too late
             rejected: an input with this key was taken at 14 already
        > keyed v answer 0 deny not that one
          18 ApprovalAnswered call 10 deny by somebody: not that one, keyed v
          19 CallObserved call 10 denied: Denied by a person: not that one
          20 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_word_to_go_on_opens_one_turn() {
    check(expect![[r#"
        > send one => first turn, sample@5
        > send two => input 6
        > send three => input 7
        > interrupt person => request 8, wind sample@5
        > fail cancelled never
           9 SampleCut cancelled, about 114 tokens, no further attempt
          10 TurnSettled interrupted by person, waiting: 6, 7
        > keyed w continue
          11 TurnOpened because opened by input 6, keyed w
          12 InputAccepted input 6 => sample@13
        > keyed w continue
             rejected: an input with this key was taken at 11 already
        > crash => log ends at 13
          14 SampleCut restart, about 212 tokens, next attempt in 0 ms
          15 SampleStarted sample 1 attempt 2 because retry => runs
        > interrupt person => request 16, wind sample@15
        > keyed w continue
             rejected: an input with this key was taken at 11 already
        > keyed v continue
             rejected: the turn has been asked to stop already
    "#]]);
}

/// What is lost with the process leaves no key, so whoever says it again is heard.
#[test]
fn what_was_lost_is_done_when_it_is_said_again() {
    check(expect![[r#"
        > open lazy
           1 SessionOpened
        > keyed w send hello
           2 InputQueued "hello", keyed w
           3 TurnOpened because opened by input 2 => sample@5
        > crash lose=9
             the log ends at 1
        > keyed w send hello
           2 InputQueued "hello", keyed w
           3 TurnOpened because opened by input 2 => sample@5
        > sync
        > crash lose=9
             the log ends at 5
           6 SampleCut restart, about 115 tokens, next attempt in 0 ms
           7 SampleStarted sample 1 attempt 2 because retry => runs
        > keyed w send hello
             rejected: an input with this key was taken at 2 already
    "#]]);
}

/// As many facts with keys are remembered as without; one that has two counts once.
#[test]
fn a_key_is_forgotten_once_many_facts_with_keys_came_after_it() {
    use windlass_testkit::world::transcript;

    let sends = |keys: std::ops::RangeInclusive<u32>| -> String {
        keys.map(|key| format!("keyed w{key} send key=k{key} hello\n")).collect()
    };
    let told = |script: String| transcript(&format!("open queue=99 ceiling.queue=99\n{script}"));
    for again in ["keyed w0 send again", "send key=k0 again"] {
        let known = told(sends(0..=63) + again).unwrap_or_default();
        assert!(known.ends_with("rejected: an input with this key was taken at 2 already\n"));
        let forgotten = told(sends(0..=64) + again).unwrap_or_default();
        assert!(forgotten.contains("InputQueued \"again\""), "{forgotten}");
    }
}
