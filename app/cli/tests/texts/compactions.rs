//! What a compaction shows: cut and cleared results, plain lists, summaries, and the requests for a
//! summary.

use std::collections::VecDeque;
use std::fs;
use std::sync::Mutex;

use serde_json::{Value, json};
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Request, Script};

use crate::common::Place;
use crate::prose::Prose;
use crate::{calls, conversation, done, sections};

/// A summary as a model writes it.
const SUMMARY: &str = "\
## Goal
Find out why the winch slips, and mend it without changing public names.
## Done
Read winch.rs; the pawl is one tooth short. Set TEETH to 12 in winch.rs.
## Open
check.sh still fails: the brake is untested.
## Facts
./check.sh is the check; it ends with \"brake: untested\".";

/// Answers to requests with tools, in order; a request without tools is one for a summary.
fn model(answers: Vec<Answer>, summaries: Vec<Answer>) -> Script {
    let (answers, summaries) = (Mutex::new(VecDeque::from(answers)), Mutex::new(summaries));
    Script::respond(move |request| match request.asked().tools.is_empty() {
        true => Reply::answer(summaries.lock().unwrap().remove(0)),
        false => Reply::answer(answers.lock().unwrap().pop_front().unwrap_or_else(done)),
    })
}

/// A folder with a program and a check that says much.
fn workshop() -> Place {
    let place = Place::new();
    let lines = (1..=400).map(|n| format!("    turn(drum, {n}); // one more tooth\n"));
    let code = format!("const TEETH: u8 = 11;\nfn wind() {{\n{}}}\n", lines.collect::<String>());
    fs::write(place.file("winch.rs"), code).unwrap();
    let check = "seq -f 'case %g: passed' 1 600; echo 'brake: untested'; exit 1\n";
    fs::write(place.file("check.sh"), check).unwrap();
    place
}

fn work() -> Vec<Answer> {
    let look = || ("read_file", json!({"path": "winch.rs"}));
    let edit = json!({"path": "winch.rs", "old": "TEETH: u8 = 11", "new": "TEETH: u8 = 12"});
    let check = || ("shell", json!({"command": "sh check.sh"}));
    vec![
        calls([look()]),
        calls([("edit_file", edit)]),
        calls([check()]),
        Answer::new()
            .text("The pawl was one tooth short. The check still fails: the brake is untested."),
        calls([look()]),
        calls([check()]),
        calls([look()]),
        done(),
    ]
}

const TURNS: [&str; 2] = [
    "Find out why the winch slips, and mend it. Keep all public names as they are.",
    "Test the brake, too. Say what you could not test.",
];

/// Both turns with a strategy: the requests in order.
fn worked(place: &Place, flags: &[&str], summaries: Vec<Answer>) -> Vec<Request> {
    let server = ModelServer::start(model(work(), summaries)).unwrap();
    let base_url = server.base_url();
    let provider = ["--session", "s", "--provider", "openai-chat", "--base-url", &base_url];
    for prompt in TURNS {
        let done = place.run(&[&["run", prompt][..], &provider, flags].concat());
        assert_eq!(done.code, 0, "{}", done.err);
    }
    server.samples()
}

fn prose(place: &Place, request: &Request) -> Prose {
    Prose::new(place, request.json.clone().unwrap())
}

/// Requests for a summary.
fn asked_for(requests: &[Request]) -> Vec<&Request> {
    requests.iter().filter(|request| request.asked().tools.is_empty()).collect()
}

fn window(strategy: &str) -> [&str; 6] {
    ["--edit-tool", "edit_file", "--window", "10600", "--compaction", strategy]
}

#[test]
fn results_that_are_cut_and_cleared() {
    let place = workshop();
    let requests = worked(&place, &window("clear"), Vec::new());
    let text = prose(&place, requests.last().unwrap()).talk();
    expect_test::expect_file!["cleared_results.txt"].assert_eq(&text);
}

#[test]
fn plain_lists() {
    let place = workshop();
    let requests = worked(&place, &window("slide"), Vec::new());
    let slid = prose(&place, requests.last().unwrap()).talk();
    let place = workshop();
    let useless = || Answer::new().text("I go on with the work.");
    let requests = worked(&place, &window("summary"), (0..9).map(|_| useless()).collect());
    let fallback = prose(&place, requests.last().unwrap()).talk();
    let texts = [("With the plain list", slid), ("The model gave no summary", fallback)];
    expect_test::expect_file!["plain_lists.txt"].assert_eq(&sections(texts));
}

#[test]
fn summaries() {
    let place = workshop();
    let summary = || Answer::new().text(SUMMARY);
    let requests = worked(&place, &window("summary"), (0..9).map(|_| summary()).collect());
    let asked = prose(&place, asked_for(&requests)[0]).conversation();
    let shown = prose(&place, requests.last().unwrap()).talk();
    let again = prose(&place, asked_for(&requests).last().unwrap()).conversation();
    let texts = [
        ("The request for a summary", asked),
        ("The last request for a summary: it carries over the one before", again),
        ("The conversation after it", shown),
    ];
    expect_test::expect_file!["summaries.txt"].assert_eq(&sections(texts));
}

#[test]
fn summaries_that_are_too_long() {
    let place = workshop();
    let long = format!("{SUMMARY}\n{}", "The drum has a tooth more than it had. ".repeat(900));
    let (long, short) = (Answer::new().text(long), Answer::new().text(SUMMARY));
    let summaries = vec![long.clone(), short, long.clone(), long];
    let requests = worked(&place, &window("summary"), summaries);
    let asked = asked_for(&requests);
    let again = prose(&place, asked[1]);
    let texts = [("The second request for the same summary", again.last(2))];
    expect_test::expect_file!["summaries_that_are_too_long.txt"].assert_eq(&sections(texts));
}

#[test]
fn a_summary_with_a_focus() {
    let place = workshop();
    let server = ModelServer::start(model(work(), vec![Answer::new().text(SUMMARY)])).unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url];
    let first = place.run(&[&["run", TURNS[0], "--session", "s"][..], &provider].concat());
    assert_eq!(first.code, 0, "{}", first.err);
    let compacted = place.run(&[&["compact", "s", "the brake"][..], &provider].concat());
    assert_eq!(compacted.code, 0, "{}", compacted.err);
    let asked = prose(&place, server.samples().last().unwrap());
    let second = place.run(&[&["run", TURNS[1], "--session", "s"][..], &provider].concat());
    assert_eq!(second.code, 0, "{}", second.err);
    let shown = prose(&place, asked_with_tools(&server.samples())[4]);
    let texts = [("The question", asked.last(2)), ("The conversation after it", shown.talk())];
    expect_test::expect_file!["a_summary_with_a_focus.txt"].assert_eq(&sections(texts));
}

fn asked_with_tools(requests: &[Request]) -> Vec<&Request> {
    requests.iter().filter(|request| !request.asked().tools.is_empty()).collect()
}

#[test]
fn results_of_read_output() {
    let place = workshop();
    let read = |arguments: Value| calls([("read_output", arguments)]);
    let long = json!({"command": "seq -f 'case %g: passed' 1 9000; echo 'brake: untested'"});
    let answers = vec![
        calls([("shell", long)]),
        read(json!({"call": "1"})),
        read(json!({"call": "call_0"})),
        read(json!({"call": "nowhere"})),
        done(),
    ];
    let asked = conversation(&place, &[], &[("Check it.", answers)]);
    let named = asked.named_call();
    let place = workshop();
    let long = json!({"command": "seq -f 'case %g: passed' 1 9000; echo 'brake: untested'"});
    let answers = vec![
        calls([("shell", long)]),
        read(json!({"call": named, "limit": 60})),
        read(json!({"call": named, "offset": 60, "limit": 60})),
        read(json!({"call": named, "offset": 900_000})),
        read(json!({"call": named, "pattern": "untested$"})),
        read(json!({"call": named, "pattern": "no such words"})),
        read(json!({"call": named, "pattern": "case 1"})),
        read(json!({"call": named, "pattern": "("})),
        read(json!({"call": "nowhere"})),
        done(),
    ];
    let asked = conversation(&place, &[], &[("Check it.", answers)]);
    expect_test::expect_file!["results_of_read_output.txt"].assert_eq(&asked.calls());
}
