//! Interrupts: what runs is wound down, what waits never begins, and nothing is told otherwise.

use expect_test::expect;

use super::check;

#[test]
fn an_interrupt_winds_a_sample_down() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text Half => item 6
        > interrupt person => request 7, wind sample@5
        > fail cancelled never Half an
           8 SampleCut cancelled, partial "Half an", what it said stands, stopped by person, about 143 tokens, no further attempt
           9 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn text_behind_a_call_that_has_started_stands_too() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text First => item 6
        > call write {} => permitted call 7@9
        > text Second => item 10
        > reasoning Hmm. => item 11
        > call read {} => read-only call 12@14
        > interrupt person => request 15, wind sample@5
             wind call 7@9
             wind call 12@14
        > fail cancelled never Thi
          16 SampleCut cancelled, partial "Thi", stands through 12, stopped by person, about 198 tokens, no further attempt
        > done 0 ok => call 7 observed at 17
        > done 0 ok => call 12 observed at 18
          19 TurnSettled interrupted by person
        > send go on => turn, sample@23
    "#]]);
}

#[test]
fn a_call_that_has_started_stands_alone_if_no_text_follows_it() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text First => item 6
        > call write {} => permitted call 7@9
        > interrupt shutdown
          10 InterruptRequested by shutdown: enough
             wind sample@5
             wind call 7@9
        > fail cancelled never
          11 SampleCut cancelled, stands through 7, about 143 tokens, no further attempt
        > done 0 ok => call 7 observed at 12
          13 TurnSettled interrupted by shutdown
    "#]]);
}

#[test]
fn an_interrupt_winds_calls_down_and_starts_no_more() {
    check(expect![[r#"
        > open parallel_calls=2
        > send hello => first turn, sample@5
        > call write {"n":1} => permitted call 6@8
        > call read {"n":2} => read-only call 9@11
        > call write {"n":3} => permitted call 12 decided
        > end stop => sample ended at 14
        > interrupt person => request 15
          16 CallObserved call 12 not_started: Not run: the user interrupted the turn before this call began.
             wind call 6@8
             wind call 9@11
        > aborted 1 stopped
          17 CallObserved call 9 aborted: Stopped: the user interrupted the turn.
        stopped
        > done 0 just made it => call 6 observed at 18
          19 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn an_interrupt_ends_a_backoff_at_once() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > fail server soon
           6 SampleCut server, about 115 tokens, next attempt in 250 ms
        > interrupt shutdown
           7 InterruptRequested by shutdown: enough
           8 TurnSettled interrupted by shutdown
    "#]]);
}

#[test]
fn what_does_not_stop_within_its_grace_is_abandoned() {
    check(expect![[r#"
        > open grace_ms=50
        > send hello => first turn, sample@5
        > call write {"n":1} => permitted call 6@8
        > call read {"n":2} => read-only call 9@11
        > end stop => sample ended at 12
        > interrupt person => request 13
             wind call 6@8
             wind call 9@11
        > wait 49
        > wait 1
          14 CallObserved call 6 unknown: Unknown: the user interrupted the turn and this call did not end in time. It may have taken effect or not; check before you repeat it.
          15 CallObserved call 9 aborted: Stopped: the user interrupted the turn. The tool changes nothing.
          16 TurnSettled interrupted by person
        > late 0
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
    "#]]);
}

#[test]
fn a_stream_that_does_not_stop_within_its_grace_is_abandoned() {
    check(expect![[r#"
        > open grace_ms=50
        > send hello => first turn, sample@5
        > interrupt person => request 6, wind sample@5
        > wait 50
           7 SampleCut cancelled, about 115 tokens, no further attempt
           8 TurnSettled interrupted by person
        > late 0
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
    "#]]);
}

#[test]
fn a_second_interrupt_is_refused() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > interrupt person => request 6, wind sample@5
        > interrupt person
             rejected: the turn has been asked to stop already
        > fail cancelled never
           7 SampleCut cancelled, about 115 tokens, no further attempt
           8 TurnSettled interrupted by person
        > interrupt person
             rejected: no turn is running, so there is nothing to interrupt
    "#]]);
}

#[test]
fn there_is_nothing_to_interrupt_or_to_continue() {
    check(expect![[r#"
           1 SessionOpened
        > interrupt person
             rejected: no turn is running, so there is nothing to interrupt
        > continue
             rejected: no turn is running and no input waits, so there is nothing to continue
    "#]]);
}

#[test]
fn a_call_that_was_to_wait_and_then_to_stop_never_began() {
    check(expect![[r#"
        > open lazy
        > send hello => first turn, sample@5
        > call write {} => permitted call 6 decided
           8 CallStarted call 6 attempt 1
        > end stop => sample ended at 9
        > interrupt person => request 10
             never call 6@8
          11 CallObserved call 6 not_started: Not run: the user interrupted the turn before this call began.
          12 TurnSettled interrupted by person
        > sync
    "#]]);
}
