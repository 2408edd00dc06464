//! Mutations of the guide's store, `testkit/mutants/store.toml`: the case of the log store suite that
//! each names must find it. All of them are modules of one program, so that one build is enough.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use super::tree::Copy;
use xtask::say::say;
use xtask::step::{cargo, root};
use xtask::tools::target;

const MUTANTS: &str = "testkit/mutants/store.toml";
const STORE: &str = "testkit/examples/new_store/store.rs";
/// Folder of the program in the copy of the tree.
const PROGRAM: &str = "testkit/examples/store_mutants";
/// Folders that the program needs.
const ROOMS: &[&str] = &["core", "ports", "testkit", "docs"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mutant: Vec<Mutant>,
}

/// A change of the store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    /// Short name of the defect.
    name: String,
    /// Case that must find it.
    case: String,
    /// Text to replace; the store has it exactly once.
    from: String,
    /// Text in its place.
    to: String,
}

/// Builds all mutations, and runs the case of each.
///
/// # Errors
/// When a mutation is not found by its case or no longer applies, or when the unchanged store breaks a
/// promise.
pub(super) fn run() -> anyhow::Result<()> {
    let mutants = read(&root())?;
    let store = fs::read_to_string(root().join(STORE)).context("reading the store")?;
    let folder = target()?.join("mutants-store");
    let copy = Copy::make(&root(), &folder, Some(ROOMS))?;
    fs::create_dir_all(copy.root.join(PROGRAM)).context("making the program's folder")?;
    copy.write(&format!("{PROGRAM}/store_0.rs"), &store)?;
    for (number, mutant) in (1..).zip(&mutants) {
        copy.write(&format!("{PROGRAM}/store_{number}.rs"), &mutated(&store, mutant)?)?;
    }
    copy.write(&format!("{PROGRAM}/main.rs"), &program(&mutants))?;

    let built = folder.join("target");
    let mut build = cargo();
    build.current_dir(&copy.root).env("CARGO_TARGET_DIR", &built);
    build.args(["build", "--offline", "-p", "windlass-testkit", "--example", "store_mutants"]);
    ensure!(build.status()?.success(), "the mutated stores do not build");
    let program = built.join("debug/examples/store_mutants");
    if let Some(found) = found(&program, 0)? {
        bail!("the unchanged store breaks a promise: {found}");
    }
    say("unchanged: all cases pass");
    let mut faults = Vec::new();
    for (number, mutant) in (1..).zip(&mutants) {
        match found(&program, number)? {
            Some(words) => say(format_args!("found: {}\n  {}", mutant.name, first_line(&words))),
            None => faults.push(format!("{}: {} does not find it", mutant.name, mutant.case)),
        }
    }
    say(format_args!("{} of {} found", mutants.len() - faults.len(), mutants.len()));
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

fn read(root: &Path) -> anyhow::Result<Vec<Mutant>> {
    let text = fs::read_to_string(root.join(MUTANTS)).context("reading the mutations")?;
    let File { mutant } = toml::from_str(&text).context("reading the mutations")?;
    Ok(mutant)
}

fn mutated(store: &str, mutant: &Mutant) -> anyhow::Result<String> {
    let times = store.matches(&mutant.from).count();
    ensure!(times == 1, "{}: the store has its text {times} times", mutant.name);
    Ok(store.replacen(&mutant.from, &mutant.to, 1))
}

/// The source of the program.
fn program(mutants: &[Mutant]) -> String {
    let (mut modules, mut stores) = (String::new(), String::new());
    let cases = std::iter::once("").chain(mutants.iter().map(|mutant| mutant.case.as_str()));
    for (number, case) in cases.enumerate() {
        let _ = writeln!(modules, "mod store_{number};");
        let open = format!("Arc::new(store_{number}::LinesStore::open(folder, None))");
        let _ = writeln!(stores, "    ({case:?}, |folder| {open}),");
    }
    let source = include_str!("program.rs");
    source.replace("/*MODULES*/", &modules).replace("/*STORES*/", &stores)
}

/// Runs a store, and returns the words of a case that failed.
fn found(program: &Path, number: usize) -> anyhow::Result<Option<String>> {
    let mut run = Command::new(program);
    let ended = run.arg(number.to_string()).stderr(Stdio::null()).output();
    let ended = ended.with_context(|| format!("running {}", program.display()))?;
    let words = String::from_utf8_lossy(&ended.stdout).into_owned();
    match ended.status.code() {
        Some(0) => Ok(None),
        Some(1) if !words.is_empty() => Ok(Some(words)),
        code => bail!("store {number} ended with {code:?}: {words}"),
    }
}

fn first_line(words: &str) -> &str {
    words.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use windlass_testkit::store::CASES;

    use super::*;

    #[test]
    fn each_mutation_applies_and_names_a_case() {
        let store = fs::read_to_string(root().join(STORE)).unwrap();
        let mutants = read(&root()).unwrap();
        let mut names = BTreeSet::new();
        for mutant in &mutants {
            assert_ne!(mutated(&store, mutant).unwrap(), store, "{}", mutant.name);
            assert!(CASES.iter().any(|(case, _)| *case == mutant.case), "{}", mutant.case);
            assert!(names.insert(&mutant.name), "{} is there twice", mutant.name);
        }
        assert!(mutants.len() >= 40, "{} mutations", mutants.len());
    }
}
