//! Programs whose process is killed while a call runs: the model is told of each call of the
//! program, and a program that makes the calls again repeats none of them unawares.

#![cfg(all(feature = "javascript", feature = "ptclisp"))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::OpenOptions;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::{Place, count};
use serde_json::json;
use windlass_testkit::http::{ModelServer, Reply, Script};

/// Programs of a model that reads what it is told: the first, the same once more, and then the
/// call that is left.
const PTCLISP: [&str; 3] = [
    "(let [a (tool/pay {:n 1}) b (tool/pay {:n 2}) c (tool/pay {:n 3})] (return (str a b c)))",
    "(let [a (tool/pay {:n 1}) b (tool/pay {:n 2}) c (tool/pay {:n 3})] (return (str a b c)))",
    "(return (str (tool/pay {:n 3})))",
];
const JAVASCRIPT: [&str; 3] = [
    "const a = await tools.pay({n: 1}); const b = await tools.pay({n: 2}); \
     const c = await tools.pay({n: 3}); return a + b + c;",
    "const a = await tools.pay({n: 1}); const b = await tools.pay({n: 2}); \
     const c = await tools.pay({n: 3}); return a + b + c;",
    "return await tools.pay({n: 3});",
];

/// Records each run in the order of their starts. The second payment waits for the test.
const PAY: &str = "read arguments; echo \"$arguments\" >> paid; \
                   case $arguments in *2*) cat barrier;; esac; echo \"receipt $arguments\"";

/// Kills the command once the second payment of the program runs.
fn kill_in_second(place: &Place, words: &[&str]) {
    let barrier = place.file("barrier");
    assert!(Command::new("mkfifo").arg(&barrier).status().unwrap().success());
    let mut child = place.command(words).spawn().unwrap();
    let (sent, reached) = mpsc::channel();
    thread::spawn(move || sent.send(OpenOptions::new().write(true).open(barrier)));
    let waiting = reached.recv_timeout(Duration::from_mins(1)).unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(waiting);
}

#[test]
fn the_model_is_told_of_an_unknown_call_and_no_earlier_call_is_repeated() {
    for (runtime, programs) in [("ptclisp", PTCLISP), ("javascript", JAVASCRIPT)] {
        let place = Place::new();
        let tools = json!({"tools": [{
            "name": "pay",
            "description": "Pays.",
            "parameters": {"type": "object"},
            "command": ["sh", "-c", PAY],
            "effect": "effectful",
        }]});
        std::fs::write(place.file("tools.json"), tools.to_string()).unwrap();
        let tools = place.file("tools.json");
        let tools = tools.to_str().unwrap();
        let answers =
            programs.map(|source| Reply::call("run_program", json!({ "source": source })));
        let server = ModelServer::start(Script::list(answers)).unwrap();
        let base_url = server.base_url();
        let provider = ["--provider", "openai-chat", "--base-url", &base_url, "--model", "m"];
        let words = ["run", "pay all", "--session", "s", "--program", runtime, "--tools", tools];
        kill_in_second(&place, &[&words[..], &provider].concat());
        let words = ["resume", "s", "--tools", tools];
        let resumed = place.run(&[&words[..], &provider[..4]].concat());
        assert_eq!(resumed.code, 0, "{runtime}: {}", resumed.err);
        assert!(resumed.out.contains("receipt {\"n\":3}"), "{runtime}: {}", resumed.out);

        // Each was paid once: the first before the kill, the second in it, the third at last.
        let paid = std::fs::read_to_string(place.file("paid")).unwrap();
        assert_eq!(paid, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n", "{runtime}");
        let log = place.log("s");
        assert_eq!(count(&log, "SampleEnded"), 3, "{runtime}");
        let asked = server.samples();
        let told = |at: usize| {
            let results = asked[at].asked().results;
            results.last().unwrap().1.clone()
        };
        for words in [
            "nobody knows whether it took effect",
            "receipt {\"n\":1}",
            "do not repeat them",
            "pay {\"n\":1}",
            "pay {\"n\":2}",
        ] {
            assert!(told(1).contains(words), "{runtime}: {words}: {}", told(1));
        }
        assert!(told(2).contains("Not started"), "{runtime}: {}", told(2));
        assert_eq!(place.run(&["verify", "s"]).code, 0, "{runtime}");
    }
}
