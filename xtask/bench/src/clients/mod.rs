//! `cargo xtask bench server`: cost of sessions and subscribers, and latency of deltas.
//!
//! The server, the model and the clients are processes of their own on one machine, over loopback.
//! Each target is printed with its measure and the verdict.

mod client;
mod idle;
mod pace;
mod paced;
mod serving;

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use clap::Args;

pub(crate) use pace::{FIRST_WORD, LAST_WORD, Pace, Text, run as speak};
pub(crate) use serving::{Serving, run as serve};

use crate::meter::computed_s;
use xtask::say::say;

/// Extent of the server's measures.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Sessions that are left idle.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..))]
    sessions: u32,
    /// Seconds that models speak in each run.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// One of the measures, by its letter; all when left out.
    #[arg(long)]
    only: Option<char>,
}

/// Measures, prints, and returns true if all targets are met.
///
/// # Errors
/// When a part of it fails.
pub(crate) fn measure(plan: &Plan) -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let wanted = |letter| plan.only.is_none_or(|only| only == letter);
        let mut met = true;
        if wanted('a') {
            met &= idle::measure(plan.sessions).await?;
        }
        if wanted('b') {
            met &= paced::spread(plan.seconds).await?;
        }
        if wanted('c') {
            met &= paced::stopped(plan.seconds).await?;
        }
        Ok(met)
    })
}

/// Ends the process when its parent is gone.
fn ends_with_input() {
    std::thread::spawn(|| {
        let _ended = std::io::stdin().lock().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
}

/// Child process of this program in another role; ends on drop.
pub(crate) struct Role {
    child: Child,
    /// Address that the server listens on.
    pub(crate) address: SocketAddr,
}

impl Role {
    pub(crate) fn start(arguments: &[&str]) -> anyhow::Result<Self> {
        let role = arguments.first().copied().unwrap_or_default();
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {role}"))?;
        let stdout = child.stdout.take().context("it has no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().parse();
        let address = address.with_context(|| format!("{role} said {line:?} for its address"))?;
        Ok(Self { child, address })
    }

    /// Its memory, in bytes.
    fn memory(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        let kib: u64 = number.context("a process without memory")?.parse()?;
        Ok(kib * 1024)
    }

    /// Its open files: sockets, and others.
    fn files(&self) -> anyhow::Result<(u64, u64)> {
        let (mut sockets, mut others) = (0, 0);
        for entry in std::fs::read_dir(format!("/proc/{}/fd", self.child.id()))? {
            match std::fs::read_link(entry?.path()) {
                Ok(to) if to.to_string_lossy().starts_with("socket:") => sockets += 1,
                Ok(_) => others += 1,
                // It was closed meanwhile.
                Err(_) => {}
            }
        }
        Ok((sockets, others))
    }

    /// The time that it has computed, in seconds.
    fn computed(&self) -> anyhow::Result<f64> {
        computed_s(self.child.id())
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _gone = self.child.wait();
    }
}

/// A server and the model that it asks.
struct Pair {
    server: Role,
    _model: Role,
    _dir: tempfile::TempDir,
}

impl Pair {
    fn start() -> anyhow::Result<Self> {
        let program = std::env::current_exe()?;
        let beside = program.parent().context("this program lies in no folder")?;
        let dir = tempfile::tempdir_in(beside).context("making a folder for the logs")?;
        let model = Role::start(&["speaking"])?;
        let at = model.address.to_string();
        let logs = dir.path().display().to_string();
        let server = Role::start(&["serving", "--model", &at, "--dir", &logs])?;
        Ok(Self { server, _model: model, _dir: dir })
    }
}

/// Prints the measure and returns true if it is enough.
pub(crate) fn judged(what: &str, met: bool) -> bool {
    say(format_args!("  {what}: {}", if met { "met" } else { "MISSED" }));
    met
}
