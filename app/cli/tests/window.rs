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
const WINDOW: u64 = 4_000;
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
