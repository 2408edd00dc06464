//! The command as a program of one's own: its store, provider and tool work in all subcommands, and
//! help and errors name them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use common::server::Server;
use common::{Done, Place, done};

const STORE: &str = "journal:state";

/// Returns the program of the example. Cargo builds it with the tests of the package, unless one of
/// them is selected.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(|deps| deps.parent()).unwrap();
    let path = built.join("examples/own_adapters");
    let advice = "build it: cargo build -p windlass-cli --examples --all-features";
    assert!(path.is_file(), "{} does not exist; {advice}", path.display());
    path
}

/// A command of the program in the clean environment of the place.
fn command(place: &Place, words: &[&str]) -> Command {
    let plain = place.command(words);
    let mut command = Command::new(program());
    command
        .args(plain.get_args())
        .current_dir(place.path())
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    command
}

fn run(place: &Place, words: &[&str]) -> Done {
    done(command(place, words).output().unwrap())
}

#[test]
fn turns_run_on_its_store_with_its_provider() {
    let place = Place::new();
    let turn = ["run", "--session", "s", "--store", STORE];
    let ran = run(&place, &[&turn[..], &["--provider", "backwards", "one two three"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (0, "three two one\n"), "{}", ran.err);
    // The session stays with its provider.
    let resumed = run(&place, &["resume", "s", "--store", STORE, "four five"]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, "five four\n"), "{}", resumed.err);

    let listed = run(&place, &["sessions", "--store", STORE]);
    let rows: Vec<Vec<&str>> =
        listed.out.lines().map(|row| row.split_whitespace().collect()).collect();
    let row = ["s", "completed", "2", "turns", "one", "two", "three"];
    assert_eq!((listed.code, rows), (0, vec![row.to_vec()]), "{listed:?}");
    let verified = run(&place, &["verify", "--store", STORE]);
    assert_eq!(verified.code, 0, "{}", verified.err);
    let shown = run(&place, &["show", "s", "--store", STORE]);
    assert!(shown.out.contains("five four"), "{shown:?}");
    let copied = run(&place, &["copy", "--from", STORE, "--to", "file:copy"]);
    assert_eq!(copied.code, 0, "{}", copied.err);
    let checked = run(&place, &["doctor", "--store", STORE, "--provider", "backwards"]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    for part in ["journal:", "length", "backwards"] {
        assert!(checked.out.contains(part), "{part}: {}", checked.out);
    }
    // The built command has the log too, and not the provider.
    assert_eq!(place.run(&["verify", "--store", "file:copy"]).code, 0);
    let elsewhere = place.run(&["resume", "s", "--store", "file:copy", "six"]);
    assert_eq!(elsewhere.code, 4, "{}", elsewhere.err);
    assert!(elsewhere.err.contains("backwards"), "{}", elsewhere.err);
}

#[test]
fn its_tools_are_beside_the_built_in_ones() {
    let place = Place::new();
    let prompt = r#"repeat 1: length {"text": "four"}"#;
    let ran = run(&place, &["run", "--provider", "demo", "--store", STORE, prompt]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("I called length 1 times") && ran.out.contains('4'), "{}", ran.out);
    let read = run(&place, &["run", "--provider", "demo", "--store", STORE, "List this folder."]);
    assert!(read.out.contains("list_dir"), "{}", read.out);
}

#[test]
fn it_serves_them() {
    let place = Place::new();
    let words = ["serve", "--listen", "127.0.0.1:0", "--store", STORE, "--provider", "backwards"];
    let server = Server::of(&mut command(&place, &words));
    let session = server.session();
    server.send(&session, "one two");
    let begun = Instant::now();
    let path = format!("/v1/sessions/{session}/history");
    while !server.get(server.token(), &path, "").1.to_string().contains("two one") {
        assert!(begun.elapsed() < Duration::from_secs(30), "the turn has no answer");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.stop("TERM").code, 0);
    let shown = run(&place, &["show", &session, "--store", STORE]);
    assert!(shown.out.contains("two one"), "{shown:?}");
}

#[test]
fn help_and_errors_name_them() {
    let place = Place::new();
    let help = run(&place, &["run", "--help"]);
    for part in ["stores journal:PATH", "providers backwards"] {
        assert!(help.out.contains(part), "{part}: {}", help.out);
    }
    assert!(!place.run(&["run", "--help"]).out.contains("journal"));
    let store = run(&place, &["sessions", "--store", "ftp:x"]);
    assert_eq!(store.code, 2);
    assert!(store.err.contains("file:PATH") && store.err.contains("journal:PATH"), "{store:?}");
    let provider = run(&place, &["run", "--provider", "nobody", "--store", STORE, "x"]);
    assert_eq!(provider.code, 2);
    assert!(provider.err.contains("openai") && provider.err.contains("backwards"), "{provider:?}");
    // Nothing goes over a wire, so there is nothing to record.
    let recorded = ["run", "--provider", "backwards", "--store", STORE, "--record", "tape", "x"];
    let recorded = run(&place, &recorded);
    assert_eq!(recorded.code, 4);
    assert!(recorded.err.contains("backwards") && recorded.err.contains("wire"), "{recorded:?}");
}

#[test]
fn the_guide_shows_the_program() {
    let program = include_str!("../examples/own_adapters.rs");
    let (_, program) = program.split_once("use windlass::file").unwrap();
    let guide = include_str!("../../../docs/adapters.md");
    assert!(guide.contains(&format!("use windlass::file{program}")), "docs/adapters.md differs");
}
