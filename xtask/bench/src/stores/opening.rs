//! Opening sessions: the cost to claim and to fold 100,000 facts, with a snapshot and without.
//!
//! The session is a turn of many calls, compacted whenever the conversation exceeds its window. An
//! engine writes it, and [`windlass_engine::load`](windlass_engine::load()) opens it, each time in
//! a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use serde::{Deserialize, Serialize};
use windlass_core::{Seq, SessionId};
use windlass_memory::MemoryStore;
use windlass_ports::LogStore;

use super::Kind;
use crate::engine::{Contender, Keep};
use crate::kit;
use crate::meter::process_ns;
use crate::rounds::Spread;
use crate::script::Script;
use crate::scripted::Scripted;
use xtask::say::say;

/// Calls of the long session and of the short one.
const LONG: usize = 16_700;
const SHORT: usize = 15;

/// Tokens of the window that both are compacted to.
const WINDOW: u64 = 4_000;

/// Highest ratio of opening the long log, with a snapshot, to the short one.
const AT_MOST: f64 = 2.0;

/// Highest ratio of the processor time to claim the long log to that of the short one.
const CLAIM_AT_MOST: f64 = 1.5;

/// Longest time of the long session without a snapshot, in milliseconds.
const AT_MOST_MS: f64 = 1_000.0;

/// Facts to copy at a time.
const PAGE: usize = 1_000;

/// Opens one session once.
#[derive(Debug, Args)]
pub(crate) struct Opening {
    #[arg(long, value_enum)]
    kind: Kind,
    #[arg(long)]
    dir: PathBuf,
    #[arg(long)]
    session: String,
}

/// Cost of opening a session.
#[derive(Debug, Serialize, Deserialize)]
struct Took {
    claim_ns: u64,
    ns: u64,
    facts: u64,
}

/// Opens a session in this process and prints the cost.
///
/// # Errors
/// When it does not open.
pub(crate) fn run(opening: &Opening) -> anyhow::Result<()> {
    let runtime = runtime()?;
    let took = runtime.block_on(async {
        let session = SessionId::new(&opening.session)?;
        let store = kit::store(opening.kind, &opening.dir).await?;
        let before = process_ns()?;
        let claim = store.claim(&session).await?;
        let claim_ns = process_ns()?.saturating_sub(before);
        let start = Instant::now();
        let loaded = windlass_engine::load(store.as_ref(), &session, PAGE).await?;
        let ns = u64::try_from(start.elapsed().as_nanos())?;
        let facts = loaded.session.next.0.saturating_sub(1);
        store.release(&session, claim.epoch).await?;
        anyhow::Ok(Took { claim_ns, ns, facts })
    })?;
    say(serde_json::to_string(&took)?);
    Ok(())
}

/// Measures one store, prints, and returns true if its targets are met.
pub(super) fn measure(kind: Kind, beside: &Path, rounds: u16) -> anyhow::Result<bool> {
    let dir = tempfile::tempdir_in(beside).context("making a folder for the logs")?;
    let runtime = runtime()?;
    for (name, calls) in [("long", LONG), ("short", SHORT)] {
        runtime.block_on(write(kind, dir.path(), name, calls))?;
    }
    let bare = Pairs::take(kind, dir.path(), rounds)?;
    // An engine keeps a snapshot of a session as it leaves it.
    for name in ["long", "short"] {
        runtime.block_on(go_on(kind, dir.path(), name))?;
    }
    let kept = Pairs::take(kind, dir.path(), rounds)?;
    let without = bare.long()?;
    let met = without.median <= AT_MOST_MS;
    say(format_args!(
        "  {:<8} opening {} facts without a snapshot: {without} ms, at most {AT_MOST_MS}: {}",
        kind.name(),
        bare.facts,
        said(met)
    ));
    let claims = Spread::of(kept.claims.clone()).context("no round was run")?;
    let claimed = claims.median <= CLAIM_AT_MOST;
    say(format_args!(
        "  {:<8} claiming {} facts : {} facts = {claims} of the processor time, at most \
         {CLAIM_AT_MOST}: {}",
        kind.name(),
        kept.facts,
        kept.few,
        said(claimed)
    ));
    let (ratio, long) = (kept.ratio()?, kept.long()?);
    let with = ratio.median <= AT_MOST;
    say(format_args!(
        "  {:<8} opening {} facts with a snapshot: {long} ms : one of {} facts = {ratio}, at most \
         {AT_MOST}: {}",
        kind.name(),
        kept.facts,
        kept.few,
        said(with)
    ));
    Ok(met && claimed && with)
}

fn said(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

/// Milliseconds of each opening of the long and the short session.
struct Pairs {
    pairs: Vec<(f64, f64)>,
    /// Processor time to claim the long session, to that of the short one.
    claims: Vec<f64>,
    facts: u64,
    few: u64,
}

impl Pairs {
    fn take(kind: Kind, dir: &Path, rounds: u16) -> anyhow::Result<Self> {
        let mut taken = Self { pairs: Vec::new(), claims: Vec::new(), facts: 0, few: 0 };
        for _ in 0..rounds {
            let (long, short) = (spawn(kind, dir, "long")?, spawn(kind, dir, "short")?);
            (taken.facts, taken.few) = (long.facts, short.facts);
            let ms = |took: &Took| took.ns as f64 / 1e6;
            taken.pairs.push((ms(&long), ms(&short)));
            taken.claims.push(long.claim_ns as f64 / short.claim_ns.max(1) as f64);
        }
        Ok(taken)
    }

    fn long(&self) -> anyhow::Result<Spread> {
        let long = self.pairs.iter().map(|pair| pair.0).collect();
        Spread::of(long).context("no round was run")
    }

    fn ratio(&self) -> anyhow::Result<Spread> {
        let ratios = self.pairs.iter().map(|(long, short)| long / short);
        Spread::of(ratios.collect()).context("no round was run")
    }
}

fn spawn(kind: Kind, dir: &Path, session: &str) -> anyhow::Result<Took> {
    let output = Command::new(std::env::current_exe()?)
        .args(["opening", "--kind", kind.name(), "--session", session])
        .arg("--dir")
        .arg(dir)
        .stderr(Stdio::inherit())
        .output()
        .context("starting an opening")?;
    anyhow::ensure!(output.status.success(), "opening {session} failed");
    serde_json::from_slice(&output.stdout).context("an opening's report does not read")
}

/// Writes a session in memory with an engine and copies its log to the store.
async fn write(kind: Kind, dir: &Path, name: &str, calls: usize) -> anyhow::Result<()> {
    let memory: Arc<dyn LogStore> = Arc::new(MemoryStore::new());
    let provider = Arc::new(Scripted::unmeasured(Script::tools(calls)));
    let contender = Contender::new(provider, Keep::In(memory.clone()), "m");
    let contender = contender.with_window(WINDOW);
    contender.settle(name).await?;
    let session = SessionId::new(name)?;
    let store = kit::store(kind, dir).await?;
    let epoch = store.claim(&session).await?.epoch;
    let mut after = Seq::ZERO;
    loop {
        let page = memory.read(&session, after, PAGE).await?;
        let Some(last) = page.last().map(|fact| fact.seq) else {
            break;
        };
        let page: Vec<_> = page.into_iter().map(Arc::new).collect();
        store.append(&session, epoch, after, &page).await?;
        after = last;
    }
    store.release(&session, epoch).await?;
    Ok(())
}

/// Runs one more short turn.
async fn go_on(kind: Kind, dir: &Path, name: &str) -> anyhow::Result<()> {
    let store = kit::store(kind, dir).await?;
    let provider = Arc::new(Scripted::unmeasured(Script::Text(2)));
    let contender = Contender::new(provider, Keep::In(store), "m").with_window(WINDOW);
    contender.resume(name, &mut |_| {}).await?;
    Ok(())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}
