//! Kill the process at any moment: the turn goes on where it stood, and no side effect is done
//! twice.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use common::{Place, count, kinds};
use serde_json::{Value, json};
use windlass_testkit::http::{ModelServer, Reply, Script};

const PROMPT: &str = r#"repeat 5: count {"n":1}"#;
const KILLS: u64 = 50;

/// A fixed sequence that looks random (the constants are Knuth's MMIX).
fn mixed(n: u64, below: u64) -> u64 {
    let mixed = n.wrapping_add(1).wrapping_mul(6_364_136_223_846_793_005);
    (mixed.wrapping_add(1_442_695_040_888_963_407) >> 33) % below
}

#[test]
fn a_turn_killed_at_any_moment_settles_and_counts_each_call_at_most_once() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let clean = place.run(&["run", PROMPT, "--json", "--tools", &tools, "--session", "clean"]);
    assert_eq!(clean.code, 0, "{}", clean.err);
    assert_eq!(place.counted().len(), 5);
    let whole = clean.out.lines().count() as u64;

    let mut turns = 1;
    let mut unknown = 0;
    for n in 0..KILLS {
        let session = format!("k{n}");
        let seen = kill(&place, &session, &tools, mixed(n, whole), mixed(n + KILLS, 6_000));
        let resumed = place.run(&["resume", &session, "--tools", &tools]);
        let log = place.log(&session);
        if !kinds(&log).contains(&"InputQueued") {
            // The prompt was never durable, so nothing had been promised.
            assert_eq!((seen, resumed.code), (false, 2), "kill {n}: {}", resumed.err);
            continue;
        }
        assert_eq!(resumed.code, 0, "kill {n}: {}", resumed.err);
        let ends = kinds(&log).iter().filter(|kind| **kind == "TurnSettled").count();
        assert_eq!(ends, 1, "kill {n}");
        let verified = place.run(&["verify", &session]);
        assert_eq!(verified.code, 0, "kill {n}: {}", verified.err);
        turns += 1;
        let observed = log.iter().filter(|fact| fact["kind"] == "CallObserved");
        let lost = |fact: &&Value| fact["body"]["observation"]["status"] == "unknown";
        unknown += observed.filter(lost).count();
    }
    let counted = place.counted();
    let distinct: BTreeSet<&String> = counted.iter().collect();
    assert_eq!(distinct.len(), counted.len(), "a call was counted twice: {counted:?}");
    println!("{turns} turns, {} calls counted, {unknown} ended unknown", counted.len());
    // Each call was counted, or the log says that nobody knows.
    assert!(counted.len() <= 5 * turns && counted.len() + unknown >= 5 * turns);
    assert_eq!(place.run(&["verify"]).code, 0);
}

/// Hooks that allow, add and have the model go on once; as Claude Code's users write them.
fn hooks() -> String {
    let hook = |line: &str| json!([{"hooks": [{"type": "command", "command": line}]}]);
    let hooks = json!({"hooks": {
        "UserPromptSubmit": hook("cat > /dev/null; echo 'the branch is winch'"),
        "PreToolUse": hook("cat > /dev/null"),
        "PostToolUse": hook("cat > /dev/null; echo '{\"decision\": \"block\", \"reason\": \"noted\"}'"),
        "Stop": hook("grep -q '\"stop_hook_active\": *true' || { echo 'once more' >&2; exit 2; }"),
    }});
    hooks.to_string()
}

/// A model that counts on until the tool has counted five, as far as the last result says.
fn counting() -> Script {
    Script::respond(|request| {
        let asked = request.asked();
        let number = |text: &str| text.split_whitespace().next()?.parse::<u32>().ok();
        let last = asked.results.last().and_then(|(_, text)| number(text));
        match last {
            Some(5..) => Reply::say("counted"),
            Some(_) | None => Reply::call("count", json!({"n": 1})),
        }
    })
}

#[test]
fn a_turn_with_hooks_and_a_small_window_is_killed_at_any_moment() {
    let server = ModelServer::start(counting()).unwrap();
    let base_url = server.base_url();
    let mut whole = 0;
    for n in 0..KILLS / 2 {
        let place = Place::new();
        let tools = place.counter("effectful");
        // Results that are worth leaving out.
        let text = std::fs::read_to_string(&tools).unwrap();
        let text = text.replace("< counter", "< counter && printf %01500d 0");
        std::fs::write(&tools, text).unwrap();
        std::fs::write(place.file("hooks.json"), hooks()).unwrap();
        let more = ["--json", "--tools", &tools, "--hooks", "hooks.json"];
        let provider = ["--provider", "openai-chat", "--base-url", &base_url];
        let words = ["run", "count", "--session", "s", "--window", "6400"];
        let run = [&words[..], &provider, &more].concat();
        if n == 0 {
            let clean = place.run(&run);
            assert_eq!(clean.code, 0, "{}", clean.err);
            assert!(clean.out.contains("\"kind\":\"Compacted\""), "the window is too large");
            whole = clean.out.lines().count() as u64;
            continue;
        }
        kill_after(&place, &run, mixed(n, whole), mixed(n + KILLS, 6_000));
        let resumed = place.run(&[&["resume", "s"], &more[..]].concat());
        let log = place.log("s");
        if !kinds(&log).contains(&"InputQueued") {
            continue;
        }
        assert_eq!(resumed.code, 0, "kill {n}: {}", resumed.err);
        assert_eq!(count(&log, "TurnSettled"), 1, "kill {n}");
        let verified = place.run(&["verify", "s"]);
        assert_eq!(verified.code, 0, "kill {n}: {}", verified.err);
        // What a hook has said is kept: whoever goes on does not ask it again.
        let said = |fact: &&Value| fact["body"]["context"] == "the branch is winch";
        assert_eq!(log.iter().filter(said).count(), 1, "kill {n}");
        let counted = place.counted();
        let distinct: BTreeSet<&String> = counted.iter().collect();
        assert_eq!(distinct.len(), counted.len(), "a call was counted twice");
        assert!(counted.len() >= 5, "kill {n}: {counted:?}");
    }
    assert_eq!(server.misses(), Vec::<String>::new());
}

/// Kills a run some microseconds after it has printed so many lines. Answers whether it had shown
/// the prompt as durable by then.
fn kill(place: &Place, session: &str, tools: &str, after_lines: u64, us: u64) -> bool {
    let words = ["run", PROMPT, "--json", "--tools", tools, "--session", session];
    kill_after(place, &words, after_lines, us)
}

fn kill_after(place: &Place, words: &[&str], after_lines: u64, us: u64) -> bool {
    let mut child = place.command(words).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen = false;
    for line in lines.by_ref().take(usize::try_from(after_lines).unwrap()) {
        seen |= line.unwrap().contains("\"kind\":\"InputQueued\"");
    }
    // Not a wait for something: the moment of the kill is the test's own input.
    std::thread::sleep(Duration::from_micros(us));
    child.kill().unwrap();
    child.wait().unwrap();
    seen
}
