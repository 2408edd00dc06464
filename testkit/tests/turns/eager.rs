//! Eager start: calls run while their answer streams, and what happens when it breaks off.

use expect_test::expect;

use super::check;

#[test]
fn results_may_come_before_the_answer_is_whole() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call read {"n":1} => read-only call 6@8
        > done 0 one => call 6 observed at 9
        > text And another. => item 10
        > call read {"n":2} => read-only call 11@13
        > end stop => sample ended at 14
        > done 0 two => call 11 observed at 15, sample 2@16
    "#]]);
}

#[test]
fn what_stands_of_a_broken_answer_ends_with_the_last_call_that_began() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > text Let me look. => item 6
        > call read {"n":1} => read-only call 7@9
        > call shell {"n":2} => permitted call 10 decided
        > text And then => item 12
        > fail truncated soon
          13 SampleCut truncated, stands through 7, about 178 tokens, next attempt in 250 ms
        > done 0 one => call 7 observed at 14
        > wait 250
          15 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn the_results_may_take_longer_than_the_backoff() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > fail truncated soon
           9 SampleCut truncated, stands through 6, about 129 tokens, next attempt in 250 ms
        > wait 250
        > done 0 ok => call 6 observed at 10, sample 2@11
    "#]]);
}

#[test]
fn without_a_further_attempt_the_calls_that_began_end_first() {
    check(expect![[r#"
        > open attempts=1
        > send hello => first turn, sample@5
        > call write {} => permitted call 6@8
        > fail truncated soon
           9 SampleCut truncated, stands through 6, about 130 tokens, no further attempt
        > done 0 ok => call 6 observed at 10
          11 TurnSettled failed: truncated: the provider said so
    "#]]);
}

#[test]
fn a_restart_while_the_answer_streams_runs_nothing_twice() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call write {"n":1} => permitted call 6@8
        > call read {"n":2} => read-only call 9@11
        > crash => log ends at 11
          12 SampleCut restart, stands through 9, about 147 tokens, next attempt in 0 ms
          13 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          14 CallStarted call 9 attempt 2 => runs
        > done 0 two => call 9 observed at 15, sample 2@16
    "#]]);
}

#[test]
fn nothing_that_was_denied_before_the_cut_stands() {
    check(expect![[r#"
        > open mode=plan
        > send hello => first turn, of input 2
           4 ContextInjected posture: "This is plan mode: only tools that change nothing run. Say what should be done instead of doing it."
           5 InputAccepted input 2 => sample@6
        > call write {} => call 7
           8 CallDecided call 7 deny
           9 CallObserved call 7 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
        > fail truncated soon
          10 SampleCut truncated, about 128 tokens, next attempt in 250 ms
        > wait 250 => sample 1 again@11
    "#]]);
}

#[test]
fn what_may_not_be_tried_again_ends_the_turn_after_its_calls() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > fail server never
           9 SampleCut server, stands through 6, about 129 tokens, no further attempt
        > done 0 ok => call 6 observed at 10
          11 TurnSettled failed: server: the provider said so
    "#]]);
}

#[test]
fn an_interrupt_while_the_answer_streams_pairs_each_call() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > call write {"n":1} => permitted call 6@8
        > call shell {"n":2} => permitted call 9 decided
        > interrupt person => request 11
          12 CallObserved call 9 not_started: Not run: the user interrupted the turn before this call began.
             wind sample@5
             wind call 6@8
        > aborted 0 stopped
          13 CallObserved call 6 aborted: Stopped: the user interrupted the turn.
        stopped
        > fail cancelled never
          14 SampleCut cancelled, stands through 6, about 147 tokens, no further attempt
          15 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn a_deferred_tool_runs_from_the_answer_after_its_search_on() {
    check(expect![[r#"
        > open defers=write
        > send hello => first turn, sample@5
        > call search_tools {} => read-only call 6@8
        > done 0 ok => call 6 observed at 9
        > call write {} => call 10
          11 CallObserved call 10 failed: Not run: the tool write is not offered yet. Find it with search_tools first.
        > end stop => sample ended at 12
          13 SampleStarted sample 2 attempt 1 because tool results => runs
        > call write {} => permitted call 14@16
        > done 0 ok => call 14 observed at 17
        > end stop => sample ended at 18
          19 SampleStarted sample 3 attempt 1 because tool results => runs
    "#]]);
}
