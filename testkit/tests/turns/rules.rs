//! Rules: what the user says of calls, by tool and by argument.

use expect_test::expect;

use super::check;

#[test]
fn deny_is_over_ask_is_over_allow() {
    check(expect![[r#"
        > open rules=allow:*,ask:write,deny:shell
        > send hello => first turn, sample@5
        > call put {} => call 6
           7 CallDecided call 6 allow by rule: a rule allows it
           8 CallStarted call 6 attempt 1 => runs
        > call write {} => call 9
          10 CallDecided call 9 ask by rule: a rule asks first
          11 ApprovalAsked call 9, within 604800000 ms => runs
        > call shell {} => call 12
          13 CallDecided call 12 deny by rule
          14 CallObserved call 12 denied: Denied by a rule of the user, which forbids this call. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
        > end stop => sample ended at 15
    "#]]);
}

#[test]
fn a_rule_looks_at_an_argument() {
    check(expect![[r#"
        > open rules=deny:shell(command=rm*)
        > send hello => first turn, sample@5
        > call shell {"command":"rm -r a"} => call 6
           7 CallDecided call 6 deny by rule
           8 CallObserved call 6 denied: Denied by a rule of the user, which forbids this call. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
        > call shell {"command":"ls"} => permitted call 9@11
        > end stop => sample ended at 12
    "#]]);
}

#[test]
fn a_rule_allows_what_a_person_would_be_asked_about() {
    check(expect![[r#"
        > open permissions=ask rules=allow:write
        > send hello => first turn, people are asked, sample@6
        > call write {} => call 7
           8 CallDecided call 7 allow by rule: a rule allows it
           9 CallStarted call 7 attempt 1 => runs
        > call put {} => approval of call 10@12 within a week
        > end stop => sample ended at 13
    "#]]);
}

#[test]
fn no_rule_and_no_hook_widens_the_mode() {
    check(expect![[r#"
        > open mode=plan rules=allow:write hooks=before_tool
        > send hello => first turn, of input 2
           4 ContextInjected posture: "This is plan mode: only tools that change nothing run. Say what should be done instead of doing it."
           5 InputAccepted input 2 => sample@6
        > call write {} => tool hook 0@8 for call 7
        > end stop => sample ended at 9
        > hook 0 allow
          10 HookDecided h0 allow
          11 CallDecided call 7 deny
          12 CallObserved call 7 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
          13 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn arguments_that_a_hook_changes_meet_the_rules_anew() {
    check(expect![[r#"
        > open rules=deny:shell(command=rm*) hooks=before_tool
        > send hello => first turn, sample@5
        > call shell {"command":"ls"} => tool hook 0@7 for call 6
        > end stop => sample ended at 8
        > hook 0 allow edit={"command":"rm"}
           9 HookDecided h0 allow, edit "{\"command\":\"rm\"}"
          10 CallDecided call 6 deny by rule
          11 CallObserved call 6 denied: Denied by a rule of the user, which forbids this call. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
          12 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn arguments_that_a_person_changes_meet_the_rules_anew() {
    check(expect![[r#"
        > open permissions=ask rules=deny:shell(command=rm*)
        > send hello => first turn, people are asked, sample@6
        > call shell {"command":"ls"} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > asked 0 allow edit={"command":"rm"}
          11 ApprovalAnswered call 7 allow by approver, edit "{\"command\":\"rm\"}"
          12 CallObserved call 7 denied: Denied: a rule forbids the arguments that the answer gives. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
          13 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_rule_that_asks_is_not_undone_by_a_hook_that_allows() {
    check(expect![[r#"
        > open rules=ask:write hooks=before_tool
        > send hello => first turn, sample@5
        > call write {} => tool hook 0@7 for call 6
        > end stop => sample ended at 8
        > hook 0 allow
           9 HookDecided h0 allow
          10 CallDecided call 6 ask by rule: a rule asks first
          11 ApprovalAsked call 6, within 604800000 ms => runs
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

#[test]
fn a_person_decides_where_a_rule_that_denies_may_match() {
    check(expect![[r#"
        > open rules=deny:shell(command=rm*),allow:shell hooks=before_tool
        > send hello => first turn, sample@5
        > call shell {"command":"$X a"} => tool hook 0@7 for call 6
        > hook 0 allow
           8 HookDecided h0 allow
           9 CallDecided call 6 ask by rule: a rule that denies may match: what runs cannot be told for certain
          10 ApprovalAsked call 6, within 604800000 ms => runs
        > asked 0 allow
          11 ApprovalAnswered call 6 allow by approver
          12 CallStarted call 6 attempt 1 => runs
        > end stop => sample ended at 13
    "#]]);
}

#[test]
fn a_person_may_choose_arguments_that_a_rule_may_match() {
    check(expect![[r#"
        > open permissions=ask rules=deny:shell(command=rm*)
        > send hello => first turn, people are asked, sample@6
        > call shell {"command":"ls"} => approval of call 7@9 within a week
        > asked 0 allow edit={"command":"$X"}
          10 ApprovalAnswered call 7 allow by approver, edit "{\"command\":\"$X\"}"
          11 CallStarted call 7 attempt 1 => runs
        > end stop => sample ended at 12
    "#]]);
}
