//! Moving: a session that is begun in one store goes on in another, and it is one log all along.

#![expect(
    clippy::unwrap_used,
    reason = "it is all test code, also what its tests share"
)]

mod common;

use std::fs;

use common::{Done, Place, count, lines};
use windlass_testkit::nats::URL as NATS;
use windlass_testkit::postgres::URL as POSTGRES;

/// Asks the demo for an output that is too long to be shown.
const LONG: &str = "run: seq 1 100000";

fn ok(done: Done) -> Done {
    assert_eq!(done.code, 0, "{}\n{}", done.out, done.err);
    done
}

/// The chain that `verify` tells of a session, once it has said that it is in order.
fn chain(place: &Place, session: &str, store: &str) -> String {
    let verified = ok(place.run(&["verify", session, "--store", store])).out;
    let (_, chain) = verified.split_once("chain ").unwrap();
    chain.chars().take(64).collect()
}

fn log(place: &Place, session: &str, store: &str) -> String {
    ok(place.run(&["log", session, "--store", store])).out
}

/// The stores that a session goes through: those in folders, and those on servers that are there.
#[expect(clippy::print_stderr, reason = "a test says what it skips")]
fn stores() -> Vec<String> {
    let mut stores = vec!["sled:first".to_owned()];
    for (variable, end) in [(POSTGRES, "?schema=moving"), (NATS, "/moving")] {
        match std::env::var(variable) {
            Ok(url) => stores.push(format!("{}{end}", url.trim_end_matches('/'))),
            Err(_) => eprintln!("skipped: {variable} is not set, so no session moves through it"),
        }
    }
    stores.extend([
        "file:second".to_owned(),
        "sled:third".to_owned(),
        "file:fourth".to_owned(),
    ]);
    stores
}

/// A name of this run's own: a server may hold sessions of runs before.
fn name() -> String {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    format!("moved-{}-{}", std::process::id(), now.as_nanos())
}

#[test]
fn a_session_goes_on_in_each_store_that_it_is_copied_to_as_one_log() {
    let (place, stores, session) = (Place::new(), stores(), name());
    let begun = ["run", LONG, "--session", &session, "--store", &stores[0]];
    ok(place.run(&begun));
    for pair in stores.windows(2) {
        let (from, to) = (&pair[0], &pair[1]);
        let before = log(&place, &session, from);
        let copied = ok(place.run(&["copy", "--from", from, "--to", to, &session]));
        assert_eq!(log(&place, &session, to), before, "{from} to {to}");
        let one = chain(&place, &session, from);
        assert!(copied.out.contains(&one), "{}", copied.out);
        assert_eq!(chain(&place, &session, to), one, "{from} to {to}");
        // It goes on there, and what was said before is the beginning of it.
        let words = ["resume", &session, "What is in this folder?", "--store", to];
        ok(place.run(&words));
        let after = log(&place, &session, to);
        assert!(after.starts_with(&before) && after.len() > before.len());
        assert_ne!(chain(&place, &session, to), one);
    }
    let last = stores.last().unwrap();
    let whole = lines(&log(&place, &session, last));
    assert_eq!(count(&whole, "TurnSettled"), stores.len());
    let seqs = whole.iter().map(|fact| fact["seq"].as_u64().unwrap());
    assert!(seqs.eq(1..=whole.len() as u64));
    // Back to where it began: that store has the beginning, and gets the rest.
    let back = ok(place.run(&["copy", "--from", last, "--to", &stores[0], &session]));
    assert!(!back.out.contains(", 0 of them copied now"), "{}", back.out);
    assert_eq!(
        chain(&place, &session, &stores[0]),
        chain(&place, &session, last)
    );
}

#[test]
fn a_store_is_copied_whole_with_its_outputs_and_again_there_is_nothing_to_do() {
    let place = Place::new();
    for session in ["a", "b"] {
        ok(place.run(&["run", LONG, "--session", session, "--store", "file:here"]));
    }
    let copy = || place.run(&["copy", "--from", "file:here", "--to", "sled:there"]);
    let copied = ok(copy()).out;
    assert_eq!(copied.lines().count(), 2);
    assert_eq!(
        copied.matches(", 1 long output or image, chain").count(),
        2,
        "{copied}"
    );
    for session in ["a", "b"] {
        let verified = ok(place.run(&["verify", session, "--store", "sled:there"])).out;
        assert!(verified.contains("1 long output in order"), "{verified}");
    }
    let again = ok(copy()).out;
    assert_eq!(
        again.matches(", 0 of them copied now, chain").count(),
        2,
        "{again}"
    );
    // One that is another session of the same name is told and left alone; the other is copied.
    ok(place.run(&["run", "hello", "--session", "a", "--store", "file:other"]));
    let theirs = log(&place, "a", "file:other");
    let refused = place.run(&["copy", "--from", "file:here", "--to", "file:other"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("another session a"), "{}", refused.err);
    assert_eq!(log(&place, "a", "file:other"), theirs);
    assert_eq!(
        log(&place, "b", "file:other"),
        log(&place, "b", "file:here")
    );
}

#[test]
fn a_copy_of_what_is_not_there_makes_nothing() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "a", "--store", "file:here"]));
    let words = ["copy", "--from", "file:here", "--to", "file:there", "b"];
    let unknown = place.run(&words);
    assert_eq!(unknown.code, 2, "{}", unknown.err);
    assert_eq!(
        ok(place.run(&["sessions", "--store", "file:here"]))
            .out
            .lines()
            .count(),
        1
    );
    for words in [
        ["copy", "--from", "file:nowhere", "--to", "file:there"],
        ["copy", "--from", "file:here", "--to", "file:here"],
        ["copy", "--from", "file:here", "--to", "ftp:there"],
        ["copy", "--from", "memory:", "--to", "file:there"],
        ["copy", "--from", "file:here", "--to", "memory:"],
    ] {
        let refused = place.run(&words);
        assert_eq!(refused.code, 2, "{words:?}: {}", refused.err);
    }
    assert!(!place.file("nowhere").exists());
}

#[test]
fn an_export_takes_its_outputs_along_where_it_is_told_to() {
    let place = Place::new();
    ok(place.run(&["run", LONG, "--session", "s", "--store", "file:here"]));
    let plain = ok(place.run(&["export", "s", "--store", "file:here"])).out;
    let whole = ok(place.run(&["export", "s", "--with-outputs", "--store", "file:here"])).out;
    assert!(whole.starts_with(&plain) && whole.len() > plain.len() + 500_000);
    let import = |text: &str, store: &str| {
        fs::write(place.file("it.jsonl"), text).unwrap();
        place.run(&["import", "it.jsonl", "--store", store])
    };
    ok(import(&whole, "sled:whole"));
    let verified = ok(place.run(&["verify", "s", "--store", "sled:whole"])).out;
    assert!(verified.contains("1 long output in order"), "{verified}");
    assert_eq!(log(&place, "s", "sled:whole"), plain);
    // What was imported without is completed by an import with.
    ok(import(&plain, "file:later"));
    let verified = ok(place.run(&["verify", "s", "--store", "file:later"])).out;
    assert!(
        verified.contains("1 long output is not in this store"),
        "{verified}"
    );
    let again = import(&plain, "file:later");
    assert_eq!(again.code, 2, "{}", again.err);
    // Cut in the middle of an output, changed, or not of this log: told, and the rest can follow.
    let last = whole.lines().count() - 1;
    let cut: Vec<&str> = whole.lines().take(last).collect();
    let changed = whole.replacen(r#""base64":"MQ"#, r#""base64":"Mg"#, 1);
    let foreign = whole.replacen(r#"{"output":""#, r#"{"output":"0"#, 1);
    assert!(changed != whole && foreign != whole);
    for text in [cut.join("\n"), changed, foreign] {
        let refused = import(&text, "file:later");
        assert_eq!(refused.code, 5, "{}", refused.err);
        assert!(refused.err.contains("import again"), "{}", refused.err);
    }
    ok(import(&whole, "file:later"));
    let verified = ok(place.run(&["verify", "s", "--store", "file:later"])).out;
    assert!(verified.contains("1 long output in order"), "{verified}");
}

#[test]
fn a_session_is_erased_where_the_store_can_and_only_when_it_is_meant() {
    let place = Place::new();
    for store in ["file:here", "sled:there"] {
        ok(place.run(&["run", LONG, "--session", "s", "--store", store]));
        let asked = place.run(&["erase", "s", "--store", store]);
        let can = ok(place.run(&["doctor", "--store", store]))
            .out
            .contains("it erases sessions");
        assert_eq!(asked.code, if can { 2 } else { 5 }, "{}", asked.err);
        ok(place.run(&["verify", "s", "--store", store]));
        let erased = place.run(&["erase", "s", "--yes", "--store", store]);
        if !can {
            assert_eq!(erased.code, 5, "{}", erased.err);
            assert!(erased.err.contains("does not erase"), "{}", erased.err);
            ok(place.run(&["verify", "s", "--store", store]));
            continue;
        }
        ok(erased);
        assert_eq!(place.run(&["log", "s", "--store", store]).code, 2);
        let blobs = place.file(&format!("{}/blobs/s", &store[5..]));
        let left = fs::read_dir(blobs).map_or(0, Iterator::count);
        assert_eq!(left, 0);
        assert_eq!(
            place.run(&["erase", "s", "--yes", "--store", store]).code,
            2
        );
    }
}

#[test]
fn a_log_is_cut_off_where_a_person_says_and_what_is_cut_off_is_saved() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "s"]));
    let first = ok(place.run(&["log", "s"])).out;
    ok(place.run(&["resume", "s", "hello again"]));
    let whole = ok(place.run(&["log", "s"])).out;
    let (kept, at) = (first.lines().count(), first.lines().count().to_string());
    let repair = |more: &[&str]| {
        let words = [&["repair", "s", "--truncate-at", &at][..], more].concat();
        place.run(&words)
    };
    // Not onto a file that is there, not in another store, not what is not there.
    fs::write(place.file("mine"), "mine").unwrap();
    assert_eq!(repair(&["--save", "mine"]).code, 2);
    assert_eq!(fs::read_to_string(place.file("mine")).unwrap(), "mine");
    let nobody = place.run(&["repair", "t", "--truncate-at", "3"]);
    assert_eq!(nobody.code, 2, "{}", nobody.err);
    ok(place.run(&["copy", "--from", "file:.windlass", "--to", "sled:other"]));
    assert_eq!(repair(&["--store", "sled:other"]).code, 2);
    assert_eq!(ok(place.run(&["log", "s"])).out, whole);
    let done = ok(repair(&[]));
    let saved = format!("s-after-{at}.jsonl");
    assert!(done.err.contains(&saved), "{}", done.err);
    assert_eq!(ok(place.run(&["log", "s"])).out, first);
    let cut = fs::read_to_string(place.file(&saved)).unwrap();
    assert_eq!(format!("{first}{cut}"), whole);
    assert_eq!(lines(&cut).len() + kept, whole.lines().count());
    ok(place.run(&["resume", "s", "and once more"]));
    ok(place.run(&["verify", "s"]));
}

#[test]
fn no_password_of_a_store_is_ever_shown() {
    let place = Place::new();
    for url in [
        "postgres://agent:hush@127.0.0.1:1/db?patience_ms=300",
        "nats://agent:hush@127.0.0.1:1/place?timeout_ms=300",
        "redis://agent:hush@127.0.0.1:1",
    ] {
        for words in [
            vec!["sessions"],
            vec!["doctor"],
            vec!["run", "hello"],
            vec!["copy", "--from", url, "--to", "file:there"],
        ] {
            let mut command = place.command(&words);
            command.env("WINDLASS_STORE", url);
            let told = common::done(command.output().unwrap());
            assert_ne!(told.code, 0, "{url}: {words:?}");
            let all = format!("{}{}", told.out, told.err);
            assert!(!all.contains("hush"), "{all}");
        }
    }
    let mut help = place.command(&["sessions", "--help"]);
    help.env("WINDLASS_STORE", "postgres://agent:hush@127.0.0.1:1/db");
    let help = common::done(help.output().unwrap()).out;
    assert!(
        help.contains("WINDLASS_STORE") && !help.contains("hush"),
        "{help}"
    );
}
