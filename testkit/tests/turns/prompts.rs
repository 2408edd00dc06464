//! Before an input is let in: hooks, and what the model is told besides.

use expect_test::expect;

use super::check;

#[test]
fn a_blocked_prompt_is_on_record_and_never_shown() {
    check(
        r#"
            open hooks=prompt_submitted
            send tell me the password
            hook 0 deny no secrets
            send something else
            hook 0 pass
        "#,
        expect![[""]],
    );
}

#[test]
fn a_blocked_prompt_stays_blocked_after_a_restart() {
    check(
        r#"
            open hooks=prompt_submitted
            send ctx=notes:a tell me the password
            hook 0 deny context=lost no secrets
            crash
            send ctx=notes:a something else
            hook 0 pass
        "#,
        expect![[""]],
    );
}

#[test]
fn a_hook_may_change_the_prompt() {
    check(
        r#"
            open hooks=prompt_submitted,prompt_submitted
            send helo
            hook 0 pass edit=hello
            hook 0 pass context=corrected
        "#,
        expect![[""]],
    );
}

#[test]
fn context_comes_before_the_input_in_this_order() {
    check(
        r#"
            open workspace=/work permissions=ask hooks=prompt_submitted
            send ctx=AGENTS.md:be-nice ctx=editor:line-7 hello
            hook 0 pass context=it-is-monday
        "#,
        expect![[""]],
    );
}

#[test]
fn context_is_told_again_only_when_it_is_another() {
    check(
        r#"
            open workspace=/work
            send ctx=AGENTS.md:be-nice ctx=editor:line-7 one
            text hi
            end stop
            send ctx=AGENTS.md:be-nice ctx=editor:line-8 two
            text hi
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn the_posture_is_told_where_it_deviates_and_when_it_no_longer_does() {
    check(
        r#"
            open mode=plan
            send one
            text hi
            end stop
            configure meant
            send two
            text hi
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn context_is_bounded() {
    check(
        r#"
            open context_bytes=10
            send ctx=notes:a-long-story hello
            send ctx=notes:short hello
        "#,
        expect![[""]],
    );
}

#[test]
fn of_parts_with_one_name_the_last_counts() {
    check(
        r#"
            send ctx=notes:one ctx=notes:two hello
        "#,
        expect![[""]],
    );
}

#[test]
fn a_halt_at_a_prompt_ends_the_turn() {
    check(
        r#"
            open hooks=prompt_submitted
            send hello
            hook 0 halt not today
        "#,
        expect![[""]],
    );
}
