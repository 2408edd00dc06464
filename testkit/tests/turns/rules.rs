//! Rules: what the user says of calls, by tool and by argument.

use expect_test::expect;

use super::check;

#[test]
fn deny_is_over_ask_is_over_allow() {
    check(expect![[r#"
        > open rules=allow:*,ask:write,deny:shell
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call put {}
           6 ItemAdded call put {}
           7 CallDecided call 6 allow by rule: a rule allows it
           8 CallStarted call 6 attempt 1
             run call 6@8
        > call write {}
           9 ItemAdded call write {}
          10 CallDecided call 9 ask by rule: a rule asks first
          11 ApprovalAsked call 9, within 604800000 ms
             run approval of call 9@11
        > call shell {}
          12 ItemAdded call shell {}
          13 CallDecided call 12 deny by rule
          14 CallObserved call 12 denied: Denied: a rule of the user forbids this call.
        > end stop
          15 SampleEnded stop
    "#]]);
}

#[test]
fn a_rule_looks_at_an_argument() {
    check(expect![[r#"
        > open rules=deny:shell(command=rm*)
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call shell {"command":"rm -r a"}
           6 ItemAdded call shell {"command":"rm -r a"}
           7 CallDecided call 6 deny by rule
           8 CallObserved call 6 denied: Denied: a rule of the user forbids this call.
        > call shell {"command":"ls"}
           9 ItemAdded call shell {"command":"ls"}
          10 CallDecided call 9 allow: the permissions allow it
          11 CallStarted call 9 attempt 1
             run call 9@11
        > end stop
          12 SampleEnded stop
    "#]]);
}

#[test]
fn a_rule_allows_what_a_person_would_be_asked_about() {
    check(expect![[r#"
        > open permissions=ask rules=allow:write
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
           8 CallDecided call 7 allow by rule: a rule allows it
           9 CallStarted call 7 attempt 1
             run call 7@9
        > call put {}
          10 ItemAdded call put {}
          11 CallDecided call 10 ask: the permissions ask first
          12 ApprovalAsked call 10, within 604800000 ms
             run approval of call 10@12
        > end stop
          13 SampleEnded stop
    "#]]);
}

#[test]
fn no_rule_and_no_hook_widens_the_mode() {
    check(expect![[r#"
        > open mode=plan rules=allow:write hooks=before_tool
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "This is plan mode: only tools that change nothing run. Say what should be done instead of doing it."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call write {}
           7 ItemAdded call write {}
           8 HooksAsked before_tool call 7: hook 0
             run hook 0@8
        > end stop
           9 SampleEnded stop
        > hook 0 allow
          10 HookDecided h0 allow
          11 CallDecided call 7 deny
          12 CallObserved call 7 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
          13 SampleStarted sample 2 attempt 1 because tool results
             run sample@13
    "#]]);
}

#[test]
fn arguments_that_a_hook_changes_meet_the_rules_anew() {
    check(expect![[r#"
        > open rules=deny:shell(command=rm*) hooks=before_tool
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call shell {"command":"ls"}
           6 ItemAdded call shell {"command":"ls"}
           7 HooksAsked before_tool call 6: hook 0
             run hook 0@7
        > end stop
           8 SampleEnded stop
        > hook 0 allow edit={"command":"rm"}
           9 HookDecided h0 allow, edit "{\"command\":\"rm\"}"
          10 CallDecided call 6 deny by rule
          11 CallObserved call 6 denied: Denied: a rule of the user forbids this call.
          12 SampleStarted sample 2 attempt 1 because tool results
             run sample@12
    "#]]);
}

#[test]
fn arguments_that_a_person_changes_meet_the_rules_anew() {
    check(expect![[r#"
        > open permissions=ask rules=deny:shell(command=rm*)
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2
           6 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@6
        > call shell {"command":"ls"}
           7 ItemAdded call shell {"command":"ls"}
           8 CallDecided call 7 ask: the permissions ask first
           9 ApprovalAsked call 7, within 604800000 ms
             run approval of call 7@9
        > end stop
          10 SampleEnded stop
        > asked 0 allow edit={"command":"rm"}
          11 ApprovalAnswered call 7 allow by approver, edit "{\"command\":\"rm\"}"
          12 CallObserved call 7 denied: Denied: a rule forbids the arguments that the answer gives.
          13 SampleStarted sample 2 attempt 1 because tool results
             run sample@13
    "#]]);
}

#[test]
fn a_rule_that_asks_is_not_undone_by_a_hook_that_allows() {
    check(expect![[r#"
        > open rules=ask:write hooks=before_tool
           1 SessionOpened
        > send hello
           2 InputQueued "hello"
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2
           5 SampleStarted sample 1 attempt 1 because opened by input 2
             run sample@5
        > call write {}
           6 ItemAdded call write {}
           7 HooksAsked before_tool call 6: hook 0
             run hook 0@7
        > end stop
           8 SampleEnded stop
        > hook 0 allow
           9 HookDecided h0 allow
          10 CallDecided call 6 ask by rule: a rule asks first
          11 ApprovalAsked call 6, within 604800000 ms
             run approval of call 6@11
    "#]]);
}

#[test]
fn settings_do_not_widen_by_the_way() {
    check(expect![[r#"
        > open permissions=ask rules=deny:shell hooks=stop
           1 SessionOpened
        > configure rules=deny:shell hooks=stop
             rejected: the settings would allow more than the session does: wider permissions. Say that you mean it
        > configure permissions=ask hooks=stop
             rejected: the settings would allow more than the session does: a rule that denies or asks is gone. Say that you mean it
        > configure permissions=ask rules=deny:shell
             rejected: the settings would allow more than the session does: a hook is gone, or is another one. Say that you mean it
        > configure permissions=read_only rules=deny:shell,deny:put hooks=stop
           2 SettingsChanged mode build, permissions read_only
        > configure meant
           3 SettingsChanged mode build, permissions auto
    "#]]);
}
