//! Kill the process at any moment: the turn goes on where it stood, and no side effect is done
//! twice.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use common::{Place, kinds};

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
    let clean = place.run(&[
        "run",
        PROMPT,
        "--json",
        "--tools",
        &tools,
        "--session",
        "clean",
    ]);
    assert_eq!(clean.code, 0, "{}", clean.err);
    assert_eq!(place.counted().len(), 5);
    let whole = clean.out.lines().count() as u64;

    let mut turns = 1;
    let mut unknown = 0;
    for n in 0..KILLS {
        let session = format!("k{n}");
        let seen = kill(
            &place,
            &session,
            &tools,
            mixed(n, whole),
            mixed(n + KILLS, 6_000),
        );
        let resumed = place.run(&["resume", &session, "--tools", &tools]);
        let log = place.log(&session);
        if !kinds(&log).contains(&"InputQueued") {
            // The prompt was never durable, so nothing had been promised.
            assert_eq!(
                (seen, resumed.code),
                (false, 2),
                "kill {n}: {}",
                resumed.err
            );
            continue;
        }
        assert_eq!(resumed.code, 0, "kill {n}: {}", resumed.err);
        let ends = kinds(&log)
            .iter()
            .filter(|kind| **kind == "TurnSettled")
            .count();
        assert_eq!(ends, 1, "kill {n}");
        let verified = place.run(&["verify", &session]);
        assert_eq!(verified.code, 0, "kill {n}: {}", verified.err);
        turns += 1;
        let observed = log.iter().filter(|fact| fact["kind"] == "CallObserved");
        let lost = |fact: &&serde_json::Value| fact["body"]["observation"]["status"] == "unknown";
        unknown += observed.filter(lost).count();
    }
    let counted = place.counted();
    let distinct: BTreeSet<&String> = counted.iter().collect();
    assert_eq!(
        distinct.len(),
        counted.len(),
        "a call was counted twice: {counted:?}"
    );
    println!(
        "{turns} turns, {} calls counted, {unknown} ended unknown",
        counted.len()
    );
    // Each call was counted, or the log says that nobody knows.
    assert!(counted.len() <= 5 * turns && counted.len() + unknown >= 5 * turns);
    assert_eq!(place.run(&["verify"]).code, 0);
}

/// Kills a run some microseconds after it has printed so many lines. Answers whether it had shown
/// the prompt as durable by then.
fn kill(place: &Place, session: &str, tools: &str, after_lines: u64, us: u64) -> bool {
    let words = [
        "run",
        PROMPT,
        "--json",
        "--tools",
        tools,
        "--session",
        session,
    ];
    let mut child = place.command(&words).spawn().unwrap();
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
