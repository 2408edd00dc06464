//! Approvals: a person is asked, the first answer counts, and the question outlives its process.

use expect_test::expect;

use super::check;

#[test]
fn a_person_is_asked_and_the_tool_runs() {
    check(
        r#"
            open permissions=ask
            send hello
            call read {}
            call write {}
            end stop
            done 0 ok
            asked 0 allow
            done 0 written
        "#,
        expect![[""]],
    );
}

#[test]
fn a_person_says_no() {
    check(
        r#"
            open permissions=ask
            send hello
            call write {}
            end stop
            asked 0 deny not on a Friday
        "#,
        expect![[""]],
    );
}

#[test]
fn whoever_answers_first_counts() {
    check(
        r#"
            open permissions=ask
            send hello
            call write {}
            end stop
            answer 0 allow
            late 1
            answer 0 deny
        "#,
        expect![[""]],
    );
}

#[test]
fn an_answer_is_for_the_exact_arguments() {
    check(
        r#"
            open permissions=ask
            send hello
            call write {"a":1}
            end stop
            answer 0 about={"a":2} allow
            answer 0 allow
        "#,
        expect![[""]],
    );
}

#[test]
fn a_person_may_change_the_arguments_and_the_model_is_told() {
    check(
        r#"
            open permissions=ask
            send hello
            call write {"a":1}
            end stop
            asked 0 allow edit={"a":2}
            done 0 wrote 2
        "#,
        expect![[""]],
    );
}

#[test]
fn arguments_that_a_person_breaks_fail_the_call() {
    check(
        r#"
            open permissions=ask
            send hello
            call write {}
            end stop
            asked 0 allow edit=nonsense
        "#,
        expect![[""]],
    );
}

#[test]
fn no_answer_is_a_denial_once_the_time_is_over() {
    check(
        r#"
            open permissions=ask approval_ms=100
            send hello
            call write {}
            end stop
            wait 99
            wait 1
            answer 0 allow
        "#,
        expect![[""]],
    );
}

#[test]
fn a_question_outlives_its_process_and_the_tool_runs_once() {
    check(
        r#"
            open permissions=ask approval_ms=100
            send hello
            call write {}
            end stop
            crash away=60
            late 0
            answer 0 allow
            done 0 written
            wait 100
        "#,
        expect![[""]],
    );
}

#[test]
fn a_question_whose_time_ran_out_while_no_process_looked_is_denied() {
    check(
        r#"
            open permissions=ask approval_ms=100
            send hello
            call write {}
            end stop
            crash away=100
        "#,
        expect![[""]],
    );
}

#[test]
fn an_interrupt_takes_the_question_back() {
    check(
        r#"
            open permissions=ask
            send hello
            call write {}
            end stop
            interrupt person
            answer 0 allow
        "#,
        expect![[""]],
    );
}

#[test]
fn a_hook_answers_in_the_place_of_a_person() {
    check(
        r#"
            open permissions=ask hooks=permission_request
            send hello
            call write {"n":1}
            call write {"n":2}
            call write {"n":3}
            end stop
            hook 0 allow
            hook 0 deny never
            hook 0 pass edit={"n":4}
            asked 0 allow
        "#,
        expect![[""]],
    );
}

#[test]
fn other_calls_run_while_a_question_is_open() {
    check(
        r#"
            open rules=ask:write
            send hello
            call write {"n":1}
            call put {"n":2}
            call shell {"n":3}
            end stop
            done 0 two
        "#,
        expect![[""]],
    );
}
