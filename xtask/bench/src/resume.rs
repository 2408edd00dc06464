//! A session of 10,000 items that goes on in a new process, and the bytes that it takes on the disk.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

use crate::contest::{PeerLine, last_line};

/// Items of the session: a prompt, calls with their results, an answer.
const ITEMS: u64 = 10_000;

/// Cost of one side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resumed {
    /// Processor time of the process.
    pub(crate) cpu_ns: u64,
    pub(crate) wall_ns: u64,
    /// Bytes of all files before the session goes on.
    pub(crate) bytes: u64,
}

impl Resumed {
    /// Bytes on the disk for each step.
    pub(crate) fn bytes_a_step(&self) -> f64 {
        self.bytes as f64 / (ITEMS / 2) as f64
    }
}

/// Writes the session with the engine and the file store, and goes on from it.
///
/// # Errors
/// When a process fails.
pub(crate) fn engine(url: &str, dir: &Path) -> anyhow::Result<Resumed> {
    let program = std::env::current_exe()?;
    resumed(&program, &["peer", "--"], &["--store", "file"], url, &dir.join("engine"))
}

/// The same with another program that takes the arguments of `bench-peer` and has no engine.
///
/// # Errors
/// When that program fails.
pub(crate) fn floor(program: &Path, url: &str, dir: &Path) -> anyhow::Result<Resumed> {
    resumed(program, &[], &["--durable", "each"], url, &dir.join("floor"))
}

fn resumed(
    program: &Path,
    role: &[&str],
    store: &[&str],
    url: &str,
    dir: &Path,
) -> anyhow::Result<Resumed> {
    std::fs::create_dir(dir).with_context(|| format!("creating {}", dir.display()))?;
    let command = |mode: &str| {
        let mut command = Command::new(program);
        command.args(role).args(["--mode", mode, "--base-url", url, "--model", "tools-2"]);
        command.args(["--items", &ITEMS.to_string()]).args(store).arg("--dir").arg(dir);
        command
    };
    let _prepared: Value = last_line(&mut command("prep"))?;
    let bytes = bytes_in(dir)?;
    let line: PeerLine = last_line(&mut command("resume"))?;
    let cpu_ns = line.user_ns.saturating_add(line.sys_ns);
    Ok(Resumed { cpu_ns, wall_ns: line.wall_ns, bytes })
}

/// Bytes of all files in a folder.
fn bytes_in(dir: &Path) -> anyhow::Result<u64> {
    let mut folders: Vec<PathBuf> = vec![dir.to_owned()];
    let mut bytes = 0_u64;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => folders.push(entry.path()),
                false => bytes = bytes.saturating_add(entry.metadata()?.len()),
            }
        }
    }
    Ok(bytes)
}
