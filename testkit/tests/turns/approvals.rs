//! Approvals: a person is asked, the first answer counts, and the question outlives its process.

use expect_test::expect;

use super::check;

#[test]
fn a_person_is_asked_and_the_tool_runs() {
    check(expect![[r#"
        > open permissions=ask
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call read {}
           7 ItemAdded call read {}
           8 CallDecided call 7 allow: the tool is read-only
           9 CallStarted call 7 attempt 1
             run call 7@9
        > call write {}
          10 ItemAdded call write {}
          11 CallDecided call 10 ask: the permissions ask first
          12 ApprovalAsked call 10, within 604800000 ms
             run approval of call 10@12
        > end stop
          13 SampleEnded stop
        > done 0 ok
          14 CallObserved call 7 done: ok
        > asked 0 allow
          15 ApprovalAnswered call 10 allow by approver
          16 CallStarted call 10 attempt 1
             run call 10@16
        > done 0 written
          17 CallObserved call 10 done: written
          18 SampleStarted sample 2 attempt 1 because tool results
             run sample@18
    "#]]);
}

#[test]
fn a_person_says_no() {
    check(expect![[r#"
        > open permissions=ask
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {}
           7 ItemAdded call write {}
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 604800000 ms
             run approval of call 7@9
        > end stop
          10 SampleEnded stop
        > asked 0 deny not on a Friday
          11 ApprovalAnswered call 7 deny by approver: not on a Friday
          12 CallObserved call 7 denied: not on a Friday
          13 SampleStarted sample 2 attempt 1 because tool results
             run sample@13
    "#]]);
}

#[test]
fn whoever_answers_first_counts() {
    check(expect![[r#"
        > open permissions=ask
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {}
           7 ItemAdded call write {}
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 604800000 ms
             run approval of call 7@9
        > end stop
          10 SampleEnded stop
        > answer 0 allow
          11 ApprovalAnswered call 7 allow by somebody
          12 CallStarted call 7 attempt 1
             run call 7@12
        > late 1
             rejected: the answer of the question at 9 about call 7 came late: that run is no longer waited for
        > answer 0 deny
             rejected: nobody is asked about call 7: it was answered already, or never asked
    "#]]);
}

#[test]
fn an_answer_is_for_the_exact_arguments() {
    check(expect![[r#"
        > open permissions=ask
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {"a":1}
           7 ItemAdded call write {"a":1}
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 604800000 ms
             run approval of call 7@9
        > end stop
          10 SampleEnded stop
        > answer 0 about={"a":2} allow
             rejected: the answer is about other arguments than those of call 7: look at it again
        > answer 0 allow
          11 ApprovalAnswered call 7 allow by somebody
          12 CallStarted call 7 attempt 1
             run call 7@12
    "#]]);
}

#[test]
fn a_person_may_change_the_arguments_and_the_model_is_told() {
    check(expect![[r#"
        > open permissions=ask
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {"a":1}
           7 ItemAdded call write {"a":1}
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 604800000 ms
             run approval of call 7@9
        > end stop
          10 SampleEnded stop
        > asked 0 allow edit={"a":2}
          11 ApprovalAnswered call 7 allow by approver, edit "{\"a\":2}"
          12 CallStarted call 7 attempt 1
             run call 7@12
        > done 0 wrote 2
          13 CallObserved call 7 done: wrote 2
          14 SampleStarted sample 2 attempt 1 because tool results
             run sample@14
    "#]]);
}

#[test]
fn arguments_that_a_person_breaks_fail_the_call() {
    check(expect![[r#"
        > open permissions=ask
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {}
           7 ItemAdded call write {}
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 604800000 ms
             run approval of call 7@9
        > end stop
          10 SampleEnded stop
        > asked 0 allow edit=nonsense
          11 ApprovalAnswered call 7 allow by approver, edit "nonsense" (the arguments are not a JSON object)
          12 CallObserved call 7 failed: Not run: the arguments that were put in the place of the model's cannot be used. the arguments are not a JSON object
          13 SampleStarted sample 2 attempt 1 because tool results
             run sample@13
    "#]]);
}

#[test]
fn no_answer_is_a_denial_once_the_time_is_over() {
    check(expect![[r#"
        > open permissions=ask approval_ms=100
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {}
           7 ItemAdded call write {}
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 100 ms
             run approval of call 7@9
        > end stop
          10 SampleEnded stop
        > wait 99
        > wait 1
          11 ApprovalAnswered call 7 deny by the system: Denied: nobody answered in time.
          12 CallObserved call 7 denied: Denied: nobody answered in time.
          13 SampleStarted sample 2 attempt 1 because tool results
             run sample@13
        > answer 0 allow
    "#]]);
}
