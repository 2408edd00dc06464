//! Bad input: each kind has a clear message and the documented exit code, and loses nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, Read as _, Write as _};
use std::process::Stdio;

use common::server::Server;
use common::{Done, Place, done, kinds, lines};
use serde_json::{Value, json};
use windlass_testkit::http::{Cut, ModelServer, Reply, Script};

/// Runs a prompt against a server that always answers like this.
fn against(place: &Place, api: &str, reply: impl Fn() -> Reply + Send + Sync + 'static) -> Done {
    let server = ModelServer::start(Script::respond(move |_| reply())).unwrap();
    let base_url = server.base_url();
    let words = [
        "run",
        "hello",
        "--session",
        "s",
        "--provider",
        api,
        "--base-url",
        &base_url,
        "--model",
        "m",
    ];
    place.run(&words)
}

/// How the last turn of session `s` ended.
fn outcome(place: &Place) -> Value {
    let log = place.log("s");
    let last = log.last().unwrap();
    assert_eq!(last["kind"], "TurnSettled", "{last}");
    last["body"].clone()
}

fn attempts(place: &Place) -> usize {
    let log = place.log("s");
    kinds(&log).iter().filter(|kind| **kind == "SampleStarted").count()
}

#[test]
fn no_provider_reachable() {
    let place = Place::new();
    // One that nobody listens on, and that no other test is given: they ask for any that is free.
    let base_url = "http://127.0.0.1:1/v1".to_owned();
    let words = ["run", "hello", "--session", "s", "--provider", "openai", "--base-url", &base_url];
    let done = place.run(&words);
    assert_eq!(done.code, 1, "{}", done.err);
    assert!(done.err.contains(&base_url), "{}", done.err);
    assert_eq!(outcome(&place)["failure"], "unavailable");
    assert!(attempts(&place) > 1, "it is worth another attempt");
}

#[test]
fn bad_key_and_unknown_model() {
    for (status, code, failure) in
        [(401, "invalid_api_key", "authentication"), (404, "model_not_found", "not_found")]
    {
        let place = Place::new();
        let done = against(&place, "openai", move || Reply::error(status, code, "No."));
        assert_eq!(done.code, 4, "{}", done.err);
        assert_eq!(outcome(&place)["failure"], failure);
        assert_eq!(attempts(&place), 1, "it is not worth another attempt");
    }
}

#[test]
fn no_key_at_all() {
    let place = Place::new();
    let done = place.run(&["run", "hello", "--provider", "openai"]);
    assert_eq!(done.code, 4);
    assert!(done.err.contains("OPENAI_API_KEY"), "{}", done.err);
}

#[test]
fn a_page_instead_of_a_stream() {
    for api in ["openai", "openai-chat"] {
        let place = Place::new();
        let done = against(&place, api, Reply::html);
        assert_eq!(done.code, 1, "{}", done.err);
        assert!(done.err.to_lowercase().contains("html"), "{}", done.err);
        assert_eq!(outcome(&place)["outcome"], "failed");
    }
}

#[test]
fn an_endless_line() {
    let place = Place::new();
    let done = against(&place, "openai-chat", Reply::endless_line);
    assert_eq!(done.code, 1, "{}", done.err);
    assert_eq!(outcome(&place)["failure"], "too_large", "{}", done.err);
}

#[test]
fn a_cut_stream_is_never_a_short_answer() {
    for api in ["openai", "openai-chat"] {
        let place = Place::new();
        let server = ModelServer::start(Script::list([
            Reply::say("half an answer that is cut").cut_after(220, Cut::Fin),
            Reply::say("a whole answer"),
        ]))
        .unwrap();
        let base_url = server.base_url();
        let words = [
            "run",
            "hello",
            "--session",
            "s",
            "--provider",
            api,
            "--base-url",
            &base_url,
            "--model",
            "m",
        ];
        let done = place.run(&words);
        assert_eq!((done.code, done.out.as_str()), (0, "a whole answer\n"), "{}", done.err);
        let log = place.log("s");
        assert!(kinds(&log).contains(&"SampleCut"));
        assert!(server.misses().is_empty());
    }
}

#[test]
fn unknown_tool_broken_arguments_and_a_path_outside() {
    let place = Place::new();
    std::fs::write(place.path().parent().unwrap().join("secret"), "outside").ok();
    let server =
        ModelServer::start(Script::respond(|request| match request.asked().results.len() {
            0 => Reply::call("no_such_tool", json!({})),
            1 => Reply::answer(
                windlass_testkit::Answer::new().call_text("read_file", "{\"path\": oops"),
            ),
            2 => Reply::call("read_file", json!({"path": "../secret"})),
            3 => Reply::call("read_file", json!({"path": "/etc/passwd"})),
            _ => Reply::say("done"),
        }))
        .unwrap();
    let base_url = server.base_url();
    let words = [
        "run",
        "hello",
        "--session",
        "s",
        "--provider",
        "openai-chat",
        "--base-url",
        &base_url,
        "--model",
        "m",
    ];
    let done = place.run(&words);
    assert_eq!((done.code, done.out.as_str()), (0, "done\n"), "{}", done.err);
    let log = place.log("s");
    let observations: Vec<&Value> = log
        .iter()
        .filter(|fact| fact["kind"] == "CallObserved")
        .map(|fact| &fact["body"]["observation"])
        .collect();
    assert_eq!(observations.len(), 4);
    for (observation, word) in
        observations.iter().zip(["no tool", "not JSON", "outside", "outside"])
    {
        assert_eq!(observation["status"], "failed");
        let output = observation["output"].as_str().unwrap();
        assert!(output.contains(word), "{word}: {output}");
        assert!(!output.contains("root:"), "{output}");
    }
}

#[test]
fn unknown_session() {
    let place = Place::new();
    for words in [
        vec!["resume", "nobody"],
        vec!["show", "nobody"],
        vec!["log", "nobody"],
        vec!["export", "nobody"],
        vec!["verify", "nobody"],
    ] {
        let done = place.run(&words);
        assert_eq!(done.code, 2, "{words:?}: {}", done.err);
        assert!(done.err.contains("nobody"), "{}", done.err);
    }
    assert_eq!(place.run(&["sessions"]).out, "");
}

#[test]
fn a_session_that_another_process_runs() {
    let place = Place::new();
    let server = ModelServer::start(Script::list([Reply::say("x").stall_after(0)])).unwrap();
    let base_url = server.base_url();
    let words = [
        "run",
        "hello",
        "--json",
        "--session",
        "s",
        "--provider",
        "openai-chat",
        "--base-url",
        &base_url,
        "--model",
        "m",
    ];
    let mut child = place.command(&words).spawn().unwrap();
    let mut first = [0_u8; 1];
    // Its first line is out, so it holds the session.
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    let done = place.run(&["resume", "s", "--provider", "demo"]);
    assert_eq!(done.code, 5, "{}", done.err);
    let other = place.run(&["run", "hello", "--session", "t", "--provider", "demo"]);
    assert_eq!(other.code, 0, "another session is free: {}", other.err);
    child.kill().unwrap();
    child.wait().unwrap();
    let done = place.run(&["resume", "s", "--provider", "demo", "--model", "demo-script"]);
    assert_ne!(done.code, 5, "the lock went with its process: {}", done.err);
}

#[test]
fn a_corrupt_log_is_refused_with_its_place() {
    let place = Place::new();
    assert_eq!(place.run(&["run", "hello", "--session", "s"]).code, 0);
    let path = place.stored("lanes/0000/00000001.seg");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    for words in [["verify", "s"], ["resume", "s"]] {
        let done = place.run(&words);
        assert_eq!(done.code, 5, "{words:?}: {}", done.err);
        assert!(done.err.contains("offset") || done.err.contains("byte"), "{}", done.err);
    }
    assert_eq!(place.run(&["verify"]).code, 5);
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "nothing was changed");
    assert!(place.run(&["sessions"]).out.contains("unreadable"));
}

/// Makes a file as long as no segment is, without anything in it.
fn stretch(path: &std::path::Path) {
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path);
    file.unwrap().set_len(8 * 1024 * 1024 * 1024 * 1024).unwrap();
}

#[test]
fn a_sparse_segment_is_read_up_to_its_content() {
    let place = Place::new();
    assert_eq!(place.run(&["run", "hello", "--session", "s"]).code, 0);
    let path = place.stored("lanes/0000/00000001.seg");
    for words in [
        &["show", "s"][..],
        &["log", "s"],
        &["export", "s"],
        &["verify"],
        &["sessions"],
        &["fork", "s", "--at", "1", "--as", "f"],
        &["vacuum"],
        &["repair", "s", "--truncate-at", "3", "--save", "saved"],
        &["doctor"],
        &["run", "hello", "--session", "t"],
        &["resume", "s"],
        &["erase", "s", "--yes"],
    ] {
        stretch(&path);
        let done = place.run(words);
        assert_eq!(done.code, 0, "{words:?}: {}{}", done.out, done.err);
    }
    stretch(&path);
    let server = Server::start(&place, &[]);
    let (status, answer) = server.get(server.token(), "/v1/sessions/t/history", "");
    assert_eq!(status, 200, "{answer}");
}

/// Nobody can say that no session had facts in such a file, so none is said to be whole.
#[test]
fn a_sparse_file_in_a_segments_place_is_damage() {
    let place = Place::new();
    assert_eq!(place.run(&["run", "hello", "--session", "s"]).code, 0);
    let log = place.run(&["log", "s"]).out;
    stretch(&place.stored("lanes/0000/00000009.seg"));
    for words in [&["run", "hello", "--session", "t"][..], &["resume", "s", "hello"], &["verify"]] {
        let done = place.run(words);
        assert_eq!(done.code, 5, "{words:?}: {}{}", done.out, done.err);
        assert!(done.err.contains("0000/00000009@0"), "{words:?}: {}", done.err);
    }
    let read = place.run(&["log", "s"]);
    assert_eq!((read.code, read.out), (5, log));
    assert_eq!(place.run(&["repair", "--lost", "0000/00000009@0", "--save", "lost"]).code, 0);
    assert_eq!(place.run(&["resume", "s", "hello"]).code, 0);
}

#[test]
fn zeros_behind_a_segment_are_room() {
    let place = Place::new();
    assert_eq!(place.run(&["run", "hello", "--session", "s"]).code, 0);
    let path = place.stored("lanes/0000/00000001.seg");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(512 * 1024 * 1024).unwrap();
    let done = place.run(&["resume", "s", "hello"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(place.run(&["verify"]).code, 0);
    assert_eq!(place.log("s").iter().filter(|fact| fact["kind"] == "TurnSettled").count(), 2);
}

#[test]
fn a_truncated_log_is_damaged_and_torn_only_where_nothing_says_that_it_was_acknowledged() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let prompt = r#"repeat 3: count {"n":1}"#;
    assert_eq!(place.run(&["run", prompt, "--session", "s", "--tools", &tools]).code, 0);
    let path = place.stored("lanes/0000/00000001.seg");
    let bytes = std::fs::read(&path).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    std::fs::write(&path, &bytes[..end - 10]).unwrap();
    for words in [&["resume", "s", "--tools", &tools][..], &["verify"]] {
        let done = place.run(words);
        assert_eq!(done.code, 5, "{}", done.err);
        assert!(done.err.contains("after position"), "{}", done.err);
    }
    // A store of an earlier version has no witness.
    std::fs::remove_dir_all(place.stored("witness")).unwrap();
    let done = place.run(&["resume", "s", "--tools", &tools]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("torn tail"), "{}", done.err);
    assert!(!done.err.contains("never acknowledged"), "{}", done.err);
    assert_eq!(place.run(&["verify", "s"]).code, 0);
    assert_eq!(place.counted().len(), 3);
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let place = Place::new();
    let tools = place.counter("effectful");
    // A limit on file sizes stands in for the disk's end.
    let script = format!(
        "ulimit -f 56; exec {} run 'repeat 40: count {{\"n\":1}}' --session s --json \
         --tools {tools}",
        env!("CARGO_BIN_EXE_windlass")
    );
    let command = place.command(&[]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).current_dir(place.path()).env_clear();
    shell.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let full = done(shell.output().unwrap());
    assert_eq!(full.code, 5, "{}", full.err);
    let printed = lines(&full.out);
    let last = printed.last().unwrap();
    assert_eq!((&last["kind"], &last["seq"]), (&json!("TurnSettled"), &Value::Null));
    // Whatever was shown as durable is there, and readable.
    let shown = printed.iter().filter_map(|line| line["seq"].as_u64()).max().unwrap();
    let log = place.log("s");
    assert!(log.last().unwrap()["seq"].as_u64().unwrap() >= shown);
    // With room again the turn goes on where it stood.
    let resumed = place.run(&["resume", "s", "--tools", &tools]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    let counted = place.counted();
    let distinct: std::collections::BTreeSet<&String> = counted.iter().collect();
    assert_eq!(distinct.len(), counted.len());
    assert_eq!(place.run(&["verify", "s"]).code, 0);
}

#[test]
fn a_folder_that_cannot_be_written_to() {
    let place = Place::new();
    // A file where the folder should be: refused for every user, root too.
    std::fs::write(place.file("taken"), "").unwrap();
    let done = place.run(&["run", "hello", "--store", "file:taken/logs"]);
    assert_eq!(done.code, 5, "{}", done.err);
    assert!(done.err.contains("taken"), "{}", done.err);
    let done = place.run(&["run", "hello", "--store", "file:/proc/windlass"]);
    assert_eq!(done.code, 5, "{}", done.err);
}

#[test]
fn bad_flags_and_no_prompt() {
    let place = Place::new();
    for words in [
        vec!["run"],
        vec!["run", "  "],
        vec!["run", "-"],
        vec!["run", "hello", "--provider", "nobody"],
        vec!["run", "hello", "--mode", "wild"],
        vec!["run", "hello", "--deadline", "soon"],
        vec!["run", "hello", "--max-samples", "0"],
        vec!["run", "hello", "--store", "ftp:x"],
        vec!["run", "hello", "--workspace", "no/such/folder"],
        vec!["run", "hello", "--session", "../x"],
        vec!["run", "hello", "--tools", "no-such-file.json"],
        vec!["frobnicate"],
        vec![],
    ] {
        let done = place.run(&words);
        assert_eq!(done.code, 2, "{words:?}: {} {}", done.out, done.err);
        assert!(!done.err.is_empty(), "{words:?}");
        assert_eq!(done.out, "", "{words:?}");
    }
}

/// Runs a command with this input, which is piped into it or a file.
fn piped(place: &Place, words: &[&str], input: &[u8], file: bool) -> Done {
    let mut command = place.command(words);
    if file {
        std::fs::write(place.file("input"), input).unwrap();
        let file = std::fs::File::open(place.file("input")).unwrap();
        return done(command.stdin(file).output().unwrap());
    }
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // A command that has read enough closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    done(child.wait_with_output().unwrap())
}

#[test]
fn what_is_piped_is_part_of_the_prompt() {
    let below = "review this\n\n<stdin>\n-a\n+@docs:b\n</stdin>";
    let cases: [(&[&str], &[u8], &str); 5] = [
        (&["run", "-"], b"hello", "hello"),
        (&["run"], b"hello\n", "hello\n"),
        (&["run", "review this"], b"-a\n+@docs:b", below),
        (&["run", "--goal", "review this"], b"-a\n+@docs:b\n", below),
        (&["run", "review this"], b"", "review this"),
    ];
    for (at, (words, input, prompt)) in cases.into_iter().enumerate() {
        let place = Place::new();
        let words = [words, &["--session", "s"]].concat();
        let run = piped(&place, &words, input, at % 2 == 1);
        assert!(matches!(run.code, 0 | 6), "{words:?}: {}", run.err);
        let log = place.log("s");
        let queued = log.iter().find(|fact| fact["kind"] == "InputQueued").unwrap();
        assert_eq!(queued["body"]["text"], prompt, "{words:?}");
    }
    let place = Place::new();
    assert_eq!(piped(&place, &["run", "one", "--session", "s"], b"two", false).code, 0);
    // A script's own input is left to it where no prompt is needed.
    assert_eq!(piped(&place, &["resume", "s"], b"\xff", false).code, 0);
    let long = vec![b'x'; 1024 * 1024 + 1];
    for (input, words) in
        [(&b"\x89PNG\xff"[..], "UTF-8"), (b"a\0b", "UTF-8"), (&long, "is longer than")]
    {
        for run in [&["run", "look", "--session", "t"][..], &["run", "-", "--session", "t"]] {
            let refused = piped(&place, run, input, false);
            assert_eq!(refused.code, 2, "{}", refused.err);
            assert!(refused.err.contains(words), "{}", refused.err);
        }
    }
    assert_eq!(place.run(&["show", "t"]).code, 2, "nothing was recorded");
}

#[test]
fn input_that_is_closed_is_not_waited_for_and_a_silent_one_is_told() {
    let place = Place::new();
    let mut shell = std::process::Command::new("sh");
    let line = format!("exec '{}' run hello <&-", env!("CARGO_BIN_EXE_windlass"));
    shell.args(["-c", &line]).current_dir(place.path()).env("WINDLASS_HOME", place.state());
    let run = done(shell.output().unwrap());
    assert_eq!((run.code, run.err.contains("waiting")), (0, false), "{}", run.err);

    let mut command = place.command(&["run", "hello"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut told = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
    let waits = told.next().unwrap().unwrap();
    assert!(waits.contains("standard input") && waits.contains("</dev/null"), "{waits}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn standard_output_closed() {
    for flags in
        [&["run", "hello", "--session", "s"][..], &["run", "hello", "--session", "s", "--json"]]
    {
        let place = Place::new();
        let mut child = place.command(flags).spawn().unwrap();
        drop(child.stdout.take());
        let done = done(child.wait_with_output().unwrap());
        assert_eq!(done.code, 1, "{flags:?}: {}", done.err);
        assert!(done.err.contains("standard output"), "{}", done.err);
        assert_eq!(place.log("s").last().unwrap()["kind"], "TurnSettled");
    }
}
