//! Replies: what a hook's output comes to.

use super::*;

fn ran(code: i32, out: &str) -> HookResult {
    let kept =
        |text: &str| CapturedOutput { bytes: text.as_bytes().to_vec(), total: text.len() as u64 };
    HookResult { end: ProcessExit::Code(code), out: kept(out), err: kept("") }
}

#[test]
fn keys_that_nobody_knows_are_told_of() {
    let out = r#"{"suppressOutput": true, "note": 1, "hookSpecificOutput": {"ticket": "A-1"}}"#;
    let answer = read(HookEvent::PermissionRequest, &ran(0, out)).unwrap();
    assert_eq!(answer.verdict, HookVerdict::Pass);
    assert_eq!(answer.unknown, ["note", "ticket"]);
}

/// The end of an output at an event that may deny: a failure with these words, or a verdict.
enum Comes {
    Failed(&'static str),
    To(HookVerdict),
}

#[test]
fn what_is_not_of_the_protocol_is_a_failure_unless_it_denies() {
    use Comes::{Failed, To};
    let deny = r#"{"decision":"block","reason":"no"}"#;
    let allow = r#"{"hookSpecificOutput":{"permissionDecision":"allow"}}"#;
    for (out, comes) in [
        // A byte order mark is no fault.
        (format!("\u{feff}{deny}"), To(HookVerdict::Deny)),
        (format!("\u{feff}{allow}\n"), To(HookVerdict::Allow)),
        // Other text beside the JSON.
        (format!("checking..\n{allow}"), Failed("other text beside its JSON")),
        (format!("{allow}\ndone"), Failed("not the JSON of a hook")),
        (format!("```json\n{allow}\n```"), Failed("other text beside its JSON")),
        (format!("[INFO] checking {{files}}\n{allow}"), Failed("other text beside its JSON")),
        (format!("checking..\n{deny}"), To(HookVerdict::Deny)),
        (format!("{deny}\ndone"), To(HookVerdict::Deny)),
        (String::from("[INFO] checked {3} files"), To(HookVerdict::Pass)),
        (String::from("Deployed {3} pods; answer \"continue\" to go on"), To(HookVerdict::Pass)),
        // Arrays, and several objects.
        (format!("[{allow}]"), Failed("a JSON array")),
        (String::from("[]"), Failed("a JSON array")),
        (format!("[{deny}]"), To(HookVerdict::Deny)),
        (format!("{allow}\n{allow}"), Failed("not the JSON of a hook")),
        (format!("{allow}{deny}"), To(HookVerdict::Deny)),
        // NUL bytes, as of UTF-16.
        (format!("{allow}\0"), Failed("NUL bytes")),
        (String::from("{\0\"\0d\0"), Failed("NUL bytes")),
        (format!("\0{deny}"), To(HookVerdict::Deny)),
        // Cut off.
        (String::from(r#"{"decision":"block","reason":"n"#), Failed("not the JSON of a hook")),
        (String::from(r#"{"hookSpecificOutput":{"permission"#), Failed("not the JSON of a hook")),
        (String::from(r#"ok {"decision":"blo"#), Failed("other text beside its JSON")),
        (String::from("{"), Failed("not the JSON of a hook")),
        // Misspelt, or in another place.
        (String::from(r#"{"desicion":"block"}"#), Failed("is \"decision\" meant")),
        (
            String::from(r#"{"permissionDecision":"deny"}"#),
            Failed("is \"permissionDecision\" meant"),
        ),
        (
            String::from(r#"{"hook_specific_output":{"permissionDecision":"deny"}}"#),
            Failed("is \"hookSpecificOutput\" meant"),
        ),
        (
            String::from(r#"{"hookSpecificOutput":{"permissionDecison":"deny"}}"#),
            Failed("is \"permissionDecision\" meant"),
        ),
        (String::from(r#"{"Continue":false}"#), Failed("is \"continue\" meant")),
        (String::from(r#"{"decision":"block","contineu":false}"#), To(HookVerdict::Deny)),
        // Types that are none of the protocol.
        (String::from(r#"{"decision":true}"#), Failed("not the JSON of a hook")),
        (String::from(r#"{"hookSpecificOutput":"deny"}"#), Failed("not the JSON of a hook")),
        (String::from(r#"{"continue":"false"}"#), Failed("not the JSON of a hook")),
        // Plain text, and nothing.
        (String::from("all is well"), To(HookVerdict::Pass)),
        (String::from("true"), To(HookVerdict::Pass)),
        (String::new(), To(HookVerdict::Pass)),
        (String::from("{}"), To(HookVerdict::Pass)),
    ] {
        match (read(HookEvent::PreToolUse, &ran(0, &out)), comes) {
            (Err(why), Failed(words)) => assert!(why.contains(words), "{out:?}: {why}"),
            (Ok(answer), To(verdict)) => assert_eq!(answer.verdict, verdict, "{out:?}"),
            (answer, Failed(_) | To(_)) => panic!("{out:?} comes to {answer:?}"),
        }
    }
}

#[test]
fn a_truncated_output_is_a_failure() {
    let mut cut = ran(0, r#"{"decision":"approve"}"#);
    cut.out.total += 1;
    assert!(read(HookEvent::PreToolUse, &cut).unwrap_err().contains("more than the 22"));
}

#[test]
fn an_end_beats_a_block() {
    let both = r#"{"decision":"block","reason":"go on","continue":false,"stopReason":"enough"}"#;
    let answer = read(HookEvent::Stop, &ran(0, both)).unwrap();
    assert_eq!((answer.verdict, &*answer.reason), (HookVerdict::Halt, "enough"));
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
