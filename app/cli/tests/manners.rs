//! Manners: what the command says, leaves behind and refuses, where a user would be let down.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use common::{Done, Place, done, lines, signal};
use serde_json::Value;
use windlass_testkit::http::{ModelServer, Reply, Script};

/// Checks that the last line on standard output reads as a `TurnSettled` that is in no log.
fn settled_outside_the_log(done: &Done) -> Value {
    let last = lines(&done.out).pop().unwrap();
    assert_eq!(last["kind"], "TurnSettled", "{last}");
    assert!(last["seq"].is_null(), "{last}");
    last
}

#[test]
fn json_ends_with_a_settled_turn_however_few_files_may_be_open() {
    for most in 3..40 {
        let place = Place::new();
        let windlass = env!("CARGO_BIN_EXE_windlass");
        let line = format!("ulimit -n {most}; exec {windlass} run hello --json");
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(place.path()).env_clear();
        let plain = place.command(&[]);
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let done = done(command.stdin(Stdio::null()).output().unwrap());
        let last = lines(&done.out).pop().unwrap_or_default();
        // The loader of the program fails by itself below that.
        if most > 4 || !done.out.is_empty() {
            assert_eq!(last["kind"], "TurnSettled", "{most}: {} {}", done.code, done.err);
            assert!(!done.err.contains("panicked"), "{most}: {}", done.err);
        }
        let completed = last["body"]["outcome"] == "completed";
        assert_eq!(completed, done.code == 0, "{most}: {} {last}", done.err);
    }
}

#[test]
fn whoever_loses_the_race_to_create_a_session_goes_on_with_it() {
    let mut completed = 0;
    for round in 0..8 {
        let place = Place::new();
        let run = || place.command(&["run", "hello", "--session", "s"]).spawn().unwrap();
        let racing: Vec<_> = (0..3).map(|_| run()).collect();
        for one in racing {
            let done = done(one.wait_with_output().unwrap());
            completed += usize::from(done.code == 0);
            // A session that another command drives for longer is locked, as is documented.
            let held = done.code == 5 && done.err.contains("is being written by another process");
            assert!(done.code == 0 || held, "round {round}: {} {}", done.code, done.err);
        }
    }
    assert!(completed >= 8, "{completed} completed");
}

#[test]
fn json_ends_with_a_settled_turn_even_if_none_could_begin() {
    let place = Place::new();
    for words in [
        vec!["run", "--json"],
        vec!["run", "  ", "--json"],
        vec!["run", "hello", "--json", "--workspace", "no/such/folder"],
        vec!["run", "hello", "--json", "--store", "ftp:x"],
        vec!["run", "hello", "--json", "--deadline", "soon"],
        vec!["resume", "--json", "--no-such-flag"],
        vec!["resume", "nobody", "--json"],
    ] {
        let done = place.run(&words);
        assert_eq!(done.code, 2, "{words:?}: {}", done.err);
        let last = settled_outside_the_log(&done);
        assert_eq!(last["body"]["outcome"], "failed", "{words:?}");
        assert!(done.out.starts_with("{\"v\":1,\"session\":"), "{}", done.out);
    }
    // Help was asked for, and no turn.
    let help = place.run(&["run", "--json", "--help"]);
    assert_eq!(help.code, 0);
    assert!(!help.out.contains("\"kind\""), "{}", help.out);
}

#[test]
fn a_second_signal_ends_the_process_and_the_tool_that_does_not_listen() {
    let place = Place::new();
    let pipe = place.file("alive");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    // The tool holds the FIFO open for as long as it or a child of it lives.
    let prompt = "run: exec 3>alive; trap '' TERM INT; echo up >&3; sleep 600; sleep 600";
    let words = ["run", prompt, "--session", "s", "--json"];
    let mut child = place.command(&words).spawn().unwrap();
    let mut alive = BufReader::new(std::fs::File::open(&pipe).unwrap());
    let mut up = String::new();
    alive.read_line(&mut up).unwrap();
    assert_eq!(up, "up\n");
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    signal(&child, "INT");
    for line in out.by_ref() {
        if line.unwrap().contains("InterruptRequested") {
            break;
        }
    }
    signal(&child, "INT");
    let last = out.map(Result::unwrap).last().unwrap();
    let last = &lines(&last)[0];
    assert_eq!(last["kind"], "TurnSettled", "{last}");
    assert_eq!(last["body"]["outcome"], "interrupted", "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // Ends only when nobody holds the FIFO any more.
    up.clear();
    assert_eq!(alive.read_line(&mut up).unwrap(), 0, "{up}");
    assert_eq!(place.run(&["verify", "s"]).code, 0);
    assert_eq!(place.run(&["resume", "s"]).code, 130, "it was to stop");
}

#[test]
fn a_signal_ends_the_wait_for_a_prompt() {
    let place = Place::new();
    let server = ModelServer::start(Script::list([Reply::say("x")])).unwrap();
    let base_url = server.base_url();
    let mut command = place.command(&["run", "-", "--json", "--base-url", &base_url]);
    let mut child =
        command.env("WINDLASS_LOG", "windlass=debug").stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // Once the pipe is full and takes more, the command reads it, so it listens to signals.
    input.write_all(&[b'x'; 200_000]).unwrap();
    signal(&child, "INT");
    let done = done(child.wait_with_output().unwrap());
    drop(input);
    assert_eq!(done.code, 130, "{}", done.err);
    let last = settled_outside_the_log(&done);
    assert_eq!(last["body"]["by"], "person");
    assert!(server.samples().is_empty());
}

#[test]
fn a_store_that_was_misspelt_is_told_and_not_created() {
    let place = Place::new();
    assert_eq!(place.run(&["run", "hello", "--session", "s"]).code, 0);
    let sled = ["run", "hello", "--session", "s", "--store", "sled:lake"];
    assert_eq!(place.run(&sled).code, 0);
    for store in ["sled:typo", "file:typo"] {
        for words in [
            vec!["sessions"],
            vec!["verify"],
            vec!["show", "s"],
            vec!["log", "s"],
            vec!["export", "s"],
            vec!["resume", "s"],
        ] {
            let done = place.run(&[&words[..], &["--store", store]].concat());
            assert_eq!(done.code, 2, "{words:?} {store}: {}", done.err);
            assert!(done.err.contains("typo"), "{}", done.err);
        }
        assert_eq!(place.run(&["doctor", "--store", store]).code, 0);
        assert!(!place.file("typo").exists(), "{store}");
    }
    for store in [place.store_url().replace("file:", "sled:").as_str(), "file:lake"] {
        let done = place.run(&["run", "hello", "--store", store]);
        assert_eq!(done.code, 2, "{store}: {}", done.err);
        assert!(done.err.contains("another kind"), "{}", done.err);
    }
    assert!(!place.stored("db").exists());
}

#[test]
fn an_empty_store_says_so_on_standard_error() {
    let place = Place::new();
    for words in ["sessions", "verify"] {
        let done = place.run(&[words]);
        assert_eq!((done.code, done.out.as_str()), (0, ""));
        assert!(done.err.contains("no sessions"), "{}", done.err);
    }
}

#[test]
fn doctor_finds_a_store_that_cannot_be_written_to() {
    let place = Place::new();
    let done = place.run(&["doctor", "--store", "file:/proc/windlass"]);
    assert_eq!(done.code, 5, "{}{}", done.out, done.err);
    assert!(done.err.contains("/proc"), "{}", done.err);
    let done = place.run(&["doctor"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let left: Vec<_> = std::fs::read_dir(place.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_session_that_goes_on_says_what_is_not_as_it_was() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let words = ["run", "hello", "--session", "s", "--tools", &tools];
    assert_eq!(place.run(&words).code, 0);
    let elsewhere = Place::new();
    let store = place.store_url();
    let done = elsewhere.run(&["resume", "s", "hello", "--store", &store]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("it was opened in"), "{}", done.err);
    assert!(done.err.contains("missing tools: count"), "{}", done.err);
    let words = ["resume", "s", "hello", "--tools", &tools];
    let again = place.run(&words);
    assert!(!again.err.contains("missing tools"), "{}", again.err);
    assert!(!again.err.contains("opened in"), "{}", again.err);
}

#[test]
fn an_unfinished_turn_is_not_spent_on_tools_that_are_gone() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let server = ModelServer::start(Script::list([
        Reply::say("x").stall_after(0),
        Reply::error(404, "model_not_found", "no such model"),
    ]))
    .unwrap();
    let base_url = server.base_url();
    let words = [
        "run",
        "hello",
        "--json",
        "--session",
        "s",
        "--tools",
        &tools,
        "--provider",
        "openai-chat",
        "--base-url",
        &base_url,
        "--model",
        "m",
    ];
    let mut child = place.command(&words).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(out.any(|line| line.unwrap().contains("SampleStarted")));
    // The first reply is this process's.
    while server.requests().is_empty() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = place.log("s");
    let refused = place.run(&["resume", "s", "--provider", "demo"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("count"), "{}", refused.err);
    assert_eq!(place.log("s"), before, "nothing was spent");
    std::fs::write(place.file("none.json"), r#"{"tools": []}"#).unwrap();
    let words = ["resume", "s", "--provider", "demo", "--tools", "none.json"];
    // The turn goes on where it was opened, whose model is gone by now: it is settled so.
    assert_eq!(place.run(&words).code, 4);
    // The new settings may be recorded just before that or just after.
    let log = place.log("s");
    assert!(log.iter().any(|fact| fact["kind"] == "TurnSettled"));
}

#[test]
fn a_log_that_is_followed_ends_with_a_signal() {
    let place = Place::new();
    assert_eq!(place.run(&["run", "hello", "--session", "s"]).code, 0);
    let mut child = place.command(&["log", "s", "--follow"]).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(out.any(|line| line.unwrap().contains("TurnSettled")));
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn an_import_that_a_full_disk_cut_short_is_taken_up_again() {
    let place = Place::new();
    let prompt = r#"repeat 250: list_dir {"path":"."}"#;
    let words = ["run", prompt, "--max-samples", "300", "--session", "s"];
    assert_eq!(place.run(&words).code, 0);
    let exported = place.run(&["export", "s"]).out;
    std::fs::write(place.file("s.jsonl"), &exported).unwrap();
    // A limit on file sizes stands in for the disk's end.
    // It is between the first facts that are appended and all of them, in blocks of 512 bytes.
    assert_eq!(place.run(&["import", "s.jsonl", "--store", "file:whole"]).code, 0);
    let whole = place.file("whole/lanes/0000/00000001.seg");
    let blocks = std::fs::metadata(whole).unwrap().len() * 8 / 10 / 512;
    let script = format!(
        "ulimit -f {blocks}; exec {} import s.jsonl --store file:other",
        env!("CARGO_BIN_EXE_windlass")
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(place.path());
    let full = done(shell.output().unwrap());
    assert_eq!(full.code, 5, "{}", full.err);
    assert!(full.err.contains(" facts were written"), "{}", full.err);
    assert!(!full.err.contains(". 0 of "), "{}", full.err);
    let import = ["import", "s.jsonl", "--store", "file:other"];
    let again = place.run(&import);
    assert_eq!(again.code, 0, "{}", again.err);
    let export = place.run(&["export", "s", "--store", "file:other"]);
    assert_eq!(export.out, exported);
    assert_eq!(place.run(&import).code, 2, "it is there whole");
    // Another session of that name is left alone.
    let words = ["run", "hello", "--session", "s", "--store", "file:third"];
    assert_eq!(place.run(&words).code, 0);
    let import = ["import", "s.jsonl", "--store", "file:third"];
    assert_eq!(place.run(&import).code, 2);
}

#[test]
fn logging_is_plain_in_a_file_and_a_filter_that_does_not_read_is_told() {
    let place = Place::new();
    let run = |filter: &str| {
        let mut command = place.command(&["run", "hello"]);
        let command = command.env("WINDLASS_LOG", filter);
        done(command.output().unwrap())
    };
    let debug = run("debug");
    assert!(debug.err.contains("DEBUG"), "{}", debug.err);
    assert!(!debug.err.contains('\u{1b}'), "{}", debug.err);
    let bad = run("windlass=loud=x");
    assert_eq!(bad.code, 0);
    assert!(bad.err.contains("WINDLASS_LOG"), "{}", bad.err);
}

#[test]
fn a_limit_is_named_with_its_flag_and_the_way_on() {
    let place = Place::new();
    let prompt = r#"repeat 5: list_dir {"path":"."}"#;
    let done = place.run(&["run", prompt, "--max-samples", "2", "--session", "s"]);
    assert_eq!(done.code, 6, "{}", done.err);
    assert!(done.err.contains("--max-samples"), "{}", done.err);
    assert!(done.err.contains("windlass resume s"), "{}", done.err);
    let shown = place.run(&["show", "s"]).out;
    assert!(shown.contains("--max-samples") && shown.contains("returned"), "{shown}");
}

#[test]
fn help_has_groups_and_short_help_the_flags_of_every_day() {
    let place = Place::new();
    let flags = |help: &str| help.lines().filter(|line| line.trim_start().starts_with('-')).count();
    for command in ["run", "resume", "compact", "serve", "chat", "doctor", "config"] {
        let long = place.run(&[command, "--help"]).out;
        let (before, options) = long.split_once("\nOptions:\n").unwrap();
        assert!(!before.contains("\n  -"), "{command}: {before}");
        for group in ["\nModel:\n", "\nPermissions:\n", "\nTools:\n", "\nLimits:\n", "\nStore:\n"] {
            assert!(long.contains(group), "{command}: {long}");
        }
        assert!(flags(options) > 40, "{command}: {long}");
        // A flag without a group would be among those that ask for help or the version.
        let is_in = |line: &&str| line.is_empty() || line.starts_with(' ');
        let alone: Vec<&str> = options.lines().take_while(is_in).collect();
        assert_eq!(flags(&alone.join("\n")), 2, "{command}: {alone:?}");
        let short = place.run(&[command, "-h"]).out;
        assert!((8..=20).contains(&flags(&short)), "{command}: {short}");
    }
    let run = place.run(&["run", "-h"]).out;
    expect_test::expect_file!["texts/run_help.txt"].assert_eq(&run);
    let letters = ["run", "-s", "s", "-p", "demo", "-m", "demo-script", "-C", ".", "-j", "hello"];
    let done = place.run(&letters);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(place.run(&["show", "s"]).out.contains("session s on demo demo-script"));
}

/// Runs a program with this input, if it is on this machine.
#[expect(clippy::print_stderr, reason = "what is not checked is said")]
fn checked(place: &Place, program: &str, arguments: &[&str], input: &str) {
    let path = place.file("checked");
    std::fs::write(&path, input).unwrap();
    let mut command = Command::new(program);
    match command.args(arguments).arg(&path).output() {
        Ok(ran) => assert!(ran.status.success(), "{program}: {ran:?}"),
        Err(error) => eprintln!("not checked by {program}, which is not here: {error}"),
    }
}

#[test]
fn shells_and_man_read_what_is_made_for_them() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let made = place.run(&["completions", shell]);
        assert_eq!(made.code, 0, "{}", made.err);
        assert!(made.out.contains("max-output-tokens"), "{shell}");
        checked(&place, shell, &["-n"], &made.out);
        if shell == "bash" {
            let used = "COMP_WORDS=(windlass resu); COMP_CWORD=1; _windlass windlass resu windlass; \
                        [ \"${COMPREPLY[*]}\" = resume ]";
            checked(&place, shell, &[], &format!("{}\n{used}\n", made.out));
        }
    }
    let page = place.run(&["man"]).out;
    assert!(page.contains(".TH windlass 1") && page.contains("windlass\\-run(1)"), "{page}");
    assert_eq!(place.run(&["man", "pages"]).code, 0);
    let run = std::fs::read_to_string(place.file("pages/windlass-run.1")).unwrap();
    assert!(run.contains("\\-\\-max\\-output\\-tokens"), "{run}");
    std::fs::write(place.file("taken"), "").unwrap();
    let refused = place.run(&["man", "taken"]);
    assert_eq!(refused.code, 1, "{}", refused.err);
}
