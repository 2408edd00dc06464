//! Reconciling: a tool that can say what became of a call is asked after a restart.

use expect_test::expect;

use super::check;

#[test]
fn the_tool_says_what_became_of_its_call() {
    check(
        r#"
            send hello
            call deploy {}
            end stop
            crash
            reconciled 0 done deployed
            text Done.
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_tool_that_does_not_know_leaves_it_unknown() {
    check(
        r#"
            send hello
            call deploy {}
            end stop
            crash
            reconciled 0 none
        "#,
        expect![[""]],
    );
}

#[test]
fn the_question_is_asked_again_after_another_restart() {
    check(
        r#"
            open restarts=2
            send hello
            call deploy {}
            end stop
            crash
            crash
            late 1
            crash
        "#,
        expect![[""]],
    );
}

#[test]
fn restarts_of_the_question_are_limited() {
    check(
        r#"
            open restarts=0
            send hello
            call deploy {}
            end stop
            crash
            crash
        "#,
        expect![[""]],
    );
}

#[test]
fn an_interrupt_winds_the_question_down() {
    check(
        r#"
            open grace_ms=50
            send hello
            call deploy {}
            end stop
            crash
            interrupt person
            wait 50
        "#,
        expect![[""]],
    );
}

#[test]
fn hooks_see_what_was_reconciled() {
    check(
        r#"
            open hooks=after_tool
            send hello
            call deploy {}
            end stop
            crash
            reconciled 0 done deployed
            hook 0 pass context=noted
        "#,
        expect![[""]],
    );
}

#[test]
fn after_a_stop_nothing_is_asked() {
    check(
        r#"
            send hello
            call deploy {}
            end stop
            interrupt person
            crash
        "#,
        expect![[""]],
    );
}
