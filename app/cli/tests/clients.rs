//! The Python and TypeScript clients, each by the tools of its own language: installed from its folder,
//! checked by its type checker, and tested against the built command. `cargo xtask test` names the tools;
//! where one is missing the test says on standard error that it is skipped.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The longest that a step may take, in seconds.
const LONGEST_S: &str = "120";

/// A tool that a variable names.
fn named(variable: &str) -> Option<String> {
    let found = env::var(variable).ok();
    if found.is_none() {
        // Not by a macro: the runner would keep it to itself where the test passes.
        let words =
            format!("SKIPPED: {variable} is not there: run this test by `cargo xtask test`\n");
        std::io::stderr().write_all(words.as_bytes()).unwrap();
    }
    found
}

/// Copies a client, without what is built or cached in its folder.
fn copied(name: &str) -> TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients").join(name);
    let to = TempDir::new().unwrap();
    copy(&from, to.path());
    to
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (name, path) = (entry.file_name(), entry.path());
        let built = ["built", "dist", "node_modules", "__pycache__"].map(OsStr::new);
        let target = to.join(&name);
        if path.is_dir() && !built.contains(&&*name) {
            fs::create_dir(&target).unwrap();
            copy(&path, &target);
        } else if path.is_file() {
            fs::copy(&path, target).unwrap();
        }
    }
}

fn run(folder: &Path, program: &str, words: &[&str], more: &[(&str, PathBuf)]) {
    let done = Command::new("timeout")
        .args(["--kill-after=5", LONGEST_S, program])
        .args(words)
        .current_dir(folder)
        .env("WINDLASS_TEST_BINARY", env!("CARGO_BIN_EXE_windlass"))
        .envs(more.iter().map(|(name, value)| (*name, value)))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&done.stdout);
    let err = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {words:?}\n{out}\n{err}");
}

#[test]
fn the_python_client_works_with_the_built_command() {
    let Some(python) = named("WINDLASS_TEST_PYTHON") else {
        return;
    };
    let folder = copied("python");
    let installed = folder.path().join("installed");
    let target = installed.to_str().unwrap();
    let pip = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"];
    let pip = [&pip[..], &["--no-build-isolation", "--target", target, "."]].concat();
    run(folder.path(), &python, &pip, &[("PIP_DISABLE_PIP_VERSION_CHECK", "1".into())]);
    let own = [("PYTHONPATH", installed)];
    let types = ["-m", "mypy", "--strict", "--python-version", "3.10", "src", "tests"];
    run(folder.path(), &python, &types, &[("MYPYPATH", "src".into())]);
    run(folder.path(), &python, &["-m", "pytest", "-q", "-p", "no:cacheprovider"], &own);
}

#[test]
fn the_typescript_client_works_with_the_built_command() {
    let (Some(node), Some(modules)) =
        (named("WINDLASS_TEST_NODE"), named("WINDLASS_TEST_TYPESCRIPT"))
    else {
        return;
    };
    let folder = copied("typescript");
    std::os::unix::fs::symlink(&modules, folder.path().join("node_modules")).unwrap();
    let compiler = Path::new(&modules).join("typescript/bin/tsc");
    let compiler = compiler.to_str().unwrap();
    run(folder.path(), &node, &[compiler, "--project", "."], &[]);
    run(folder.path(), &node, &[compiler, "--project", "test"], &[]);
    run(folder.path(), &node, &["--test", "test/built/client.test.js"], &[]);
}
