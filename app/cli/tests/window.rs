//! A long session in a small window: it settles, nothing that matters is lost, and no request is
//! over the window.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Place, count};
use serde_json::{Value, json};
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Request, Script, grammar};

const STEPS: usize = 300;
const WINDOW: u64 = 6_600;
const PROMPT: &str = "Read note.txt three hundred times, and say \"wound up\" at the end.";

/// Tokens of a request as the server counts: of its whole body, JSON and all, so that they are more
/// than any model would read. A server that tells nobody counts as most do, four bytes a token.
fn tokens(request: &Request, tells: bool) -> u64 {
    let bytes = if tells { 3 } else { 4 };
    request.body.len().div_ceil(bytes) as u64
}

/// A model that reads a file step by step, and has no summary where it is asked for one. Whether it
/// says how many tokens a request had is up to it.
fn model(tells: bool) -> Script {
    let steps = Arc::new(AtomicUsize::new(0));
    Script::respond(move |request| {
        let offers_tools = !request.asked().tools.is_empty();
        let answer = if !offers_tools {
            Answer::new().text("not what was asked for")
        } else if steps.fetch_add(1, Ordering::SeqCst) < STEPS {
            Answer::new().call("read_file", json!({"path": "note.txt"}))
        } else {
            Answer::new().text("wound up")
        };
        match tells {
            true => Reply::answer(answer.tokens(tokens(request, true), 20)),
            false => Reply::answer(answer),
        }
    })
}

fn items(request: &Request) -> &[Value] {
    let json = request.json.as_ref().unwrap();
    let list = json.get("messages").or_else(|| json.get("input")).unwrap();
    list.as_array().unwrap()
}

/// How often a request does not begin with all of the one before it.
fn breaks(samples: &[Request]) -> usize {
    let steps: Vec<&[Value]> =
        samples.iter().filter(|sample| !sample.asked().tools.is_empty()).map(items).collect();
    let extends = |pair: &&[&[Value]]| pair[1].starts_with(pair[0]);
    steps.windows(2).filter(|pair| !extends(pair)).count()
}

/// The words of the request's user messages.
fn users(request: &Request) -> Vec<String> {
    let user = |item: &&Value| item["role"] == "user";
    let texts = items(request).iter().filter(user);
    texts.map(|item| item["content"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn three_hundred_steps_in_a_small_window_settle() {
    for (api, strategy, tells) in [
        ("openai-chat", "clear", true),
        ("openai", "slide", true),
        ("openai-chat", "summary", true),
        ("openai", "clear", false),
    ] {
        let place = Place::new();
        let note = "It lifts what nobody could lift alone.\n".repeat(12);
        std::fs::write(place.file("note.txt"), note).unwrap();
        let server = ModelServer::start(model(tells)).unwrap();
        let base_url = server.base_url();
        let window = WINDOW.to_string();
        let words = ["run", PROMPT, "--session", "s", "--provider", api, "--base-url", &base_url];
        let limits = ["--max-samples", "400", "--window", &window, "--compaction", strategy];
        let done = place.run(&[&words[..], &limits].concat());
        assert_eq!(done.code, 0, "{strategy}: {}", done.err);
        assert_eq!(done.out, "wound up\n");
        let log = place.log("s");
        assert_eq!(count(&log, "CallObserved"), STEPS);
        let compactions = count(&log, "Compacted");
        assert!(compactions >= 3, "{strategy}: {compactions} compactions");
        assert_eq!(server.misses(), Vec::<String>::new());
        let samples = server.samples();
        assert!(samples.len() > STEPS);
        let asked = samples.iter().filter(|sample| !sample.asked().tools.is_empty());
        // Each request begins with all of the one before, unless a compaction lies between.
        let breaks = breaks(&samples);
        assert!(breaks <= compactions, "{strategy}: {breaks} breaks");
        for sample in &samples {
            assert_eq!(grammar::fault(sample), None, "{strategy}");
        }
        for sample in asked {
            let users = users(sample);
            assert_eq!(users, [PROMPT], "{strategy}: request {}", sample.number);
        }
        let most = samples.iter().map(|sample| tokens(sample, tells)).max();
        let most = most.unwrap();
        println!("{strategy}: {compactions} compactions, at most {most} tokens");
        assert!(most <= WINDOW, "{strategy}: a request of {most} tokens");
        assert_eq!(place.run(&["verify", "s"]).code, 0);
    }
}

/// A model that calls the tool `count` so many times at once, for so many rounds.
fn counts(rounds: usize, at_once: usize) -> Script {
    let steps = Arc::new(AtomicUsize::new(0));
    Script::respond(move |request| {
        if request.asked().tools.is_empty() {
            return Reply::answer(Answer::new().text("not what was asked for"));
        }
        if steps.fetch_add(1, Ordering::SeqCst) == rounds {
            return Reply::answer(Answer::new().text("wound up"));
        }
        let call = |answer: Answer, _| answer.call("count", json!({}));
        Reply::answer((0..at_once).fold(Answer::new(), call))
    })
}

/// The results in a request that no earlier request of the list had.
fn results(request: &Request, at_once: usize) -> Vec<&str> {
    let results = items(request).iter().filter(|item| item["role"] == "tool");
    let results: Vec<&str> = results.map(|item| item["content"].as_str().unwrap()).collect();
    results[results.len().saturating_sub(at_once)..].to_vec()
}

/// Whether a result of `seq 1 LAST` is shown in full, or with head, tail and length.
fn shows(result: &str, last: usize) -> bool {
    let whole = (1..=last).map(|n| n.to_string().len() + 1).sum::<usize>();
    // The exit code may precede the head, and the way to read all of it may follow the tail.
    let head = result.get(..60).unwrap_or_default();
    let ends = head.contains("1\n2\n3\n") && result.contains(&format!("\n{last}\n"));
    ends && (result.len() == whole || result.contains(&format!("of {whole} bytes are left out")))
}

#[test]
fn the_model_sees_each_result_before_it_leaves() {
    // Outputs of 55 KB one after the other, and of 64 KB at the same time.
    for (window, strategy, rounds, at_once, last, most) in [
        ("16000", "clear", 11, 1, 11_000, 5),
        ("16000", "slide", 11, 1, 11_000, 5),
        ("16000", "summary", 11, 1, 11_000, 5),
        ("128000", "clear", 2, 8, 12_600, 2),
        ("128000", "summary", 2, 8, 12_600, 2),
        ("11000", "clear", 3, 8, 12_600, 3),
    ] {
        let place = Place::new();
        let tools = json!({"tools": [{
            "name": "count",
            "description": "Counts.",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": false},
            "command": ["seq", "1", last.to_string()],
            "effect": "read_only",
            "concurrency": "parallel",
        }]});
        let file = place.file("tools.json");
        std::fs::write(&file, tools.to_string()).unwrap();
        let server = ModelServer::start(counts(rounds, at_once)).unwrap();
        let base_url = server.base_url();
        let words = ["run", PROMPT, "--session", "s", "--provider", "openai-chat"];
        let tools = ["--base-url", &base_url, "--tools", file.to_str().unwrap()];
        let window = ["--window", window, "--compaction", strategy];
        let done = place.run(&[&words[..], &tools, &window].concat());
        let case = format!("{window:?}, {at_once} at once");
        assert_eq!((done.code, &*done.out), (0, "wound up\n"), "{case}: {}", done.err);
        let samples = server.samples();
        let asked = samples.iter().filter(|sample| !sample.asked().tools.is_empty());
        for sample in asked.skip(1) {
            let results = results(sample, at_once);
            let shown = results.iter().filter(|result| shows(result, last)).count();
            assert_eq!(shown, at_once, "{case}: request {}: {results:.400?}", sample.number);
        }
        let compactions = count(&place.log("s"), "Compacted");
        assert!(compactions <= most, "{case}: {compactions} compactions");
    }
}
