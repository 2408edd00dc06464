//! Goals: a turn that settles with a goal that is not met opens another.

use expect_test::expect;

use super::check;

#[test]
fn a_goal_opens_turns_until_it_is_met() {
    check(
        r#"
            goal turns=3 make the tests pass
            send begin
            text I have begun.
            end stop
            text One is red.
            end stop
            call goal_met {}
            end stop
            text All green.
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_goal_has_a_budget_of_turns() {
    check(
        r#"
            goal turns=1 make the tests pass
            send begin
            text I have begun.
            end stop
            text One is red.
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_turn_that_fails_ends_the_goal() {
    check(
        r#"
            goal turns=3 make the tests pass
            send begin
            fail authentication never
        "#,
        expect![[""]],
    );
}

#[test]
fn an_input_goes_before_the_goal() {
    check(
        r#"
            goal turns=3 make the tests pass
            send begin
            send and then?
            text I have begun.
            end stop
            text hi
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn an_interrupt_stops_the_goal_too() {
    check(
        r#"
            goal turns=3 make the tests pass
            send begin
            interrupt person
            fail cancelled never
            send go on
            text ok
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_goal_may_be_taken_away() {
    check(
        r#"
            goal turns=3 make the tests pass
            send begin
            goal none
            text I have begun.
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_goal_needs_words_and_turns() {
    check(
        r#"
            goal turns=0 make the tests pass
            goal turns=1 
            goal none
        "#,
        expect![[""]],
    );
}

#[test]
fn without_a_goal_there_is_nothing_to_meet() {
    check(
        r#"
            send hello
            call goal_met {}
            end stop
        "#,
        expect![[""]],
    );
}
