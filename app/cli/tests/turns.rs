//! The command as people use it: whole turns over real sockets, in a real folder.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::terminal::TerminalProcess;
use common::{Place, done, kinds, lines};
use serde_json::json;
use windlass_testkit::http::{ModelServer, Reply, Script};

#[test]
fn the_first_command_of_the_readme_tells_one_story_everywhere() {
    let place = Place::new();
    std::fs::write(place.file("README.md"), "# A winch\n\nIt lifts.\n").unwrap();
    let run = place.run(&["run", "What is in this folder?", "--session", "s"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("README.md") && run.out.contains("A winch"), "{}", run.out);
    let log = place.log("s");
    let calls = kinds(&log).iter().filter(|kind| **kind == "CallStarted").count();
    assert!(calls >= 2);
    let listed = place.run(&["sessions"]).out;
    assert!(listed.contains("completed") && listed.contains("What is in this folder?"));
    let shown = place.run(&["show", "s"]).out;
    assert!(shown.contains("list_dir") && shown.contains("It lifts."), "{shown}");
    assert_eq!(place.run(&["verify"]).code, 0);
    assert_eq!(place.run(&["doctor"]).code, 0);
}

#[test]
fn any_openai_compatible_server_completes_a_tool_turn_in_both_dialects() {
    for api in ["openai", "openai-chat"] {
        let place = Place::new();
        std::fs::write(place.file("note.txt"), "the word is winch").unwrap();
        let server =
            ModelServer::start(Script::respond(|request| match request.asked().results.first() {
                None => Reply::call("read_file", json!({"path": "note.txt"})),
                Some((_, result)) => Reply::say(format!("I read: {result}")),
            }))
            .unwrap();
        let mut command = place.command(&["run", "read it", "--provider", api, "--model", "m"]);
        command.env("OPENAI_BASE_URL", server.base_url()).env("OPENAI_API_KEY", "sk-test");
        let run = done(command.output().unwrap());
        assert_eq!(run.code, 0, "{api}: {}", run.err);
        assert!(run.out.contains("the word is winch"), "{api}: {}", run.out);
        let request = server.samples().pop().unwrap();
        assert_eq!(request.header("authorization"), Some("Bearer sk-test"));
        assert!(!place.run(&["sessions"]).out.contains("sk-test"));
    }
}

#[test]
fn no_model_is_assumed_at_a_server_of_another_and_the_first_line_names_what_is_used() {
    for (provider, variable) in [
        ("openai", "OPENAI_BASE_URL"),
        ("openai-chat", "OPENAI_BASE_URL"),
        ("anthropic", "ANTHROPIC_BASE_URL"),
    ] {
        let place = Place::new();
        let server = ModelServer::start(Script::respond(|_| Reply::say("here"))).unwrap();
        let run = |model: Option<&str>| {
            let mut command = place.command(&["run", "hello", "--provider", provider]);
            command.env(variable, server.base_url().trim_end_matches("/v1"));
            if variable.starts_with("OPENAI") {
                command.env(variable, server.base_url());
            }
            command.envs(model.map(|model| ("WINDLASS_MODEL", model)));
            done(command.output().unwrap())
        };
        let refused = run(None);
        assert_eq!(refused.code, 2, "{provider}: {}", refused.err);
        for words in ["no default model", "--model", "WINDLASS_MODEL", "It lists scripted"] {
            assert!(refused.err.contains(words), "{provider}: {}", refused.err);
        }
        assert!(server.samples().is_empty(), "{provider}");
        assert_eq!(place.run(&["sessions"]).out, "", "{provider}");
        let named = run(Some("m-1"));
        assert_eq!(named.code, 0, "{provider}: {}", named.err);
        let first = named.err.lines().next().unwrap();
        let words = format!("begins ({provider} m-1, sandbox workspace");
        assert!(first.contains(&words), "{first}");
    }
}

/// The head of a PNG file of one pixel, and the same in base64.
const PNG: (&[u8], &str) = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAAA=",
);

/// Times that a request has these words.
fn said(server: &ModelServer, words: &str) -> usize {
    let body = server.samples().pop().unwrap().body;
    String::from_utf8_lossy(&body).matches(words).count()
}

#[test]
fn a_failed_turn_is_tried_again_without_its_prompt_being_typed() {
    let place = Place::new();
    std::fs::write(place.file("shot.png"), PNG.0).unwrap();
    std::fs::write(place.file("note.txt"), "the word is winch").unwrap();
    let gone = || Reply::error(404, "model_not_found", "no such model");
    let server = ModelServer::start(Script::list([
        gone(),
        Reply::say("one"),
        Reply::call("read_file", json!({"path": "note.txt"})),
        gone(),
        Reply::say("two"),
    ]))
    .unwrap();
    let url = server.base_url();
    let own = ["--provider", "openai-chat", "--base-url", &url];
    let first = ["run", "look here", "--session", "s", "--image", "shot.png"];
    let mut command = place.command(&[&first[..], &own].concat());
    std::fs::write(place.file("input"), "piped @docs:x\n").unwrap();
    command.stdin(std::fs::File::open(place.file("input")).unwrap());
    let failed = done(command.output().unwrap());
    assert_eq!(failed.code, 4, "{}", failed.err);
    assert!(failed.err.contains("to try again: windlass resume s --retry"), "{}", failed.err);
    assert_eq!(place.run(&["resume", "s", "more", "--retry"]).code, 2);
    let again = place.run(&["resume", "s", "--retry"]);
    assert_eq!((again.code, again.out.as_str()), (0, "one\n"), "{}", again.err);
    assert_eq!((said(&server, "look here"), said(&server, PNG.1)), (1, 1));
    assert_eq!(said(&server, "piped @docs:x"), 1);
    let refused = place.run(&["resume", "--last", "--retry"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("its last turn completed"), "{}", refused.err);
    // What the calls of a turn found out stays.
    assert_eq!(place.run(&["resume", "s", "and now"]).code, 4);
    assert_eq!(place.run(&["resume", "last", "--retry"]).out, "two\n");
    assert_eq!((said(&server, "and now"), said(&server, "the word is winch")), (2, 1));
}

#[test]
fn retries_of_one_failure_are_told_once_with_their_number() {
    let script = || {
        Script::list([
            Reply::error(503, "x", "busy"),
            Reply::error(503, "x", "busy"),
            Reply::say("ok"),
        ])
    };
    let words = |url: &str| {
        ["run", "hello", "--provider", "openai-chat", "--base-url", url].map(str::to_owned)
    };
    let place = Place::new();
    let server = ModelServer::start(script()).unwrap();
    let plain = words(&server.base_url());
    let run = place.run(&plain.each_ref().map(String::as_str));
    assert_eq!((run.code, run.out.as_str()), (0, "ok\n"), "{}", run.err);
    assert_eq!(run.err.matches("busy").count(), 1, "{}", run.err);
    assert!(run.err.contains("; retrying, attempt 2 of 5"), "{}", run.err);
    assert!(run.err.contains("  the same failure 2 times"), "{}", run.err);
    // At a terminal its line is rewritten.
    let server = ModelServer::start(script()).unwrap();
    let plain = words(&server.base_url());
    let screen = TerminalProcess::on_screens(&place, &plain.each_ref().map(String::as_str));
    let screen = screen.screen_to_end();
    let lines: Vec<&str> = screen.split('\n').filter(|line| line.contains("retrying")).collect();
    let [line] = lines[..] else { panic!("{screen:?}") };
    let states: Vec<&str> = line.split("\r\u{1b}[K").skip(1).collect();
    assert!(
        states[0].contains("attempt 2 of 5") && states[1].contains("attempt 3 of 5"),
        "{line:?}"
    );
    assert!(screen.ends_with("ok\r\n"), "{screen:?}");
}

#[test]
fn a_model_is_shown_an_image_of_the_workspace_in_each_api_and_after_a_restart() {
    let families = [
        ("openai", "gpt-5.1"),
        ("openai-chat", "gpt-5.1"),
        ("anthropic", "claude-sonnet-4-5"),
        ("gemini", "gemini-3-pro"),
    ];
    for (provider, model) in families {
        let place = Place::new();
        std::fs::write(place.file("shot.png"), PNG.0).unwrap();
        let script = Script::respond(|request| {
            let seen = String::from_utf8_lossy(&request.body).contains("1 by 1 pixels");
            match seen {
                false => Reply::call("view_image", json!({"path": "shot.png"})),
                true => Reply::say("I see."),
            }
        });
        let server = ModelServer::start(script).unwrap();
        let base_url = server.base_url();
        let words = ["run", "look", "--session", "s", "--base-url", &base_url];
        let own = ["--provider", provider, "--model", model];
        let mut command = place.command(&[&words[..], &own].concat());
        for key in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"] {
            command.env(key, "k");
        }
        let run = done(command.output().unwrap());
        assert_eq!(run.code, 0, "{provider}: {}", run.err);
        assert!(run.out.contains("I see."), "{provider}: {}", run.out);
        let shown = || {
            let body = server.samples().pop().unwrap().json.unwrap();
            body.to_string().matches(PNG.1).count()
        };
        assert_eq!(shown(), 1, "{provider}");
        // The log names it, so another process shows the same, without the file.
        std::fs::remove_file(place.file("shot.png")).unwrap();
        let mut command = place.command(&["resume", "s", "and again", "--base-url", &base_url]);
        for key in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"] {
            command.env(key, "k");
        }
        let resumed = done(command.output().unwrap());
        assert_eq!(resumed.code, 0, "{provider}: {}", resumed.err);
        assert_eq!(shown(), 1, "{provider}, by another process");
    }
}

#[test]
fn a_session_stays_with_the_server_that_it_was_opened_with() {
    let place = Place::new();
    let script = || Script::respond(|_| Reply::say("here"));
    let (own, other) =
        (ModelServer::start(script()).unwrap(), ModelServer::start(script()).unwrap());
    let base_url = own.base_url();
    let words = ["run", "hello", "--session", "s", "--provider", "openai", "--base-url", &base_url];
    assert_eq!(place.run(&words).code, 0);
    let mut command = place.command(&["resume", "s", "and again"]);
    command.env("OPENAI_BASE_URL", other.base_url());
    let resumed = done(command.output().unwrap());
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert_eq!((own.samples().len(), other.samples().len()), (2, 0));
    let moved = place.run(&["resume", "s", "move", "--base-url", &other.base_url()]);
    assert_eq!(moved.code, 0, "{}", moved.err);
    assert_eq!(other.samples().len(), 1);
    let secret = ["run", "hello", "--base-url", "http://me:word@127.0.0.1:1/v1"];
    let refused = place.run(&secret);
    assert_eq!(refused.code, 4, "{}", refused.err);
    assert!(!refused.err.contains("word@"), "{}", refused.err);
}

#[test]
fn json_ends_with_the_terminal_fact_and_streams_deltas_before_it() {
    let place = Place::new();
    let run = place.run(&["run", "hello", "--json", "--session", "s"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let printed = lines(&run.out);
    assert_eq!(printed.last().unwrap()["kind"], "TurnSettled");
    assert!(printed.iter().any(|line| line["kind"] == "TextDelta" && line["seq"].is_null()));
    let facts: Vec<_> = printed.iter().filter(|line| line["seq"].is_u64()).cloned().collect();
    assert_eq!(facts, place.log("s"));
    let streamed: String = printed
        .iter()
        .filter(|line| line["kind"] == "TextDelta")
        .filter_map(|line| line["body"]["text"].as_str())
        .collect();
    let again = place.run(&["resume", "s"]);
    assert_eq!((again.code, again.out), (0, format!("{streamed}\n")));
}

#[test]
fn a_session_goes_on_and_keeps_what_it_was_opened_with() {
    let place = Place::new();
    let words = ["run", "write a.txt: one", "--session", "s", "--permissions", "read-only"];
    assert_eq!(place.run(&words).code, 0);
    assert!(!place.file("a.txt").exists(), "the permissions forbid it");
    let again = place.run(&["resume", "s", "write a.txt: two"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(!place.file("a.txt").exists(), "and still do after a restart");
    let widened = place.run(&["resume", "s", "write a.txt: three", "--permissions", "auto"]);
    assert_eq!(widened.code, 0, "{}", widened.err);
    assert_eq!(std::fs::read_to_string(place.file("a.txt")).unwrap(), "three\n");
}

#[test]
fn a_dry_run_changes_nothing_and_records_what_it_would_have_done() {
    let place = Place::new();
    let run = place.run(&["run", "write a.txt: one", "--session", "s", "--dry-run"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(!place.file("a.txt").exists());
    let text = place.run(&["log", "s"]).out;
    assert!(text.contains("not_started") && text.contains("dry run"), "{text}");
}

#[test]
fn limits_have_their_own_exit_code() {
    let place = Place::new();
    let tools = place.counter("read_only");
    let prompt = r#"repeat 5: count {"n":1}"#;
    let words = ["run", prompt, "--tools", &tools, "--max-samples", "2", "--session", "s"];
    let run = place.run(&words);
    assert_eq!(run.code, 6, "{}", run.err);
    let slow = ["run", "run: sleep 30", "--deadline", "300ms", "--session", "t"];
    let run = place.run(&slow);
    assert_eq!(run.code, 6, "{}", run.err);
    assert!(place.run(&["log", "t"]).out.contains("wall_clock"));
}

#[test]
fn a_session_grows_no_further_than_its_limit() {
    let place = Place::new();
    let prompt = format!("say {}", "a long story ".repeat(1_000));
    let run = place.run(&["run", &prompt, "--session", "s", "--max-session-bytes", "16KiB"]);
    assert_eq!(run.code, 6, "{}", run.err);
    assert!(run.err.contains("--max-session-bytes"), "{}", run.err);
    let before = place.run(&["log", "s"]).out;
    let refused = place.run(&["resume", "s", "and then?"]);
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains("session_bytes"), "{}", refused.err);
    let after = place.run(&["log", "s"]).out;
    let inputs = |log: &str| log.matches("InputQueued").count();
    assert_eq!(inputs(&after), inputs(&before), "{after}");
    let raised = place.run(&["resume", "s", "and then?", "--max-session-bytes", "1MiB"]);
    assert_eq!(raised.code, 0, "{}", raised.err);
}

#[test]
fn export_and_import_keep_every_byte_on_every_store() {
    let place = Place::new();
    assert_eq!(place.run(&["run", "hello", "--session", "s"]).code, 0);
    let exported = place.run(&["export", "s"]).out;
    std::fs::write(place.file("s.jsonl"), &exported).unwrap();
    for store in ["sled:other-sled", "file:other-file"] {
        let import = place.run(&["import", "s.jsonl", "--store", store]);
        assert_eq!(import.code, 0, "{store}: {}", import.err);
        assert_eq!(place.run(&["export", "s", "--store", store]).out, exported);
        assert_eq!(place.run(&["verify", "--store", store]).code, 0);
        let twice = place.run(&["import", "s.jsonl", "--store", store]);
        assert_eq!(twice.code, 2, "{}", twice.err);
        let resumed = place.run(&["resume", "s", "hello again", "--store", store]);
        assert_eq!(resumed.code, 0, "{}", resumed.err);
    }
    let torn = exported.lines().enumerate().filter(|(at, _)| *at != 1);
    let torn: String = torn.map(|(_, line)| format!("{line}\n")).collect();
    std::fs::write(place.file("torn.jsonl"), torn).unwrap();
    let refused = place.run(&["import", "torn.jsonl", "--store", "file:third"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert_eq!(place.run(&["sessions", "--store", "file:third"]).out, "");
}

#[test]
fn an_output_that_is_too_long_to_be_shown_is_kept_whole_and_verified() {
    for store in ["file:logs", "sled:logs"] {
        let place = Place::new();
        let words = ["run", "run: seq 1 100000", "--session", "s", "--store", store];
        let run = place.run(&words);
        assert_eq!(run.code, 0, "{}", run.err);
        let shown = place.run(&["show", "s", "--store", store]).out;
        let line = shown.lines().find(|line| line.starts_with("(stored beside the log"));
        let name = line.unwrap().rsplit(' ').next().unwrap().trim_end_matches(')');
        let path = place.file("logs/blobs/s").join(name);
        let kept = std::fs::read_to_string(&path).unwrap();
        assert_eq!(kept.lines().count(), 100_000);
        let call = shown.split("\ncall ").nth(1).unwrap();
        let call = call.split([' ', ':']).next().unwrap();
        let output = |call: &str| place.run(&["show", "s", "--output", call, "--store", store]);
        let whole = output(call);
        assert_eq!((whole.code, whole.out == kept), (0, true), "{}", whole.err);
        assert_eq!(output("1").code, 2);
        let verified = place.run(&["verify", "s", "--store", store]);
        assert_eq!(verified.code, 0, "{}", verified.err);
        assert!(verified.out.contains("1 long output in order"), "{}", verified.out);
        std::fs::write(&path, kept.replacen('1', "2", 1)).unwrap();
        let verified = place.run(&["verify", "s", "--store", store]);
        assert_eq!(verified.code, 5, "{}", verified.out);
        let changed = output(call);
        assert_eq!((changed.code, changed.out.as_str()), (5, ""));
        std::fs::remove_file(&path).unwrap();
        let gone = output(call);
        assert_eq!((gone.code, gone.out.as_str()), (5, ""));
        assert!(gone.err.contains("not in this store"), "{}", gone.err);
        let verified = place.run(&["verify", "s", "--store", store]);
        assert_eq!(verified.code, 0, "{}", verified.err);
        assert!(verified.out.contains("1 long output is not in this store"), "{}", verified.out);
    }
}
