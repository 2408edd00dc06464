//! Commands: calls that a user makes, in turns that ask no model.

use expect_test::expect;

use super::check;

#[test]
fn a_command_is_a_call_of_the_user() {
    check(expect![[r#"
        > open permissions=ask
        > send hello => first turn, people are asked, sample@6
        > text hi => item 7
        > end stop => completed at 9
        > command shell {"a":1}
          10 InputQueued "shell {\"a\":1}", command
          11 TurnOpened because opened by input 10
          12 InputAccepted input 10: call shell
          13 CallDecided call 12 allow: the user runs it
          14 CallStarted call 12 attempt 1 => runs
        > done 0 two files => call 12 observed at 15
          16 TurnSettled completed
        > send and now => turn, sample@20
    "#]]);
}

#[test]
fn a_command_runs_in_plan_mode() {
    check(expect![[r#"
        > open mode=plan
           1 SessionOpened
        > command write {}
           2 InputQueued "write {}", command
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call write
           5 CallDecided call 4 allow: the user runs it
           6 CallStarted call 4 attempt 1 => runs
        > done 0 ok => call 4 observed at 7
           8 TurnSettled completed
    "#]]);
}

#[test]
fn a_command_needs_no_question_where_rules_and_hooks_ask() {
    check(expect![[r#"
        > open rules=ask:shell hooks=before_tool
           1 SessionOpened
        > command shell {}
           2 InputQueued "shell {}", command
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call shell
           5 HooksAsked before_tool call 4: hook 0 => runs
        > hook 0 ask
           6 HookDecided h0 ask
           7 CallDecided call 4 allow: the user runs it
           8 CallStarted call 4 attempt 1 => runs
        > done 0 ok => call 4 observed at 9
          10 TurnSettled completed
    "#]]);
}

#[test]
fn a_command_is_refused_where_a_rule_denies_it() {
    check(expect![[r#"
        > open rules=deny:shell
           1 SessionOpened
        > command shell {}
             rejected: the command was refused: a rule denies it
        > command nothing {}
             rejected: the command was refused: no tool of the session takes a command line
        > send hello => turn, sample@5
    "#]]);
}

#[test]
fn a_command_is_refused_with_read_only_permissions() {
    check(expect![[r#"
        > open permissions=read_only
           1 SessionOpened
        > command shell {}
             rejected: the command was refused: the permissions of the session are read-only
        > command read {}
           2 InputQueued "read {}", command
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call read
           5 CallDecided call 4 allow: the user runs it
           6 CallStarted call 4 attempt 1 => runs
        > done 0 text => call 4 observed at 7
           8 TurnSettled completed
    "#]]);
}

#[test]
fn a_session_of_an_agent_runs_no_command() {
    check(expect![[r#"
        > open child
           1 SessionOpened
        > command shell {}
             rejected: the command was refused: an agent works in this session, and its turns are of its calling session
    "#]]);
}

#[test]
fn a_hook_may_deny_a_command() {
    check(expect![[r#"
        > open hooks=before_tool
           1 SessionOpened
        > command shell {}
           2 InputQueued "shell {}", command
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call shell
           5 HooksAsked before_tool call 4: hook 0 => runs
        > hook 0 deny no
           6 HookDecided h0 deny: no
           7 CallDecided call 4 deny by hook
           8 CallObserved call 4 denied: Denied by a hook: no
           9 TurnSettled completed
        > send hello => turn, sample@13
    "#]]);
}

#[test]
fn a_hook_may_change_a_command() {
    check(expect![[r#"
        > open hooks=before_tool
           1 SessionOpened
        > command shell {}
           2 InputQueued "shell {}", command
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call shell
           5 HooksAsked before_tool call 4: hook 0 => runs
        > hook 0 pass edit={"a":2}
           6 HookDecided h0 pass, edit "{\"a\":2}"
           7 CallDecided call 4 allow: the user runs it
           8 CallStarted call 4 attempt 1 => runs
        > done 0 ok => call 4 observed at 9
          10 TurnSettled completed
        > send hello => turn, sample@14
    "#]]);
}

#[test]
fn a_command_waits_for_the_running_turn() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > command shell {}
           6 InputQueued "shell {}", command
        > steer more => input 7, yield sample@5
        > text hi => item 8
        > end stop => sample ended at 9
          10 InputAccepted input 7 => sample 2@11
        > text there => item 12
        > end stop => sample ended at 13, turn completed at 14, leaves 6
          15 TurnOpened because opened by input 6
          16 InputAccepted input 6: call shell
          17 CallDecided call 16 allow: the user runs it
          18 CallStarted call 16 attempt 1 => runs
        > done 0 ok => call 16 observed at 19
          20 TurnSettled completed
        > send again => turn, sample@24
    "#]]);
}

#[test]
fn what_is_said_while_a_command_runs_opens_the_next_turn() {
    check(expect![[r#"
        > open
           1 SessionOpened
        > command shell {}
           2 InputQueued "shell {}", command
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call shell
           5 CallDecided call 4 allow: the user runs it
           6 CallStarted call 4 attempt 1 => runs
        > steer what is there => input 7
        > done 0 ok => call 4 observed at 8
           9 TurnSettled completed, waiting: 7
          10 TurnOpened because opened by input 7 => sample@12
    "#]]);
}

#[test]
fn a_killed_command_is_not_run_again() {
    check(expect![[r#"
        > open
           1 SessionOpened
        > command shell {}
           2 InputQueued "shell {}", command
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call shell
           5 CallDecided call 4 allow: the user runs it
           6 CallStarted call 4 attempt 1 => runs
        > crash => log ends at 6
           7 CallObserved call 4 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
           8 TurnSettled completed
        > send what became of it => turn, sample@12
    "#]]);
}

#[test]
fn a_killed_command_that_changes_nothing_runs_again() {
    check(expect![[r#"
        > open
           1 SessionOpened
        > command read {}
           2 InputQueued "read {}", command
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call read
           5 CallDecided call 4 allow: the user runs it
           6 CallStarted call 4 attempt 1 => runs
        > crash => log ends at 6
           7 CallStarted call 4 attempt 2 => runs
        > done 0 ok => call 4 observed at 8
           9 TurnSettled completed
    "#]]);
}

#[test]
fn a_command_that_waits_ends_with_its_process() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > command shell {}
           6 InputQueued "shell {}", command
        > crash => log ends at 6
           7 InputWithdrawn input 6
           8 SampleCut restart, about 115 tokens, next attempt in 0 ms
           9 SampleStarted sample 1 attempt 2 because retry => runs
        > text hi => item 10
        > end stop => completed at 12
        > end stop
    "#]]);
}

#[test]
fn a_command_that_waits_is_withdrawn_when_rules_change() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > command shell {}
           6 InputQueued "shell {}", command
        > command read {}
           7 InputQueued "read {}", command
        > ceiling rules=deny:shell
           8 PermissionsNarrowed to rules deny:shell
           9 InputWithdrawn input 6
          10 InputWithdrawn input 7
        > text hi => item 11
        > end stop => completed at 13
    "#]]);
}

#[test]
fn a_command_that_waits_outlives_other_settings() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > command write {}
           6 InputQueued "write {}", command
        > configure mode=plan
           7 SettingsChanged mode plan, permissions auto
        > text hi => item 8
        > end stop => sample ended at 9, turn completed at 10, leaves 6
          11 TurnOpened because opened by input 6
          12 InputAccepted input 6: call write
          13 CallDecided call 12 allow: the user runs it
          14 CallStarted call 12 attempt 1 => runs
        > done 0 ok => call 12 observed at 15
          16 TurnSettled completed
    "#]]);
}

#[test]
fn a_command_that_waits_is_not_edited() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > command shell {}
           6 InputQueued "shell {}", command
        > edit 0 other
             rejected: the command was refused: a command that waits is not edited: withdraw it and send another
        > withdraw 0
           7 InputWithdrawn input 6
        > text hi => item 8
        > end stop => completed at 10
    "#]]);
}

#[test]
fn an_interrupt_ends_a_command() {
    check(expect![[r#"
        > open
           1 SessionOpened
        > command shell {}
           2 InputQueued "shell {}", command
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call shell
           5 CallDecided call 4 allow: the user runs it
           6 CallStarted call 4 attempt 1 => runs
        > interrupt person => request 7
             wind call 4@6
        > aborted 0 stopped
           8 CallObserved call 4 aborted: Stopped: the user interrupted the turn.
        stopped
           9 TurnSettled interrupted by person
        > send hello => turn, sample@13
    "#]]);
}

#[test]
fn an_interrupt_after_the_step_lets_a_command_end() {
    check(expect![[r#"
        > open
           1 SessionOpened
        > command shell {}
           2 InputQueued "shell {}", command
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call shell
           5 CallDecided call 4 allow: the user runs it
           6 CallStarted call 4 attempt 1 => runs
        > interrupt person after => request 7
        > done 0 ok => call 4 observed at 8
           9 TurnSettled completed
        > send hello => turn, sample@13
    "#]]);
}

#[test]
fn a_goal_is_not_worked_on_by_a_command() {
    check(expect![[r#"
        > open
           1 SessionOpened
        > goal turns=2 port it
           2 GoalSet "port it", 2 turns
        > command shell {}
           3 InputQueued "shell {}", command
           4 TurnOpened because opened by input 3
           5 InputAccepted input 3: call shell
           6 CallDecided call 5 allow: the user runs it
           7 CallStarted call 5 attempt 1 => runs
        > done 0 ok => call 5 observed at 8
           9 TurnSettled completed
        > send hello => turn, sample@13
        > text hi => item 14
        > end stop => completed at 16
          17 TurnOpened because goal 2
          18 ContextInjected goal: "The goal is not met yet (turn 1 of 2):\nport it\nGo on. When it is met, call goal_met."
          19 SampleStarted sample 1 attempt 1 because goal 2 => runs
    "#]]);
}

#[test]
fn a_rewind_takes_a_command_out() {
    check(expect![[r#"
        > open
        > send hello => first turn, sample@5
        > text hi => item 6
        > end stop => completed at 8
        > command shell {}
           9 InputQueued "shell {}", command
          10 TurnOpened because opened by input 9
          11 InputAccepted input 9: call shell
          12 CallDecided call 11 allow: the user runs it
          13 CallStarted call 11 attempt 1 => runs
        > done 0 ok => call 11 observed at 14
          15 TurnSettled completed
        > rewind 7
          16 SessionRewound to 7: The user went back to this point of the conversation. Effects of calls after this point remain: files and other things may have changed.
        > send again => turn, sample@20
    "#]]);
}

#[test]
fn a_command_under_a_known_key_is_refused() {
    check(expect![[r#"
        > open
           1 SessionOpened
        > keyed k command shell {}
           2 InputQueued "shell {}", command, keyed k
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call shell
           5 CallDecided call 4 allow: the user runs it
           6 CallStarted call 4 attempt 1 => runs
        > done 0 ok => call 4 observed at 7
           8 TurnSettled completed
        > keyed k command shell {}
             rejected: an input with this key was taken at 2 already
    "#]]);
}

#[test]
fn a_hook_after_a_command_ends_with_its_turn() {
    check(expect![[r#"
        > open hooks=after_tool
           1 SessionOpened
        > command shell {}
           2 InputQueued "shell {}", command
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call shell
           5 CallDecided call 4 allow: the user runs it
           6 CallStarted call 4 attempt 1 => runs
        > done 0 ok => call 4 observed at 7
           8 HooksAsked after_tool call 4: hook 0 => runs
        > hook 0 pass => passed at 9
          10 TurnSettled completed
        > send hello => turn, sample@14
    "#]]);
}

#[test]
fn a_full_queue_takes_no_command() {
    check(expect![[r#"
        > open queue=0
           1 SessionOpened
        > command shell {}
           2 InputQueued "shell {}", command
           3 TurnOpened because opened by input 2
           4 InputAccepted input 2: call shell
           5 CallDecided call 4 allow: the user runs it
           6 CallStarted call 4 attempt 1 => runs
        > command shell {}
             rejected: no more inputs may wait (0 do): let the turns before them end first
        > done 0 ok => call 4 observed at 7
           8 TurnSettled completed
    "#]]);
}
