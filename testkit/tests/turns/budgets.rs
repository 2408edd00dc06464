//! Budgets: tokens and money are set aside before a sample and settled after it.

use expect_test::expect;

use super::check;

#[test]
fn a_sample_that_the_budget_leaves_no_room_for_is_not_begun() {
    check(expect![[r#"
        > open tokens=600
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 600 tokens set aside, answer up to 485 => runs
        > call read {} => read-only call 6 decided
        > end stop tokens=340 out=20
           8 SampleEnded stop, 360 tokens
           9 CallStarted call 6 attempt 1 => runs
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
           5 SampleStarted sample 1 attempt 1 because opened by input 2, money set aside: 999, answer up to 442 => runs
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
        > open cost_micros=699 price=1000000/100000/2000000
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, money set aside: 699, answer up to 292 => runs
        > call read {} => read-only call 6 decided
        > end stop tokens=400 out=150
           8 SampleEnded stop, 550 tokens
           9 CallObserved call 6 not_started: Not started: limit. The budget of the turn is used up. Request it again in a later turn, if it is still needed.
          10 TurnSettled exhausted: cost, cost 700
    "#]]);
}

#[test]
fn an_answer_that_used_up_the_tokens_starts_none_of_its_calls() {
    check(expect![[r#"
        > open tokens=6000
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 6000 tokens set aside, answer up to 5885 => runs
        > call put {} => permitted call 6 decided
        > call read {} => read-only call 8 decided
        > end stop tokens=7000 out=1000
          10 SampleEnded stop, 8000 tokens
          11 CallObserved call 6 not_started: Not started: limit. The budget of the turn is used up. Request it again in a later turn, if it is still needed.
          12 CallObserved call 8 not_started: Not started: limit. The budget of the turn is used up. Request it again in a later turn, if it is still needed.
          13 TurnSettled exhausted: tokens
    "#]]);
}

#[test]
fn calls_start_at_once_while_the_answer_cannot_use_up_the_tokens() {
    check(expect![[r#"
        > open tokens=9000
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 8307 tokens set aside => runs
        > call put {} => permitted call 6@8
        > end stop tokens=300 out=20
           9 SampleEnded stop, 320 tokens
        > done 0 ok => call 6 observed at 10
          11 SampleStarted sample 2 attempt 1 because tool results, 8519 tokens set aside => runs
        > call put {} => permitted call 12@14
        > end stop tokens=400 out=20
          15 SampleEnded stop, 420 tokens
    "#]]);
}

#[test]
fn an_answer_that_exceeds_the_tokens_does_not_complete_the_turn() {
    check(expect![[r#"
        > open tokens=600
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 600 tokens set aside, answer up to 485 => runs
        > text Hi! => item 6
        > end stop tokens=500 out=101
           7 SampleEnded stop, 601 tokens
           8 TurnSettled exhausted: tokens
    "#]]);
    check(expect![[r#"
        > open tokens=600
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 600 tokens set aside, answer up to 485 => runs
        > text Hi! => item 6
        > end stop tokens=500 out=100
           7 SampleEnded stop, 600 tokens
           8 TurnSettled completed
    "#]]);
}

#[test]
fn an_answer_that_its_bound_cuts_off_says_which_budget_was_short() {
    check(expect![[r#"
        > open tokens=600
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 600 tokens set aside, answer up to 485 => runs
        > text Hi! => item 6
        > end length tokens=115 out=485
           7 SampleEnded length, 600 tokens
           8 TurnSettled exhausted: tokens
    "#]]);
    check(expect![[r#"
        > open cost_micros=1000 price=1000000/100000/2000000
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, money set aside: 999, answer up to 442 => runs
        > text Hi! => item 6
        > end length tokens=115 out=442
           7 SampleEnded length, 557 tokens
           8 TurnSettled exhausted: cost, cost 999
    "#]]);
    check(expect![[r#"
        > open tokens=600
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 600 tokens set aside, answer up to 485 => runs
        > call read {} => read-only call 6 decided
        > end length tokens=115 out=200
           8 SampleEnded length, 315 tokens
           9 CallStarted call 6 attempt 1 => runs
        > done 0 ok => call 6 observed at 10
          11 TurnSettled exhausted: tokens
    "#]]);
}

#[test]
fn a_person_who_is_asked_about_a_call_need_not_answer_once_the_tokens_are_used_up() {
    check(expect![[r#"
        > open permissions=ask tokens=9000
        > send hello => first turn, of input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2, 8354 tokens set aside => runs
        > call put {} => approval of call 7@9 within a week
        > end stop tokens=9000
          10 SampleEnded stop, 9000 tokens
          11 CallObserved call 7 not_started: Not started: limit. The budget of the turn is used up. Request it again in a later turn, if it is still needed.
          12 TurnSettled exhausted: tokens
    "#]]);
}

#[test]
fn an_attempt_that_breaks_off_counts_its_request_and_what_streamed() {
    check(expect![[r#"
        > open tokens=2000
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 2000 tokens set aside, answer up to 1885 => runs
        > text x*600 => item 6
        > fail truncated soon
           7 SampleCut truncated, about 327 tokens, next attempt in 250 ms
        > wait 500
           8 SampleStarted sample 1 attempt 2 because retry, 1673 tokens set aside, answer up to 1558 => runs
        > text Hi! => item 9
        > end stop tokens=115 out=5
          10 SampleEnded stop, 120 tokens
          11 TurnSettled completed
    "#]]);
}

#[test]
fn what_a_provider_reports_before_it_breaks_off_counts_in_place_of_an_estimate() {
    check(expect![[r#"
        > open tokens=2000
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 2000 tokens set aside, answer up to 1885 => runs
        > fail truncated soon tokens=400
           6 SampleCut truncated, 400 tokens, next attempt in 250 ms
    "#]]);
}

#[test]
fn a_failed_attempt_costs_too() {
    check(expect![[r#"
        > open tokens=500
        > send hello => first turn, input 2 accepted at 4
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 500 tokens set aside, answer up to 385 => runs
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
           5 SampleStarted sample 1 attempt 1 because opened by input 2, 600 tokens set aside, answer up to 485 => runs
        > end unfinished tokens=0
           6 SampleEnded unfinished, 0 tokens
           7 SampleStarted sample 2 attempt 1 because unfinished, 600 tokens set aside, answer up to 485 => runs
        > text hi => item 8
        > end stop
           9 SampleEnded stop, about 128 tokens
          10 TurnSettled completed
    "#]]);
}
