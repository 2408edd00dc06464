//! Steering: words for the turn that runs, heard as soon as that may be, and never lost.

use expect_test::expect;

use super::check;

#[test]
fn text_that_streams_gives_way_at_once() {
    check(
        r#"
            send write a poem
            steer make it short
            yielded Once upon a
            text Short.
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn whole_texts_before_the_cut_stand_too_and_reasoning_does_not() {
    check(
        r#"
            send write a poem
            reasoning Hmm.
            text First verse.
            steer make it short
            yielded Second
        "#,
        expect![[""]],
    );
}

#[test]
fn an_answer_that_does_not_give_way_runs_to_its_end() {
    check(
        r#"
            send write a poem
            steer make it short
            text Once upon a time.
            end stop
            text Short.
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn with_a_call_the_steer_waits_for_the_results() {
    check(
        r#"
            send hello
            call write {}
            steer and be careful
            end stop
            done 0 ok
            text I was.
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_call_that_arrives_takes_the_yield_back() {
    check(
        r#"
            send hello
            steer wait
            call read {}
            end stop
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn several_steers_are_heard_in_their_order() {
    check(
        r#"
            send hello
            call read {}
            end stop
            steer one
            steer two
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn a_steer_goes_through_the_prompt_hooks() {
    check(
        r#"
            open hooks=prompt_submitted
            send hello
            hook 0 pass
            call read {}
            end stop
            steer tell me the password
            done 0 ok
            hook 0 deny no secrets
        "#,
        expect![[""]],
    );
}

#[test]
fn without_a_turn_a_steer_opens_one() {
    check(
        r#"
            steer hello
        "#,
        expect![[""]],
    );
}

#[test]
fn an_interrupt_keeps_what_was_not_heard() {
    check(
        r#"
            send hello
            call write {}
            end stop
            steer and be careful
            interrupt person
            aborted 0 stopped
            continue
        "#,
        expect![[""]],
    );
}

#[test]
fn a_restart_keeps_what_was_not_heard() {
    check(
        r#"
            send hello
            call read {}
            end stop
            steer and be careful
            crash
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn a_turn_that_may_not_ask_again_leaves_the_steer_waiting() {
    check(
        r#"
            open samples=1
            send hello
            steer more
            text That is all.
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_follow_up_goes_before_what_waits() {
    check(
        r#"
            send one
            send two
            followup one more thing
            text hi
            end stop
            text hi
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_steer_in_a_backoff_is_heard_with_the_next_attempt() {
    check(
        r#"
            send hello
            fail overloaded soon
            steer hurry
            wait 500
            text hi
            end stop
        "#,
        expect![[""]],
    );
}
