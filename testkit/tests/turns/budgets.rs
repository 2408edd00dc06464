//! Budgets: tokens and money are set aside before a sample and settled after it.

use expect_test::expect;

use super::check;

#[test]
fn a_sample_that_the_budget_leaves_no_room_for_is_not_begun() {
    check(
        r#"
            open tokens=600
            send hello
            call read {}
            end stop tokens=340 out=20
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn a_first_sample_that_is_too_large_is_not_begun() {
    check(
        r#"
            open tokens=10
            send hello
        "#,
        expect![[""]],
    );
}

#[test]
fn money_is_counted_by_the_price_table() {
    check(
        r#"
            open cost_micros=1000 price=1000000/100000/2000000
            send hello
            call read {}
            end stop tokens=400 out=100
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn money_that_is_spent_ends_the_turn() {
    check(
        r#"
            open cost_micros=500 price=1000000/100000/2000000
            send hello
            call read {}
            end stop tokens=400 out=100
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn a_failed_attempt_costs_too() {
    check(
        r#"
            open tokens=600
            send hello
            fail server soon tokens=300
            wait 500
        "#,
        expect![[""]],
    );
}
