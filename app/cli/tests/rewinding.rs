//! Rewinding: `windlass rewind` returns a session to an earlier point, and the log stays whole.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

mod common;

use std::io::{BufRead as _, BufReader};

use common::{Done, Place, lines};

fn ok(done: Done) -> Done {
    assert_eq!(done.code, 0, "{}\n{}", done.out, done.err);
    done
}

fn last(place: &Place) -> usize {
    lines(&ok(place.run(&["log", "one"])).out).len()
}

#[test]
fn a_session_returns_to_before_its_last_turns_and_goes_on() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "one"]));
    let many = place.run(&["rewind", "one", "--turns", "2"]);
    assert_eq!(many.code, 2, "{}", many.err);
    let words = "the conversation of session one has 1 turn; --turns N is at most that";
    assert!(many.err.contains(words), "{}", many.err);
    let first = last(&place);
    ok(place.run(&["resume", "one", "run: touch made"]));
    ok(place.run(&["resume", "one", "What is in this folder?"]));
    let all = last(&place);

    let rewound = ok(place.run(&["rewind", "one", "--turns", "2"]));
    assert_eq!(rewound.out.trim(), (first + 1).to_string());
    assert!(rewound.err.contains("effects of rewound calls remain"), "{}", rewound.err);
    assert!(place.file("made").exists(), "files stay");
    assert_eq!(last(&place), all + 1, "the log stays whole");
    let again = ok(place.run(&["rewind", "one", "--turns", "1"]));
    assert_eq!(again.out.trim(), "2", "only the first turn was left");
    let none = place.run(&["rewind", "one", "--turns", "1"]);
    assert_eq!(none.code, 2, "{}", none.err);
    assert!(none.err.contains("has no turn to rewind"), "{}", none.err);
    assert!(none.err.contains("`windlass fork one --at SEQ`"), "{}", none.err);

    ok(place.run(&["resume", "one", "hello again"]));
    let shown = ok(place.run(&["show", "one"])).out;
    assert!(shown.contains("[rewound] user, with environment: hello\n"), "{shown}");
    assert!(shown.contains("\nuser, with environment: hello again\n"), "{shown}");
    assert!(shown.contains("the conversation was rewound to 2"), "{shown}");
    ok(place.run(&["verify", "one"]));
    ok(place.run(&["replay", "one", "--verify"]));
}

#[test]
fn what_cannot_be_rewound_is_told_with_the_nearest_points() {
    let place = Place::new();
    ok(place.run(&["run", "run: echo one", "--session", "one"]));
    let log = lines(&ok(place.run(&["log", "one"])).out);
    let seq = |kind: &str| {
        let fact = log.iter().find(|fact| fact["kind"] == kind).unwrap();
        fact["seq"].as_u64().unwrap()
    };
    let observed = seq("CallObserved");
    let inside = (seq("CallStarted")).to_string();
    let refused = place.run(&["rewind", "one", "--to", &inside]);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    let nearest = format!("positions are 2 and {observed}");
    assert!(refused.err.contains(&nearest), "{}", refused.err);
    let point = observed.to_string();
    assert_eq!(ok(place.run(&["rewind", "one", "--to", &point])).out.trim(), point);
    let there = ok(place.run(&["rewind", "one", "--to", &(log.len() + 1).to_string()]));
    assert!(there.err.contains("already"), "{}", there.err);
    for (arguments, words) in [
        (&["rewind", "none", "--to", "1"][..], "there is no session none"),
        (&["rewind", "one", "--to", "100000"], "session one has no position 100000"),
        (&["rewind", "one", "--to", "0"], "session one has no position 0"),
        (&["rewind", "one"], "--to"),
    ] {
        let refused = place.run(arguments);
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains(words), "{}", refused.err);
    }
}

#[test]
fn each_line_of_what_was_rewound_is_marked_and_what_stands_is_not() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "one"]));
    ok(place.run(&["resume", "one", "two\nlines"]));
    ok(place.run(&["rewind", "one", "--turns", "1"]));
    ok(place.run(&["resume", "one", "two\nothers"]));
    let shown = ok(place.run(&["show", "one"])).out;
    for line in [
        "\n[rewound] user, with environment: two\n[rewound] lines\n",
        "\nuser, with environment: two\nothers\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let turns = ok(place.run(&["show", "one", "--turns"])).out;
    let (kept, rewound): (Vec<&str>, Vec<&str>) =
        turns.lines().partition(|line| !line.starts_with("[rewound] "));
    assert_eq!(kept.iter().filter(|line| line.starts_with("turn ")).count(), 2, "{turns}");
    assert!(rewound.len() > 1 && rewound[1].starts_with("[rewound]   said: "), "{turns}");
    let json = lines(&ok(place.run(&["show", "one", "--turns", "--json"])).out);
    assert_eq!(json.len(), 3, "objects have no marks");
    assert!(!ok(place.run(&["show", "one", "--cache"])).out.contains("[rewound]"));
}

#[test]
fn a_session_whose_turn_is_open_is_continued_first_or_forked() {
    let place = Place::new();
    let command = ["run", "run: sleep 5", "--session", "one", "--json"];
    let mut child = place.command(&command).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    while !out.next().unwrap().unwrap().contains("CallStarted") {}
    child.kill().unwrap();
    child.wait().unwrap();
    let refused = place.run(&["rewind", "one", "--turns", "1"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    let words = "is open: `windlass resume one` continues it; rewind afterwards, or fork";
    assert!(refused.err.contains(words), "{}", refused.err);
}
