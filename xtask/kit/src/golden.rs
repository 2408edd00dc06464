//! `kit golden`: checks the golden logs, and adds one. It never rewrites one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use windlass_core::{ReplayReport, decide, replay};
use windlass_ports::codec;
use windlass_testkit::golden::{self, Golden};
use windlass_testkit::laws;
use windlass_testkit::world::{self, Script, Transitions, check_all, random};

use xtask::say::{complain, say};

/// Task for the golden logs.
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// Check all of them, the default
    #[arg(long, conflicts_with = "add")]
    check: bool,
    /// Add one: its name, and a file with a log (as `windlass export` writes it) or with a script
    /// of a simulated world.
    #[arg(long, num_args = 2, value_names = ["NAME", "FILE"])]
    add: Option<Vec<String>>,
    /// Also replay the logs of this many random worlds
    #[arg(long, default_value_t = 0, conflicts_with = "add")]
    worlds: u64,
    /// The folder of the logs [default: that of the kit].
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// Checks the golden logs or adds one, and returns true if all hold.
///
/// # Errors
/// When they cannot be read, or the new one cannot be added.
pub(super) fn run(plan: &Plan) -> anyhow::Result<bool> {
    let folder = plan.folder.clone().unwrap_or_else(golden::folder);
    match plan.add.as_deref() {
        None => Ok(check(&folder)? && worlds(plan.worlds)?),
        Some([name, file]) => {
            let added = add(&folder, name, Path::new(file))?;
            say(format_args!("golden log {} added", added.name));
            Ok(true)
        }
        Some(_) => bail!("--add takes a name and a file"),
    }
}

fn check(folder: &Path) -> anyhow::Result<bool> {
    let all = golden::read(folder).context("reading the golden logs")?;
    let (mut facts, mut requests, mut turns) = (0, 0, 0);
    let mut labels = BTreeSet::new();
    let (mut decisions, mut otherwise) = (0, 0);
    let mut off = 0_usize;
    for golden in &all {
        match golden.check(&Transitions::CORE) {
            Ok(covered) => {
                let log = golden::facts(&golden.log).map_err(|what| anyhow!(what))?;
                let told = replay(decide, log)?;
                decisions += told.same + told.different + told.unverifiable;
                otherwise += told.different;
                off += usize::from(!as_meant(&golden.name, &told));
                facts += covered.facts;
                requests += covered.requests;
                turns += covered.turns;
                labels.extend(covered.labels);
            }
            Err(error) => {
                complain(format_args!("{error}"));
                off += 1;
            }
        }
    }
    let kinds = labels.iter().filter(|label| !label.contains('.')).count();
    let logs = all.len();
    say(format_args!(
        "{logs} golden logs, {off} of them off: {facts} facts folded, {requests} requests \
         rendered, {turns} turns; {kinds} kinds of facts, {} fields and words; {decisions} decisions \
         replayed, {otherwise} of them different",
        labels.len() - kinds
    ));
    if all.is_empty() {
        bail!("there are no golden logs in {}", folder.display());
    }
    Ok(off == 0)
}

/// Returns true when a golden log replays as recorded, apart from its expected differences.
fn as_meant(name: &str, told: &ReplayReport) -> bool {
    let meant = golden::MEANT.iter().filter(|(log, ..)| *log == name);
    let meant: Vec<u64> = meant.map(|(_, seq, _)| *seq).collect();
    let seqs: Vec<u64> = told.divergences.iter().map(|one| one.seq.0).collect();
    for one in &told.divergences {
        if !meant.contains(&one.seq.0) {
            complain(format_args!(
                "golden log {name}: {one}; if this is intended, give the reason in golden::MEANT"
            ));
        }
    }
    for seq in meant.iter().filter(|seq| !seqs.contains(seq)) {
        complain(format_args!(
            "golden log {name}, position {seq}: golden::MEANT has it decided otherwise, and it is not"
        ));
    }
    if !told.request_divergences.is_empty() {
        let requested = &told.request_divergences;
        complain(format_args!("golden log {name}: {requested:?}"));
    }
    seqs == meant && told.different == seqs.len() as u64 && told.request_divergences.is_empty()
}

/// Replays the logs of random worlds: the engine decides as it just did.
fn worlds(count: u64) -> anyhow::Result<bool> {
    if count == 0 {
        return Ok(true);
    }
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), seed);
    let strategy = random::script(60);
    let (mut facts, mut same, mut cut_short, mut unjudged) = (0, 0, 0, 0);
    for number in 0..count {
        let tree = strategy.new_tree(&mut runner).map_err(|reason| anyhow!("{reason}"))?;
        let script = tree.current();
        let world = world::run(Transitions::CORE, &script)?;
        let told = replay(decide, world.log().iter().cloned())?;
        if let Some(first) = told.divergences.first() {
            complain(format_args!("world {number}: {first}, in the world{script:?}"));
            return Ok(false);
        }
        facts += told.facts;
        same += told.same;
        cut_short += told.cut_short;
        unjudged += told.unverifiable;
    }
    say(format_args!(
        "{count} random worlds replayed, {facts} facts: {same} decisions the same, {cut_short} of \
         them cut short by a crash, none different, {unjudged} unverifiable"
    ));
    Ok(true)
}

fn add(folder: &Path, name: &str, file: &Path) -> anyhow::Result<Golden> {
    let text = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    if text.trim_ascii_start().starts_with(b"{") {
        return Ok(golden::add(folder, name, facts(&text), "an engine's log")?);
    }
    let script: Script = String::from_utf8(text)
        .context("a script is text")?
        .parse()
        .map_err(|wrong: String| anyhow!("{}: {wrong}", file.display()))?;
    let world = check_all(Transitions::CORE, laws::ALL, &script)?;
    let mut log = Vec::new();
    for recorded in world.log() {
        log.extend(codec::encode(recorded)?);
        log.push(b'\n');
    }
    Ok(golden::add(folder, name, &log, "a simulated world")?)
}

/// Skips the header line of an export.
fn facts(export: &[u8]) -> &[u8] {
    if !export.starts_with(b"{\"export\":") {
        return export;
    }
    let end = export.iter().position(|byte| *byte == b'\n');
    end.and_then(|end| export.get(end + 1..)).unwrap_or_default()
}
