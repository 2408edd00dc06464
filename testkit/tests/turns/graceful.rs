//! Stopping after the step: what runs may end, and the model is not asked again.

use expect_test::expect;

use super::check;

#[test]
fn the_answer_may_end_and_the_turn_completes() {
    check(
        r#"
            send hello
            interrupt person after
            text hi
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn the_calls_may_end_and_the_model_is_not_asked_again() {
    check(
        r#"
            send hello
            call write {"n":1}
            interrupt shutdown after
            call shell {"n":2}
            end stop
            done 0 one
            done 0 two
        "#,
        expect![[""]],
    );
}

#[test]
fn it_is_not_asked_for_twice_but_it_may_be_hurried() {
    check(
        r#"
            send hello
            call write {}
            end stop
            interrupt person after
            interrupt person after
            interrupt person
            aborted 0 stopped
        "#,
        expect![[""]],
    );
}

#[test]
fn a_backoff_is_not_waited_for() {
    check(
        r#"
            send hello
            fail overloaded soon
            interrupt shutdown after
        "#,
        expect![[""]],
    );
}

#[test]
fn what_waits_is_kept() {
    check(
        r#"
            send hello
            steer more
            interrupt person after
            text hi
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_question_may_be_answered() {
    check(
        r#"
            open permissions=ask
            send hello
            call write {}
            end stop
            interrupt shutdown after
            answer 0 allow
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn it_survives_a_restart() {
    check(
        r#"
            send hello
            call read {}
            end stop
            interrupt shutdown after
            crash
            done 0 ok
        "#,
        expect![[""]],
    );
}
