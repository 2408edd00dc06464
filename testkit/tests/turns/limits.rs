//! Limits: each ends the turn with an outcome of its own, or refuses an input.

use expect_test::expect;

use super::check;

#[test]
fn samples_are_limited() {
    check(expect![[r#"
        > open samples=1
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > done 0 ok => call 6 observed at 10
          11 TurnSettled exhausted: samples
    "#]]);
}

#[test]
fn a_session_that_is_full_asks_no_more() {
    check(expect![[r#"
        > open session_bytes=9000
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > done 0 y*9000 => call 6 observed at 10
          11 TurnSettled exhausted: session_bytes
        > send again
             rejected: the session has 12396 bytes, and the limit is 9000: begin another session, or raise `session_bytes`
    "#]]);
}

#[test]
fn a_call_does_not_start_once_its_session_is_full() {
    check(expect![[r#"
        > open session_bytes=9000 permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > followup x*9000
          11 InputQueued "x*9000", follow-up
          12 CallObserved call 7 not_started: Not started: limit. The session has as many bytes as it may.
          13 TurnSettled exhausted: session_bytes, waiting: 11
          14 TurnOpened because opened by input 11 => accepted at 15
          16 TurnSettled exhausted: session_bytes
        > answer 0 allow
             rejected: nobody is asked about call 7: it was answered already, or never asked
    "#]]);
}

#[test]
fn surplus_calls_of_an_answer_do_not_start_and_the_turn_goes_on() {
    check(expect![[r#"
        > open calls_per_sample=1
        > send hello => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > call read {"n":2}
           9 ItemAdded call read {"n":2}, surplus
          10 CallObserved call 9 not_started: Not started: limit. An answer may make at most 1 call, and this one is beyond that. Request it again in a later answer, if it is still needed.
        > call put {"n":3}
          11 ItemAdded call put {"n":3}, surplus
          12 CallObserved call 11 not_started: Not started: limit. An answer may make at most 1 call, and this one is beyond that. Request it again in a later answer, if it is still needed.
        > done 0 one => call 6 observed at 13
        > end stop => sample ended at 14
          15 SampleStarted sample 2 attempt 1 because tool results => runs
        > text Hi! => item 16
        > end stop => completed at 18
    "#]]);
}

#[test]
fn surplus_calls_do_not_count_against_the_calls_of_a_turn() {
    check(expect![[r#"
        > open calls_per_sample=1 calls=2
        > send hello => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > call read {"n":2}
           9 ItemAdded call read {"n":2}, surplus
          10 CallObserved call 9 not_started: Not started: limit. An answer may make at most 1 call, and this one is beyond that. Request it again in a later answer, if it is still needed.
        > end stop => sample ended at 11
        > done 0 one => call 6 observed at 12, sample 2@13
        > call read {"n":2} => read-only call 14@16
        > end stop => sample ended at 17
        > done 0 two => call 14 observed at 18
          19 SampleStarted sample 3 attempt 1 because tool results => runs
        > text Hi! => item 20
        > end stop => completed at 22
    "#]]);
}

#[test]
fn calls_of_a_turn_are_limited() {
    check(expect![[r#"
        > open calls=1
        > send hello => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > end stop => sample ended at 9
        > done 0 ok => call 6 observed at 10, sample 2@11
        > call read {"n":2} => call 12
          13 CallObserved call 12 not_started: Not run: the answer asks for more calls than the limit allows.
        > end stop => sample ended at 14
          15 TurnSettled exhausted: calls
    "#]]);
}

#[test]
fn tokens_are_limited() {
    check(expect![[r#"
        > open tokens=2000
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 2000 tokens set aside, answer up to 1885 => runs
        > call read {} => read-only call 6 decided
        > end stop tokens=2000
           8 SampleEnded stop, 2000 tokens
           9 CallObserved call 6 not_started: Not started: limit. The budget of the turn is used up. Request it again in a later turn, if it is still needed.
          10 TurnSettled exhausted: tokens
        > done 0 ok
    "#]]);
}

#[test]
fn the_process_allows_less_than_the_session() {
    check(expect![[r#"
        > open ceiling.samples=1
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > end stop => sample ended at 9
        > done 0 ok => call 6 observed at 10
          11 TurnSettled exhausted: samples
    "#]]);
}

#[test]
fn waiting_inputs_are_limited() {
    check(expect![[r#"
        > open queue=1
        > send one => first turn, sample@5
        > send two => input 6
        > send three
             rejected: no more inputs may wait (1 do): let the turns before them end first
    "#]]);
}

#[test]
fn a_deadline_stops_a_sample() {
    check(expect![[r#"
        > open turn_ms=100
        > send hello => first turn, sample@5
        > wait 99
        > wait 1
           6 InterruptRequested by deadline: the turn has run for 100 ms, which is its limit
             wind sample@5
        > fail cancelled never
           7 SampleCut cancelled, about 115 tokens, no further attempt
           8 TurnSettled exhausted: wall_clock
    "#]]);
}

#[test]
fn a_deadline_stops_a_backoff() {
    check(expect![[r#"
        > open turn_ms=100
        > send hello => first turn, sample@5
        > fail server soon
           6 SampleCut server, about 115 tokens, next attempt in 250 ms
        > wait 100
           7 InterruptRequested by deadline: the turn has run for 100 ms, which is its limit
           8 TurnSettled exhausted: wall_clock
    "#]]);
}

#[test]
fn an_answer_that_is_whole_by_the_deadline_counts() {
    check(expect![[r#"
        > open turn_ms=100
        > send hello => first turn, sample@5
        > text Hi! => item 6
        > wait 99
        > end stop => completed at 8
    "#]]);
}

#[test]
fn a_deadline_that_passed_while_no_process_ran_takes_nothing_up_again() {
    check(expect![[r#"
        > open turn_ms=100
        > send hello => first turn, sample@5
        > call put {} => permitted call 6@8
        > end stop => sample ended at 9
        > crash away=100
             the log ends at 9
          10 InterruptRequested by deadline: the turn has run for 100 ms, which is its limit
          11 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          12 TurnSettled exhausted: wall_clock
    "#]]);
}

#[test]
fn unfinished_for_ever_is_limited() {
    check(expect![[r#"
        > open samples=2
        > send hello => first turn, sample@5
        > end unfinished
           6 SampleEnded unfinished
           7 SampleStarted sample 2 attempt 1 because unfinished => runs
        > end unfinished
           8 SampleEnded unfinished
           9 TurnSettled exhausted: samples
    "#]]);
}

#[test]
fn a_clock_that_jumps_back_only_waits_longer() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > fail server soon
           6 SampleCut server, about 115 tokens, next attempt in 250 ms
        > back 5000
        > wait 250
        > wait 5000 => sample 1 again@7
    "#]]);
}

#[test]
fn an_input_that_opens_a_turn_at_once_does_not_wait() {
    check(expect![[r#"
        > open queue=0
        > send one => first turn, sample@5
        > send two
             rejected: no more inputs may wait (0 do): let the turns before them end first
        > text First. => item 6
        > end stop => completed at 8
        > send three => turn, sample@12
    "#]]);
}
