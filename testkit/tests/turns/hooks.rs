//! Hooks at calls: who is asked when, what they may change, and what their word counts for.

use expect_test::expect;

use super::check;

#[test]
fn a_hook_that_has_nothing_to_say_lets_a_call_pass() {
    check(
        r#"
            open hooks=before_tool@write
            send hello
            call read {}
            call write {}
            hook 0 pass
            end stop
        "#,
        expect![[""]],
    );
}

#[test]
fn a_denial_of_a_hook_is_what_the_model_hears() {
    check(
        r#"
            open hooks=before_tool
            send hello
            call write {}
            end stop
            hook 0 deny not in this folder
        "#,
        expect![[""]],
    );
}

#[test]
fn sequential_hooks_are_asked_one_by_one_and_see_what_was_changed() {
    check(
        r#"
            open hooks=before_tool,before_tool
            send hello
            call write {"a":1}
            end stop
            hook 0 pass edit={"a":2}
            hook 0 pass edit={"a":3}
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn parallel_hooks_are_asked_together_after_the_sequential_ones() {
    check(
        r#"
            open hooks=before_tool:parallel,before_tool,before_tool:parallel
            send hello
            call write {}
            end stop
            hook 0 pass context=first
            hook 1 pass context=third
            hook 0 pass context=second
            done 0 ok
        "#,
        expect![[""]],
    );
}

#[test]
fn a_parallel_hook_changes_nothing() {
    check(
        r#"
            open hooks=before_tool:parallel
            send hello
            call write {}
            end stop
            hook 0 pass edit={}
        "#,
        expect![[""]],
    );
}

#[test]
fn deny_beats_ask_beats_allow() {
    check(
        r#"
            open hooks=before_tool:parallel,before_tool:parallel,before_tool:parallel
            send hello
            call write {"n":1}
            call write {"n":2}
            end stop
            hook 0 deny no
            hook 1 ask
            hook 2 allow
            hook 0 allow
            hook 1 pass
            hook 2 ask
        "#,
        expect![[""]],
    );
}

#[test]
fn the_first_denial_ends_the_round() {
    check(
        r#"
            open hooks=before_tool,before_tool
            send hello
            call write {}
            end stop
            hook 0 deny no
        "#,
        expect![[""]],
    );
}

#[test]
fn a_failure_counts_as_it_is_declared() {
    check(
        r#"
            open hooks=before_tool@write,before_tool:open@put
            send hello
            call write {}
            call put {}
            end stop
            hook 0 failed it took too long
            hook 0 failed it took too long
        "#,
        expect![[""]],
    );
}

#[test]
fn arguments_that_a_hook_breaks_fail_the_call() {
    check(
        r#"
            open hooks=before_tool
            send hello
            call write {}
            end stop
            hook 0 pass edit=[]
        "#,
        expect![[""]],
    );
}

#[test]
fn what_hooks_say_of_results_comes_after_them_in_call_order() {
    check(
        r#"
            open hooks=after_tool
            send hello
            call read {"n":1}
            call read {"n":2}
            end stop
            done 1 two
            hook 0 deny check two again
            done 0 one
            hook 0 pass context=one-is-fine
        "#,
        expect![[""]],
    );
}
