//! Rewinding: `windlass rewind` returns a session to an earlier point, and the log stays whole.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

mod common;

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
    assert!(none.err.contains("has 0 turns"), "{}", none.err);

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
        (&["rewind", "one", "--to", "100000"], "cannot rewind to 100000"),
        (&["rewind", "one"], "--to"),
    ] {
        let refused = place.run(arguments);
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains(words), "{}", refused.err);
    }
}
