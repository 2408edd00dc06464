//! Rules: what the user says of calls, by tool and by argument.

use expect_test::expect;

use super::check;

#[test]
fn deny_is_over_ask_is_over_allow() {
    check(
        r#"
            open rules=allow:*,ask:write,deny:shell
            send hello
            call put {}
            call write {}
            call shell {}
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_rule_looks_at_an_argument() {
    check(
        r#"
            open rules=deny:shell(command=rm*)
            send hello
            call shell {"command":"rm -r a"}
            call shell {"command":"ls"}
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_rule_allows_what_a_person_would_be_asked_about() {
    check(
        r#"
            open permissions=ask rules=allow:write
            send hello
            call write {}
            call put {}
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn no_rule_and_no_hook_widens_the_mode() {
    check(
        r#"
            open mode=plan rules=allow:write hooks=before_tool
            send hello
            call write {}
            end stop
            hook 0 allow
        "#,
        expect![[""]],
    );
}

#[test]
fn arguments_that_a_hook_changes_meet_the_rules_anew() {
    check(
        r#"
            open rules=deny:shell(command=rm*) hooks=before_tool
            send hello
            call shell {"command":"ls"}
            end stop
            hook 0 allow edit={"command":"rm"}
        "#,
        expect![[""]],
    );
}

#[test]
fn arguments_that_a_person_changes_meet_the_rules_anew() {
    check(
        r#"
            open permissions=ask rules=deny:shell(command=rm*)
            send hello
            call shell {"command":"ls"}
            end stop
            asked 0 allow edit={"command":"rm"}
        "#,
        expect![[""]],
    );
}

#[test]
fn a_rule_that_asks_is_not_undone_by_a_hook_that_allows() {
    check(
        r#"
            open rules=ask:write hooks=before_tool
            send hello
            call write {}
            end stop
            hook 0 allow
        "#,
        expect![[""]],
    );
}

#[test]
fn settings_do_not_widen_by_the_way() {
    check(
        r#"
            open permissions=ask rules=deny:shell hooks=stop
            configure permissions=auto rules=deny:shell hooks=stop
            configure permissions=ask hooks=stop
            configure permissions=ask rules=deny:shell
            configure permissions=read_only rules=deny:shell,deny:put hooks=stop
            configure meant permissions=auto
        "#,
        expect![[""]],
    );
}
