//! Forking: `windlass fork` begins a session at a point of another one, both go on, and both verify.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

mod common;

use common::{Done, Place, lines};

/// Asks the demo for an output that is too long to be shown.
const LONG: &str = "run: seq 1 100000";

fn ok(done: Done) -> Done {
    assert_eq!(done.code, 0, "{}\n{}", done.out, done.err);
    done
}

fn last(place: &Place, session: &str) -> String {
    let log = ok(place.run(&["log", session])).out;
    lines(&log).len().to_string()
}

#[test]
fn a_session_is_forked_goes_on_twice_and_moves_like_any_other() {
    let place = Place::new();
    ok(place.run(&["run", LONG, "--session", "one"]));
    let at = last(&place, "one");
    let forked = ok(place.run(&["fork", "one", "--at", &at, "--as", "two"]));
    assert_eq!(forked.out, "two\n");
    let told = format!("session two continues one from {at}, with 1 long output or image");
    assert!(forked.err.contains(&told), "{}", forked.err);
    // Without a name it gets one.
    let named = ok(place.run(&["fork", "two", "--at", "1"])).out;
    assert_eq!(named.trim().len(), 26, "{named}");

    ok(place.run(&["resume", "one", "What is in this folder?"]));
    ok(place.run(&["resume", "two", "run: echo otherwise"]));
    for session in ["one", "two"] {
        ok(place.run(&["verify", session]));
        ok(place.run(&["replay", session, "--verify"]));
    }
    assert_ne!(last(&place, "one"), at);
    // Again, it is there.
    let again = ok(place.run(&["fork", "one", "--at", &at, "--as", "two"]));
    assert_eq!(again.out, "two\n");
    assert!(again.err.contains("already"), "{}", again.err);

    // The output is the fork's own, and goes where the fork goes.
    ok(place.run(&["erase", "one", "--yes"]));
    ok(place.run(&["verify", "two"]));
    ok(place.run(&["copy", "--from", &place.store_url(), "--to", "sled:there", "two"]));
    ok(place.run(&["verify", "two", "--store", "sled:there"]));
    let exported = ok(place.run(&["export", "two", "--with-outputs"])).out;
    std::fs::write(place.file("two.jsonl"), exported).unwrap();
    ok(place.run(&["import", "two.jsonl", "--store", "file:third"]));
    ok(place.run(&["verify", "two", "--store", "file:third"]));
    ok(place.run(&["replay", "two", "--verify", "--store", "file:third"]));
    ok(place.run(&["resume", "two", "What is in this folder?", "--store", "file:third"]));
}

#[test]
fn what_cannot_be_forked_is_told_with_the_nearest_points() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "one"]));
    // The answer is complete, and the turn ends next.
    let at = last(&place, "one").parse::<u64>().unwrap() - 1;
    let inside = place.run(&["fork", "one", "--at", "3"]);
    assert_eq!((inside.code, inside.out.as_str()), (2, ""));
    let nearest = format!("are 2 and {at}");
    assert!(inside.err.contains(&nearest), "{}", inside.err);
    for (session, seq, words) in [
        ("one", "0", "has no position 0"),
        ("one", "100000", "has no position 100000"),
        ("none", "1", "there is no session none"),
    ] {
        let refused = place.run(&["fork", session, "--at", seq, "--as", "two"]);
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains(words), "{}", refused.err);
    }
    let taken = place.run(&["fork", "one", "--at", "1", "--as", "one"]);
    assert_eq!(taken.code, 2, "{}", taken.err);
    assert!(taken.err.contains("exists already"), "{}", taken.err);
    // An input that waits is heard in the fork when it is said so.
    let forked = ok(place.run(&["fork", "one", "--at", "2", "--as", "two"]));
    assert!(forked.err.contains("1 input waits"), "{}", forked.err);
    let heard = ok(place.run(&["resume", "two"]));
    assert!(!heard.out.trim().is_empty(), "{}", heard.err);
    ok(place.run(&["replay", "two", "--verify"]));
}

#[test]
fn a_session_is_forked_in_a_turn_where_a_call_has_ended() {
    let place = Place::new();
    ok(place.run(&["run", "run: echo one", "--session", "one"]));
    let log = ok(place.run(&["log", "one"])).out;
    let facts = lines(&log);
    let observed = facts.iter().find(|fact| fact["kind"] == "CallObserved").unwrap();
    let at = observed["seq"].as_u64().unwrap();
    let running = place.run(&["fork", "one", "--at", &(at - 1).to_string()]);
    assert_eq!(running.code, 2, "{}", running.err);
    let nearest = format!("possible positions are 2 and {at}");
    assert!(running.err.contains(&nearest), "{}", running.err);
    ok(place.run(&["fork", "one", "--at", &at.to_string(), "--as", "two"]));
    let shown = ok(place.run(&["show", "two"]));
    assert!(shown.out.contains("the session was forked here"), "{}", shown.out);
    assert!(!ok(place.run(&["resume", "two", "hello"])).out.trim().is_empty());
    for session in ["one", "two"] {
        ok(place.run(&["verify", session]));
        ok(place.run(&["replay", session, "--verify"]));
    }
}

/// A fork that was killed has a name that nobody was told: `verify` names it, and both of what can be
/// done about it.
#[test]
fn verify_names_a_fork_that_is_not_complete() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "one"]));
    let at = last(&place, "one");
    let fork = ok(place.run(&["fork", "one", "--at", &at])).out.trim().to_owned();
    // As far as it would have come.
    ok(place.run(&["repair", &fork, "--truncate-at", "3"]));
    let advice = format!(
        "session {fork} is an incomplete fork of one: it has 3 of {at} facts. If nothing writes it \
         now, `windlass fork one --at {at} --as {fork}` completes it, and `windlass erase {fork} \
         --yes` removes it"
    );
    for session in [&[][..], &[fork.as_str()]] {
        let verified = place.run(&[&["verify"], session].concat());
        assert_eq!(verified.code, 5, "{}", verified.err);
        assert!(verified.err.contains(&advice), "{}", verified.err);
    }
    assert!(place.run(&["verify"]).out.contains("one: "), "the other session is verified too");
    ok(place.run(&["fork", "one", "--at", &at, "--as", &fork]));
    ok(place.run(&["verify"]));
    ok(place.run(&["repair", &fork, "--truncate-at", "3"]));
    ok(place.run(&["erase", &fork, "--yes"]));
    ok(place.run(&["verify"]));
}

#[test]
fn a_session_is_read_as_of_a_position() {
    let place = Place::new();
    ok(place.run(&["run", "run: echo one", "--session", "s"]));
    let whole = ok(place.run(&["log", "s"])).out;
    let story = ok(place.run(&["show", "s"])).out;
    let turns = ok(place.run(&["show", "s", "--turns"])).out;
    let at = last(&place, "s");
    ok(place.run(&["resume", "s", "run: echo two"]));
    assert_eq!(ok(place.run(&["log", "s", "--at", &at])).out, whole);
    assert_eq!(ok(place.run(&["show", "s", "--at", &at])).out, story);
    assert_eq!(ok(place.run(&["show", "s", "--turns", "--at", &at])).out, turns);
    // In the middle of a turn too, and from another position on.
    let middle = ok(place.run(&["log", "s", "--after", "2", "--at", "5"])).out;
    assert!(middle.lines().eq(whole.lines().skip(2).take(3)), "{middle}");
    assert!(story.starts_with(&ok(place.run(&["show", "s", "--at", "5"])).out));
    for at in ["0", "1000"] {
        for command in ["log", "show"] {
            let refused = place.run(&[command, "s", "--at", at]);
            assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{}", refused.err);
            assert!(refused.err.contains(&format!("no position {at}")), "{}", refused.err);
        }
    }
}
