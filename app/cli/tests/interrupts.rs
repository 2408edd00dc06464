//! Signals: wherever one finds a turn, the turn has an end that is durable, soon, with nothing left
//! behind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::terminal::TerminalProcess;
use common::{Place, count, lines, signal};
use rustix::fs::OFlags;
use serde_json::{Value, json};
use windlass_testkit::http::{ModelServer, Reply, Script};

/// From the signal to the end of the process: far less than anything here holds it that does not
/// listen, and far more than it takes on any machine. How long each part of it may take is shown
/// where time stands still, and that they come to two seconds, beside their constants.
const SOON: Duration = Duration::from_secs(20);
const SIGNALS: [(&str, i32, &str); 2] = [("INT", 130, "person"), ("TERM", 143, "shutdown")];

/// A turn that runs until this kind of line has been printed.
fn reach(place: &Place, words: &[&str], awaited: &str) -> Child {
    let mut child = place.command(words).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(awaited) {
        line.clear();
        let read = out.read_line(&mut line).unwrap();
        assert!(read > 0, "the output ended before {awaited}");
    }
    // What is still buffered is the beginning of what comes next.
    std::fs::write(place.file("rest"), out.buffer()).unwrap();
    child.stdout = Some(out.into_inner());
    child
}

/// Signals, and checks how it ends.
fn interrupted(place: &Place, child: Child, name: &str, code: i32, by: &str) {
    let began = Instant::now();
    signal(&child, name);
    let ended = child.wait_with_output().unwrap();
    assert!(began.elapsed() < SOON, "{name}: {:?}", began.elapsed());
    assert_eq!(ended.status.code(), Some(code), "{name}");
    let mut out = std::fs::read(place.file("rest")).unwrap();
    out.extend(ended.stdout);
    let out = String::from_utf8(out).unwrap();
    let last = out.lines().last().unwrap();
    settled(&lines(last)[0], by);
    goes_on(place);
}

/// Writes a hooks file: a hook for this event that holds the FIFO open and does not end.
fn hold(place: &Place, event: &str, pipe: &Path) {
    let held = format!("exec 3>{}; sleep 600 & echo up >&3; wait", pipe.display());
    let hook = json!({"type": "command", "command": held, "timeout": 60});
    let hooks = json!({"hooks": {event: [{"hooks": [hook]}]}});
    std::fs::write(place.file("hooks.json"), hooks.to_string()).unwrap();
}

/// A FIFO, opened to read though nobody may ever write to it.
fn reader(pipe: &Path) -> File {
    let mut open = OpenOptions::new();
    let open = open.read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(pipe);
    open.unwrap()
}

/// All that was written to a FIFO. Ends only when nobody holds it any more.
fn all_of(mut pipe: File) -> String {
    let flags = rustix::fs::fcntl_getfl(&pipe).unwrap();
    rustix::fs::fcntl_setfl(&pipe, flags - OFlags::NONBLOCK).unwrap();
    let mut all = String::new();
    pipe.read_to_string(&mut all).unwrap();
    all
}

fn settled(last: &Value, by: &str) {
    assert_eq!(last["kind"], "TurnSettled", "{last}");
    assert_eq!(last["body"]["outcome"], "interrupted", "{last}");
    assert_eq!(last["body"]["by"], by, "{last}");
    assert!(last["seq"].is_u64(), "it is in the log: {last}");
}

/// The next turn of the session works.
fn goes_on(place: &Place) {
    let flags = ["--provider", "demo", "--model", "demo-script"];
    let next = place.run(&[&["resume", "s", "hello"][..], &flags].concat());
    assert_eq!(next.code, 0, "{}", next.err);
    let verified = place.run(&["verify", "s"]);
    assert_eq!(verified.code, 0, "{}", verified.err);
}

fn with_server(base_url: &str) -> Vec<&str> {
    let flags = ["--provider", "openai-chat", "--base-url", base_url];
    [&["run", "go", "--json", "--session", "s"][..], &flags].concat()
}

#[test]
fn in_text() {
    for (name, code, by) in SIGNALS {
        let place = Place::new();
        let reply = Reply::say("some words that go on and on").stall_after(700);
        let server = ModelServer::start(Script::list([reply])).unwrap();
        let base_url = server.base_url();
        let child = reach(&place, &with_server(&base_url), "TextDelta");
        interrupted(&place, child, name, code, by);
        let log = place.log("s");
        let cut = log.iter().find(|fact| fact["kind"] == "SampleCut").unwrap();
        let partial = cut["body"]["partial"].as_str().unwrap();
        assert!(partial.starts_with("some words"), "{cut}");
    }
}

#[test]
fn the_next_request_says_who_stopped_the_turn_and_what_was_said_until_then() {
    for (name, code, mark, notice) in [
        (
            "INT",
            130,
            "[cut off here: the turn was interrupted]",
            "The user interrupted this turn here (reason: SIGINT was received).",
        ),
        (
            "TERM",
            143,
            "[cut off here: the process was shut down]",
            "The process was shut down here; the user did not stop this turn (reason: SIGTERM was",
        ),
    ] {
        let place = Place::new();
        let stalls = Reply::say("some words that go on and on").stall_after(700);
        let server = ModelServer::start(Script::list([stalls, Reply::say("done")])).unwrap();
        let base_url = server.base_url();
        let child = reach(&place, &with_server(&base_url), "TextDelta");
        signal(&child, name);
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(code), "{name}");
        let flags = ["--provider", "openai-chat", "--base-url", &base_url];
        let next = place.run(&[&["resume", "s", "and now?"][..], &flags].concat());
        assert_eq!(next.code, 0, "{}", next.err);
        let request = server.samples().pop().unwrap().json.unwrap();
        let messages = request["messages"].as_array().unwrap();
        let at = |words: &str| {
            let says = |message: &Value| message["content"].to_string().contains(words);
            messages.iter().position(says)
        };
        let told = [at("some words"), at(notice), at("and now?")];
        assert!(told.iter().all(Option::is_some) && told.is_sorted(), "{name}: {request}");
        let answer = &messages[told[0].unwrap()];
        assert_eq!(answer["role"], "assistant", "{answer}");
        assert!(answer["content"].to_string().contains(mark), "{answer}");
    }
}

#[test]
fn in_a_tool() {
    for (name, code, by) in SIGNALS {
        let place = Place::new();
        let pipe = place.file("alive");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        // The tool holds the FIFO open for as long as it or a child of it lives.
        let prompt = "run: exec 3>alive; sleep 600 & echo up >&3; echo started; wait";
        let words = ["run", prompt, "--json", "--session", "s"];
        let reader = std::thread::spawn(|| {
            let mut alive = BufReader::new(File::open(pipe).unwrap());
            let mut seen = String::new();
            alive.read_to_string(&mut seen).unwrap();
            seen
        });
        let child = reach(&place, &words, "CallProgress");
        interrupted(&place, child, name, code, by);
        // It has ended, so nobody holds the FIFO any more.
        assert_eq!(reader.join().unwrap(), "up\n");
        let log = place.log("s");
        assert_eq!(count(&log, "CallObserved"), count(&log, "CallStarted"));
    }
}

#[test]
fn in_a_hook() {
    for (name, code, by) in SIGNALS {
        let place = Place::new();
        let pipe = place.file("alive");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        hold(&place, "PreToolUse", &pipe);
        let words = ["run", "run: touch made", "--json", "--session", "s"];
        let words = [&words[..], &["--hooks", "hooks.json"]].concat();
        let child = reach(&place, &words, "HooksAsked");
        // It runs now, and nobody has anything more to print.
        let mut alive = BufReader::new(File::open(pipe).unwrap());
        let mut seen = String::new();
        alive.read_line(&mut seen).unwrap();
        let began = Instant::now();
        signal(&child, name);
        let ended = child.wait_with_output().unwrap();
        assert!(began.elapsed() < SOON, "{name}: {:?}", began.elapsed());
        assert_eq!(ended.status.code(), Some(code), "{name}");
        let out = String::from_utf8(ended.stdout).unwrap();
        settled(&lines(out.lines().last().unwrap())[0], by);
        // Ends only when nobody holds the FIFO any more.
        alive.read_to_string(&mut seen).unwrap();
        assert_eq!(seen, "up\n");
        assert!(!place.file("made").exists());
    }
}

#[test]
fn in_a_summary() {
    for (name, code, by) in SIGNALS {
        let place = Place::new();
        std::fs::write(place.file("note.txt"), "It lifts.\n".repeat(200)).unwrap();
        let server =
            ModelServer::start(Script::respond(|request| match request.asked().tools.is_empty() {
                true => Reply::say("a summary that never ends").stall_after(700),
                false => Reply::call("read_file", json!({"path": "note.txt"})),
            }))
            .unwrap();
        let base_url = server.base_url();
        let window = ["--window", "7000", "--compaction", "summary"];
        let words = [&with_server(&base_url)[..], &window].concat();
        let child = reach(&place, &words, "CompactionStarted");
        interrupted(&place, child, name, code, by);
        let log = place.log("s");
        let first = |kind: &str| log.iter().position(|fact| fact["kind"] == kind);
        // Nothing of the summary counts; the next turn may have compacted anew.
        let settled = first("TurnSettled").unwrap();
        assert!(first("Compacted").is_none_or(|compacted| compacted > settled));
    }
}

#[test]
fn a_hook_at_the_end_of_the_session_does_not_hold_it() {
    for (name, code, by) in SIGNALS {
        let place = Place::new();
        let pipe = place.file("alive");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        hold(&place, "SessionEnd", &pipe);
        let reply = Reply::say("some words that go on and on").stall_after(700);
        let server = ModelServer::start(Script::list([reply])).unwrap();
        let base_url = server.base_url();
        let words = [&with_server(&base_url)[..], &["--hooks", "hooks.json"]].concat();
        let reader = reader(&pipe);
        let child = reach(&place, &words, "TextDelta");
        let began = Instant::now();
        signal(&child, name);
        let ended = child.wait_with_output().unwrap();
        assert!(began.elapsed() < SOON, "{name}: {:?}", began.elapsed());
        assert_eq!(ended.status.code(), Some(code), "{name}");
        let out = String::from_utf8(ended.stdout).unwrap();
        settled(&lines(out.lines().last().unwrap())[0], by);
        // Its time may be over before its shell has come so far.
        let up = all_of(reader);
        assert!(["", "up\n"].contains(&&*up), "{up}");
    }
}

#[test]
fn after_the_turn_while_a_hook_has_its_last_word() {
    let place = Place::new();
    let pipe = place.file("alive");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    hold(&place, "SessionEnd", &pipe);
    let words = ["run", "hello", "--json", "--session", "s", "--hooks", "hooks.json"];
    let child = reach(&place, &words, "TurnSettled");
    let mut alive = BufReader::new(File::open(pipe).unwrap());
    let mut seen = String::new();
    alive.read_line(&mut seen).unwrap();
    let began = Instant::now();
    signal(&child, "INT");
    let ended = child.wait_with_output().unwrap();
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    // The turn had completed.
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(ended.stdout, b"");
    alive.read_to_string(&mut seen).unwrap();
    assert_eq!(seen, "up\n");
}

#[test]
fn in_backoff() {
    for (name, code, by) in SIGNALS {
        let place = Place::new();
        let busy = || Reply::error(503, "overloaded", "later").header("retry-after", "30");
        let server = ModelServer::start(Script::respond(move |_| busy())).unwrap();
        let base_url = server.base_url();
        let child = reach(&place, &with_server(&base_url), "SampleCut");
        interrupted(&place, child, name, code, by);
        assert_eq!(server.samples().len(), 1);
    }
}

#[test]
fn in_an_approval() {
    for (name, code, by) in SIGNALS {
        let place = Place::new();
        let flags = ["--permissions", "ask", "--json", "--session", "s"];
        let words = [&["run", "run: touch made"][..], &flags].concat();
        let mut asked = TerminalProcess::run(&place, &words);
        asked.until("or say why not: ");
        let began = Instant::now();
        asked.signal(name);
        let done = asked.end();
        assert!(began.elapsed() < SOON, "{name}: {:?}", began.elapsed());
        assert_eq!(done.code, code, "{}", done.err);
        settled(&lines(&done.out).pop().unwrap(), by);
        assert!(!place.file("made").exists());
        assert_eq!(count(&place.log("s"), "CallStarted"), 0);
        goes_on(&place);
    }
}

#[test]
fn in_a_tool_that_does_not_listen_with_slow_hooks_to_follow() {
    for (name, code, by) in SIGNALS {
        let place = Place::new();
        let slow = |event: &str| {
            let line = format!("echo {event} >> heard; exec sleep 600");
            json!([{"hooks": [{"type": "command", "command": line, "timeout": 60}]}])
        };
        let events = json!({
            "Interrupt": slow("Interrupt"),
            "SessionEnd": slow("SessionEnd"),
        });
        let hooks = json!({"hooks": events});
        std::fs::write(place.file("hooks.json"), hooks.to_string()).unwrap();
        let prompt = "run: trap '' TERM; echo started; while :; do sleep 600; done";
        let words = ["run", prompt, "--json", "--session", "s"];
        let words = [&words[..], &["--hooks", "hooks.json"]].concat();
        let child = reach(&place, &words, "CallProgress");
        let began = Instant::now();
        signal(&child, name);
        let ended = child.wait_with_output().unwrap();
        let took = began.elapsed();
        assert!(took < SOON, "{name}: {took:?}");
        println!("{name}: {took:?}");
        assert_eq!(ended.status.code(), Some(code), "{name}");
        let out = String::from_utf8(ended.stdout).unwrap();
        settled(&lines(out.lines().last().unwrap())[0], by);
        // Each is begun in its turn and not waited for; how far its shell comes in the time that it is
        // given is up to the machine.
        let heard = std::fs::read_to_string(place.file("heard")).unwrap_or_default();
        let mut told = heard.lines();
        for event in ["Interrupt", "SessionEnd"] {
            if heard.contains(event) {
                assert_eq!(told.next(), Some(event), "{heard}");
            }
        }
        assert_eq!(told.next(), None, "{heard}");
        let log = place.log("s");
        let at = |kind: &str| log.iter().position(|fact| fact["kind"] == kind);
        let (asked, decided) = (at("HooksAsked").unwrap(), at("HookDecided").unwrap());
        let ends = [asked, decided, at("TurnSettled").unwrap()];
        assert!(ends.is_sorted(), "{log:?}");
        assert_eq!(log[asked]["body"]["at"]["point"], "interrupt");
        assert_eq!(log[decided]["body"]["verdict"], "failed");
        // What the tool said until it was killed stands.
        let observed = log.iter().find(|fact| fact["kind"] == "CallObserved");
        let output = &observed.unwrap()["body"]["observation"]["output"];
        assert!(output.as_str().unwrap().contains("started"), "{output}");
    }
}

#[test]
fn in_a_hook_on_the_prompt_the_prompt_waits_and_the_remark_says_so() {
    for json in [&[][..], &["--json"]] {
        let place = Place::new();
        let pipe = place.file("alive");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        hold(&place, "UserPromptSubmit", &pipe);
        let words = ["run", "run: touch made", "--session", "s"];
        let words = [&words[..], &["--hooks", "hooks.json"], json].concat();
        let child = place.command(&words).spawn().unwrap();
        let mut alive = BufReader::new(File::open(pipe).unwrap());
        let mut seen = String::new();
        alive.read_line(&mut seen).unwrap();
        signal(&child, "INT");
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130));
        let err = String::from_utf8(ended.stderr).unwrap();
        let remark = "an input waits; to continue: windlass resume s";
        assert!(err.lines().any(|line| line.trim() == remark), "{json:?}: {err}");
        assert!(!err.contains("PROMPT"), "{err}");
        // And so it is.
        std::fs::write(place.file("hooks.json"), r#"{"hooks": {}}"#).unwrap();
        let next = place.run(&["resume", "s", "--hooks", "hooks.json"]);
        assert_eq!(next.code, 0, "{}", next.err);
        assert!(place.file("made").exists());
    }
}

#[test]
fn a_prompt_whose_time_is_over_in_a_hook_waits_too_and_nothing_waits_for_ever() {
    let place = Place::new();
    let slow = json!([{"hooks": [{"type": "command", "command": "exec sleep 600"}]}]);
    let hooks = json!({"hooks": {"UserPromptSubmit": slow}});
    std::fs::write(place.file("hooks.json"), hooks.to_string()).unwrap();
    let with_hooks = ["--session", "s", "--hooks", "hooks.json"];
    let words = ["run", "run: touch made", "--deadline", "300ms"];
    let first = place.run(&[&words[..], &with_hooks].concat());
    assert_eq!(first.code, 6, "{}", first.err);
    let remark = "an input waits; to continue: windlass resume s";
    assert!(first.err.contains(remark), "{}", first.err);
    // Before another prompt comes the one that waits, which ends as before.
    let second = place.run(&[&["run", "run: touch more"][..], &with_hooks].concat());
    assert_eq!(second.code, 6, "{}", second.err);
    assert!(second.err.contains("the prompt waits: windlass resume s"), "{}", second.err);
    // With more time than it needs, which the session had none of so far.
    std::fs::write(place.file("hooks.json"), r#"{"hooks": {}}"#).unwrap();
    let words = ["resume", "s", "--hooks", "hooks.json", "--deadline", "10m"];
    let next = place.run(&words);
    assert_eq!(next.code, 0, "{}", next.err);
    assert!(place.file("made").exists());
}
