//! Reading a whole store: the cost to list 10,000 sessions and to verify their logs.
//!
//! The baselines are a scan of a folder with a file for each session, and a scan of the same facts:
//! their hash chain, and their JSON without a meaning. Each side runs in a process of its own.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, LogStore, SessionFilter, SessionListing, codec};

use super::Kind;
use super::idle::{self, SESSIONS};
use crate::kit;
use crate::meter::{Meter, process_ns};
use crate::rounds::Spread;
use xtask::say::say;

/// Highest ratio of a listing to a scan of a folder.
const LISTING_AT_MOST: f64 = 5.0;
/// Highest ratio of a verification to a scan of the facts. The logs are short, so most of it is what
/// one more session costs.
const VERIFYING_AT_MOST: f64 = 1.5;
/// Sessions that are verified at once, and most facts of each.
const BATCH: usize = 64;
/// Most memory of a process that lists all sessions, in KiB.
const LISTING_AT_MOST_KB: u64 = 40 * 1024;

/// Reads a whole store once.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    #[arg(long, value_enum)]
    task: Task,
    #[arg(long, value_enum)]
    kind: Kind,
    #[arg(long)]
    dir: PathBuf,
}

/// Side of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Task {
    /// Lists the sessions of a store.
    List,
    /// Scans a folder with a file for each session.
    ScanFolder,
    /// Verifies the logs of a store.
    Verify,
    /// Hashes the facts of a store and scans their JSON.
    ScanFacts,
}

/// Cost of a task.
#[derive(Debug, Serialize, Deserialize)]
struct Took {
    cpu_ns: u64,
    peak_kb: u64,
    count: u64,
}

/// Runs a task in this process and prints the cost.
///
/// # Errors
/// When it fails.
pub(crate) fn run(reading: &Reading) -> anyhow::Result<()> {
    let Reading { task, kind, dir } = reading;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let meter = Meter::start()?;
    let before = process_ns()?;
    let count = match task {
        Task::List => runtime.block_on(async {
            let store = kit::store(*kind, &dir.join("store")).await?;
            anyhow::Ok(list(&*store).await?.len() as u64)
        })?,
        Task::Verify => runtime.block_on(async {
            let store = kit::store(*kind, &dir.join("store")).await?;
            let listed = list(&*store).await?;
            let mut facts = 0;
            for batch in SessionListing::batches(&listed, BATCH, BATCH) {
                let ids: Vec<SessionId> = batch.iter().map(|head| head.id.clone()).collect();
                for log in store.verify_logs(&ids, BATCH, "none").await {
                    facts += log?.facts.len() as u64;
                }
            }
            anyhow::Ok(facts)
        })?,
        Task::ScanFolder => scan_folder(&dir.join("files"))?,
        Task::ScanFacts => scan_facts(&dir.join("facts"))?,
    };
    let cpu_ns = process_ns()?.saturating_sub(before);
    say(serde_json::to_string(&Took { cpu_ns, peak_kb: meter.read()?.hwm_kb, count })?);
    Ok(())
}

async fn list(store: &dyn LogStore) -> anyhow::Result<Vec<SessionListing>> {
    Ok(store.sessions(SessionFilter::ALL_TENANTS, None, SESSIONS).await?)
}

fn scan_folder(folder: &Path) -> anyhow::Result<u64> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        count += u64::from(entry?.metadata()?.is_file());
    }
    Ok(count)
}

/// Writes the facts of a store to a file, one a line: the segments have them compressed.
fn write_facts(kind: Kind, dir: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut file = BufWriter::new(File::create(dir.join("facts"))?);
    runtime.block_on(async {
        let store = kit::store(kind, &dir.join("store")).await?;
        for head in list(&*store).await? {
            for fact in store.read(&head.id, Seq::ZERO, usize::MAX).await? {
                file.write_all(&codec::encode(&fact)?)?;
                file.write_all(b"\n")?;
            }
        }
        anyhow::Ok(())
    })?;
    file.flush()?;
    Ok(())
}

fn scan_facts(path: &Path) -> anyhow::Result<u64> {
    let (mut count, mut link) = (0, ChainLink([0; ChainLink::BYTES]));
    let (mut file, mut line) = (BufReader::new(File::open(path)?), Vec::new());
    while file.read_until(b'\n', &mut line)? > 0 {
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        link = link.next(text);
        let IgnoredAny = serde_json::from_slice(text)?;
        count += 1;
        line.clear();
    }
    std::hint::black_box(link);
    Ok(count)
}

/// Measures the file store, prints, and returns true if its targets are met.
pub(super) fn measure(kind: Kind, beside: &Path, rounds: u16) -> anyhow::Result<bool> {
    let dir = tempfile::tempdir_in(beside).context("making a folder for the logs")?;
    idle::spawn(kind, &dir.path().join("store"))?;
    write_facts(kind, dir.path())?;
    fs::create_dir(dir.path().join("files"))?;
    for number in 0..SESSIONS {
        fs::write(dir.path().join(format!("files/{number:05}")), b"a session")?;
    }
    let mut met = true;
    for (name, ours, theirs, most) in [
        ("listing", Task::List, Task::ScanFolder, LISTING_AT_MOST),
        ("verifying", Task::Verify, Task::ScanFacts, VERIFYING_AT_MOST),
    ] {
        let mut pairs = Vec::new();
        let mut peak = 0;
        for _ in 0..rounds {
            let (ours, theirs) = (spawn(ours, kind, dir.path())?, spawn(theirs, kind, dir.path())?);
            anyhow::ensure!(ours.count == theirs.count, "{name}: the sides read different counts");
            peak = peak.max(ours.peak_kb);
            pairs.push((ours.cpu_ns as f64 / 1e6, theirs.cpu_ns as f64 / 1e6));
        }
        let spread = |number: fn(&(f64, f64)) -> f64| {
            Spread::of(pairs.iter().map(number).collect()).context("no round was run")
        };
        let ratio = spread(|pair| pair.0 / pair.1)?;
        let small = ours != Task::List || peak <= LISTING_AT_MOST_KB;
        let within = ratio.median <= most && small;
        met &= within;
        say(format_args!(
            "  {:<8} {name} {SESSIONS} sessions: {} ms : {} ms = {ratio}, at most {most}, with {} \
             MiB: {}",
            kind.name(),
            spread(|pair| pair.0)?,
            spread(|pair| pair.1)?,
            peak / 1024,
            if within { "met" } else { "MISSED" },
        ));
    }
    Ok(met)
}

fn spawn(task: Task, kind: Kind, dir: &Path) -> anyhow::Result<Took> {
    let name = task.to_possible_value().context("a task without a name")?;
    let output = Command::new(std::env::current_exe()?)
        .args(["reading", "--task", name.get_name(), "--kind", kind.name()])
        .arg("--dir")
        .arg(dir)
        .stderr(Stdio::inherit())
        .output()
        .context("starting a reader")?;
    anyhow::ensure!(output.status.success(), "reading the store failed");
    serde_json::from_slice(&output.stdout).context("a reader's report does not read")
}
