//! Hooks as Claude Code's users write them: a settings file and shell scripts, unchanged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use common::{Done, Place, count};
use serde_json::{Value, json};
use windlass_testkit::http::{ModelServer, Reply, Request, Script};

/// Writes a hooks file with one script for one event, and answers its path.
fn hooks(place: &Place, event: &str, matcher: Option<&str>, script: &str) -> String {
    let command = place.file("hook.sh");
    fs::write(&command, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).unwrap();
    let hook = json!({"type": "command", "command": command, "timeout": 120});
    let mut group = json!({"hooks": [hook]});
    if let Some(matcher) = matcher {
        group["matcher"] = matcher.into();
    }
    let path = place.file("hooks.json");
    fs::write(&path, json!({"hooks": {event: [group]}}).to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn run(place: &Place, prompt: &str, more: &[&str]) -> Done {
    let words = ["run", prompt, "--session", "s", "--hooks", "hooks.json"];
    place.run(&[&words[..], more].concat())
}

fn body(request: &Request) -> String {
    String::from_utf8(request.body.clone()).unwrap()
}

fn facts<'a>(log: &'a [Value], kind: &str) -> Vec<&'a Value> {
    log.iter().filter(|fact| fact["kind"] == kind).collect()
}

#[test]
fn before_a_tool_a_script_denies_by_its_exit_code() {
    let place = Place::new();
    let script = "cat > seen.json; echo 'no touching here' >&2; exit 2";
    hooks(&place, "PreToolUse", Some("Bash"), script);
    let done = run(&place, "run: touch made", &[]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!place.file("made").exists());
    assert!(done.out.contains("no touching here"), "{}", done.out);
    let log = place.log("s");
    assert_eq!(count(&log, "CallStarted"), 0);
    assert_eq!(facts(&log, "CallDecided")[0]["body"]["by"], "hook");
    let seen = fs::read(place.file("seen.json")).unwrap();
    let seen: Value = serde_json::from_slice(&seen).unwrap();
    assert_eq!(seen["hook_event_name"], "PreToolUse");
    assert_eq!(seen["tool_name"], "Bash");
    assert_eq!(seen["tool_input"]["command"], "touch made");
    assert_eq!(seen["session_id"], "s");
    // Another tool is none of its business.
    let other = place.run(&["resume", "s", "write a.txt: one", "--hooks", "hooks.json"]);
    assert_eq!(other.code, 0, "{}", other.err);
    assert!(place.file("a.txt").exists());
}

#[test]
fn before_a_tool_a_script_rewrites_the_arguments() {
    let place = Place::new();
    let reply = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "permissionDecisionReason": "made harmless",
        "updatedInput": {"command": "touch instead"},
    }});
    hooks(&place, "PreToolUse", Some("Bash"), &format!("cat > /dev/null; echo '{reply}'"));
    let done = run(&place, "run: touch made", &[]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!place.file("made").exists());
    assert!(place.file("instead").exists());
    assert!(done.err.contains("> shell {\"command\":\"touch instead\"}"), "{}", done.err);
    // The model is told what was run.
    assert!(done.out.contains("touch instead"), "{}", done.out);
}

#[test]
fn a_script_that_wants_a_person_asked_is_heard_in_auto_too() {
    let place = Place::new();
    let reply = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "ask",
        "permissionDecisionReason": "look first",
    }});
    let script = format!("cat > /dev/null; echo '{reply}'");
    hooks(&place, "PreToolUse", Some("Bash"), &script);
    let words = ["run", "run: touch made", "--session", "s", "--hooks", "hooks.json"];
    let done = place.without_terminal(&words);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!place.file("made").exists());
    assert_eq!(count(&place.log("s"), "ApprovalAsked"), 1);
}

#[test]
fn a_script_that_says_more_than_it_may_ends_the_turn_and_is_named() {
    let place = Place::new();
    hooks(&place, "UserPromptSubmit", None, "cat > /dev/null; yes word | head -c 400000");
    let done = run(&place, "hello", &[]);
    assert_eq!(done.code, 1, "{}", done.err);
    let last = done.err.lines().find(|line| line.starts_with("windlass: "));
    assert!(last.unwrap().contains("UserPromptSubmit"), "{}", done.err);
    assert_eq!(count(&place.log("s"), "InputAccepted"), 0);
}

#[test]
fn a_prompt_that_a_script_blocks_never_reaches_the_model() {
    let place = Place::new();
    let script = "grep -q secret && { echo 'no secrets' >&2; exit 2; }; exit 0";
    hooks(&place, "UserPromptSubmit", None, script);
    let server = ModelServer::start(Script::respond(|_| Reply::say("done"))).unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url];
    let done = run(&place, "a secret word", &provider);
    assert_eq!(done.code, 3, "{}", done.err);
    assert!(done.err.contains("no secrets"), "{}", done.err);
    assert_eq!(done.out, "");
    assert!(server.samples().is_empty());
    assert_eq!(count(&place.log("s"), "InputBlocked"), 1);
    let next = place.run(&["resume", "s", "an open word", "--hooks", "hooks.json"]);
    assert_eq!(next.code, 0, "{}", next.err);
    let request = body(&server.samples()[0]);
    assert!(request.contains("an open word"), "{request}");
    assert!(!request.contains("a secret word"), "{request}");
}

#[test]
fn what_a_script_says_of_a_prompt_is_context() {
    let place = Place::new();
    let script = "cat > /dev/null; echo 'the branch is winch'";
    hooks(&place, "UserPromptSubmit", None, script);
    let server = ModelServer::start(Script::respond(|_| Reply::say("done"))).unwrap();
    let base_url = server.base_url();
    let done = run(&place, "go", &["--provider", "openai-chat", "--base-url", &base_url]);
    assert_eq!(done.code, 0, "{}", done.err);
    let request = body(&server.samples()[0]);
    assert!(request.contains("the branch is winch"), "{request}");
}

#[test]
fn a_script_that_stops_the_end_once_has_the_model_go_on() {
    let place = Place::new();
    let script = "grep -q '\"stop_hook_active\": *true' && exit 0\n\
                  echo '{\"decision\": \"block\", \"reason\": \"run the tests first\"}'";
    hooks(&place, "Stop", None, script);
    let server = ModelServer::start(Script::list([Reply::say("one"), Reply::say("two")])).unwrap();
    let base_url = server.base_url();
    let done = run(&place, "go", &["--provider", "openai-chat", "--base-url", &base_url]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(done.out, "two\n");
    let samples = server.samples();
    assert_eq!(samples.len(), 2);
    assert!(body(&samples[1]).contains("run the tests first"));
    let log = place.log("s");
    let second = facts(&log, "SampleStarted")[1];
    assert_eq!(second["body"]["reason"]["kind"], "hook_context");
}

#[test]
fn a_script_that_never_lets_a_turn_end_is_capped() {
    let place = Place::new();
    let script = "cat > /dev/null; echo 'not yet' >&2; exit 2";
    hooks(&place, "Stop", None, script);
    let server = ModelServer::start(Script::respond(|_| Reply::say("done"))).unwrap();
    let base_url = server.base_url();
    let done = run(&place, "go", &["--provider", "openai-chat", "--base-url", &base_url]);
    assert_eq!(done.code, 6, "{}", done.err);
    assert!(done.err.contains("continuations by hooks"), "{}", done.err);
    let settled = place.log("s").pop().unwrap();
    assert_eq!(settled["body"]["limit"], "continuations", "{settled}");
    // The first answer, and one for each time that a hook may have the turn go on.
    assert_eq!(server.samples().len(), 9);
}

#[test]
fn what_is_to_be_redacted_is_nowhere() {
    let place = Place::new();
    fs::write(place.file("hooks.json"), r#"{"redact": ["sk-[a-z0-9]{8,}"]}"#).unwrap();
    // In pieces of 12 characters, so that the key is cut.
    let text = "The key in it is sk-abcdefgh12345678, and that is all.";
    let server = ModelServer::start(Script::respond(move |_| Reply::say(text))).unwrap();
    let base_url = server.base_url();
    let provider = ["--json", "--provider", "openai-chat", "--base-url", &base_url];
    let done = run(&place, "go", &provider);
    assert_eq!(done.code, 0, "{}", done.err);
    let again = place.run(&["resume", "s", "--hooks", "hooks.json"]);
    assert_eq!(again.out, "The key in it is [redacted], and that is all.\n");
    let next = run(&place, "and now", &provider);
    assert_eq!(next.code, 0, "{}", next.err);
    let replayed = body(&server.samples()[1]);
    assert!(replayed.contains("[redacted]"), "{replayed}");
    let everywhere = [done.out, done.err, replayed, place.run(&["log", "s"]).out];
    for text in everywhere {
        assert!(!text.contains("sk-a") && !text.contains("gh1234"), "{text}");
    }
}

#[test]
fn what_is_to_be_redacted_stays_so_when_the_session_goes_on() {
    let place = Place::new();
    let file = r#"{"redact": ["sk-[a-z0-9]{8,}"]}"#;
    fs::write(place.file("red.json"), file).unwrap();
    let write = "write a.txt: sk-abcdefgh secret";
    let done = place.run(&["run", "--hooks", "red.json", "--session", "r2", write]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!done.out.contains("sk-abcdefgh"), "{}", done.out);
    let before = place.log("r2");
    fs::write(place.file("other.json"), r#"{"redact": ["other"]}"#).unwrap();
    let own = place.file("home/.config/windlass");
    fs::create_dir_all(&own).unwrap();
    // Neither none nor another one stands for it, whatever else the command says.
    for (there, more) in [(false, &[][..]), (true, &[]), (true, &["--mode", "build"])] {
        if there {
            fs::copy(place.file("other.json"), own.join("hooks.json")).unwrap();
        }
        let refused = place.run(&[&["resume", "r2", "read a.txt"][..], more].concat());
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains("redact"), "{}", refused.err);
        assert!(refused.err.contains("--hooks FILE"), "{}", refused.err);
        assert_eq!(refused.out, "");
        assert_eq!(place.log("r2"), before, "nothing was done");
    }
    let next = place.run(&["resume", "r2", "read a.txt", "--hooks", "red.json"]);
    assert_eq!(next.code, 0, "{}", next.err);
    assert!(next.out.contains("[redacted]"), "{}", next.out);
    assert!(!next.out.contains("sk-abcdefgh"), "{}", next.out);
    let said =
        |fact: &&Value| fact["kind"] == "ItemAdded" && fact["body"]["item"]["type"] != "call";
    let log = place.log("r2");
    let said: Vec<&Value> = log.iter().filter(said).collect();
    assert!(said.len() > 1, "{said:?}");
    for fact in said {
        assert!(!fact.to_string().contains("sk-abcdefgh"), "{fact}");
    }
}

#[test]
fn hooks_are_never_taken_from_a_workspace_and_never_lost_without_a_word() {
    let place = Place::new();
    let script = "cat > /dev/null; echo 'no' >&2; exit 2";
    let path = hooks(&place, "PreToolUse", Some("*"), script);
    fs::create_dir_all(place.file(".claude")).unwrap();
    fs::copy(&path, place.file(".claude/settings.json")).unwrap();
    fs::create_dir_all(place.file("windlass")).unwrap();
    fs::copy(&path, place.file("windlass/hooks.json")).unwrap();
    let free = place.run(&["run", "run: touch free", "--session", "free"]);
    assert_eq!(free.code, 0, "{}", free.err);
    assert!(place.file("free").exists(), "the workspace's own hooks are not asked");

    assert_eq!(run(&place, "run: touch made", &[]).code, 0);
    let before = place.log("s");
    let without = place.run(&["resume", "s", "run: touch made"]);
    assert_eq!(without.code, 2, "{}", without.err);
    assert!(without.err.contains("--hooks"), "{}", without.err);
    assert_eq!(place.log("s"), before, "nothing was done");
    assert!(!place.file("made").exists());
    fs::write(place.file("none.json"), r#"{"hooks": {}}"#).unwrap();
    let meant = place.run(&["resume", "s", "run: touch made", "--hooks", "none.json"]);
    assert_eq!(meant.code, 0, "{}", meant.err);
    assert!(place.file("made").exists());
}

#[test]
fn the_users_own_hooks_are_found_and_doctor_names_them() {
    let place = Place::new();
    let script = "cat > /dev/null; echo 'no' >&2; exit 2";
    let path = hooks(&place, "PreToolUse", Some("Bash"), script);
    let own = place.file("home/.config/windlass");
    fs::create_dir_all(&own).unwrap();
    fs::copy(&path, own.join("hooks.json")).unwrap();
    let done = place.run(&["run", "run: touch made", "--session", "s"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!place.file("made").exists());
    let doctor = place.run(&["doctor"]);
    assert_eq!(doctor.code, 0, "{}", doctor.err);
    let line = doctor.out.lines().find(|line| line.starts_with("hooks"));
    assert!(line.unwrap().contains("PreToolUse"), "{}", doctor.out);
    let missing = place.run(&["doctor", "--hooks", "nowhere.json"]);
    assert_eq!(missing.code, 2, "{}", missing.err);
    fs::write(place.file("bad.json"), "{").unwrap();
    let bad = place.run(&["run", "hello", "--hooks", "bad.json"]);
    assert_eq!(bad.code, 2, "{}", bad.err);
    assert!(bad.err.contains("bad.json"), "{}", bad.err);
}

#[test]
fn a_failure_names_its_hook_once() {
    let place = Place::new();
    hooks(&place, "PreToolUse", Some("Bash"), "echo broken >&2; exit 1");
    let done = run(&place, "run: touch made", &[]);
    assert_eq!(done.code, 0, "{}", done.err);
    let mut lines = done.err.lines();
    let line = lines.find(|line| line.contains("broken")).unwrap();
    assert_eq!(line.matches("hook.sh").count(), 1, "{line}");
    assert!(line.contains("failed: it exited with code 1"), "{line}");
    let log = place.log("s");
    let reason = facts(&log, "HookDecided")[0]["body"]["reason"].clone();
    assert_eq!(reason.as_str().unwrap().matches("hook.sh").count(), 1);
}
