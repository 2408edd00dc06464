//! Steps: commands that are printed, timed, and fatal when they fail.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context as _;

use crate::say::say;

/// Error of a step that exited with another code than 0.
#[derive(Debug)]
pub struct StepFailed {
    /// Name of the step.
    pub step: String,
    /// Command line as printed before the step.
    pub shown: String,
    /// Exit code; 1 after a signal.
    pub code: i32,
}

impl std::error::Error for StepFailed {}

impl std::fmt::Display for StepFailed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { step, shown, code } = self;
        write!(f, "step `{step}` failed with exit code {code}: {shown}")
    }
}

/// Runs a command as a step and waits for it.
///
/// # Errors
/// [`StepFailed`] when it ends with another code than 0; an error when it cannot be started.
pub fn step(name: &str, command: &mut Command) -> anyhow::Result<()> {
    let shown = shown(command);
    say(format_args!("\n$ {shown}"));
    let started = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("step `{name}`: cannot start {shown}"))?;
    let took = started.elapsed().as_secs_f64();
    if !status.success() {
        let code = status.code().unwrap_or(1);
        say(format_args!("{name}: failed after {took:.1} s"));
        let step = name.to_owned();
        return Err(StepFailed { step, shown, code }.into());
    }
    say(format_args!("{name}: ok, {took:.1} s"));
    Ok(())
}

/// Command for the cargo that started this program, in the workspace's folder.
#[must_use]
pub fn cargo() -> Command {
    program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Command for a program that may run cargo, in the workspace's folder.
///
/// Removes the variables that `cargo run` sets for a program. Build scripts read them and would
/// rerun whenever a build from here follows one from a shell.
#[must_use]
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    for (name, _) in env::vars_os() {
        let of_a_package = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if of_a_package {
            command.env_remove(name);
        }
    }
    command
}

/// Root folder of the workspace: the nearest one with a lock file, from the running package upwards.
#[must_use]
pub fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = here.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    let locked = here.ancestors().find(|at| at.join("Cargo.lock").is_file());
    locked.map_or_else(|| here.clone(), PathBuf::from)
}

fn shown(command: &Command) -> String {
    let environment = command.get_envs().filter_map(|(name, value)| {
        let value = value?.to_string_lossy();
        Some(format!("{}={:?}", name.to_string_lossy(), value))
    });
    let program = std::path::Path::new(command.get_program()).file_name();
    let program = program.unwrap_or_else(|| command.get_program()).to_string_lossy();
    let arguments = command.get_args().map(|argument| {
        let argument = argument.to_string_lossy();
        if argument.contains(' ') { format!("{argument:?}") } else { argument.into_owned() }
    });
    let words: Vec<String> =
        environment.chain(std::iter::once(program.into_owned())).chain(arguments).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_step_is_named_with_its_exit_code() {
        let mut command = Command::new("sh");
        command.args(["-c", "exit 7"]);
        let error = step("seven", &mut command).unwrap_err();
        assert_eq!(error.to_string(), "step `seven` failed with exit code 7: sh -c \"exit 7\"");
        assert_eq!(error.downcast_ref::<StepFailed>().unwrap().code, 7);
    }

    #[test]
    fn a_command_that_cannot_start_is_named() {
        let error = step("lost", &mut Command::new("no-such-program-here")).unwrap_err();
        assert_eq!(error.to_string(), "step `lost`: cannot start no-such-program-here");
    }

    #[test]
    fn variables_of_a_package_do_not_reach_the_steps() {
        let removed: Vec<_> = cargo()
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect();
        assert!(removed.iter().any(|name| name == "CARGO_MANIFEST_DIR"), "{removed:?}");
    }
}
