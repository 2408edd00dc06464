//! Hooks whose process ended: those that have not spoken are asked again, the others are not.

use expect_test::expect;

use super::check;

#[test]
fn a_restart_asks_those_that_have_not_spoken() {
    check(
        r#"
            open hooks=before_tool:parallel,before_tool:parallel
            send hello
            call write {}
            end stop
            hook 0 pass context=heard
            crash
            hook 0 pass
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn a_restart_does_not_ask_again_who_has_spoken() {
    check(
        r#"
            open hooks=prompt_submitted
            send hello
            hook 0 pass edit=bye
            crash
        "#,
        expect![[""]],
    );
}

#[test]
fn restarts_of_a_hook_are_limited() {
    check(
        r#"
            open hooks=before_tool restarts=1
            send hello
            call write {}
            end stop
            crash
            crash
        "#,
        expect![[""]],
    );
}

#[test]
fn a_hook_whose_call_does_not_stand_is_not_asked_again() {
    check(
        r#"
            open hooks=before_tool
            send hello
            call write {}
            crash
        "#,
        expect![[""]],
    );
}
