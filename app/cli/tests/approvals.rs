//! Approvals at the terminal: what a person is asked, what their words do, and that a question
//! outlives the process.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::terminal::TerminalProcess;
use common::{Place, count};
use serde_json::json;
use windlass_testkit::Gate;
use windlass_testkit::http::{ModelServer, Reply, Script};

const CALL: &str = r#"repeat 1: count {"n":1}"#;
const KEYS: &str = "or say why not: ";

fn asking<'a>(prompt: &'a str, tools: &'a str) -> Vec<&'a str> {
    let flags = ["--permissions", "ask", "--session", "s", "--tools", tools];
    [&["run", prompt][..], &flags].concat()
}

#[test]
fn a_question_that_a_killed_process_left_open_is_asked_again_and_the_tool_runs_once() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let mut first = TerminalProcess::run(&place, &asking(CALL, &tools));
    first.until(KEYS);
    first.signal("KILL");
    assert_eq!(first.end().code, 128 + 9);
    assert_eq!(place.counted().len(), 0);
    let log = place.log("s");
    let kinds = ["ApprovalAsked", "ApprovalAnswered", "CallStarted"];
    assert_eq!(kinds.map(|kind| count(&log, kind)), [1, 0, 0]);

    let mut second = TerminalProcess::run(&place, &["resume", "s", "--tools", &tools]);
    let question = second.until(KEYS);
    assert!(question.contains("count"), "{question}");
    assert!(question.contains("asked again"), "{question}");
    second.line("y");
    let done = second.end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(place.counted().len(), 1);
    let log = place.log("s");
    assert_eq!(kinds.map(|kind| count(&log, kind)), [2, 1, 1]);
    let by = log.iter().find(|fact| fact["kind"] == "ApprovalAnswered");
    assert_eq!(by.unwrap()["body"]["by"]["kind"], "principal");
    let shown = place.run(&["show", "s"]).out;
    assert!(shown.contains("may it run?") && shown.contains("it may run"), "{shown}");
    assert_eq!(place.run(&["verify", "s"]).code, 0);
}

/// Opens a question about a call, and stores its log again as `forge` rewrites it.
fn with_forged_question(forge: impl Fn(&str) -> String) -> (Place, String) {
    let place = Place::new();
    let tools = place.counter("effectful");
    let mut first = TerminalProcess::run(&place, &asking(CALL, &tools));
    first.until(KEYS);
    first.signal("KILL");
    first.end();
    let export = place.run(&["export", "s"]).out;
    assert_eq!(place.run(&["erase", "s", "--yes"]).code, 0);
    // Without its header, an export is one of an earlier version.
    let facts: Vec<&str> = export.lines().skip(1).collect();
    std::fs::write(place.file("older.jsonl"), forge(&(facts.join("\n") + "\n"))).unwrap();
    let imported = place.run(&["import", "older.jsonl"]);
    assert_eq!(imported.code, 0, "{}", imported.err);
    (place, tools)
}

const SHA256: &str = "2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd";

#[test]
fn a_question_of_an_earlier_version_is_answered_by_its_own_digest() {
    let (place, tools) = with_forged_question(|log| {
        assert_eq!(log.matches("sha256:").count(), 2, "{log}");
        let log = log.replace(&format!(r#","sha256":"{SHA256}""#), "");
        log.replace(&format!("sha256:{SHA256}"), "ce5f577ab4ff0c3246a3a9a3a07c2015")
    });
    let mut second = TerminalProcess::run(&place, &["resume", "s", "--tools", &tools]);
    second.until(KEYS);
    second.line("y");
    let done = second.end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(place.counted().len(), 1);
}

#[test]
fn nobody_is_asked_about_a_call_whose_log_has_the_digest_of_other_arguments() {
    let (place, tools) = with_forged_question(|log| log.replace(SHA256, &"0".repeat(64)));
    let done = TerminalProcess::run(&place, &["resume", "s", "--tools", &tools]).end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("digest of other arguments"), "{}", done.out);
    assert_eq!(place.counted().len(), 0);
}

#[test]
fn a_question_shows_the_exact_arguments_and_the_answer_goes_elsewhere_than_standard_output() {
    let place = Place::new();
    let prompt = "run: printf '\\033[2J' # \u{202e}x";
    let words = ["run", prompt, "--permissions", "ask", "--session", "s"];
    let mut asked = TerminalProcess::run(&place, &words);
    let question = asked.until(KEYS);
    assert!(question.contains("call shell"), "{question}");
    assert!(question.contains("permissions ask"), "{question}");
    assert!(question.contains("\\u{202e}x"), "{question}");
    assert!(!question.contains('\u{1b}'), "{question}");
    asked.line("not with colours");
    let done = asked.end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!done.out.contains("wants to call"), "{}", done.out);
    // The model is told the reason.
    assert!(done.out.contains("not with colours"), "{}", done.out);
    assert_eq!(count(&place.log("s"), "CallStarted"), 0);
}

#[test]
fn blanks_do_not_hide_the_second_half_of_a_command() {
    let place = Place::new();
    let prompt = format!("run: git log{}; rm -rf kept", " ".repeat(9_000));
    let words = ["run", &prompt, "--permissions", "ask", "--session", "s"];
    let mut asked = TerminalProcess::run(&place, &words);
    let question = asked.until(KEYS);
    assert!(question.contains("command: git log [9000 blanks] ; rm -rf kept"), "{question}");
    asked.line("n");
    assert_eq!(asked.end().code, 0);
    assert_eq!(count(&place.log("s"), "CallStarted"), 0);
}

#[test]
fn edited_arguments_are_what_runs() {
    let place = Place::new();
    let words = ["run", "write a.txt: one", "--permissions", "ask", "--session", "s"];
    let mut asked = TerminalProcess::run(&place, &words);
    asked.until(KEYS);
    asked.line("e");
    asked.until("on one line: ");
    asked.line("{\"path\": ");
    asked.until("no JSON object");
    asked.until(KEYS);
    asked.line("e");
    asked.until("on one line: ");
    asked.line(r#"{"path": "a.txt", "content": "two\n"}"#);
    let done = asked.end();
    assert_eq!(done.code, 0, "{}", done.err);
    let written = std::fs::read_to_string(place.file("a.txt")).unwrap();
    assert_eq!(written, "two\n");
    assert!(done.err.contains("> write_file") && done.err.contains("two"), "{}", done.err);
    let log = place.log("s");
    let answered = log.iter().find(|fact| fact["kind"] == "ApprovalAnswered");
    let edit = &answered.unwrap()["body"]["edit"]["text"];
    assert!(edit.as_str().unwrap().contains("two"), "{edit}");
}

#[test]
fn calls_of_one_answer_are_asked_about_one_after_the_other() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let mut asked = TerminalProcess::run(&place, &asking(r#"together 2: count {"n":1}"#, &tools));
    for _ in 0..2 {
        let question = asked.until(KEYS);
        assert_eq!(question.matches("wants to call").count(), 1, "{question}");
        asked.line("yes");
    }
    let done = asked.end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(place.counted().len(), 2);
}

#[test]
fn what_was_typed_before_the_question_does_not_answer_it() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let gate = Gate::new();
    let call = Reply::call("count", json!({"n": 1})).head_after(&gate);
    let server = ModelServer::start(Script::list([call, Reply::say("done")])).unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url];
    let mut asked =
        TerminalProcess::run(&place, &[asking("go", &tools), provider.to_vec()].concat());
    // Once the terminal has echoed them, they are there to be read.
    asked.line("y");
    asked.until("y\r\n");
    asked.line("y");
    asked.until("y\r\n");
    gate.open();
    asked.until(KEYS);
    asked.line("n");
    let done = asked.end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(place.counted().len(), 0);
}

#[test]
fn a_terminal_that_gives_no_answer_is_no_yes() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let mut asked = TerminalProcess::run(&place, &asking(r#"together 2: count {"n":1}"#, &tools));
    asked.until(KEYS);
    // The end of the input, as Ctrl-D gives it.
    asked.keys("\u{4}");
    // The next question looks for the terminal anew.
    asked.until(KEYS);
    asked.line("y");
    let done = asked.end();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(place.counted().len(), 1);
}

#[test]
fn without_a_terminal_nobody_is_asked_and_the_model_is_told() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let done = place.without_terminal(&asking(CALL, &tools));
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("nobody can be asked"), "{}", done.out);
    assert_eq!(place.counted().len(), 0);
}

#[test]
fn without_a_terminal_one_line_names_the_flag_that_allows_it() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let done = place.without_terminal(&asking(CALL, &tools));
    let line =
        "denied count: it needs an approval, and there is no terminal. --allow 'count' allows";
    assert!(done.err.contains(line), "{}", done.err);
    let allowed = ["--allow", "count", "--session", "allowed"];
    let words = ["run", CALL, "--permissions", "ask", "--tools", &tools];
    let done = place.without_terminal(&[&words[..], &allowed].concat());
    assert_eq!((done.code, place.counted().len()), (0, 1), "{}", done.err);
    assert!(!done.err.contains("no terminal"), "{}", done.err);
}

#[test]
fn what_nothing_contains_is_asked_unless_both_are_named() {
    let place = Place::new();
    let off = ["--sandbox", "off"];
    let run = |session: &str, flags: &[&str]| {
        let words = ["run", "run: echo a > written", "--session", session];
        let done = place.without_terminal(&[&words[..], flags].concat());
        assert_eq!(done.code, 0, "{}", done.err);
        let written = std::fs::remove_file(place.file("written")).is_ok();
        (written, done.err)
    };
    let (written, _) = run("contained", &[]);
    assert!(written, "{:?}", place.log("contained"));
    let (written, said) = run("asked", &off);
    assert!(!written && said.contains("there is no terminal"), "{said}");
    assert!(run("named", &[&off[..], &["--permissions", "auto"]].concat()).0);
    // A session that ran contained is asked about once nothing contains it.
    let words = ["resume", "contained", "run: echo a > written"];
    let done = place.without_terminal(&[&words[..], &off].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!place.file("written").exists());
    // At a terminal a person decides.
    let words = ["run", "run: echo a > written", "--session", "person", "--sandbox", "off"];
    let mut asked = TerminalProcess::run(&place, &words);
    asked.until(KEYS);
    asked.line("y");
    assert_eq!(asked.end().code, 0);
    assert!(place.file("written").exists());
}

#[test]
fn a_file_alone_does_not_run_everything_without_a_sandbox() {
    let place = Place::new();
    let config = place.file("config/windlass");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("sandbox.toml"), "profile = \"off\"\n").unwrap();
    let run = |flags: &[&str]| {
        let words = ["run", "run: echo a > written"];
        let mut command = place.command(&[&words[..], flags].concat());
        command.env("XDG_CONFIG_HOME", place.file("config"));
        place.without_terminal_as(&command)
    };
    let refused = run(&["--permissions", "auto"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("Add --sandbox off"), "{}", refused.err);
    assert_eq!(run(&[]).code, 0);
    assert!(!place.file("written").exists());
    assert_eq!(run(&["--permissions", "auto", "--sandbox", "off"]).code, 0);
    assert!(place.file("written").exists());
}

#[test]
fn rules_say_what_is_asked_about() {
    let place = Place::new();
    let (allow, deny) = ("shell(command=echo a*)", "shell(command=* b*)");
    let run = |prompt: &str, session: &str| {
        let words = ["run", prompt, "--permissions", "ask", "--session", session];
        let rules = ["--allow", allow, "--deny", deny];
        place.without_terminal(&[&words[..], &rules].concat())
    };
    let started = |session: &str| count(&place.log(session), "CallStarted");
    for (prompt, session, runs) in
        [("run: echo a", "allowed", 1), ("run: echo c", "asked", 0), ("run: echo a b", "denied", 0)]
    {
        let done = run(prompt, session);
        assert_eq!(done.code, 0, "{}", done.err);
        assert_eq!(started(session), runs, "{prompt}");
    }
    // A rule that asks narrows a session that asked nothing.
    let words = ["run", "run: echo a", "--ask", "shell", "--session", "auto"];
    assert_eq!(place.without_terminal(&words).code, 0);
    assert_eq!(started("auto"), 0);
    // And stays, until it is taken back in so many words.
    let again = ["resume", "auto", "run: echo a"];
    assert_eq!(place.without_terminal(&again).code, 0);
    assert_eq!(started("auto"), 0);
    let back = ["resume", "auto", "run: echo a", "--no-rules"];
    assert_eq!(place.without_terminal(&back).code, 0);
    assert_eq!(started("auto"), 1);
    // One that can never be met is a slip of the pen.
    for rule in ["shell(command)", "shel", "shell(cmd=rm *)"] {
        let bad = place.run(&["run", "x", "--deny", rule, "--session", "bad"]);
        assert_eq!(bad.code, 2, "{rule}: {}", bad.err);
        assert_eq!(place.run(&["log", "bad"]).code, 2, "nothing was begun");
    }
}

#[test]
fn a_question_about_a_file_shows_its_change() {
    let place = Place::new();
    std::fs::write(place.file("notes"), "one\ntwo\nthree\n").unwrap();
    let call = json!({ "path": "notes", "content": "one\n2\u{202e}\nthree\n" });
    let replies = [Reply::call("write_file", call), Reply::say("Done.")];
    let server = ModelServer::start(Script::list(replies)).unwrap();
    let base_url = server.base_url();
    let at = ["--provider", "openai", "--model", "m", "--base-url", &base_url];
    let words = [&["run", "hello", "--permissions", "ask"][..], &at].concat();
    let mut asked = TerminalProcess::run(&place, &words);
    let question = asked.until(KEYS).replace("\r\n", "\n");
    let change =
        "  The file changes:\n    | @@ -1,3 +1,3 @@\n    |  one\n    | -two\n    | +2\\u{202e}\n";
    assert!(question.contains(change), "{question}");
    asked.line("n");
    assert_eq!(asked.end().code, 0);
    assert_eq!(std::fs::read_to_string(place.file("notes")).unwrap(), "one\ntwo\nthree\n");
}
