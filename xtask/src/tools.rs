//! Programs that a chore needs, built once below the target folder where they are missing, so that
//! nothing outside the checkout changes.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::Context as _;

use crate::step::{cargo, program, step};
use xtask::say::say;

/// A cargo command that comes as a crate of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    /// The crate, and the program that it installs.
    pub(crate) name: &'static str,
    /// The version that is built where there is none.
    pub(crate) version: &'static str,
    /// Whether no other version will do: what it finds differs from version to version.
    pub(crate) pinned: bool,
    /// What to do where it does not build.
    pub(crate) instead: &'static str,
}

impl Tool {
    /// The program, in the workspace's folder, built first where it is missing. Its first argument
    /// is the command's name, as cargo gives it.
    ///
    /// # Errors
    /// When it does not build.
    pub(crate) fn command(&self) -> anyhow::Result<Command> {
        Ok(program(self.found()?))
    }

    /// The first argument, as cargo gives it.
    fn verb(&self) -> &'static str {
        self.name.strip_prefix("cargo-").unwrap_or(self.name)
    }

    fn found(&self) -> anyhow::Result<PathBuf> {
        let version = Command::new(self.name)
            .args([self.verb(), "--version"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        let fits = |output: Output| {
            let told = String::from_utf8_lossy(&output.stdout);
            output.status.success() && (!self.pinned || told.contains(self.version))
        };
        if version.is_ok_and(fits) {
            return Ok(PathBuf::from(self.name));
        }
        let tools = target()?.join("tools");
        let program = tools.join("bin").join(self.name);
        let Self { name, version, .. } = self;
        let marker = tools.join(format!("{name}-{version}"));
        if !program.exists() || (self.pinned && !marker.exists()) {
            say(format_args!(
                "{name} is not installed: building {version} in {} (once, some minutes)",
                tools.display()
            ));
            // Unoptimised: it builds in a third of the time, and waits for tests most of its life.
            let mut install = cargo();
            install.args(["install", name, "--locked", "--debug"]);
            install.args(["--version", version, "--root"]).arg(&tools);
            step(&format!("install {name}"), &mut install).context(self.instead)?;
            fs::write(&marker, "").with_context(|| format!("writing {}", marker.display()))?;
        }
        Ok(program)
    }
}

/// The folder that cargo builds into.
///
/// # Errors
/// When cargo does not name it.
pub(crate) fn target() -> anyhow::Result<PathBuf> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("asking cargo for the target folder")?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
        .context("asking cargo for the target folder: the answer is not JSON")?;
    let folder = metadata
        .get("target_directory")
        .and_then(|folder| folder.as_str());
    Ok(PathBuf::from(
        folder.context("cargo metadata names no target folder")?,
    ))
}
