//! What a session may do or take grows only by a word of the command.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Done, Place, count};
use serde_json::Value;

fn resume(place: &Place, more: &[&str]) -> Done {
    place.run(&[&["resume", "s", "hello"][..], more].concat())
}

/// The settings that a log's facts of this kind recorded.
fn settings(log: &[Value], kind: &str) -> Vec<Value> {
    let of_kind = log.iter().filter(|fact| fact["kind"] == kind);
    of_kind.map(|fact| fact["body"]["settings"].clone()).collect()
}

#[test]
fn a_flag_widens_a_limit_and_without_one_it_stays() {
    let place = Place::new();
    let first = ["--max-samples", "20", "--max-tokens", "100000"];
    let money = ["--max-cost", "1.00", "--price", "1,0.5,2", "--deadline", "60s"];
    let run = ["run", "hello", "--session", "s"];
    let run = place.run(&[&run[..], &first, &money].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    let flags: [(&[&str], &str, u64); 4] = [
        (&["--max-samples", "30"], "samples", 30),
        (&["--max-tokens", "200000"], "tokens", 200_000),
        (&["--max-cost", "2.00"], "cost_micros", 2_000_000),
        (&["--deadline", "90s"], "turn_ms", 90_000),
    ];
    for (flag, limit, wanted) in flags {
        let wider = resume(&place, flag);
        assert_eq!(wider.code, 0, "{flag:?}: {}", wider.err);
        let changed = settings(&place.log("s"), "SettingsChanged").pop().unwrap();
        assert_eq!(changed["limits"][limit], wanted, "{flag:?}");
    }
    let dearer = resume(&place, &["--price", "2,1,4"]);
    assert_eq!(dearer.code, 0, "{}", dearer.err);
    let log = place.log("s");
    assert_eq!(count(&log, "SettingsChanged"), 5);
    let kept = resume(&place, &[]);
    assert_eq!(kept.code, 0, "{}", kept.err);
    assert_eq!(count(&place.log("s"), "SettingsChanged"), 5);
}

#[test]
fn a_tool_that_is_said_to_change_less_is_refused_until_its_file_is_named() {
    let place = Place::new();
    let own = place.file("home/.config/windlass");
    std::fs::create_dir_all(&own).unwrap();
    let own = own.join("tools.json");
    std::fs::copy(place.counter("effectful"), &own).unwrap();
    let run = place.run(&["run", "hello", "--session", "s"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let before = place.log("s");
    std::fs::copy(place.counter("read_only"), &own).unwrap();
    // A word about something else is none about this.
    for more in [&[][..], &["--max-samples", "300"], &["--allow", "shell"]] {
        let refused = resume(&place, more);
        assert_eq!(refused.code, 2, "{more:?}: {}", refused.err);
        let words = "count (it was effectful and is now read-only)";
        assert!(refused.err.contains(words), "{}", refused.err);
        assert!(refused.err.contains("--tools FILE"), "{}", refused.err);
        assert_eq!(place.log("s"), before, "nothing was done");
    }
    let meant = resume(&place, &["--tools", own.to_str().unwrap()]);
    assert_eq!(meant.code, 0, "{}", meant.err);
    // The other way round nothing grows.
    std::fs::copy(place.counter("effectful"), &own).unwrap();
    let narrower = resume(&place, &[]);
    assert_eq!(narrower.code, 0, "{}", narrower.err);
}
