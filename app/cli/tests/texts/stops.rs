//! What stops a turn or a call: a person, a signal, a time limit, a kill, a hook at the prompt.

use std::fs;
use std::io::{BufRead as _, BufReader};

use serde_json::json;
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Script};

use crate::common::{Place, signal};
use crate::prose::Prose;
use crate::{calls, conversation, done, sections};

/// A turn that gets this reply and this signal once it printed such a line, and the request of the
/// next turn.
fn stopped(first: Reply, awaited: &str, name: &str, flags: &[&str]) -> Prose {
    let place = Place::new();
    let server = ModelServer::start(Script::list(
        [first].into_iter().chain([done(), done()].map(Reply::answer)),
    ))
    .unwrap();
    let base_url = server.base_url();
    let provider = ["--session", "s", "--provider", "openai-chat", "--base-url", &base_url];
    let words = [&["run", "Try.", "--json"][..], &provider, flags].concat();
    let mut child = place.command(&words).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(awaited)), "no {awaited}");
    if !name.is_empty() {
        signal(&child, name);
    }
    // It reads on, so that the command never waits for its reader.
    lines.for_each(|line| drop(line.unwrap()));
    child.wait().unwrap();
    next(&place, &server, &[])
}

/// The request of a further turn.
fn next(place: &Place, server: &ModelServer, flags: &[&str]) -> Prose {
    let base_url = server.base_url();
    let words = ["run", "Go on.", "--session", "s", "--provider", "openai-chat"];
    // No limit of the turn before stays.
    let more = ["--base-url", &base_url, "--deadline", "10m"];
    let next = place.without_terminal(&[&words[..], &more, flags].concat());
    assert_eq!(next.code, 0, "{}", next.err);
    Prose::new(place, server.samples().pop().unwrap().json.unwrap())
}

fn saying() -> Reply {
    let words = Answer::new().text("Half an answer, and the other half").pieces_of(14);
    Reply::answer(words).stall_after(500)
}

fn running() -> Reply {
    Reply::call("shell", json!({"command": "echo started; sleep 600"}))
}

#[test]
fn interrupts() {
    let texts = [
        ("A person interrupts an answer", stopped(saying(), "TextDelta", "INT", &[])),
        ("A person interrupts a call", stopped(running(), "CallProgress", "INT", &[])),
        ("The process is shut down", stopped(running(), "CallProgress", "TERM", &[])),
        ("The time of the turn is over", {
            stopped(running(), "TurnSettled", "", &["--deadline", "4s"])
        }),
        ("The process is killed beside a call", stopped(running(), "CallProgress", "KILL", &[])),
    ];
    let texts = texts.map(|(title, request)| (title, request.talk()));
    expect_test::expect_file!["interrupts.txt"].assert_eq(&sections(texts));
}

#[test]
fn a_tool_of_the_user_at_its_time_limit() {
    let place = Place::new();
    let tool = |name: &str, command: &str, effect: &str| {
        json!({
            "name": name, "description": "Waits.", "effect": effect, "timeout_ms": 2_000,
            "parameters": {"type": "object", "properties": {}},
            "command": ["sh", "-c", command],
        })
    };
    let tools = json!({"tools": [
        tool("look", "echo so far; sleep 600", "read_only"),
        tool("change", "echo so far; sleep 600", "effectful"),
        tool("break", "echo so far; echo no paper >&2; exit 4", "effectful"),
    ]});
    fs::write(place.file("tools.json"), tools.to_string()).unwrap();
    let answers = vec![
        calls([("look", json!({}))]),
        calls([("change", json!({}))]),
        calls([("break", json!({}))]),
        done(),
    ];
    let flags = ["--tools", "tools.json"];
    let asked = conversation(&place, &flags, &[("Try.", answers)]);
    expect_test::expect_file!["results_of_the_users_tools.txt"].assert_eq(&asked.calls());
}

fn hook(place: &Place, event: &str, command: &str) {
    let hooks = json!({"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}});
    fs::write(place.file("hooks.json"), hooks.to_string()).unwrap();
}

#[test]
fn words_of_hooks() {
    let flags = ["--hooks", "hooks.json"];
    let say = |text: &str| Answer::new().text(text);

    let place = Place::new();
    hook(&place, "UserPromptSubmit", "if grep -q secret; then echo no secrets >&2; exit 2; fi");
    let server = ModelServer::start(Script::list([Reply::answer(done())])).unwrap();
    let base_url = server.base_url();
    let provider = ["--session", "s", "--provider", "openai-chat", "--base-url", &base_url];
    let blocked = [&["run", "Tell the secret."][..], &provider, &flags].concat();
    assert_eq!(place.without_terminal(&blocked).code, 3);
    let blocked = next(&place, &server, &flags);

    let place = Place::new();
    hook(&place, "UserPromptSubmit", "echo 'Today is a holiday.'");
    let told = conversation(&place, &flags, &[("Hello.", vec![done()])]);
    let place = Place::new();
    hook(&place, "Stop", "test -e once || { touch once; echo run the tests first >&2; exit 2; }");
    let answers = vec![say("It works."), say("The tests pass.")];
    let goes_on = conversation(&place, &flags, &[("Fix it.", answers)]);
    let place = Place::new();
    hook(&place, "PostToolUse", "echo the linter found 2 faults >&2; exit 2");
    let write = calls([("write_file", json!({"path": "a", "content": "b"}))]);
    let after = conversation(&place, &flags, &[("Write it.", vec![write, done()])]);
    let place = Place::new();
    let edit = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"command": "echo instead"},
    }});
    hook(&place, "PreToolUse", &format!("echo '{edit}'"));
    let shell = calls([("shell", json!({"command": "echo this"}))]);
    let edited = conversation(&place, &flags, &[("Run it.", vec![shell, done()])]);
    let texts = [
        ("A hook blocked the prompt before this one", blocked),
        ("A hook adds context to a prompt", told),
        ("A hook continues the turn", goes_on),
        ("A hook has words on a result", after),
        ("A hook changes the arguments of a call", edited),
    ];
    let texts = texts.map(|(title, request)| (title, request.talk()));
    expect_test::expect_file!["words_of_hooks.txt"].assert_eq(&sections(texts));
}

#[test]
fn a_goal() {
    let place = Place::new();
    let answers = vec![
        Answer::new().text("Half of it is done."),
        calls([("goal_met", json!({"evidence": "I looked."}))]),
    ];
    let flags: [&str; 2] = ["--goal", "Every file has a title."];
    let asked = conversation(&place, &flags, &[("Begin.", [answers, vec![done()]].concat())]);
    let described = asked.tool("goal_met");
    expect_test::expect_file!["a_goal.txt"].assert_eq(&format!("{described}\n{}", asked.talk()));
}
