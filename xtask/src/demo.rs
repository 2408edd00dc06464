//! `cargo xtask demo`: shows the reference app on a temporary folder.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use xtask::say::say;
use xtask::step::{cargo, step};

/// Files in the demo's folder.
const FILES: &[(&str, &str)] = &[
    ("README.md", "# Tide tables\nHigh and low water for three harbours, by hand.\n"),
    ("harbours.csv", "harbour,high_m,low_m\nDover,6.7,0.8\nBrest,6.9,1.1\nLeith,5.6,0.7\n"),
    ("notes/next.txt", "Add Cherbourg.\nCheck the reading for Brest.\n"),
];

const QUESTION: &str = "What is in this folder?";

/// Runs one turn with the scripted model, then reads it back from the store.
///
/// # Errors
/// The first step that fails.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("making a folder for the demo")?;
    for (name, text) in FILES {
        write(&folder.path().join(name), text)?;
    }
    say(
        "The demo asks a scripted model, over HTTP on a loopback port, about a folder with these files:",
    );
    for (name, text) in FILES {
        say(format_args!("  {name} ({} bytes)", text.len()));
    }
    say("The model calls real tools on them. Each fact of the turn is durable before it counts.");
    step("build", cargo().args(["build", "--package", "windlass-cli"]))?;
    let state = tempfile::tempdir().context("making a state folder for the demo")?;
    let windlass = |command: &str| windlass(command, folder.path(), state.path());
    step("a turn", windlass("run").args(["--provider", "demo", QUESTION]))?;
    say("\nWhat is left of it is its log, from which everything else is told:");
    step("the sessions", &mut windlass("sessions"))?;
    step("the check of every log", &mut windlass("verify"))?;
    say("\nThe folder is removed again. Try it in one of your own: windlass run \"...\"");
    Ok(())
}

/// Command of the app on the demo's folder, without the user's keys and state.
fn windlass(command: &str, workspace: &Path, state: &Path) -> Command {
    let mut cargo = cargo();
    cargo.args(["run", "--quiet", "--package", "windlass-cli", "--", command]);
    cargo.arg("--workspace").arg(workspace);
    cargo.env("WINDLASS_HOME", state).env_remove("WINDLASS_STORE");
    for setting in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"] {
        cargo.env_remove(setting);
    }
    cargo
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().context("a demo file without a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}
