//! Encrypted stores of the command: no plain text on the disk, the way on after a kill, and the
//! answer without the right key.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use common::{Done, Place};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const OTHER: &str = "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const STORE: [&str; 4] = ["--store", "file:state", "--encrypt-key", "env:KEY"];

fn with(place: &Place, key: &str, words: &[&str]) -> Done {
    common::done(place.command(words).env("KEY", key).output().unwrap())
}

/// Runs a command on the encrypted store.
fn on(place: &Place, key: &str, words: &[&str]) -> Done {
    with(place, key, &[words, &STORE[..]].concat())
}

fn ok(done: Done) -> Done {
    assert_eq!(done.code, 0, "{}\n{}", done.out, done.err);
    done
}

fn refused(done: &Done, word: &str) {
    assert_eq!(done.code, 5, "{}\n{}", done.out, done.err);
    assert!(done.err.contains(word) && done.out.is_empty(), "{}\n{}", done.out, done.err);
    assert!(!done.err.contains(KEY) && !done.err.contains(OTHER), "{}", done.err);
}

/// All files below folders, with their bytes.
fn files(folders: &[PathBuf]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = folders.to_vec();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => drop(all.insert(path.clone(), fs::read(path).unwrap())),
            }
        }
    }
    all
}

fn stored(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    files(&[place.file("state"), place.file("state.keys")])
}

fn holds(files: &BTreeMap<PathBuf, Vec<u8>>, word: &str) -> bool {
    files.values().any(|bytes| bytes.windows(word.len()).any(|part| part == word.as_bytes()))
}

fn keys(place: &Place) -> usize {
    fs::read_dir(place.file("state.keys").join("keys")).unwrap().count()
}

#[test]
fn a_session_is_encrypted_goes_on_after_a_kill_and_its_key_is_replaced_and_destroyed() {
    let place = Place::new();
    ok(on(&place, KEY, &["run", "run: seq 1 20000", "--session", "a"]));
    let mut child = place
        .command(
            &[
                &["run", r#"repeat 3: count {"n":1}"#, "--session", "k", "--json"][..],
                &["--tools", &place.counter("effectful")],
                &STORE,
            ]
            .concat(),
        )
        .env("KEY", KEY)
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines {
        if line.unwrap().contains("\"kind\":\"CallObserved\"") {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    ok(on(&place, KEY, &["resume", "k", "--tools", "tools.json"]));
    let log = ok(on(&place, KEY, &["log", "k"])).out;
    assert!(log.contains("repeat 3") && log.contains("TurnSettled"), "{log}");
    let log = ok(on(&place, KEY, &["log", "a"])).out;
    assert!(log.contains("seq 1 20000"), "{log}");
    let verified = ok(on(&place, KEY, &["verify"])).out;
    assert!(verified.contains("1 long output"), "{verified}");

    let files = stored(&place);
    assert!(files.len() > 3, "{:?}", files.keys());
    for word in ["seq 1 20000", "19998", "repeat 3", "CallObserved", KEY] {
        assert!(!holds(&files, word), "{word} is stored in plain text");
    }

    let both = ["rekey", "--new-key", "command:cat key"];
    fs::write(place.file("key"), OTHER).unwrap();
    let again = ok(on(&place, KEY, &both)).err;
    assert!(again.contains("keys encrypted again: 2"), "{again}");
    assert_eq!(ok(on(&place, OTHER, &["log", "a"])).out, log);
    refused(&on(&place, KEY, &["log", "a"]), "master key");
    assert_eq!(keys(&place), 2);
    ok(on(&place, OTHER, &["erase", "a", "--yes"]));
    assert_eq!(keys(&place), 1, "the key of an erased session is destroyed");
    ok(on(&place, OTHER, &["vacuum", "--erase-after", "0s"]));
    assert_eq!(keys(&place), 0);
}

#[test]
fn without_the_key_an_encrypted_store_is_refused_and_stays_as_it_is() {
    let place = Place::new();
    ok(on(&place, KEY, &["run", "hello", "--session", "a"]));
    let before = stored(&place);
    let plain = ["--store", "file:state"];
    for words in [
        &["run", "hello", "--session", "b"][..],
        &["resume", "a", "more"],
        &["log", "a"],
        &["verify"],
        &["erase", "a", "--yes"],
        &["vacuum"],
        &["rekey"],
    ] {
        refused(&on(&place, OTHER, words), "master key");
        let none = [words, &plain].concat();
        refused(&place.run(&none), "--encrypt-key");
        let none = [words, &plain, &["--encrypt-key", "none"]].concat();
        refused(&with(&place, KEY, &none), "--encrypt-key");
        let unset = [words, &plain, &["--encrypt-key", "env:UNSET"]].concat();
        refused(&place.run(&unset), "UNSET");
    }
    refused(&on(&place, "secret words", &["log", "a"]), "32 random bytes");
    let given = with(&place, KEY, &["log", "a", "--store", "file:state", "--encrypt-key", KEY]);
    assert!(given.code == 2 && !given.err.contains(KEY), "{}", given.err);
    assert_eq!(stored(&place), before);
    ok(on(&place, KEY, &["resume", "a", "more"]));
}

#[test]
fn a_plain_store_is_copied_and_never_mixed() {
    let place = Place::new();
    let plain = ["--store", "file:state"];
    ok(place.run(&[&["run", "hello", "--session", "a"], &plain[..]].concat()));
    let before = files(&[place.file("state")]);
    refused(&on(&place, KEY, &["run", "more", "--session", "b"]), "not encrypted");
    refused(&on(&place, KEY, &["log", "a"]), "not encrypted");
    assert_eq!(files(&[place.file("state")]), before);
    assert!(!place.file("state.keys").exists());

    let log = ok(place.run(&[&["log", "a"], &plain[..]].concat())).out;
    let copy = ["copy", "--from", "file:state", "--to", "file:new", "--to-key", "env:KEY"];
    ok(with(&place, KEY, &copy));
    let new = ["--store", "file:new", "--encrypt-key", "env:KEY"];
    assert_eq!(ok(with(&place, KEY, &[&["log", "a"], &new[..]].concat())).out, log);
    assert!(!holds(&files(&[place.file("new")]), "hello"));
    let back = ["copy", "--from", "file:new", "--from-key", "env:KEY", "--to", "file:back"];
    ok(with(&place, KEY, &back));
    assert_eq!(ok(place.run(&["log", "a", "--store", "file:back"])).out, log);
    let nodes = ["sessions", "--store", "nats://127.0.0.1:1/x", "--encrypt-key", "env:KEY"];
    let refused = with(&place, KEY, &nodes);
    assert_eq!(refused.code, 2, "{}", refused.err);
}

/// Writes the user's own default.
fn configure(place: &Place, source: &str) {
    let folder = place.file("home").join(".config/windlass");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("encryption.toml"), format!("key = \"{source}\"\n")).unwrap();
    fs::write(folder.join("master"), OTHER).unwrap();
}

fn is_encrypted(store: &Path) -> bool {
    store.with_extension("keys").is_dir()
}

#[test]
fn the_users_default_encrypts_and_no_tool_sees_the_key() {
    let place = Place::new();
    configure(&place, "file:master");
    ok(place.run(&["run", "hello", "--session", "a"]));
    assert!(is_encrypted(&place.stored("")));
    let log = ok(place.run(&["log", "a"])).out;
    assert!(log.contains("hello"), "{log}");
    let doctor = place.run(&["doctor"]);
    assert!(doctor.out.contains("encrypted") || doctor.err.contains("encrypted"), "{doctor:?}");
    configure(&place, "vault:x");
    assert_eq!(place.run(&["log", "a"]).code, 2);

    ok(on(&place, KEY, &["run", "run: env; cat /proc/$PPID/environ", "--session", "e"]));
    let log = ok(on(&place, KEY, &["log", "e"])).out;
    assert!(log.contains("CallObserved") && !log.contains(KEY), "{log}");
}
