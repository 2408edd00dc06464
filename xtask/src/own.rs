//! Chores that are packages of their own, because they need more than this one may depend on.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::Context as _;
use xtask::say::say;
use xtask::step::{cargo, root, step};
use xtask::tools::target;

/// Package beside this one that does chores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// Measures, as a release build.
    Bench,
    /// Runs the test kit for longer than tests may take, as a release build.
    Kit,
    /// Runs the tests over mutations of the core.
    Mutants,
    /// Runs a server for a long time.
    Soak,
}

impl Own {
    fn package(self) -> &'static str {
        match self {
            Self::Bench => "xtask-bench",
            Self::Kit => "xtask-kit",
            Self::Mutants => "xtask-mutants",
            Self::Soak => "xtask-soak",
        }
    }

    fn profile(self) -> &'static [&'static str] {
        match self {
            Self::Bench | Self::Kit => &["--release"],
            Self::Mutants | Self::Soak => &[],
        }
    }

    /// Builds the package and runs its program with `arguments`, named `chore` in the output.
    ///
    /// # Errors
    /// When it does not build, or ends with another code than 0.
    pub(crate) fn run(self, chore: &str, arguments: &[String]) -> anyhow::Result<()> {
        let program = ["--package", self.package(), "--bin", self.package()];
        let mut build = cargo();
        build.arg("build").args(self.profile()).args(program);
        step("build", &mut build)?;
        let mut run = cargo();
        run.args(["run", "--quiet"]).args(self.profile());
        run.args(program).arg("--").args(arguments);
        step(chore, &mut run)
    }

    /// Runs the measuring program, with the command as a release build beside it where it measures that,
    /// and with another bare loop where the engine is measured beside one.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn bench(arguments: &[String]) -> anyhow::Result<()> {
        let compares = arguments.first().is_none_or(|first| first.starts_with("--"));
        let named = |word: &String| word.starts_with("--floor") || word == "--help";
        if compares
            && !arguments.iter().any(named)
            && let Some(program) = floor()?
        {
            let floor = ["--floor".to_owned(), program.display().to_string()];
            return Self::Bench.run("bench", &[arguments, &floor].concat());
        }
        if arguments.first().is_some_and(|first| first == "terminal") {
            let windlass = ["build", "--release", "--package", "windlass-cli", "--bin", "windlass"];
            step("build", cargo().args(windlass))?;
        }
        Self::Bench.run("bench", arguments)
    }

    /// Runs one command of the package's program.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn command(self, command: &str, arguments: &[String]) -> anyhow::Result<()> {
        let mut all = vec![command.to_owned()];
        all.extend_from_slice(arguments);
        self.run(command, &all)
    }
}

/// Builds the bare loop that is not part of this project, from a copy of its sources. Returns its
/// program, or `None` where there is none.
fn floor() -> anyhow::Result<Option<PathBuf>> {
    let named = env::var_os("WINDLASS_BENCH_FLOOR").map(PathBuf::from);
    let sources = named.unwrap_or_else(|| root().join("../shared/perf/floor"));
    if !sources.join("Cargo.toml").is_file() {
        say(
            "skipped: WINDLASS_BENCH_FLOOR names no other bare loop, and none is at shared/perf/floor \
             beside the checkout; the ratios are those beside the bare loop of the bench",
        );
        return Ok(None);
    }
    let copy = target()?.join("floor");
    copy_folder(&sources, &copy)
        .with_context(|| format!("copying {} to {}", sources.display(), copy.display()))?;
    let mut build = cargo();
    build.args(["build", "--release", "--bin", "floor", "--manifest-path"]);
    build.arg(copy.join("Cargo.toml")).arg("--target-dir").arg(copy.join("target"));
    step("build of the other bare loop", &mut build)?;
    Ok(Some(copy.join("target/release/floor")))
}

/// Copies the files of a folder, except what a build left there.
fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        match path.is_dir() {
            true if name == "target" => {}
            true => copy_folder(&path, &to.join(name))?,
            false => {
                fs::copy(&path, to.join(name))?;
            }
        }
    }
    Ok(())
}
