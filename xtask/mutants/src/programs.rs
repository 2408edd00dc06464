//! The test programs of the core with all mutations in it: built once, without those that do not
//! build.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use super::switch::{Numbered, READER, marks, switch};
use super::tree::Copy;
use xtask::say::say;
use xtask::step::cargo;

/// The package of the test kit, and its test programs that look at the core, those first that find
/// most in the least time.
const KIT: (&str, &[&str]) = (
    "windlass-testkit",
    &[
        "turns",
        "replay",
        "laws",
        "assembler",
        "forged",
        "golden",
        "snapshots",
        "explore",
        "laws_bite",
        "long_session",
        "clock_set_back",
        "sim",
    ],
);

/// Most builds that are tried, each without the mutations that did not build before: the compiler
/// hides the errors of a later pass behind those of an earlier one.
const ROUNDS: usize = 12;

/// Test program that was built over the mutations.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Folder of the package, in which its tests run.
    pub(super) folder: PathBuf,
}

/// The programs, and which mutations are in them.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) programs: Vec<Program>,
    pub(super) numbers: BTreeSet<u32>,
    /// The files that were written, as they were.
    originals: BTreeMap<String, String>,
}

/// Writes the mutations into the copy and builds the tests over it.
///
/// # Errors
/// When it does not build for another reason than a mutation.
pub(super) fn build(
    copy: &Copy,
    target: &Path,
    mutations: &[Numbered<'_>],
) -> anyhow::Result<Built> {
    let originals = originals(copy, mutations)?;
    let mut left: BTreeSet<u32> = mutations.iter().map(|(number, _)| *number).collect();
    for round in 1..=ROUNDS {
        let numbers = write(copy, &originals, mutations, &left)?;
        let broken = check(copy, target)?;
        say(format_args!(
            "round {round}: {} mutations have a switch, {} of them do not build",
            numbers.len(),
            broken.len()
        ));
        if broken.is_empty() {
            let programs = programs(copy, target)?;
            return Ok(Built { programs, numbers, originals });
        }
        left = numbers.difference(&broken).copied().collect();
    }
    bail!("after {ROUNDS} rounds there are still mutations that do not build")
}

impl Built {
    /// Writes the files of the copy as they were.
    ///
    /// # Errors
    /// When one cannot be written.
    pub(super) fn restore(&self, copy: &Copy) -> anyhow::Result<()> {
        let mut files = self.originals.iter();
        files.try_for_each(|(file, text)| copy.write(file, text))
    }
}

/// File in which the switches are read.
const ROOT: &str = "core/src/lib.rs";

fn originals(copy: &Copy, mutations: &[Numbered<'_>]) -> anyhow::Result<BTreeMap<String, String>> {
    let files = mutations.iter().map(|(_, mutation)| mutation.file.as_str());
    let files: BTreeSet<&str> = files.chain([ROOT]).collect();
    let read = |file: &str| {
        let text = fs::read_to_string(copy.root.join(file));
        Ok((file.to_owned(), text.with_context(|| format!("reading {file}"))?))
    };
    files.into_iter().map(read).collect()
}

/// Writes those mutations that are `left`; which of them have a switch.
fn write(
    copy: &Copy,
    originals: &BTreeMap<String, String>,
    mutations: &[Numbered<'_>],
    left: &BTreeSet<u32>,
) -> anyhow::Result<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    for (file, text) in originals {
        let here = mutations
            .iter()
            .filter(|(number, mutation)| mutation.file == *file && left.contains(number));
        let here: Vec<Numbered<'_>> = here.copied().collect();
        let mut switched = switch(text, &here).with_context(|| format!("reading {file}"))?;
        numbers.append(&mut switched.numbers.into_iter().collect());
        if file == ROOT {
            switched.text += READER;
        }
        copy.write(file, &switched.text)?;
    }
    Ok(numbers)
}

/// Line of cargo's or the compiler's JSON output.
#[derive(Debug, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Told {
    CompilerMessage {
        message: Message,
    },
    CompilerArtifact {
        target: Target,
        executable: Option<PathBuf>,
        manifest_path: PathBuf,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Message {
    level: String,
    rendered: Option<String>,
    spans: Vec<Spanned>,
}

#[derive(Debug, Deserialize)]
struct Spanned {
    file_name: PathBuf,
    line_start: usize,
    line_end: usize,
    is_primary: bool,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

/// Returns the mutations that the compiler rejects.
fn check(copy: &Copy, target: &Path) -> anyhow::Result<BTreeSet<u32>> {
    let mut command = command(copy, target, "check");
    // What the compiler refuses is read, and not shown.
    command.args(["--message-format=json", "--package", "windlass-core", "--lib"]);
    let (builds, told) = run(&mut command)?;
    let mut broken = BTreeSet::new();
    let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
    for told in told {
        let Told::CompilerMessage { message } = told else {
            continue;
        };
        // What sums up has no place.
        if message.level != "error" || message.spans.is_empty() {
            continue;
        }
        let mut found = BTreeSet::new();
        let (primary, further): (Vec<_>, Vec<_>) =
            message.spans.iter().partition(|span| span.is_primary);
        for span in primary.into_iter().chain(further) {
            if found.is_empty() {
                found = marked(copy, span, &mut texts)?;
            }
        }
        ensure!(
            !found.is_empty(),
            "the core with its mutations does not build, and not for one of them:\n{}",
            message.rendered.unwrap_or_default()
        );
        broken.append(&mut found);
    }
    ensure!(
        builds || !broken.is_empty(),
        "the core with its mutations does not build: look at the lines above"
    );
    Ok(broken)
}

/// Returns the mutations at a position, or else those in the arms of the `match` that begins there.
fn marked(
    copy: &Copy,
    span: &Spanned,
    texts: &mut BTreeMap<PathBuf, String>,
) -> anyhow::Result<BTreeSet<u32>> {
    let name = &span.file_name;
    if !texts.contains_key(name) {
        let text = fs::read_to_string(copy.root.join(name))
            .with_context(|| format!("reading {}", name.display()))?;
        texts.insert(name.clone(), text);
    }
    let text = texts.get(name).map(String::as_str).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let of = |from: usize, to: usize| -> BTreeSet<u32> {
        let lines = lines.get(from..to.min(lines.len())).unwrap_or_default();
        lines.iter().flat_map(|line| marks(line)).collect()
    };
    let first = span.line_start.saturating_sub(1);
    let here = of(first, span.line_end);
    Ok(match here.is_empty() {
        true => of(first, span.line_end.saturating_add(ARMS)),
        false => here,
    })
}

/// Lines of a `match` that are searched for the arm that must stay.
const ARMS: usize = 12;

/// Message format: shows compiler errors and lists the artifacts.
const SHOWN: &str = "--message-format=json-render-diagnostics";

/// Builds the tests of the core and those of the kit.
fn programs(copy: &Copy, target: &Path) -> anyhow::Result<Vec<Program>> {
    let (kit, names) = KIT;
    let mut core = command(copy, target, "test");
    core.args([SHOWN, "--no-run", "--package", "windlass-core", "--lib"]);
    let mut others = command(copy, target, "test");
    others.args([SHOWN, "--no-run", "--package", kit]);
    others.args(names.iter().flat_map(|name| ["--test", name]));
    let mut programs = Vec::new();
    for mut command in [others, core] {
        let (builds, told) = run(&mut command)?;
        ensure!(builds, "the tests over the mutations do not build: look at the lines above");
        for told in told {
            if let Told::CompilerArtifact { target, executable: Some(path), manifest_path } = told {
                let folder = manifest_path.parent().map(Path::to_path_buf);
                programs.push(Program {
                    name: target.name,
                    path,
                    folder: folder.unwrap_or_default(),
                });
            }
        }
    }
    ensure!(
        programs.len() == names.len() + 1,
        "{} test programs are built, and not {}: look at the names in KIT",
        programs.len(),
        names.len() + 1
    );
    // The unit tests of the core come second.
    let place = |name: &str| match names.iter().position(|one| *one == name) {
        Some(0) => 0,
        Some(nth) => nth + 1,
        None => 1,
    };
    programs.sort_by_key(|program| place(&program.name));
    Ok(programs)
}

/// Command for cargo over the copy, without lints: nobody reads the generated code.
fn command(copy: &Copy, target: &Path, verb: &str) -> Command {
    let mut command = cargo();
    command
        .current_dir(&copy.root)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_INCREMENTAL", "0")
        .env("RUSTFLAGS", "--cap-lints=allow")
        .arg(verb);
    command
}

fn run(command: &mut Command) -> anyhow::Result<(bool, Vec<Told>)> {
    let output =
        command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("starting cargo")?;
    let told = String::from_utf8_lossy(&output.stdout);
    // A test may print here too, which is none of cargo's words.
    let told = told.lines().map(serde_json::from_str);
    let told = told.collect::<Result<_, _>>();
    Ok((output.status.success(), told.context("reading what cargo says")?))
}
