//! Budgets: tokens and money are set aside before a sample and settled after it.

use expect_test::expect;

use super::check;

#[test]
fn a_sample_that_the_budget_leaves_no_room_for_is_not_begun() {
    check(expect![[r#"
        > open tokens=600
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 115 tokens set aside => runs
        > call read {} => read-only call 6@8
        > end stop tokens=340 out=20
           9 SampleEnded stop, 360 tokens
        > done 0 ok => call 6 observed at 10
          11 TurnSettled exhausted: tokens
    "#]]);
}

#[test]
fn a_first_sample_that_is_too_large_is_not_begun() {
    check(expect![[r#"
        > open tokens=10
        > send hello => first turn, input 2 accepted at 4
           5 TurnSettled exhausted: tokens
    "#]]);
}

#[test]
fn money_is_counted_by_the_price_table() {
    check(expect![[r#"
        > open cost_micros=1000 price=1000000/100000/2000000
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, money set aside: 115 => runs
        > call read {} => read-only call 6@8
        > end stop tokens=400 out=100
           9 SampleEnded stop, 500 tokens
        > done 0 ok => call 6 observed at 10
          11 TurnSettled exhausted: cost, cost 600
    "#]]);
}

#[test]
fn money_that_is_spent_ends_the_turn() {
    check(expect![[r#"
        > open cost_micros=500 price=1000000/100000/2000000
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, money set aside: 115 => runs
        > call read {} => read-only call 6@8
        > end stop tokens=400 out=100
           9 SampleEnded stop, 500 tokens
        > done 0 ok => call 6 observed at 10
          11 TurnSettled exhausted: cost, cost 600
    "#]]);
}

#[test]
fn a_failed_attempt_costs_too() {
    check(expect![[r#"
        > open tokens=500
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 115 tokens set aside => runs
        > fail server soon tokens=400
           6 SampleCut server, 400 tokens, next attempt in 250 ms
        > wait 500
           7 TurnSettled exhausted: tokens
    "#]]);
}

#[test]
fn a_request_that_is_said_to_have_had_no_tokens_is_no_measure_of_the_next() {
    check(expect![[r#"
        > open tokens=600
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 115 tokens set aside => runs
        > end unfinished tokens=0
           6 SampleEnded unfinished, 0 tokens
           7 SampleStarted sample 2 attempt 1 because unfinished, 115 tokens set aside => runs
        > text hi => item 8
        > end stop => completed at 10
    "#]]);
}
