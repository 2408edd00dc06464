//! Ceilings: a process that permits less than its log does.

use expect_test::expect;

use super::check;

#[test]
fn a_session_is_narrowed_before_it_goes_on() {
    check(expect![[r#"
        > open rules=allow:write
           1 SessionOpened
        > ceiling permissions=ask rules=deny:shell,allow:put
           2 PermissionsNarrowed to permissions ask, rules deny:shell, withdrawn allow:write
        > send hello => turn of input 3
           5 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           6 InputAccepted input 3 => sample@7
        > call put {} => approval of call 8@10 within a week
        > call write {} => call 11
          12 CallDecided call 11 ask by rule: a rule asks first
          13 ApprovalAsked call 11, within 604800000 ms => runs
        > call shell {} => call 14
          15 CallDecided call 14 deny by rule
          16 CallObserved call 14 denied: Denied by a rule of the user, which forbids this call. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
        > end stop => sample ended at 17
    "#]]);
}

#[test]
fn what_was_allowed_is_decided_again() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > call shell {} => permitted call 6@8
        > call read {} => read-only call 9 decided
        > call write {} => permitted call 11 decided
        > end stop => sample ended at 13
        > ceiling permissions=read_only
          14 PermissionsNarrowed to permissions read_only
          15 CallDecided call 11 deny
          16 CallObserved call 11 denied: Denied: the permissions of this session are read-only. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
        > done 0 ran => call 6 observed at 17
          18 CallStarted call 9 attempt 1 => runs
    "#]]);
}

#[test]
fn what_was_allowed_is_asked_about() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > call shell {} => permitted call 6@8
        > call write {} => permitted call 9 decided
        > end stop => sample ended at 11
        > ceiling permissions=ask
          12 PermissionsNarrowed to permissions ask
          13 CallDecided call 9 ask: the permissions ask first
          14 ApprovalAsked call 9, within 604800000 ms => runs
        > done 0 ran => call 6 observed at 15
        > answer 0 allow
          16 ApprovalAnswered call 9 allow by somebody
          17 CallStarted call 9 attempt 1 => runs
    "#]]);
}

#[test]
fn an_open_question_is_denied() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > ceiling mode=plan
          11 PermissionsNarrowed to mode plan
          12 CallDecided call 7 deny
          13 CallObserved call 7 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
          14 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_call_that_the_rules_were_not_compared_with_is_requested_again() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > call shell {} => permitted call 6@8
        > call read {} => read-only call 9 decided
        > ceiling rules=deny:write
          11 PermissionsNarrowed to rules deny:write, call 6 matches [], call 9 matches []
          12 CallDecided call 9 allow: the tool is read-only
        > call write {} => call 13
          14 CallObserved call 13 not_started: Not started: the rules about calls have changed since this one was requested. Request it again, if it is still needed.
        > end stop => sample ended at 15
        > done 0 ran => call 6 observed at 16
          17 CallStarted call 9 attempt 1 => runs
        > done 0 read => call 9 observed at 18, sample 2@19
        > call read {} => read-only call 20@22
        > call write {} => call 23
          24 CallDecided call 23 deny by rule
          25 CallObserved call 23 denied: Denied by a rule of the user, which forbids this call. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
        > end stop => sample ended at 26
    "#]]);
}

#[test]
fn a_run_is_not_repeated() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > call put {} => permitted call 6@8
        > call read {} => read-only call 9@11
        > end stop => sample ended at 12
        > ceiling mode=plan
          13 PermissionsNarrowed to mode plan
        > crash => log ends at 13
          14 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          15 CallStarted call 9 attempt 2 => runs
    "#]]);
}

#[test]
fn a_new_process_narrows_before_it_recovers() {
    check(expect![[r#"
        > open lazy
           1 SessionOpened
        > ceiling mode=plan
           2 PermissionsNarrowed to mode plan
        > configure meant
           3 SettingsChanged mode build, permissions auto
           4 PermissionsNarrowed to mode plan
        > send hello => turn of input 5
           7 ContextInjected posture: "This is plan mode: only tools that change nothing run. Say what should be done instead of doing it."
           8 InputAccepted input 5 => sample@9
        > call put {} => call 10
          11 CallDecided call 10 deny
          12 CallObserved call 10 denied: Denied: in plan mode only read-only tools run. Describe the change instead.
        > crash => log ends at 12
          13 SampleCut restart, about 127 tokens, next attempt in 0 ms
          14 SampleStarted sample 1 attempt 2 because retry => runs
        > send again => input 15
    "#]]);
}

#[test]
fn what_was_allowed_is_held_for_a_person_after_a_restart() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > call shell {} => permitted call 6@8
        > call read {} => read-only call 9 decided
        > call write {} => permitted call 11 decided
        > end stop => sample ended at 13
        > ceiling holds=true
        > crash => log ends at 13
          14 PermissionsNarrowed to calls are decided again, by a person
          15 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          16 CallDecided call 9 allow: the tool is read-only
          17 CallDecided call 11 ask: an earlier process left it, and a person decides now
          18 ApprovalAsked call 11, within 604800000 ms
          19 CallStarted call 9 attempt 1 => runs
             run approval of call 11@18
        > answer 0 deny
          20 ApprovalAnswered call 11 deny by somebody
          21 CallObserved call 11 denied: Denied by a person, who gave no reason. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
    "#]]);
}

#[test]
fn a_run_that_a_crash_cut_off_is_not_repeated_where_a_person_decides() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > call put {} => permitted call 6@8
        > end stop => sample ended at 9
        > ceiling holds=true
        > crash => log ends at 9
          10 PermissionsNarrowed to calls are decided again, by a person
          11 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          12 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn a_tool_that_a_log_understates_is_known() {
    check(expect![[r#"
        > open understates=write
           1 SessionOpened
        > ceiling permissions=read_only
           2 PermissionsNarrowed to permissions read_only, write is effectful
        > send hello => turn of input 3
           5 ContextInjected posture: "Only tools that change nothing run; every other call is denied."
           6 InputAccepted input 3 => sample@7
        > call write {} => call 8
           9 CallDecided call 8 deny
          10 CallObserved call 8 denied: Denied: the permissions of this session are read-only. Do not try it again, in this form or another. Go on without it, and say in your answer what you left out.
        > end stop => sample ended at 11
          12 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn rules_of_the_process_are_compared_with_pending_calls_after_a_restart() {
    check(expect![[r#"
        > open rules=deny:write
        > send hello => first turn, sample@5
        > call shell {} => permitted call 6@8
        > call read {} => read-only call 9 decided
        > end stop => sample ended at 11
        > ceiling rules=deny:write
        > crash => log ends at 11
          12 PermissionsNarrowed to calls are decided again, call 6 matches [], call 9 matches []
          13 CallObserved call 6 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
          14 CallDecided call 9 allow: the tool is read-only
          15 CallStarted call 9 attempt 1 => runs
    "#]]);
}

#[test]
fn a_rule_of_the_session_stays_where_the_process_asks_nobody() {
    check(expect![[r#"
        > open permissions=ask rules=allow:write
           1 SessionOpened
        > ceiling
        > send hello => turn of input 2
           4 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           5 InputAccepted input 2 => sample@6
        > call write {} => call 7
           8 CallDecided call 7 allow by rule: a rule allows it
           9 CallStarted call 7 attempt 1 => runs
        > end stop => sample ended at 10
    "#]]);
}

#[test]
fn hooks_of_the_process_see_what_was_allowed() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > call shell {} => permitted call 6@8
        > call write {} => permitted call 9 decided
        > end stop => sample ended at 11
        > ceiling hooks=before_tool,after_tool
          12 PermissionsNarrowed to hooks before_tool,after_tool
          13 HooksAsked before_tool call 9: hook 0 => runs
        > hook 0 deny no
          14 HookDecided h0 deny: no
          15 CallDecided call 9 deny by hook
          16 CallObserved call 9 denied: Denied by a hook: no
        > done 0 ran => call 6 observed at 17
          18 HooksAsked after_tool call 6: hook 1 => runs
        > hook 0 pass
          19 HookDecided h1 pass
          20 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn hooks_of_the_process_see_a_call_that_a_person_is_asked_about() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call write {} => approval of call 7@9 within a week
        > end stop => sample ended at 10
        > ceiling permissions=ask hooks=before_tool@write
          11 PermissionsNarrowed to hooks before_tool@write
          12 HooksAsked before_tool call 7: hook 0 => runs
        > hook 0 pass => passed at 13
          14 CallDecided call 7 ask: the permissions ask first
          15 ApprovalAsked call 7, within 604800000 ms => runs
        > answer 0 allow
          16 ApprovalAnswered call 7 allow by somebody
          17 CallStarted call 7 attempt 1 => runs
    "#]]);
}

#[test]
fn a_hook_of_the_process_is_asked_beside_one_about_less() {
    check(expect![[r#"
        > open hooks=before_tool@read
        > send hello => first turn, sample@5
        > call shell {} => permitted call 6@8
        > call write {} => permitted call 9 decided
        > ceiling hooks=before_tool@write
          11 PermissionsNarrowed to hooks before_tool@write
          12 HooksAsked before_tool call 9: hook 1 => runs
        > end stop => sample ended at 13
        > done 0 ran => call 6 observed at 14
        > hook 0 deny no
          15 HookDecided h0 deny: no
          16 CallDecided call 9 deny by hook
          17 CallObserved call 9 denied: Denied by a hook: no
          18 SampleStarted sample 2 attempt 1 because tool results => runs
    "#]]);
}

#[test]
fn hooks_on_an_answer_are_those_of_the_process() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call deploy {"a":1} => approval of call 7@9 within a week
        > end length
          10 SampleEnded length
        > ceiling permissions=ask hooks=after_answer
          11 PermissionsNarrowed to hooks after_answer
          12 CallObserved call 7 not_started: Not started: the rules about calls have changed since this one was requested. Request it again, if it is still needed.
          13 SampleStarted sample 2 attempt 1 because tool results => runs
        > answer 0 allow
        > hook 0 pass
        > done 0 ok
    "#]]);
}

#[test]
fn a_call_that_an_earlier_process_did_not_decide_is_held_too() {
    check(expect![[r#"
        > open hooks=after_answer
        > send hello => first turn, sample@5
        > call put {} => call 6
        > end stop => sample ended at 7, hook 0@8 sees the answer of 5
        > ceiling holds=true
        > crash => log ends at 8
           9 PermissionsNarrowed to calls are decided again, by a person
          10 HooksAsked after_answer 5: hook 0, attempt 2 => runs
        > hook 0 pass => passed at 11
          12 CallDecided call 6 ask: an earlier process left it, and a person decides now
          13 ApprovalAsked call 6, within 604800000 ms => runs
    "#]]);
}
