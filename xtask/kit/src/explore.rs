//! `kit explore`: every state of the kit's bounded worlds, held to the laws and to the reviewed
//! table.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use std::{fs, thread};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use windlass_testkit::explore::{Bounded, Coverage, Covered, Extent, Failure, Table, explore};
use windlass_testkit::laws;
use windlass_testkit::world::Transitions;

use xtask::say::{complain, say};
use xtask::step::root;

/// Worlds to explore and their bounds.
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// A file of bounded worlds to explore instead of the kit's own; nothing is reviewed then.
    #[arg(long)]
    worlds: Option<PathBuf>,
    /// Explore one world only; reviewed transitions that are gone are not reported then
    #[arg(long)]
    only: Option<String>,
    /// Most states of each world; each has a default
    #[arg(long)]
    states: Option<usize>,
    /// Leaves out the laws over all prefixes of a log.
    #[arg(long)]
    quick: bool,
    /// Worlds that are explored at the same time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Write the transitions found as the reviewed table; read the difference before you keep it
    #[arg(long)]
    bless: bool,
}

/// Explores the bounded worlds and returns true if all laws hold.
///
/// # Errors
/// When the worlds or the table cannot be read or written.
pub(super) fn run(plan: &Plan) -> anyhow::Result<bool> {
    if plan.bless && !plan.is_everything() {
        bail!("--bless writes the whole table: explore all of the kit's worlds for it");
    }
    let mut worlds = plan.read()?;
    if let Some(only) = &plan.only {
        worlds.retain(|world| world.name == *only);
        if worlds.is_empty() {
            bail!("there is no world {only} there");
        }
    }
    let started = Instant::now();
    let found = search(plan, &worlds);
    let (mut all, mut coverage, mut whole, mut held) =
        (Covered::default(), Coverage::default(), 0, true);
    for (world, found) in worlds.iter().zip(found) {
        let (covered, taken) = match found {
            Ok(found) => found,
            Err(failure) => {
                complain(format_args!("world {}: {failure}", world.name));
                held = false;
                continue;
            }
        };
        all.add(&covered);
        whole += usize::from(covered.whole);
        coverage.add(taken);
    }
    let took = started.elapsed().as_secs_f64();
    let (states, transitions, audits) = (all.states, all.transitions, all.audits);
    let (count, ways) = (worlds.len(), coverage.edges().len());
    say(format_args!(
        "{count} worlds, {whole} of them whole: {states} states, {transitions} transitions, {ways} \
         ways, {audits} merges put to the test, {took:.1} s"
    ));
    if !held {
        return Ok(false);
    }
    say(format_args!("all laws held"));
    match (plan.bless, &plan.worlds) {
        (true, _) => bless(&coverage),
        (false, Some(_)) => Ok(true),
        (false, None) => review(plan, &coverage),
    }
}

/// Result of one world.
type Found = Result<(Covered, Coverage), Box<Failure>>;

/// Explores several worlds at a time, reports each as it ends, and returns the results in order.
fn search(plan: &Plan, worlds: &[Bounded]) -> Vec<Found> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut found = Vec::new();
        while let Some((at, world)) = pick(&next, worlds) {
            found.push((at, look(plan, world)));
        }
        found
    };
    let mut found: Vec<(usize, Found)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.jobs).map(|_| scope.spawn(worker)).collect();
        let done = workers.into_iter().map(|worker| match worker.join() {
            Ok(found) => found,
            Err(panic) => resume_unwind(panic),
        });
        done.flatten().collect()
    });
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, found)| found).collect()
}

/// The next world that nobody looks at.
fn pick<'a>(next: &AtomicUsize, worlds: &'a [Bounded]) -> Option<(usize, &'a Bounded)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, worlds.get(at)?))
}

fn look(plan: &Plan, world: &Bounded) -> Found {
    let extent = Extent {
        states: plan.states.unwrap_or(world.states),
        prefixes: !plan.quick,
        ..Extent::default()
    };
    let begun = Instant::now();
    let mut coverage = Coverage::default();
    let covered = explore(Transitions::CORE, laws::SEARCHED, world, extent, &mut coverage)?;
    tell(&world.name, &covered, begun);
    Ok((covered, coverage))
}

impl Plan {
    /// Returns true when the plan covers all worlds up to their own bounds.
    fn is_everything(&self) -> bool {
        self.worlds.is_none() && self.only.is_none() && self.states.is_none()
    }

    fn read(&self) -> anyhow::Result<Vec<Bounded>> {
        let Some(path) = &self.worlds else {
            return Bounded::all().map_err(|error| anyhow!(error)).context(WORLDS);
        };
        let shown = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("reading {shown}"))?;
        Bounded::read(&text).map_err(|error| anyhow!("{shown}: {error}"))
    }
}

/// Path of the bounded worlds.
const WORLDS: &str = "testkit/explore/worlds.txt";

/// Path of the reviewed table.
const REVIEWED: &str = "testkit/explore/reviewed.txt";

fn tell(name: &str, covered: &Covered, begun: Instant) {
    let took = begun.elapsed().as_secs_f64();
    let Covered { states, tried, transitions, audits, steps, whole, applied: _ } = covered;
    let extent = match whole {
        true => String::from("the whole world"),
        false => format!("cut at {tried} states tried"),
    };
    say(format_args!(
        "{name:<12} {states:>7} states, {transitions:>8} transitions, {steps:>3} steps deep, \
         {audits:>5} merges tested, {extent}, {took:.1} s"
    ));
}

fn bless(coverage: &Coverage) -> anyhow::Result<bool> {
    let path = root().join(REVIEWED);
    fs::write(&path, Table::of(coverage).to_string())
        .with_context(|| format!("writing {}", path.display()))?;
    say(format_args!("wrote {REVIEWED}: read `git diff {REVIEWED}` before you keep it"));
    Ok(true)
}

/// Compares the transitions found with the reviewed table.
fn review(plan: &Plan, coverage: &Coverage) -> anyhow::Result<bool> {
    let path = root().join(REVIEWED);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let table: Table = text.parse().map_err(|error: String| anyhow!(error)).context(REVIEWED)?;
    let mut differences = table.new_in(coverage);
    if plan.is_everything() {
        differences.extend(table.gone_from(coverage));
    }
    let (count, shown) = (differences.len(), 10);
    for difference in differences.iter().take(shown) {
        complain(format_args!("{difference}"));
    }
    if count == 0 {
        return Ok(true);
    }
    complain(format_args!(
        "{count} ways differ from {REVIEWED}, {} are shown. If they are right, `cargo xtask explore \
         --bless` takes them into the table: read what it changes, then `cargo xtask diagram`",
        count.min(shown)
    ));
    Ok(false)
}
