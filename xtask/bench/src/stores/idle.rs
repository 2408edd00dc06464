//! Idle sessions and the disk: open files, and bytes used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use clap::Args;
use serde::{Deserialize, Serialize};
use windlass_core::{Seq, SessionId};
use windlass_ports::codec;

use super::Kind;
use super::appends::fact;
use crate::kit;
use xtask::say::say;

/// Sessions that are opened and left idle.
pub(super) const SESSIONS: usize = 10_000;

/// Most files that a process may hold open for all of them.
const AT_MOST_FILES: usize = 64;

/// Appends of each session, to measure disk space.
const FACTS: u64 = 16;

/// Most bytes on disk for each byte of facts.
const AT_MOST: f64 = 1.3;
const BESIDE: u64 = 80 * 1024 * 1024;

/// Opens many sessions and leaves them idle.
#[derive(Debug, Args)]
pub(crate) struct Idle {
    #[arg(long, value_enum)]
    kind: Kind,
    #[arg(long)]
    dir: PathBuf,
}

/// Resources that idle sessions hold.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Took {
    files: usize,
    fact_bytes: u64,
}

/// Opens the sessions in this process and prints the resources that they hold.
///
/// # Errors
/// When one does not open.
pub(crate) fn run(idle: &Idle) -> anyhow::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let took = runtime.block_on(async {
        let store = kit::store(idle.kind, &idle.dir).await?;
        let before = files()?;
        let mut opening = tokio::task::JoinSet::new();
        let mut fact_bytes = 0;
        for number in 0..SESSIONS {
            let (store, session) = (store.clone(), SessionId::new(&format!("idle-{number:05}"))?);
            opening.spawn(async move {
                let epoch = store.claim(&session).await?.epoch;
                let mut bytes = 0;
                for after in 0..FACTS {
                    let fact = fact(&session, Seq(after))?;
                    bytes += codec::encode(&fact)?.len() as u64;
                    store.append(&session, epoch, Seq(after), &[fact]).await?;
                }
                anyhow::Ok(bytes)
            });
            if opening.len() >= 1_000
                && let Some(opened) = opening.join_next().await
            {
                fact_bytes += opened??;
            }
        }
        while let Some(opened) = opening.join_next().await {
            fact_bytes += opened??;
        }
        let files = files()?.saturating_sub(before);
        anyhow::Ok(Took { files, fact_bytes })
    })?;
    say(serde_json::to_string(&took)?);
    Ok(())
}

/// Measures one store, prints, and returns true if its targets are met.
pub(super) fn measure(kind: Kind, beside: &Path) -> anyhow::Result<bool> {
    let dir = tempfile::tempdir_in(beside).context("making a folder for the logs")?;
    let took = spawn(kind, dir.path())?;
    let held = took.files <= AT_MOST_FILES;
    say(format_args!(
        "  {:<8} {SESSIONS} sessions opened and idle hold {} files, at most {AT_MOST_FILES}: {}",
        kind.name(),
        took.files,
        if held { "met" } else { "MISSED" }
    ));
    let disk = bytes(dir.path())?;
    let part = disk.saturating_sub(BESIDE) as f64 / took.fact_bytes as f64;
    let fits = part <= AT_MOST;
    say(format_args!(
        "  {:<8} {disk} bytes of disk for {} of facts: {part:.2} of them beside {BESIDE}, at most \
         {AT_MOST}: {}",
        kind.name(),
        took.fact_bytes,
        if fits { "met" } else { "MISSED" }
    ));
    Ok(held && fits)
}

/// Opens the sessions in a process of its own, which ends.
pub(super) fn spawn(kind: Kind, dir: &Path) -> anyhow::Result<Took> {
    let output = Command::new(std::env::current_exe()?)
        .args(["idle", "--kind", kind.name()])
        .arg("--dir")
        .arg(dir)
        .stderr(Stdio::inherit())
        .output()
        .context("starting the idle sessions")?;
    anyhow::ensure!(output.status.success(), "the idle sessions failed");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Number of files that this process holds open.
fn files() -> anyhow::Result<usize> {
    Ok(fs::read_dir("/proc/self/fd").context("counting the open files")?.count())
}

/// Bytes of all files below a folder.
fn bytes(folder: &Path) -> anyhow::Result<u64> {
    use std::os::unix::fs::MetadataExt as _;

    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        bytes += if found.is_dir() { self::bytes(&entry.path())? } else { found.blocks() * 512 };
    }
    Ok(bytes)
}
