//! Chores that are packages of their own, because they need more than this one may depend on.

use xtask::step::{cargo, step};

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

    /// Runs the measuring program, with the command as a release build beside it where it measures that.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn bench(arguments: &[String]) -> anyhow::Result<()> {
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
