//! `kit golden`: checks the golden logs, and adds one. It never rewrites one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use windlass_ports::codec;
use windlass_testkit::golden::{self, Golden};
use windlass_testkit::world::{Machine, Script, check_all};

use crate::say::{complain, say};

/// What to do about the golden logs.
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// Check all of them; so it does when told nothing.
    #[arg(long, conflicts_with = "add")]
    check: bool,
    /// Add one: its name, and a file with a log (as `windlass export` writes it) or with a script
    /// of a simulated world.
    #[arg(long, num_args = 2, value_names = ["NAME", "FILE"])]
    add: Option<Vec<String>>,
    /// The folder of the logs [default: that of the kit].
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// Checks the golden logs, or adds one. Answers whether all holds.
///
/// # Errors
/// When they cannot be read, or the new one cannot be added.
pub(super) fn run(plan: &Plan) -> anyhow::Result<bool> {
    let folder = plan.folder.clone().unwrap_or_else(golden::folder);
    match plan.add.as_deref() {
        None => check(&folder),
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
    let mut off = 0_usize;
    for golden in &all {
        match golden.check(&Machine::CORE) {
            Ok(covered) => {
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
         rendered, {turns} turns; {kinds} kinds of facts, {} fields and words",
        labels.len() - kinds
    ));
    if all.is_empty() {
        bail!("there are no golden logs in {}", folder.display());
    }
    Ok(off == 0)
}

fn add(folder: &Path, name: &str, file: &Path) -> anyhow::Result<Golden> {
    let text = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    if text.trim_ascii_start().starts_with(b"{") {
        return Ok(golden::add(folder, name, &text, "an engine's log")?);
    }
    let script: Script = String::from_utf8(text)
        .context("a script is text")?
        .parse()
        .map_err(|wrong: String| anyhow!("{}: {wrong}", file.display()))?;
    let world = check_all(Machine::CORE, &script)?;
    let mut log = Vec::new();
    for recorded in world.log() {
        log.extend(codec::encode(recorded)?);
        log.push(b'\n');
    }
    Ok(golden::add(folder, name, &log, "a simulated world")?)
}
