//! Eager start: calls run while their answer streams, and what happens when it breaks off.

use expect_test::expect;

use super::check;

#[test]
fn results_may_come_before_the_answer_is_whole() {
    check(
        r#"
            send hello
            call read {"n":1}
            done 0 one
            text And another.
            call read {"n":2}
            end stop
            done 0 two
        "#,
        expect![[""]],
    );
}

#[test]
fn what_stands_of_a_broken_answer_ends_with_the_last_call_that_began() {
    check(
        r#"
            send hello
            text Let me look.
            call read {"n":1}
            call shell {"n":2}
            text And then
            fail truncated soon
            done 0 one
            wait 250
        "#,
        expect![[""]],
    );
}

#[test]
fn the_results_may_take_longer_than_the_backoff() {
    check(
        r#"
            send hello
            call read {}
            fail truncated soon
            wait 250
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn without_a_further_attempt_the_calls_that_began_end_first() {
    check(
        r#"
            open attempts=1
            send hello
            call write {}
            fail truncated soon
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn a_restart_while_the_answer_streams_runs_nothing_twice() {
    check(
        r#"
            send hello
            call write {"n":1}
            call read {"n":2}
            crash
            done 0 two
        "#,
        expect![[""]],
    );
}

#[test]
fn nothing_that_was_denied_before_the_cut_stands() {
    check(
        r#"
            open mode=plan
            send hello
            call write {}
            fail truncated soon
            wait 250
        "#,
        expect![[""]],
    );
}

#[test]
fn a_refused_answer_is_asked_for_again_after_the_calls() {
    check(
        r#"
            send hello
            call read {}
            fail server never
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn an_interrupt_while_the_answer_streams_pairs_each_call() {
    check(
        r#"
            send hello
            call write {"n":1}
            call shell {"n":2}
            interrupt person
            aborted 0 stopped
            fail cancelled never
        "#,
        expect![[""]],
    );
}
