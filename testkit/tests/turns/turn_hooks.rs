//! Hooks about a turn as a whole: before and after the model, at its end, and when it is told to stop.

use expect_test::expect;

use super::check;

#[test]
fn a_hook_may_have_the_turn_go_on_at_its_end() {
    check(
        r#"
            open hooks=stop
            send hello
            text I am done.
            end stop
            hook 0 deny the tests do not pass
            text Now they do.
            end stop
            hook 0 pass
        "#,
        expect![[""]],
    );
}

#[test]
fn a_hook_that_never_lets_go_is_capped() {
    check(
        r#"
            open hooks=stop continuations=1
            send hello
            text I am done.
            end stop
            hook 0 deny
            text I am done.
            end stop
            hook 0 deny
        "#,
        expect![[""]],
    );
}

#[test]
fn a_hook_sees_each_answer_and_may_ask_for_another_try() {
    check(
        r#"
            open hooks=after_answer
            send hello
            text I think so.
            end stop
            hook 0 deny say why
            text Because.
            end stop
            hook 0 pass
        "#,
        expect![[""]],
    );
}

#[test]
fn with_such_a_hook_calls_wait_for_its_word() {
    check(
        r#"
            open hooks=after_answer
            send hello
            text Let me look.
            call read {}
            end stop
            hook 0 pass context=be-quick
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn an_answer_that_a_hook_refuses_runs_none_of_its_calls() {
    check(
        r#"
            open hooks=after_answer
            send hello
            call write {}
            end stop
            hook 0 deny no more changes
        "#,
        expect![[""]],
    );
}

#[test]
fn a_hook_before_the_model_may_end_the_turn() {
    check(
        r#"
            open hooks=before_sample
            send hello
            hook 0 pass context=mind-the-gap
            call read {}
            end stop
            done 0 ok
            hook 0 deny enough for today
        "#,
        expect![[""]],
    );
}

#[test]
fn a_hook_halts_the_turn() {
    check(
        r#"
            open hooks=after_tool
            send hello
            call read {"n":1}
            call write {"n":2}
            end stop
            done 0 ok
            hook 0 halt this is not what was meant
            aborted 0 stopped
        "#,
        expect![[""]],
    );
}

#[test]
fn context_beyond_the_budget_fails_loudly() {
    check(
        r#"
            open hooks=before_sample,before_sample context_bytes=60
            send hello
            hook 0 pass context=short
            hook 0 pass context=quite-a-bit-longer
        "#,
        expect![[""]],
    );
}

#[test]
fn hooks_hear_of_an_interrupt() {
    check(
        r#"
            open hooks=interrupt
            send hello
            interrupt person
            fail cancelled never half
            hook 0 pass
        "#,
        expect![[""]],
    );
}

#[test]
fn hooks_that_hear_of_an_interrupt_have_its_grace() {
    check(
        r#"
            open hooks=interrupt grace_ms=50
            send hello
            interrupt person
            fail cancelled never
            wait 49
            wait 1
        "#,
        expect![[""]],
    );
}

#[test]
fn after_a_stop_nobody_waits_for_a_hook() {
    check(
        r#"
            open hooks=before_tool
            send hello
            call write {}
            end stop
            interrupt person
            late 0
            late 1
        "#,
        expect![[""]],
    );
}
