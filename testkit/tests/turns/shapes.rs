//! Answers of a shape: one that does not fit is asked for again, as often as the settings say, and
//! never is plain success.

use expect_test::expect;

use super::check;

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again_with_what_is_wrong() {
    check(expect![[r#"
        > open shape=2
        > send hello => first turn, sample@5
        > text one => item 6
        > end stop fault=not-JSON
           7 SampleEnded stop, fault: not-JSON
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. not-JSON\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5 => runs
        > text {"n":1}
          10 ItemAdded text "{\"n\":1}"
        > end stop => completed at 12
    "#]]);
}

#[test]
fn a_turn_whose_returns_are_used_up_has_an_outcome_of_its_own() {
    check(expect![[r#"
        > open shape=1
        > send hello => first turn, sample@5
        > text one => item 6
        > end stop fault=not-JSON
           7 SampleEnded stop, fault: not-JSON
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. not-JSON\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5 => runs
        > text two => item 10
        > end stop fault=still-not
          11 SampleEnded stop, fault: still-not
          12 TurnSettled misshapen: still-not
        > send and now => turn, sample@16
        > text three => item 17
        > end stop fault=not-JSON
          18 SampleEnded stop, fault: not-JSON
          19 ContextInjected shape of the answer of 16: "The last answer cannot be used. not-JSON\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
          20 SampleStarted sample 2 attempt 1 because retry return 16 => runs
    "#]]);
}

#[test]
fn without_a_return_the_first_answer_counts() {
    check(expect![[r#"
        > open shape=0
        > send hello => first turn, sample@5
        > text one => item 6
        > end other=paused fault=not-JSON
           7 SampleEnded other "paused", fault: not-JSON
           8 TurnSettled misshapen: not-JSON
    "#]]);
}

#[test]
fn only_an_answer_that_could_be_the_last_one_is_held_to_the_shape() {
    check(expect![[r#"
        > open shape=0
        > send hello => first turn, sample@5
        > call read {} => read-only call 6@8
        > text half => item 9
        > end stop fault=odd
          10 SampleEnded stop
        > done 0 ok => call 6 observed at 11, sample 2@12
        > text half => item 13
        > end unfinished fault=odd
          14 SampleEnded unfinished
          15 SampleStarted sample 3 attempt 1 because unfinished => runs
        > refusal no
          16 ItemAdded refusal "no"
        > end stop fault=odd
          17 SampleEnded stop
          18 TurnSettled refused
        > send again => turn, sample@22
        > text half => item 23
        > end length fault=odd
          24 SampleEnded length
          25 TurnSettled exhausted: output_tokens
        > send again => turn, sample@29
        > reasoning so => item 30
        > end stop fault=odd
          31 SampleEnded stop
          32 ContextInjected empty answer 29
          33 SampleStarted sample 2 attempt 1 because empty answer 29 => runs
    "#]]);
    check(expect![[r#"
        > send no shape is asked for => first turn, sample@5
        > text one => item 6
        > end stop fault=odd
           7 SampleEnded stop
           8 TurnSettled completed
    "#]]);
}

#[test]
fn returns_are_counted_apart_from_failures_calls_and_restarts() {
    check(expect![[r#"
        > open lazy shape=1
        > send hello => first turn, sample@5
        > text one => item 6
        > end stop fault=odd => sample ended at 7
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5
        > sync
             run sample@9
        > fail server soon
          10 SampleCut server, about 208 tokens, next attempt in 250 ms
        > wait 1000
          11 SampleStarted sample 2 attempt 2 because retry => runs
        > call read {} => read-only call 12@14
        > end stop => sample ended at 15
        > done 0 ok => call 12 observed at 16
          17 SampleStarted sample 3 attempt 1 because tool results
        > sync
             run sample@17
        > crash => log ends at 17
          18 SampleCut restart, about 235 tokens, next attempt in 0 ms
          19 SampleStarted sample 3 attempt 2 because retry => runs
        > wait 5000
        > text two => item 20
        > end stop fault=odd => sample ended at 21
          22 TurnSettled misshapen: odd
    "#]]);
}

#[test]
fn a_process_that_dies_after_the_fault_leaves_the_return_to_the_next() {
    check(expect![[r#"
        > open lazy shape=1
        > send hello => first turn, sample@5
        > text one => item 6
        > sync
        > end stop fault=odd => shape told at 8, of 5, sample 2@9
        > crash lose=2
             the log ends at 7
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5 => runs
        > text two => item 10
        > end stop => completed at 12
    "#]]);
}

#[test]
fn a_dry_run_is_held_to_the_shape_like_any_turn() {
    check(expect![[r#"
        > open shape=1
        > send dry hello => first dry turn, sample@5
        > text one => item 6
        > end stop fault=odd => shape told at 8, of 5, sample 2@9
        > text two => item 10
        > end stop => completed at 12
    "#]]);
}
