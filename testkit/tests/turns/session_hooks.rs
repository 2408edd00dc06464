//! Hooks about a session: how it starts, that it is let go, and turns of another session.

use expect_test::expect;

use super::check;

#[test]
fn hooks_hear_that_a_session_starts() {
    check(
        r#"
            open hooks=session_start
            send one
            hook 0 pass context=the-branch-is-main
            text hi
            end stop
            send two
        "#,
        expect![[""]],
    );
}

#[test]
fn hooks_hear_that_a_process_goes_on_with_a_session() {
    check(
        r#"
            open hooks=session_start@resume
            send one
            text hi
            end stop
            crash
            send two
            hook 0 pass context=welcome-back
        "#,
        expect![[""]],
    );
}

#[test]
fn a_session_may_not_start() {
    check(
        r#"
            open hooks=session_start
            send one
            hook 0 deny the disk is full
            send two
            hook 0 pass
        "#,
        expect![[""]],
    );
}

#[test]
fn hooks_hear_that_a_session_is_let_go() {
    check(
        r#"
            open hooks=session_end,session_end
            send one
            text hi
            end stop
            close
            hook 0 pass
            hook 0 pass
        "#,
        expect![[""]],
    );
}

#[test]
fn while_a_turn_is_open_a_session_is_not_let_go() {
    check(
        r#"
            open hooks=session_end
            send one
            close
            text hi
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn an_input_waits_for_the_hooks_of_the_end() {
    check(
        r#"
            open hooks=session_end
            close
            send one
            hook 0 pass
            text hi
            end stop
            close
        "#,
        expect![[""]],
    );
}

#[test]
fn a_restart_does_not_ask_the_hooks_of_the_end_again() {
    check(
        r#"
            open hooks=session_end
            close
            crash
        "#,
        expect![[""]],
    );
}

#[test]
fn the_turn_of_a_child_has_points_of_its_own() {
    check(
        r#"
            open child hooks=sub_turn_start,sub_turn_stop,stop
            send one
            hook 0 pass context=you-are-a-helper
            text hi
            end stop
            hook 0 deny say more
            text hi there
            end stop
            hook 0 pass
        "#,
        expect![[""]],
    );
}
