//! Dry runs: every gate runs and is recorded, and the tools say what they would do.

use expect_test::expect;

use super::check;

#[test]
fn gates_run_and_the_tool_plans() {
    check(
        r#"
            open permissions=ask hooks=before_tool@write
            send dry hello
            call read {"n":1}
            call write {"n":2}
            end stop
            hook 0 pass
            asked 0 allow
            done 0 one
            not_started 0 Would write 2.
        "#,
        expect![[""]],
    );
}

#[test]
fn what_is_denied_is_not_even_planned() {
    check(
        r#"
            open rules=deny:shell
            send dry hello
            call shell {}
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_plan_may_be_made_again_after_a_restart() {
    check(
        r#"
            send dry hello
            call write {}
            end stop
            crash
            not_started 0 Would write.
        "#,
        expect![[""]],
    );
}

#[test]
fn a_steer_does_not_turn_a_dry_run_into_another() {
    check(
        r#"
            send dry hello
            call write {}
            end stop
            steer now do it
            not_started 0 Would write.
            call write {}
            end stop
        "#,
        expect![[""]],
    );
}
