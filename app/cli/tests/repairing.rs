//! Repairing, erasing and upkeep: what a person does about a store that is damaged or has grown.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use common::{Done, Place, lines};

/// Asks the demo for an output that is too long to be shown.
const LONG: &str = "run: seq 1 100000";

fn ok(done: Done) -> Done {
    assert_eq!(done.code, 0, "{}\n{}", done.out, done.err);
    done
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
    ok(place.run(&["copy", "--from", &place.store_url(), "--to", "sled:other"]));
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

/// Changes one bit in the one segment of the store in the workspace, which has so many bytes.
fn hurt(place: &Place, at: impl FnOnce(usize) -> usize) {
    let segment = place.stored("lanes/0000/00000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let at = at(bytes.len());
    bytes[at] ^= 1;
    fs::write(segment, bytes).unwrap();
}

#[test]
fn a_damaged_log_is_repaired_and_all_that_is_sound_behind_the_damage_is_saved() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "s"]));
    ok(place.run(&["resume", "s", "hello again"]));
    let whole = ok(place.run(&["log", "s"])).out;
    let facts: Vec<&str> = whole.lines().collect();
    // In the second turn, so that others stand before it and behind it.
    hurt(&place, |bytes| bytes * 3 / 4);
    let refused = place.run(&["verify", "s"]);
    assert_eq!(refused.code, 5, "{}", refused.err);
    let (_, after) = refused.err.split_once("after position ").unwrap();
    let at: usize = after.split(':').next().unwrap().parse().unwrap();
    assert!(at > 0 && at < facts.len(), "{}", refused.err);
    let number = at.to_string();
    let done = ok(place.run(&["repair", "s", "--truncate-at", &number]));
    assert_eq!(ok(place.run(&["log", "s"])).out.lines().count(), at);
    // All behind the damaged unit is there, in its order, and that unit as bytes.
    let saved = fs::read_to_string(place.file(&format!("s-after-{at}.jsonl"))).unwrap();
    let behind = facts.iter().position(|fact| Some(*fact) == saved.lines().next());
    assert!(behind.is_some_and(|behind| behind > at), "{saved}");
    assert!(saved.lines().eq(facts[behind.unwrap()..].iter().copied()));
    let damaged = place.file(&format!("s-after-{at}.jsonl.damaged"));
    let lines = lines(&fs::read_to_string(&damaged).unwrap());
    assert_eq!(lines[0]["file"], "lanes/0000/00000001.seg");
    assert!(done.err.contains(".damaged"), "{}", done.err);
    for file in [place.file(&format!("s-after-{at}.jsonl")), damaged] {
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    ok(place.run(&["resume", "s", "and once more"]));
    ok(place.run(&["verify", "s"]));
}

/// A store with sessions `a` and `x`, of which all that `x` has was overwritten, and where that was.
fn overwritten(place: &Place) -> (usize, usize) {
    ok(place.run(&["run", "hello", "--session", "a"]));
    let segment = place.stored("lanes/0000/00000001.seg");
    let from = usize::try_from(fs::metadata(&segment).unwrap().len()).unwrap();
    ok(place.run(&["run", "hello", "--session", "x"]));
    let to = usize::try_from(fs::metadata(&segment).unwrap().len()).unwrap();
    ok(place.run(&["resume", "a", "hello again"]));
    let mut bytes = fs::read(&segment).unwrap();
    bytes[from..to].fill(b'#');
    fs::write(&segment, bytes).unwrap();
    (from, to)
}

/// The witness knows what was there, so the session is told by name and others go on.
#[test]
fn a_session_that_was_overwritten_is_told_by_name_and_its_loss_can_be_accepted() {
    let place = Place::new();
    let (from, _) = overwritten(&place);
    let name = format!("0000/00000001@{from}");
    for words in [vec!["verify"], vec!["copy", "--from", &place.store_url(), "--to", "file:there"]]
    {
        let told = place.run(&words);
        assert_eq!(told.code, 5, "{words:?}: {}", told.err);
        assert!(told.out.contains("a: "), "{}", told.out);
        assert!(told.err.contains("the log of x"), "{}", told.err);
        assert!(told.err.contains(&format!("repair --lost {name}")), "{}", told.err);
    }
    ok(place.run(&["run", "hello", "--session", "new"]));
    ok(place.run(&["resume", "a", "and again"]));
    assert_eq!(place.run(&["run", "hello", "--session", "x"]).code, 5);
    ok(place.run(&["erase", "x", "--yes"]));
    ok(place.run(&["verify"]));
    ok(place.run(&["run", "hello", "--session", "x"]));
}

/// Paths of files below a folder that contain a text.
fn containing(folder: &Path, text: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(containing(&path, text));
        } else if fs::read(&path).unwrap().windows(text.len()).any(|at| at == text.as_bytes()) {
            found.push(path);
        }
    }
    found
}

/// A process that began to erase was killed: `verify` tells it, and the same command finishes it.
#[test]
fn an_interrupted_erasure_is_told_and_finished() {
    let place = Place::new();
    let secret = "run: echo a-secret-of-the-session; seq 1 100000";
    ok(place.run(&["run", secret, "--session", "s"]));
    ok(place.run(&["run", "hello", "--session", "other"]));
    fs::create_dir_all(place.stored("erasing")).unwrap();
    fs::write(place.stored("erasing/s"), "").unwrap();
    assert!(!containing(&place.stored(""), "a-secret-of-the-session").is_empty());
    let told = place.run(&["verify"]);
    assert_eq!(told.code, 5, "{}", told.err);
    assert!(told.err.contains("windlass erase s --yes"), "{}", told.err);
    assert!(told.out.starts_with("other: "), "{}", told.out);
    ok(place.run(&["erase", "s", "--yes"]));
    let left = containing(&place.stored(""), "a-secret-of-the-session");
    assert!(left.is_empty(), "{left:?}");
    ok(place.run(&["verify"]));
    assert_eq!(place.run(&["erase", "s", "--yes"]).code, 2);
}

/// A repair was killed after it saved what it removes: nothing goes on before it is finished.
#[test]
fn an_interrupted_repair_is_told_and_finished() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "s"]));
    ok(place.run(&["resume", "s", "hello again"]));
    let whole = ok(place.run(&["log", "s"])).out;
    let saved = place.file("saved");
    fs::write(&saved, "what was saved").unwrap();
    fs::create_dir_all(place.stored("repairs")).unwrap();
    fs::write(place.stored("repairs/s"), format!("10\n{}", saved.display())).unwrap();
    for words in [&["verify", "s"][..], &["verify"], &["resume", "s", "and again"]] {
        let told = place.run(words);
        assert_eq!(told.code, 5, "{words:?}: {}", told.err);
        assert!(told.err.contains("repair s --truncate-at 10"), "{words:?}: {}", told.err);
    }
    assert_eq!(ok(place.run(&["log", "s"])).out, whole);
    let done = ok(place.run(&["repair", "s", "--truncate-at", "10"]));
    assert!(done.err.contains("interrupted repair"), "{}", done.err);
    assert_eq!(fs::read_to_string(&saved).unwrap(), "what was saved");
    assert_eq!(ok(place.run(&["log", "s"])).out.lines().count(), 10);
    ok(place.run(&["verify"]));
}

/// A segment that is gone takes whole sessions with it, and their loss is accepted at once.
#[test]
fn a_segment_that_is_gone_is_told_by_session_and_given_up() {
    let place = Place::new();
    for session in ["a", "b"] {
        ok(place.run(&["run", "hello", "--session", session]));
    }
    fs::remove_file(place.stored("lanes/0000/00000001.seg")).unwrap();
    let told = place.run(&["verify"]);
    assert_eq!(told.code, 5, "{}", told.err);
    for session in ["a", "b"] {
        assert!(told.err.contains(&format!("the log of {session} ")), "{}", told.err);
        assert_eq!(place.run(&["run", "hello", "--session", session]).code, 5);
    }
    ok(place.run(&["repair", "--lost", "0000/00000001@64"]));
    ok(place.run(&["verify"]));
    ok(place.run(&["run", "hello", "--session", "a"]));
}

/// The only unit of a session is overwritten, as if it had never been there, and no witness knows it.
#[test]
fn a_session_that_damage_hides_is_told_and_its_loss_can_be_accepted() {
    let place = Place::new();
    let (from, to) = overwritten(&place);
    fs::remove_dir_all(place.stored("witness")).unwrap();

    let name = format!("0000/00000001@{from}");
    for words in [vec!["verify"], vec!["copy", "--from", &place.store_url(), "--to", "file:there"]]
    {
        let told = place.run(&words);
        assert_eq!(told.code, 5, "{words:?}: {}", told.err);
        assert!(told.out.contains("a: "), "{}", told.out);
        let what_to_do = format!("repair --lost {name}");
        assert!(told.err.contains(&what_to_do), "{}", told.err);
    }
    // Nobody can say that this name had no facts there.
    let refused = place.run(&["run", "hello", "--session", "new"]);
    assert_eq!(refused.code, 5, "{}", refused.err);
    for wrong in [
        &["repair", "--lost", "0000/00000001@64"][..],
        &["repair", "--lost", "here"],
        &["repair", "a", "--lost", &name],
        &["repair"],
    ] {
        assert_ne!(place.run(wrong).code, 0, "{wrong:?}");
    }
    let done = ok(place.run(&["repair", "--lost", &name, "--save", "lost"]));
    assert!(done.err.contains("lost.damaged"), "{}", done.err);
    let saved = lines(&fs::read_to_string(place.file("lost.damaged")).unwrap());
    assert_eq!(saved[0]["at"], from);
    let all = "IyMj".repeat((to - from) / 3);
    assert!(saved[0]["base64"].as_str().unwrap().starts_with(&all));
    ok(place.run(&["verify"]));
    for session in ["new", "x"] {
        ok(place.run(&["run", "hello", "--session", session]));
    }
    ok(place.run(&["verify"]));
}

#[test]
fn a_session_that_is_damaged_from_its_beginning_is_erased() {
    let place = Place::new();
    ok(place.run(&["run", LONG, "--session", "s"]));
    ok(place.run(&["run", "hello", "--session", "other"]));
    // In the first unit, behind the 64 bytes before it and the 60 of its head.
    hurt(&place, |_| 140);
    let repair = place.run(&["repair", "s", "--truncate-at", "1"]);
    assert_eq!(repair.code, 5, "{}", repair.err);
    assert!(repair.err.contains("erase"), "{}", repair.err);
    assert_eq!(place.run(&["erase", "s"]).code, 2);
    ok(place.run(&["erase", "s", "--yes"]));
    assert!(!place.stored("blobs/s").exists());
    assert_eq!(place.run(&["log", "s"]).code, 2);
    assert_eq!(place.run(&["erase", "s", "--yes"]).code, 2);
    let verified = ok(place.run(&["verify"])).out;
    assert!(verified.starts_with("other: "), "{verified}");
    ok(place.run(&["run", "hello", "--session", "s"]));
}

#[test]
fn settled_sessions_that_are_old_enough_are_erased_with_their_outputs() {
    let place = Place::new();
    for session in ["a", "b"] {
        ok(place.run(&["run", LONG, "--session", session]));
    }
    let done = ok(place.run(&["vacuum", "--erase-after", "90days"]));
    assert!(done.err.contains("erased: 0"), "{}", done.err);
    assert_eq!(ok(place.run(&["sessions"])).out.lines().count(), 2);
    assert_eq!(place.run(&["vacuum", "--erase-after", "old"]).code, 2);
    let done = ok(place.run(&["vacuum", "--erase-after", "0s"]));
    assert!(done.err.contains("erased: 2"), "{}", done.err);
    assert_eq!(ok(place.run(&["sessions"])).out, "");
    for session in ["a", "b"] {
        assert!(!place.stored("blobs").join(session).exists());
    }
    let elsewhere = place.run(&["vacuum", "--store", "file:nowhere"]);
    assert_eq!(elsewhere.code, 2, "{}", elsewhere.err);
}

/// What is printed of a damaged log is the part before the damage, and the end of the process says
/// that it is not all.
#[test]
fn what_stands_before_the_damage_is_printed_and_exported() {
    let place = Place::new();
    ok(place.run(&["run", "hello", "--session", "s"]));
    ok(place.run(&["resume", "s", "hello again"]));
    ok(place.run(&["resume", "s", "and once more"]));
    let whole = ok(place.run(&["log", "s"])).out;
    let story = ok(place.run(&["show", "s"])).out;
    hurt(&place, |bytes| bytes * 3 / 4);
    let damaged = |words: &[&str]| {
        let done = place.run(words);
        assert_eq!(done.code, 5, "{words:?}: {}", done.err);
        assert!(done.err.contains("after position "), "{words:?}: {}", done.err);
        assert!(done.err.contains("repair --truncate-at"), "{words:?}: {}", done.err);
        done
    };
    let log = damaged(&["log", "s"]);
    let sound = log.out.lines().count();
    let position = format!("after position {sound}:");
    assert!(sound > 0 && whole.starts_with(&log.out), "{}", log.out);
    assert!(log.err.contains(&position), "{}", log.err);
    let shown = damaged(&["show", "s"]).out;
    assert!(!shown.is_empty() && story.starts_with(&shown), "{shown}");
    assert!(!damaged(&["show", "s", "--turns"]).out.is_empty());
    let after = damaged(&["log", "s", "--after", "2"]).out;
    assert_eq!(log.out.lines().skip(2).collect::<Vec<_>>(), after.lines().collect::<Vec<_>>());
    // The export is a log like any other, as far as it goes.
    let exported = damaged(&["export", "s", "--with-outputs"]);
    assert!(exported.err.contains(&format!("{sound} facts")), "{}", exported.err);
    fs::write(place.file("part.jsonl"), &exported.out).unwrap();
    let there = ["--store", "file:there"];
    ok(place.run(&[&["import", "part.jsonl"][..], &there].concat()));
    assert_eq!(ok(place.run(&[&["log", "s"][..], &there].concat())).out, log.out);
    ok(place.run(&[&["verify", "s"][..], &there].concat()));
}

/// Copies a folder of files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let there = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &there),
            false => drop(fs::copy(entry.path(), there).unwrap()),
        }
    }
}

/// A database that was set back lacks what the head index knows of: no session may go on, and what is
/// left is printed.
#[test]
fn a_database_that_was_set_back_is_printed_as_far_as_it_goes() {
    let place = Place::new();
    let store = ["--store", "sled:st"];
    let run = |words: &[&str]| place.run(&[words, &store[..]].concat());
    ok(run(&["run", "hello", "--session", "s"]));
    ok(run(&["run", "hello", "--session", "t"]));
    let first = ok(run(&["log", "s"])).out;
    let other = ok(run(&["log", "t"])).out;
    copy(&place.file("st/db"), &place.file("before"));
    ok(run(&["resume", "s", "hello again"]));
    fs::remove_dir_all(place.file("st/db")).unwrap();
    copy(&place.file("before"), &place.file("st/db"));
    for (session, log) in [("s", &first), ("t", &other)] {
        let done = run(&["log", session]);
        assert_eq!((done.code, &done.out), (5, log), "{}", done.err);
        assert!(done.err.contains("damaged"), "{}", done.err);
        let shown = run(&["show", session]);
        assert!(shown.code == 5 && !shown.out.is_empty(), "{}", shown.err);
        let exported = run(&["export", session]);
        assert_eq!(exported.code, 5, "{}", exported.err);
        assert_eq!(exported.out.lines().count(), log.lines().count() + 1);
    }
    for words in [&["resume", "t", "hello again"][..], &["run", "hello", "--session", "u"]] {
        let done = run(words);
        assert_eq!(done.code, 5, "{}", done.err);
    }
}
