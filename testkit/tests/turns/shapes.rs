//! Answers of a shape: one that does not fit is asked for again, as often as the settings say, and
//! never is plain success.

use expect_test::expect;

use super::check;

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again_with_what_is_wrong() {
    check(expect![[r#"
        > open shape=2
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text one
           6 ItemAdded text "one"
        > end stop fault=not-JSON
           7 SampleEnded stop, fault: not-JSON
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. not-JSON\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5
             run sample@9
        > text {"n":1}
          10 ItemAdded text "{\"n\":1}"
        > end stop
          11 SampleEnded stop
          12 TurnSettled completed
    "#]]);
}

#[test]
fn a_turn_whose_returns_are_used_up_has_an_outcome_of_its_own() {
    check(expect![[r#"
        > open shape=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text one
           6 ItemAdded text "one"
        > end stop fault=not-JSON
           7 SampleEnded stop, fault: not-JSON
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. not-JSON\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5
             run sample@9
        > text two
          10 ItemAdded text "two"
        > end stop fault=still-not
          11 SampleEnded stop, fault: still-not
          12 TurnSettled misshapen: still-not
        > send and now
          13 InputQueued "and now"
          14 TurnOpened because opened by input 13
          15 InputAccepted input 13
          16 SampleStarted sample 1 attempt 1 because opened by input 13
             run sample@16
        > text three
          17 ItemAdded text "three"
        > end stop fault=not-JSON
          18 SampleEnded stop, fault: not-JSON
          19 ContextInjected shape of the answer of 16: "The last answer cannot be used. not-JSON\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
          20 SampleStarted sample 2 attempt 1 because retry return 16
             run sample@20
    "#]]);
}

#[test]
fn without_a_return_the_first_answer_counts() {
    check(expect![[r#"
        > open shape=0
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text one
           6 ItemAdded text "one"
        > end other=paused fault=not-JSON
           7 SampleEnded other "paused", fault: not-JSON
           8 TurnSettled misshapen: not-JSON
    "#]]);
}

#[test]
fn only_an_answer_that_could_be_the_last_one_is_held_to_the_shape() {
    check(expect![[r#"
        > open shape=0
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call read {}
           6 ItemAdded call read {}
           7 CallDecided call 6 allow: the tool is read-only
           8 CallStarted call 6 attempt 1
             run call 6@8
        > text half
           9 ItemAdded text "half"
        > end stop fault=odd
          10 SampleEnded stop
        > done 0 ok
          11 CallObserved call 6 done: ok
          12 SampleStarted sample 2 attempt 1 because tool results
             run sample@12
        > text half
          13 ItemAdded text "half"
        > end unfinished fault=odd
          14 SampleEnded unfinished
          15 SampleStarted sample 3 attempt 1 because unfinished
             run sample@15
        > refusal no
          16 ItemAdded refusal "no"
        > end stop fault=odd
          17 SampleEnded stop
          18 TurnSettled refused
        > send again
          19 InputQueued "again"
          20 TurnOpened because opened by input 19
          21 InputAccepted input 19
          22 SampleStarted sample 1 attempt 1 because opened by input 19
             run sample@22
        > text half
          23 ItemAdded text "half"
        > end length fault=odd
          24 SampleEnded length
          25 TurnSettled exhausted: output_tokens
        > send again
          26 InputQueued "again"
          27 TurnOpened because opened by input 26
          28 InputAccepted input 26
          29 SampleStarted sample 1 attempt 1 because opened by input 26
             run sample@29
        > reasoning so
          30 ItemAdded reasoning "so"
        > end stop fault=odd
          31 SampleEnded stop
          32 TurnSettled no answer
    "#]]);
    check(expect![[r#"
           1 SessionOpened
        > send no shape is asked for
           2 InputQueued "no shape is asked for"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text one
           6 ItemAdded text "one"
        > end stop fault=odd
           7 SampleEnded stop
           8 TurnSettled completed
    "#]]);
}

#[test]
fn returns_are_counted_apart_from_failures_calls_and_restarts() {
    check(expect![[r#"
        > open lazy shape=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text one
           6 ItemAdded text "one"
        > end stop fault=odd
           7 SampleEnded stop, fault: odd
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5
        > sync
             run sample@9
        > fail server soon
          10 SampleCut server, next attempt in 250 ms
        > wait 1000
          11 SampleStarted sample 2 attempt 2 because retry
             run sample@11
        > call read {}
          12 ItemAdded call read {}
          13 CallDecided call 12 allow: the tool is read-only
          14 CallStarted call 12 attempt 1
             run call 12@14
        > end stop
          15 SampleEnded stop
        > done 0 ok
          16 CallObserved call 12 done: ok
          17 SampleStarted sample 3 attempt 1 because tool results
        > sync
             run sample@17
        > crash
             the log ends at 17
          18 SampleCut restart, next attempt in 0 ms
          19 SampleStarted sample 3 attempt 2 because retry
             run sample@19
        > wait 5000
        > text two
          20 ItemAdded text "two"
        > end stop fault=odd
          21 SampleEnded stop, fault: odd
          22 TurnSettled misshapen: odd
    "#]]);
}

#[test]
fn a_process_that_dies_after_the_fault_leaves_the_return_to_the_next() {
    check(expect![[r#"
        > open lazy shape=1
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text one
           6 ItemAdded text "one"
        > sync
        > end stop fault=odd
           7 SampleEnded stop, fault: odd
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5
             run sample@9
        > crash lose=2
             the log ends at 7
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5
             run sample@9
        > text two
          10 ItemAdded text "two"
        > end stop
          11 SampleEnded stop
          12 TurnSettled completed
    "#]]);
}

#[test]
fn a_dry_run_is_held_to_the_shape_like_any_turn() {
    check(expect![[r#"
        > open shape=1
           1 SessionOpened
        > send dry hello
           2 InputQueued "hello", dry run
           3 TurnOpened because opened by input 2, dry run
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > text one
           6 ItemAdded text "one"
        > end stop fault=odd
           7 SampleEnded stop, fault: odd
           8 ContextInjected shape of the answer of 5: "The last answer cannot be used. odd\nGive the whole answer again: one JSON value that fits the schema, with nothing before or after it.\nThe schema: {\"type\":\"object\"}"
           9 SampleStarted sample 2 attempt 1 because retry return 5
             run sample@9
        > text two
          10 ItemAdded text "two"
        > end stop
          11 SampleEnded stop
          12 TurnSettled completed
    "#]]);
}
