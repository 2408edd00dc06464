//! The quick start, as a crate outside of the workspace: it is short, it builds with the dependencies
//! that the README names, and it answers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use windlass_testkit::http::{ModelServer, Reply};

fn crate_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outside")
}

fn program() -> String {
    let file = fs::read_to_string(crate_folder().join("src/main.rs")).unwrap();
    file.lines().skip(2).map(|line| format!("{line}\n")).collect()
}

#[test]
fn it_has_ten_lines_and_the_readmes_show_it() {
    assert_eq!(program().lines().count(), 10);
    for readme in ["README.md", "../../README.md"] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(readme)).unwrap();
        assert!(text.contains(&program()), "{readme} shows another program");
    }
}

/// Most crates by which the README's number may differ: some are for one system alone.
const SYSTEM_CRATES: usize = 10;

#[test]
fn the_readme_says_how_many_crates_it_brings() {
    let told = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--package", "windlass", "--edges", "normal"])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told = String::from_utf8(told.stdout).unwrap();
    let crates: BTreeSet<&str> = told.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let (before, _) = readme.split_once(" crates").unwrap();
    let number: usize = before.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(number.abs_diff(crates.len()) <= SYSTEM_CRATES, "there are {}", crates.len());
}

#[test]
fn it_builds_outside_of_the_workspace_and_answers() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("outside");
    fs::create_dir_all(folder.join("src")).unwrap();
    let windlass = env!("CARGO_MANIFEST_DIR");
    let manifest = fs::read_to_string(crate_folder().join("Cargo.toml")).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest.replace("../..", windlass)).unwrap();
    fs::write(folder.join("src/main.rs"), program()).unwrap();
    // The versions of the workspace, which are at hand without a network.
    fs::copy(Path::new(windlass).join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--target-dir"])
        .arg(&target)
        .env_remove("RUSTFLAGS")
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    let server = ModelServer::start([
        Reply::call("weather", json!({ "city": "Oslo" })),
        Reply::say("Sunny, all day."),
    ]);
    let server = server.unwrap();
    let ran = Command::new(target.join("debug/outside"))
        .env("OPENAI_BASE_URL", server.base_url())
        .env("OPENAI_API_KEY", "key")
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "Sunny, all day.\n");
    let asked = server.samples()[1].asked();
    assert_eq!(asked.results[0].1, "It is sunny in Oslo.");
    assert!(folder.join("state/lanes").is_dir(), "the session is in the store");
    assert_eq!(server.misses(), Vec::<String>::new());
}
