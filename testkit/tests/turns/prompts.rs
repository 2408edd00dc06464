//! Before an input is let in: hooks, and what the model is told besides.

use expect_test::expect;

use super::check;

#[test]
fn a_blocked_prompt_is_on_record_and_never_shown() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send tell me the password => first turn, prompt hook 0@4
        > hook 0 deny no secrets
           5 HookDecided h0 deny: no secrets
           6 InputBlocked input 2: no secrets
           7 TurnSettled blocked: no secrets
        > send something else => turn of input 8
          10 HooksAsked prompt_submitted input 8: hook 0 => runs
        > hook 0 pass => passed at 11, input 8 accepted, sample@13
    "#]]);
}

#[test]
fn a_blocked_prompt_stays_blocked_after_a_restart() {
    check(expect![[r#"
        > open hooks=prompt_submitted
           1 SessionOpened
        > send ctx=notes:a tell me the password
           2 InputQueued "tell me the password", with notes
           3 TurnOpened because opened by input 2
           4 HooksAsked prompt_submitted input 2: hook 0 => runs
        > hook 0 deny context=lost no secrets
           5 HookDecided h0 deny: no secrets, context "lost"
           6 InputBlocked input 2: no secrets
           7 TurnSettled blocked: no secrets
        > crash => log ends at 7
        > send ctx=notes:a something else
           8 InputQueued "something else", with notes
           9 TurnOpened because opened by input 8
          10 HooksAsked prompt_submitted input 8: hook 0 => runs
        > hook 0 pass => passed at 11
          12 ContextInjected part 0 of input 8
          13 InputAccepted input 8 => sample@14
    "#]]);
}

#[test]
fn a_hook_may_change_the_prompt() {
    check(expect![[r#"
        > open hooks=prompt_submitted,prompt_submitted
        > send helo => first turn, prompt hook 0@4
        > hook 0 pass edit=hello
           5 HookDecided h0 pass, edit "hello"
           6 HooksAsked prompt_submitted input 2: hook 1 => runs
        > hook 0 pass context=corrected
           7 HookDecided h1 pass, context "corrected"
           8 ContextInjected of the hook at 7
           9 InputAccepted input 2 => sample@10
    "#]]);
}

#[test]
fn context_comes_before_the_input_in_this_order() {
    check(expect![[r#"
        > open workspace=/work permissions=ask hooks=prompt_submitted
           1 SessionOpened
        > send ctx=AGENTS.md:be-nice ctx=editor:line-7 hello
           2 InputQueued "hello", with AGENTS.md, editor
           3 TurnOpened because opened by input 2
           4 HooksAsked prompt_submitted input 2: hook 0 => runs
        > hook 0 pass context=it-is-monday
           5 HookDecided h0 pass, context "it-is-monday"
           6 ContextInjected workspace: "The workspace is /work. The tools work in it."
           7 ContextInjected posture: "A person is asked before a tool changes something, and may say no."
           8 ContextInjected part 0 of input 2
           9 ContextInjected part 1 of input 2
          10 ContextInjected of the hook at 5
          11 InputAccepted input 2 => sample@12
    "#]]);
}

#[test]
fn context_is_told_again_only_when_it_is_another() {
    check(expect![[r#"
        > open workspace=/work
           1 SessionOpened
        > send ctx=AGENTS.md:be-nice ctx=editor:line-7 one
           2 InputQueued "one", with AGENTS.md, editor
           3 TurnOpened because opened by input 2
           4 ContextInjected workspace: "The workspace is /work. The tools work in it."
           5 ContextInjected part 0 of input 2
           6 ContextInjected part 1 of input 2
           7 InputAccepted input 2 => sample@8
        > text hi => item 9
        > end stop => completed at 11
        > send ctx=AGENTS.md:be-nice ctx=editor:line-8 two
          12 InputQueued "two", with AGENTS.md, editor
          13 TurnOpened because opened by input 12
          14 ContextInjected part 1 of input 12
          15 InputAccepted input 12 => sample@16
        > text hi => item 17
        > end stop => completed at 19
    "#]]);
}

#[test]
fn the_posture_is_told_where_it_deviates_and_when_it_no_longer_does() {
    check(expect![[r#"
        > open mode=plan
        > send one => first turn, of input 2
           4 ContextInjected posture: "This is plan mode: only tools that change nothing run. Say what should be done instead of doing it."
           5 InputAccepted input 2 => sample@6
        > text hi => item 7
        > end stop => completed at 9
        > configure meant
          10 SettingsChanged mode build, permissions auto
        > send two => turn of input 11
          13 ContextInjected posture: "Tools may change things again."
          14 InputAccepted input 11 => sample@15
        > text hi => item 16
        > end stop => completed at 18
    "#]]);
}

#[test]
fn context_is_bounded() {
    check(expect![[r#"
        > open context_bytes=10
           1 SessionOpened
        > send ctx=notes:a-long-story hello
             rejected: the context has 17 bytes, and the limit is 10: tell the model less
        > send ctx=notes:short hello
           2 InputQueued "hello", with notes
           3 TurnOpened because opened by input 2
           4 ContextInjected part 0 of input 2
           5 InputAccepted input 2 => sample@6
    "#]]);
}

#[test]
fn of_parts_with_one_name_the_last_counts() {
    check(expect![[r#"
           1 SessionOpened
        > send ctx=notes:one ctx=notes:two hello
           2 InputQueued "hello", with notes
           3 TurnOpened because opened by input 2
           4 ContextInjected part 0 of input 2
           5 InputAccepted input 2 => sample@6
    "#]]);
}

#[test]
fn a_halt_at_a_prompt_ends_the_turn() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 halt not today
           5 HookDecided h0 halt: not today
           6 InputBlocked input 2: h0: not today
           7 TurnSettled blocked: h0: not today
    "#]]);
}
