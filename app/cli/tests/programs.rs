//! Program mode: the demo model does a task with one program, and a process that dies between two of
//! its calls is gone on with.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};

use common::terminal::TerminalProcess;
use common::{Place, count, lines};
use serde_json::{Value, json};
use windlass_testkit::http::{ModelServer, Reply, Script};

const RUNTIMES: [&str; 2] = ["ptclisp", "javascript"];

#[test]
fn one_sample_does_what_takes_several_calls() {
    for runtime in RUNTIMES {
        for transport in ["call", "text"] {
            let at = format!("{runtime} by {transport}");
            let place = Place::new();
            std::fs::write(place.file("README.md"), "# A winch\n\nIt lifts.\n").unwrap();
            std::fs::write(place.file("notes.txt"), "oil it\n").unwrap();
            let words = ["What is in this folder?", "--session", "s", "--program", runtime];
            let run =
                place.run(&[&["run"], &words[..], &["--program-transport", transport]].concat());
            assert_eq!(run.code, 0, "{at}: {}", run.err);
            for part in ["2 files", "README.md has", "# A winch", "oil it"] {
                assert!(run.out.contains(part), "{at}: {part} is not in {}", run.out);
            }
            assert!(!run.out.starts_with('"'), "{at}: a text is printed as itself");
            let log = place.log("s");
            assert_eq!(count(&log, "SampleStarted"), 1, "{at}");
            assert_eq!(count(&log, "ProgramCalled"), 3, "{at}");
            let cycles = lines(&place.run(&["show", "s", "--turns", "--json"]).out);
            let [cycle] = &cycles[..] else { panic!("{at}: {cycles:?}") };
            assert_eq!(
                (&cycle["success"], &cycle["result"]["end"]),
                (&json!(true), &json!("return"))
            );
            let tools = cycle["tool_calls"].as_array().unwrap().iter();
            let tools: Vec<_> = tools.map(|call| call["name"].as_str().unwrap()).collect();
            assert_eq!(tools, ["list_dir", "read_file", "read_file"], "{at}");
            assert!(cycle["prints"][0].as_str().unwrap().contains("of 2 files"), "{at}");
            // Again: the answer of a turn that is over.
            let again = place.run(&["resume", "s"]);
            assert_eq!((again.code, again.out), (0, run.out), "{at}");
            let verified = place.run(&["replay", "s", "--verify"]);
            assert_eq!(verified.code, 0, "{at}: {}{}", verified.out, verified.err);
        }
    }
}

#[test]
fn where_one_sample_is_left_for_work_the_command_says_that_no_tool_is_called() {
    let signature = ["--program", "ptclisp", "--answer-signature", "{n :int}"];
    let few = "one sample for work (--max-samples 3, of which --answer-retries 2 are set aside";
    for (more, said) in [
        (&["--max-samples", "3"][..], Some(few)),
        (&["--max-samples", "4"], None),
        (&["--max-samples", "3", "--answer-retries", "1"], None),
        (&["--max-samples", "1", "--answer-retries", "0"], Some("(--max-samples 1)")),
        (&["--max-samples", "3", "--answer-retries", "0"], None),
    ] {
        let place = Place::new();
        let run =
            place.run(&[&["run", "How many?", "--session", "s"], &signature[..], more].concat());
        assert_eq!(run.err.contains("cannot call tools"), said.is_some(), "{more:?}: {}", run.err);
        assert!(said.is_none_or(|said| run.err.contains(said)), "{more:?}: {}", run.err);
        // It is as it says.
        let kinds = place.log("s").into_iter().filter(|fact| fact["kind"] == "SampleStarted");
        let first = kinds.map(|fact| fact["body"]["kind"].clone()).next().unwrap();
        assert_eq!(first == "must_return", said.is_some(), "{more:?}: {first}");
    }
    // Without programs each sample may call tools.
    let place = Place::new();
    let run = place.run(&["run", "How many?", "--max-samples", "1"]);
    assert!(!run.err.contains("cannot call tools"), "{}", run.err);
}

#[test]
fn every_plan_of_the_demo_is_a_program_that_runs() {
    for runtime in RUNTIMES {
        let place = Place::new();
        let tools = place.counter("idempotent");
        let mut session = "run";
        for (prompt, part) in [
            ("write a b.txt: one", "one"),
            ("write c.txt: a \"quoted\" \\ line", "a \"quoted\" \\ line"),
            ("read c.txt", "\"quoted\""),
            ("search quoted", "c.txt"),
            ("run: echo here", "here"),
            (r#"repeat 3: count {"n":{step}}"#, "3 times: 1 2 3"),
            (r#"together 2: count {"n":1}"#, "2 times:"),
            ("hello", "a script and not a model"),
        ] {
            let words = match session {
                "run" => {
                    vec!["run", prompt, "--session", "s", "--program", runtime, "--tools", &tools]
                }
                _ => vec!["resume", "s", prompt, "--tools", &tools],
            };
            session = "resume";
            let run = place.run(&words);
            assert_eq!(run.code, 0, "{runtime}: {prompt}: {}", run.err);
            assert!(run.out.contains(part), "{runtime}: {prompt}: {}\n{}", run.out, run.err);
        }
        assert_eq!(place.counted().len(), 5, "{runtime}");
    }
}

/// Kills a run once it has printed so many lines: each line is a fact that is durable, so that between
/// them the run dies after every append.
#[test]
fn a_program_killed_after_any_append_goes_on_and_repeats_no_effectful_call() {
    for runtime in RUNTIMES {
        let prompt = r#"repeat 4: count {"n":{step}}"#;
        let place = Place::new();
        let tools = place.counter("effectful");
        let run = |session: &'static str| {
            vec![
                "run",
                prompt,
                "--session",
                session,
                "--program",
                runtime,
                "--json",
                "--tools",
                &tools,
            ]
        };
        let clean = place.run(&run("clean"));
        assert_eq!(clean.code, 0, "{}", clean.err);
        assert_eq!(place.counted().len(), 4);
        let told = lines(&clean.out);
        let facts = told.iter().filter(|line| line["seq"].is_u64()).count();
        // How far it comes until it is dead is up to the machine.
        let (mut between, mut unknown) = (0, 0);
        for at in 1..facts {
            let place = Place::new();
            let tools = place.counter("effectful");
            let words = ["run", prompt, "--session", "s", "--program", runtime];
            let more = ["--json", "--tools", &tools];
            kill_at(&place, &[&words[..], &more].concat(), at);
            let before = place.log("s");
            if count(&before, "InputQueued") == 0 {
                continue;
            }
            let made = count(&before, "ProgramCalled");
            between += usize::from((1..4).contains(&made));
            let resumed = place.run(&["resume", "s", "--tools", &tools]);
            assert_eq!(resumed.code, 0, "{runtime} at {at}: {}", resumed.err);
            let log = place.log("s");
            let counted = place.counted();
            let distinct: BTreeSet<&String> = counted.iter().collect();
            assert_eq!(distinct.len(), counted.len(), "{runtime} at {at}: {counted:?}");
            let lost = log.iter().filter(|fact| is_unknown(fact)).count();
            unknown += lost;
            assert!(counted.len() <= 4, "{runtime} at {at}: {counted:?}");
            assert_eq!(count(&log, "TurnSettled"), 1, "{runtime} at {at}");
            if lost == 0 {
                assert_eq!(counted.len(), 4, "{runtime} at {at}");
                assert_eq!(resumed.out.trim(), answer(&told), "{runtime} at {at}");
                assert_eq!(count(&log, "SampleEnded"), 1, "{runtime} at {at}");
                // Made once each, however often the program was run.
                assert_eq!(count(&log, "ProgramCalled"), 4, "{runtime} at {at}");
            }
            let verified = place.run(&["verify", "s"]);
            assert_eq!(verified.code, 0, "{runtime} at {at}: {}", verified.err);
        }
        println!(
            "{runtime}: {facts} facts, {between} kills between calls, {unknown} ended unknown"
        );
    }
}

/// A question about a call comes once the call before it has ended, and then nothing runs.
#[test]
fn a_program_killed_between_two_calls_makes_those_that_are_left_and_no_other() {
    const KEYS: &str = "or say why not: ";
    for runtime in RUNTIMES {
        for made in 1..4 {
            let at = format!("{runtime} after {made}");
            let place = Place::new();
            let tools = place.counter("effectful");
            let prompt = r#"repeat 4: count {"n":{step}}"#;
            let words = ["run", prompt, "--session", "s", "--program", runtime];
            let more = ["--ask", "count", "--tools", &tools];
            let mut killed = TerminalProcess::run(&place, &[&words[..], &more].concat());
            for _ in 0..made {
                killed.until(KEYS);
                killed.line("y");
            }
            killed.until(KEYS);
            killed.signal("KILL");
            assert_eq!(killed.end().code, 128 + 9, "{at}");
            assert_eq!(place.counted().len(), made, "{at}");
            // The one that is asked about is made, and has not run.
            assert_eq!(count(&place.log("s"), "ProgramCalled"), made + 1, "{at}");

            let mut resumed = TerminalProcess::run(&place, &["resume", "s", "--tools", &tools]);
            for _ in made..4 {
                resumed.until(KEYS);
                resumed.line("y");
            }
            let done = resumed.end();
            assert_eq!(done.code, 0, "{at}: {}", done.err);
            assert!(done.out.contains("4 times: 1 2 3 4"), "{at}: {}", done.out);
            let counted = place.counted();
            let distinct: BTreeSet<&String> = counted.iter().collect();
            assert_eq!((counted.len(), distinct.len()), (4, 4), "{at}");
            let log = place.log("s");
            assert!(!log.iter().any(is_unknown), "{at}");
            let kinds = ["SampleEnded", "ProgramCalled", "TurnSettled"];
            assert_eq!(kinds.map(|kind| count(&log, kind)), [1, 4, 1], "{at}");
            assert_eq!(place.run(&["verify", "s"]).code, 0, "{at}");
        }
    }
}

/// What the program of a run returned, which is a text.
fn answer(told: &[Value]) -> String {
    let run = told.iter().find(|line| line["kind"] == "ProgramRun").unwrap();
    let value = run["body"]["outcome"]["end"]["value"].as_str();
    let value = value.unwrap_or_else(|| run["body"]["outcome"]["value"].as_str().unwrap());
    serde_json::from_str(value).unwrap()
}

fn is_unknown(fact: &Value) -> bool {
    fact["kind"] == "CallObserved" && fact["body"]["observation"]["status"] == "unknown"
}

fn kill_at(place: &Place, words: &[&str], facts: usize) {
    let mut child = place.command(words).spawn().unwrap();
    // Open until it is dead: a run whose output is closed stops by itself.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let durable = lines.by_ref().map(Result::unwrap).filter(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["seq"].is_u64()
    });
    assert_eq!(durable.take(facts).count(), facts);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_a_program_returns_is_printed_as_json_unless_it_is_a_text_without_a_contract() {
    for (source, more, out) in [
        (r#"(return "two words")"#, &[][..], "two words\n"),
        ("(return {:n 3})", &[], "{\"n\":3}\n"),
        (r#"(return {:n 3})"#, &["--answer-signature", "{n :int}"], "{\"n\":3}\n"),
        (r#"(return "x")"#, &["--answer-signature", ":string"], "\"x\"\n"),
        ("(return (get data/given \"n\"))", &["--program-data", "data.json"], "7\n"),
    ] {
        let place = Place::new();
        std::fs::write(place.file("data.json"), r#"{"given": {"n": 7}}"#).unwrap();
        let run = place.run(&with(source, more).words());
        assert_eq!((run.code, run.out.as_str()), (0, out), "{source}: {}", run.err);
    }
}

#[test]
fn a_program_that_gives_up_or_does_not_fit_the_contract_is_told_by_the_exit_code() {
    let place = Place::new();
    let failed = place.run(&with("(fail \"no key\")", &[]).words());
    assert_eq!(failed.code, 1, "{}", failed.err);
    assert!(failed.err.contains("no key"), "{}", failed.err);
    let place = Place::new();
    let more = ["--answer-signature", "{n :int}", "--answer-retries", "1"];
    let given = with("(return {:n \"three\"})", &more);
    let misshapen = place.run(&given.words());
    assert_eq!((misshapen.code, misshapen.out.as_str()), (6, ""), "{}", misshapen.err);
    assert_eq!(given.server.samples().len(), 2);
}

#[test]
fn words_that_do_not_go_together_are_refused() {
    let place = Place::new();
    std::fs::write(place.file("list.json"), "[1]").unwrap();
    for (words, why) in [
        (&["--program", "perl"][..], "ptclisp"),
        (&["--program-transport", "text"], "--program ptclisp"),
        (&["--program", "ptclisp", "--program-transport", "mail"], "call or text"),
        (&["--program", "ptclisp", "--program-data", "list.json"], "not a JSON object"),
        (&["--answer-signature", "{n"], "signature"),
        (&["--program-steps", "9"], "--program ptclisp"),
        (&["--program", "ptclisp", "--program-memory", "64KB"], "not a size"),
        (&["--program", "ptclisp", "--program-depth", "2001"], "1..=2000"),
        (&["--program", "ptclisp", "--program-source", "1MiB"], "at most 64KiB"),
        (&["--programs-at-once", "0"], "from 1 to 1000"),
        (&["--program-idle", "soon"], "not a duration"),
    ] {
        let run = place.run(&[&["run", "hello"], words].concat());
        assert_eq!(run.code, 2, "{words:?}: {}", run.err);
        assert!(run.err.contains(why), "{words:?}: {}", run.err);
    }
}

/// How the first program of a session ended.
fn class(place: &Place, session: &str) -> String {
    let log = place.log(session);
    let run = log.iter().find(|fact| fact["kind"] == "ProgramRun").unwrap();
    run["body"]["outcome"]["end"]["class"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn the_limits_of_programs_are_flags_and_stay_with_the_session() {
    const LOOK: &str = r#"(tool/list_dir {:path "."})"#;
    const ENDLESS: &str = "(loop [] (recur))";
    let looks = [LOOK, LOOK].concat();
    for (limits, source, class_of) in [
        (&["--program-steps", "50"][..], "(return (reduce + (range 1000)))", "fuel_exceeded"),
        (&["--program-memory", "4KiB"], "(return (count (vec (range 9000))))", "memory_exceeded"),
        (&["--program-depth", "9"], "(defn f [n] (inc (f n))) (return (f 1))", "depth_exceeded"),
        (&["--program-rounds", "9"], ENDLESS, "loop_limit_exceeded"),
        (&["--program-source", "9"], "(return 1234567)", "program_too_large"),
        (&["--program-calls", "1"], &looks, "tool_call_limit_exceeded"),
        (&["--program-prints", "3"], r#"(println "long")"#, "print_limit_exceeded"),
        (&["--program-result", "5"], r#"(return "a long one")"#, "value_limit_exceeded"),
        (&["--program-kept", "9"], "(def a 1)", "kept_limit_exceeded"),
        // More than the default, so that its time is what ends it.
        (&["--program-time", "200ms", "--program-steps", "900000000000"], ENDLESS, "timeout"),
    ] {
        let place = Place::new();
        let more = ["--session", "s", "--max-samples", "2"];
        let given = with(source, &[&more[..], limits].concat());
        place.run(&given.words());
        assert_eq!(class(&place, "s"), class_of, "{limits:?}");
    }
    // A session keeps them until a flag says otherwise.
    let place = Place::new();
    let given = with("(return (reduce + (range 1000)))", &["--session", "s", "--max-samples", "1"]);
    let few = place.run(&[&given.words()[..], &["--program-steps", "50"]].concat());
    assert_eq!(few.code, 6, "{}", few.err);
    let settings = &place.log("s")[0]["body"]["settings"];
    assert_eq!(settings["options"]["program"]["limits"]["steps"], 50, "{settings}");
    let again = place.run(&["resume", "s", "again"]);
    assert_eq!(again.code, 6, "{}", again.err);
    let more = place.run(&["resume", "s", "once more", "--program-steps", "90000"]);
    assert_eq!((more.code, more.out.trim()), (0, "499500"), "{}", more.err);
}

#[test]
fn a_dry_run_runs_the_program_and_plans_what_it_would_change() {
    let place = Place::new();
    std::fs::write(place.file("notes.txt"), "oil it\n").unwrap();
    let source = r#"
        (def notes (tool/read_file {:path "notes.txt"}))
        (def written (tool/write_file {:path "made.txt" :content "x"}))
        (return (str notes written))"#;
    let given = with(source, &["--session", "s", "--dry-run"]);
    let run = place.run(&given.words());
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("oil it"), "what only reads is run: {}", run.out);
    assert!(run.out.contains("this is a dry run. It would"), "{}", run.out);
    assert!(!place.file("made.txt").exists());
    // The person is told of each call that is only planned, and of what it would do.
    for part in ["> write_file", "(only its plan)", "It would create"] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
    let verified = place.run(&["replay", "s", "--verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.out, verified.err);
    // For real it is written.
    let given = with(source, &["--session", "t"]);
    assert_eq!(place.run(&given.words()).code, 0);
    assert!(place.file("made.txt").exists());
}

/// A model that writes one program, and the words that run it.
struct Given {
    server: ModelServer,
    base_url: String,
    more: Vec<String>,
}

fn with(source: &str, more: &[&str]) -> Given {
    let source = source.to_owned();
    let answer = Script::respond(move |_| Reply::call("run_program", json!({ "source": source })));
    let server = ModelServer::start(answer).unwrap();
    Given {
        base_url: server.base_url(),
        server,
        more: more.iter().map(|word| (*word).to_owned()).collect(),
    }
}

impl Given {
    fn words(&self) -> Vec<&str> {
        let words = ["run", "do it", "--program", "ptclisp", "--provider", "openai-chat"];
        let server = ["--base-url", &self.base_url];
        let more = self.more.iter().map(String::as_str);
        words.into_iter().chain(server).chain(more).collect()
    }
}
