//! Replies: what a hook's output comes to.

use super::*;

fn ran(code: i32, out: &str) -> HookResult {
    let kept =
        |text: &str| CapturedOutput { bytes: text.as_bytes().to_vec(), total: text.len() as u64 };
    HookResult { end: ProcessExit::Code(code), out: kept(out), err: kept("") }
}

#[test]
fn keys_that_nobody_knows_are_told_of() {
    let out = r#"{"suppressOutput": true, "desicion": "block", "hookSpecificOutput":
        {"permissionDecison": "deny", "decision": {"behaviour": "deny"}}}"#;
    let answer = read(HookEvent::PermissionRequest, &ran(0, out)).unwrap();
    assert_eq!(answer.verdict, HookVerdict::Pass);
    assert_eq!(answer.unknown, ["desicion", "permissionDecison", "behaviour"]);
}

#[test]
fn a_denial_stands_whatever_else_is_off() {
    use HookVerdict::{Deny, Halt};
    for (out, verdict, reason) in [
        (
            r#"{"decision":"block","reason":"no",
                "hookSpecificOutput":{"permissionDecision":"denied"}}"#,
            Deny,
            "no",
        ),
        (
            r#"{"decision":"block","hookSpecificOutput":{"hookEventName":"PostToolUse"}}"#,
            Deny,
            "it gave no reason",
        ),
        (r#"{"decision":"block","reason":["no"]}"#, Deny, "it gave no reason"),
        (r#"{"continue":false,"decision":"nope"}"#, Halt, "it gave no reason"),
    ] {
        for code in [0, 1, 2] {
            let answer = read(HookEvent::PreToolUse, &ran(code, out)).unwrap();
            assert_eq!((answer.verdict, &*answer.reason), (verdict, reason), "{out}");
            let said = answer.message.unwrap();
            assert!(said.starts_with("its denial counts"), "{said}");
        }
    }
    for out in [
        r#"{"decision":"nope"}"#,
        r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","permissionDecision":"allow"}}"#,
        r#"{"decision":"approve","reason":["yes"]}"#,
        r#"{"decision":}"#,
    ] {
        assert!(read(HookEvent::PreToolUse, &ran(0, out)).is_err(), "{out}");
    }
}

#[test]
fn no_denial_is_without_a_reason() {
    for (code, out) in [(0, r#"{"decision": "block"}"#), (2, "")] {
        let answer = read(HookEvent::Stop, &ran(code, out)).unwrap();
        assert_eq!(answer.verdict, HookVerdict::Deny);
        assert_eq!(answer.reason, "it gave no reason");
    }
}
