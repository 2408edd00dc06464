//! Moving: a session that is begun in one store goes on in another, and it is one log all along.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

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
    stores.extend(["file:second".to_owned(), "sled:third".to_owned(), "file:fourth".to_owned()]);
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
    assert_eq!(chain(&place, &session, &stores[0]), chain(&place, &session, last));
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
    assert_eq!(copied.matches(", 1 long output or image, chain").count(), 2, "{copied}");
    for session in ["a", "b"] {
        let verified = ok(place.run(&["verify", session, "--store", "sled:there"])).out;
        assert!(verified.contains("1 long output in order"), "{verified}");
    }
    let again = ok(copy()).out;
    assert_eq!(again.matches(", 0 of them copied now, chain").count(), 2, "{again}");
    // One that is another session of the same name is told and left alone; the other is copied.
    ok(place.run(&["run", "hello", "--session", "a", "--store", "file:other"]));
    let theirs = log(&place, "a", "file:other");
    let refused = place.run(&["copy", "--from", "file:here", "--to", "file:other"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("another session a"), "{}", refused.err);
    assert_eq!(log(&place, "a", "file:other"), theirs);
    assert_eq!(log(&place, "b", "file:other"), log(&place, "b", "file:here"));
}

#[test]
fn a_copy_of_what_is_not_there_makes_nothing() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "a", "--store", "file:here"]));
    let words = ["copy", "--from", "file:here", "--to", "file:there", "b"];
    let unknown = place.run(&words);
    assert_eq!(unknown.code, 2, "{}", unknown.err);
    assert_eq!(ok(place.run(&["sessions", "--store", "file:here"])).out.lines().count(), 1);
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
    let facts = log(&place, "s", "file:here");
    assert!(plain.starts_with(r#"{"export":1,"session":"s","facts":"#));
    assert!(plain.ends_with(&format!("\"}}\n{facts}")));
    assert!(whole.contains(&format!("\"outputs\":1}}\n{facts}{{\"output\"")));
    assert!(whole.len() > plain.len() + 500_000);
    let import = |text: &str, store: &str| {
        fs::write(place.file("it.jsonl"), text).unwrap();
        place.run(&["import", "it.jsonl", "--store", store])
    };
    ok(import(&whole, "sled:whole"));
    let verified = ok(place.run(&["verify", "s", "--store", "sled:whole"])).out;
    assert!(verified.contains("1 long output in order"), "{verified}");
    assert_eq!(log(&place, "s", "sled:whole"), facts);
    // What was imported without is completed by an import with.
    ok(import(&plain, "file:later"));
    let verified = ok(place.run(&["verify", "s", "--store", "file:later"])).out;
    assert!(verified.contains("1 long output is not in this store"), "{verified}");
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

/// Whatever is changed in an export, nothing of it is written.
#[test]
fn an_import_is_what_was_exported_or_nothing_is_written() {
    let place = Place::new();
    ok(place.run(&["run", "say hello", "--session", "s", "--store", "file:here"]));
    let exported = ok(place.run(&["export", "s", "--store", "file:here"])).out;
    let lines: Vec<&str> = exported.lines().collect();
    let import = |text: &str, store: &str| {
        fs::write(place.file("it.jsonl"), text).unwrap();
        place.run(&["import", "it.jsonl", "--store", store])
    };
    // A time that nothing else of the log depends on, so it fits together as well as before.
    let (_, ts) = lines[1].split_once(r#""ts":"#).unwrap();
    let ts = &ts[..13];
    let time: u64 = ts.parse().unwrap();
    let changed = exported.replacen(ts, &(time - 1).to_string(), 1);
    let spaced = exported.replacen(r#""body":{"#, r#""body": {"#, 1);
    let cut = lines[..lines.len() - 1].join("\n");
    let (facts, newer) = (lines[1..].join("\n"), exported.replacen(":1,", ":2,", 1));
    let other = exported.replacen(r#""session":"s""#, r#""session":"t""#, 1);
    let headless = facts.replacen(r#""body":{"#, r#""body": {"#, 1);
    for (text, says) in [
        (&changed, "is not what was exported"),
        (&spaced, "not in exported form"),
        (&cut, "is not what was exported"),
        (&other, "is not what was exported"),
        (&newer, "version 2"),
        (&headless, "not in exported form"),
    ] {
        assert!(*text != exported && *text != facts);
        let refused = import(text, "file:there");
        assert_eq!(refused.code, 2, "{says}: {}", refused.err);
        assert!(refused.err.contains(says), "{says}: {}", refused.err);
        assert!(refused.err.contains("Nothing was written"), "{}", refused.err);
        assert!(!place.file("there").exists(), "{says}");
    }
    // Without its first line, as earlier versions wrote it, it is read, and what that means is said.
    let older = ok(import(&facts, "file:older"));
    assert!(older.err.contains("has no chain"), "{}", older.err);
    let whole = ok(import(&exported, "file:whole"));
    assert!(!whole.err.contains("has no chain"), "{}", whole.err);
    let one = chain(&place, "s", "file:here");
    assert!(whole.err.contains(&one), "{}", whole.err);
    for store in ["file:older", "file:whole"] {
        assert_eq!(chain(&place, "s", store), one, "{store}");
    }
}

/// What comes through a pipe can be read once.
#[test]
fn what_comes_through_a_pipe_is_checked_whole_too() {
    use std::io::Write as _;
    use std::process::Stdio;
    let place = Place::new();
    ok(place.run(&["run", LONG, "--session", "s", "--store", "file:here"]));
    let exported = ok(place.run(&["export", "s", "--with-outputs", "--store", "file:here"])).out;
    let import = |text: &str| {
        let mut command = place.command(&["import", "--store", "sled:there"]);
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // It may be refused before all of it is read.
        let _ = input.write_all(text.as_bytes());
        drop(input);
        common::done(child.wait_with_output().unwrap())
    };
    let settled = exported.find("TurnSettled").unwrap();
    let cut = &exported[..exported[..settled].rfind('\n').unwrap()];
    let refused = import(cut);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("is not what was exported"), "{}", refused.err);
    assert!(!place.file("there").exists());
    ok(import(&exported));
    let again = ["export", "s", "--with-outputs", "--store", "sled:there"];
    assert_eq!(ok(place.run(&again)).out, exported);
}

/// An image of an input is held to its name as a long output is.
#[test]
fn an_image_that_is_not_what_was_kept_is_found() {
    use std::sync::Arc;
    use windlass_engine::core::{Fact, Image, ImageMedia};
    use windlass_engine::ports::{BlobStore as _, LogStore as _, codec};
    use windlass_file::{FileBlobs, FileStore};
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "s", "--store", "file:here"]));
    let mut facts = Vec::new();
    for line in log(&place, "s", "file:here").lines() {
        facts.push(codec::decode(line.as_bytes()).unwrap());
        if matches!(facts.last().unwrap().fact, Fact::InputQueued(_)) {
            break;
        }
    }
    let folder = place.file("there");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let name = runtime.block_on(async {
        let store = FileStore::open(folder.clone()).unwrap();
        let blobs = FileBlobs::new(folder.clone());
        let id = facts[0].session.clone();
        let mut writer = blobs.begin(&id).await.unwrap();
        writer.write(b"not really an image").await.unwrap();
        let kept = writer.finish().await.unwrap();
        for sha256 in [kept.sha256.clone(), "0".repeat(64)] {
            let Fact::InputQueued(queued) = &mut facts.last_mut().unwrap().fact else {
                panic!("it is the input");
            };
            queued.images.push(Image { media: ImageMedia::Png, sha256, bytes: kept.bytes });
        }
        let facts: Vec<_> = facts.into_iter().map(Arc::new).collect();
        let claim = store.claim(&id).await.unwrap();
        let appended = store.append(&id, claim.epoch, claim.last, &facts).await;
        appended.unwrap();
        store.release(&id, claim.epoch).await.unwrap();
        kept.sha256
    });
    let verified = ok(place.run(&["verify", "s", "--store", "file:there"])).out;
    let told = ", 1 image in order, 1 image is not in this store";
    assert!(verified.contains(told), "{verified}");
    let file = folder.join("blobs/s").join(name);
    let mut bytes = fs::read(&file).unwrap();
    bytes[0] ^= 1;
    fs::write(&file, bytes).unwrap();
    let damaged = place.run(&["verify", "s", "--store", "file:there"]);
    assert_eq!(damaged.code, 5, "{} {}", damaged.out, damaged.err);
}

#[test]
fn a_session_is_erased_where_the_store_can_and_only_when_it_is_meant() {
    let place = Place::new();
    for store in ["file:here", "sled:there"] {
        ok(place.run(&["run", LONG, "--session", "s", "--store", store]));
        let asked = place.run(&["erase", "s", "--store", store]);
        let can = ok(place.run(&["doctor", "--store", store])).out.contains("it erases sessions");
        assert_eq!(asked.code, if can { 2 } else { 5 }, "{}", asked.err);
        ok(place.run(&["verify", "s", "--store", store]));
        let erased = place.run(&["erase", "s", "--yes", "--store", store]);
        if !can {
            assert_eq!(erased.code, 5, "{}", erased.err);
            assert!(erased.err.contains("cannot erase"), "{}", erased.err);
            ok(place.run(&["verify", "s", "--store", store]));
            continue;
        }
        ok(erased);
        assert_eq!(place.run(&["log", "s", "--store", store]).code, 2);
        let blobs = place.file(&format!("{}/blobs/s", &store[5..]));
        let left = fs::read_dir(blobs).map_or(0, Iterator::count);
        assert_eq!(left, 0);
        assert_eq!(place.run(&["erase", "s", "--yes", "--store", store]).code, 2);
    }
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
    assert!(help.contains("WINDLASS_STORE") && !help.contains("hush"), "{help}");
}

/// The log as a release of format 1.9 writes it: three of its facts have fields that this release
/// does not know.
fn newer(log: &str) -> String {
    let added = [
        ("InputQueued", r#""priority":1.0e2,"#),
        ("SampleEnded", r#""billed":{"by":["x",null]},"#),
        ("TurnSettled", r#""note":"\u0041","#),
    ];
    let line = |line: &str| {
        let field = added.iter().find(|(kind, _)| line.contains(&format!(r#""kind":"{kind}""#)));
        let Some((_, field)) = field else {
            return line.to_owned();
        };
        let line = line.replacen(r#"{"v":1,"#, r#"{"v":1,"minor":9,"#, 1);
        line.replacen(r#""body":{"#, &format!(r#""body":{{{field}"#), 1)
    };
    let lines: Vec<String> = log.split_inclusive('\n').map(line).collect();
    lines.concat()
}

#[test]
fn what_a_newer_minor_version_added_is_imported_copied_and_exported_unchanged() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "a", "--store", "file:here"]));
    let written = log(&place, "a", "file:here");
    let text = newer(&written);
    assert_eq!(text.matches(r#""minor":9,"#).count(), 3, "{text}");
    fs::write(place.file("newer.jsonl"), &text).unwrap();
    ok(place.run(&["import", "newer.jsonl", "--store", "file:first"]));
    assert_eq!(log(&place, "a", "file:first"), text);
    ok(place.run(&["copy", "--from", "file:first", "--to", "sled:second", "a"]));
    assert_eq!(log(&place, "a", "sled:second"), text);
    let exported = ok(place.run(&["export", "a", "--store", "sled:second"])).out;
    fs::write(place.file("exported.jsonl"), &exported).unwrap();
    ok(place.run(&["import", "exported.jsonl", "--store", "file:third"]));
    assert_eq!(chain(&place, "a", "file:third"), chain(&place, "a", "file:first"));
    // This release goes on with it, and leaves what was there.
    ok(place.run(&["resume", "a", "And now?", "--store", "file:third"]));
    assert!(log(&place, "a", "file:third").starts_with(&text));
}

#[test]
fn a_kind_of_a_newer_version_is_refused_with_the_version_to_use() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "a", "--store", "file:here"]));
    let text = newer(&log(&place, "a", "file:here"));
    let text = text.replace(r#""kind":"SampleEnded""#, r#""kind":"SampleBilled""#);
    fs::write(place.file("newer.jsonl"), text).unwrap();
    let refused = place.run(&["import", "newer.jsonl", "--store", "file:there"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    let words = "use a release that reads format 1.9";
    assert!(refused.err.contains("SampleBilled") && refused.err.contains(words), "{}", refused.err);
}
