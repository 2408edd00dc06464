//! Calls that do not run: wrong ones, denied ones, surplus ones, and those beyond the budget.

use std::fs;

use serde_json::json;
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Script};

use crate::common::Place;
use crate::common::terminal::TerminalProcess;
use crate::prose::Prose;
use crate::{calls, conversation, done, sections};

#[test]
fn calls_that_do_not_run() {
    let place = Place::new();
    let write = || calls([("write_file", json!({"path": "a", "content": "b"}))]);
    let answers = vec![
        calls([("no_such_tool", json!({}))]),
        calls([("read_file", json!({"file": "a"}))]),
        done(),
    ];
    let wrong = conversation(&place, &[], &[("Try.", answers)]);
    let place = Place::new();
    let plan = conversation(&place, &["--mode", "plan"], &[("Try.", vec![write(), done()])]);
    let place = Place::new();
    let flags = ["--permissions", "read-only"];
    let read_only = conversation(&place, &flags, &[("Try.", vec![write(), done()])]);
    let place = Place::new();
    let flags = ["--deny", "write_file"];
    let rule = conversation(&place, &flags, &[("Try.", vec![write(), done()])]);
    let place = Place::new();
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [
        {"type": "command", "command": "echo not on Fridays >&2; exit 2"}
    ]}]}});
    fs::write(place.file("hooks.json"), hooks.to_string()).unwrap();
    let flags = ["--hooks", "hooks.json"];
    let hook = conversation(&place, &flags, &[("Try.", vec![write(), done()])]);
    let place = Place::new();
    let flags = ["--permissions", "ask"];
    let nobody = conversation(&place, &flags, &[("Try.", vec![write(), done()])]);
    let place = Place::new();
    let dry_run = conversation(&place, &["--dry-run"], &[("Try.", vec![write(), done()])]);
    let texts = [
        ("A call that cannot be run", wrong.calls()),
        ("In plan mode", plan.context_and_calls()),
        ("With read-only permissions", read_only.context_and_calls()),
        ("A rule of the user denies it", rule.calls()),
        ("A hook denies it", hook.calls()),
        ("It needs an approval, and nobody can be asked", nobody.context_and_calls()),
        ("In a dry run", dry_run.calls()),
    ];
    expect_test::expect_file!["calls_that_do_not_run.txt"].assert_eq(&sections(texts));
}

/// Writes a file with permissions that ask, and a person at a terminal who answers with this line.
fn answered(line: &str) -> Prose {
    let place = Place::new();
    let write = calls([("write_file", json!({"path": "a", "content": "b"}))]);
    let replies = [write, done()].map(Reply::answer);
    let server = ModelServer::start(Script::list(replies)).unwrap();
    let base_url = server.base_url();
    let words = ["run", "Try.", "--provider", "openai-chat", "--base-url", &base_url];
    let words = [&words[..], &["--permissions", "ask"]].concat();
    let mut asked = TerminalProcess::run(&place, &words);
    asked.until("or say why not: ");
    asked.line(line);
    let ended = asked.end();
    assert_eq!(ended.code, 0, "{}", ended.err);
    Prose::new(&place, server.samples().pop().unwrap().json.unwrap())
}

#[test]
fn denials_of_a_person() {
    let texts = [
        ("A person denies it and says why", answered("use the folder out/ instead").calls()),
        ("A person denies it without a reason", answered("n").calls()),
    ];
    expect_test::expect_file!["denials_of_a_person.txt"].assert_eq(&sections(texts));
}

#[test]
fn calls_beyond_a_limit() {
    let place = Place::new();
    let looks = || calls((0..65).map(|_| ("list_dir", json!({}))));
    let surplus = conversation(&place, &[], &[("Try.", vec![looks(), done()])]);
    let place = Place::new();
    let call = json!({"command": "echo ran"});
    let answer = Answer::new().text("I run it.").call("shell", call).tokens(3_000, 5_000);
    let server = ModelServer::start(Script::list([answer, done()].map(Reply::answer))).unwrap();
    let base_url = server.base_url();
    let provider = ["--session", "s", "--provider", "openai-chat", "--base-url", &base_url];
    let first = [&["run", "Try.", "--max-tokens", "6000"][..], &provider].concat();
    assert_eq!(place.without_terminal(&first).code, 6);
    let next = [&["run", "Go on.", "--max-tokens", "60000"][..], &provider].concat();
    let next = place.without_terminal(&next);
    assert_eq!(next.code, 0, "{}", next.err);
    let used_up = Prose::new(&place, server.samples().pop().unwrap().json.unwrap());
    let texts = [
        ("The last of 65 calls in one answer", surplus.last_result()),
        ("The answer used up the budget, as the next turn shows it", used_up.talk()),
    ];
    expect_test::expect_file!["calls_beyond_a_limit.txt"].assert_eq(&sections(texts));
}
