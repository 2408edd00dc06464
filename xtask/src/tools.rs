//! Programs that a chore needs. Missing ones are built once below the target folder, so that
//! nothing outside the checkout changes.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::Context as _;

use crate::say::say;
use crate::step::{cargo, program, step};

/// Cargo command that is distributed as a crate.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Name of the crate and of the program that it installs.
    pub name: &'static str,
    /// Version that is built if none is installed.
    pub version: &'static str,
    /// Requires exactly this version, because findings differ between versions.
    pub pinned: bool,
    /// Instruction for a machine on which it does not build.
    pub instead: &'static str,
}

impl Tool {
    /// Returns the program, to run in the workspace's folder, and builds it first if it is missing.
    /// Its first argument is the command's name, as cargo passes it.
    ///
    /// # Errors
    /// When it does not build.
    pub fn command(&self) -> anyhow::Result<Command> {
        Ok(program(self.found()?))
    }

    /// First argument, as cargo passes it.
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

/// Returns the folder that cargo builds into.
///
/// # Errors
/// When cargo does not name it.
pub fn target() -> anyhow::Result<PathBuf> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("asking cargo for the target folder")?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
        .context("asking cargo for the target folder: the answer is not JSON")?;
    let folder = metadata.get("target_directory").and_then(|folder| folder.as_str());
    Ok(PathBuf::from(folder.context("cargo metadata names no target folder")?))
}
