//! Trials: the kit is built with each mutation in turn, and holds random worlds to all laws.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use super::data::{self, Mutant};
use super::tree::Copy;
use xtask::say::say;
use xtask::step::{cargo, root};
use xtask::tools::target;

/// Package and program that checks the laws.
const KIT: &str = "xtask-kit";

/// Time limit of the laws over one mutation, which may loop forever.
const LONGEST: Duration = Duration::from_secs(600);
/// Interval between two looks at a running check.
const LOOK: Duration = Duration::from_millis(50);

/// Report of the kit on the laws.
#[derive(Debug, Deserialize)]
struct Watched {
    /// Scripts that were run before the random worlds.
    scripts: u64,
    worlds: u64,
    broken: BTreeMap<u8, Count>,
}

#[derive(Debug, Deserialize)]
struct Count {
    times: u64,
    first: String,
}

/// The kit with one mutation in it, or with none.
struct Trial {
    program: PathBuf,
    script: Option<PathBuf>,
    told: PathBuf,
    built: Duration,
}

/// Applies each mutation of the laws to a copy of the tree, and shows which laws kill it. `laws`
/// are those to look at; none means all.
///
/// # Errors
/// When a mutation survives, is killed by another law too, or no longer applies.
pub(super) fn run(laws: &[u8], worlds: u64) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut mutants = data::read(&root())?;
    mutants.retain(|mutant| laws.is_empty() || laws.contains(&mutant.law));
    ensure!(!mutants.is_empty(), "there is no such law");
    let folder = target()?.join("mutants");
    let copy = Copy::make(&root(), &folder, None)?;
    say(format_args!(
        "{} mutations, each over {worlds} random worlds, facts and streams, in {}",
        mutants.len(),
        folder.display()
    ));
    let scripts = mutants.iter().enumerate();
    let scripts = scripts.filter_map(|(nth, mutant)| Some((nth, mutant.change.world.as_ref()?)));
    let scripts: BTreeMap<usize, PathBuf> = scripts
        .map(|(nth, world)| {
            let path = folder.join(format!("world_{nth:02}"));
            fs::write(&path, world).with_context(|| format!("writing {}", path.display()))?;
            Ok((nth, path))
        })
        .collect::<anyhow::Result<_>>()?;

    let unchanged = build(&folder, &copy, "unchanged", None)?;
    let all: Vec<&Path> = scripts.values().map(PathBuf::as_path).collect();
    let watched = judge(&unchanged, watch(&unchanged, worlds, &all)?)?;
    if let Some((law, count)) = watched.broken.first_key_value() {
        bail!("law {law} is broken without any mutation: {}: run `cargo xtask laws`", count.first);
    }
    say("unchanged: all laws hold");

    // While the laws look at one mutation, the next one is built.
    let mut faults = Vec::new();
    let mut before: Option<(&Mutant, Trial, Child)> = None;
    for (nth, mutant) in mutants.iter().enumerate() {
        let built = mutated(&folder, &copy, nth, mutant, scripts.get(&nth));
        if let Some((mutant, trial, child)) = before.take() {
            faults.extend(conclude(mutant, judge(&trial, child), trial.built));
        }
        let begun = built.and_then(|trial| {
            let script: Vec<&Path> = trial.script.iter().map(PathBuf::as_path).collect();
            let child = watch(&trial, worlds, &script)?;
            Ok((trial, child))
        });
        match begun {
            Ok((trial, child)) => before = Some((mutant, trial, child)),
            Err(error) => faults.extend(conclude(mutant, Err(error), Duration::ZERO)),
        }
    }
    if let Some((mutant, trial, child)) = before {
        faults.extend(conclude(mutant, judge(&trial, child), trial.built));
    }
    let took = started.elapsed().as_secs_f64();
    ensure!(
        faults.is_empty(),
        "{} of {} mutations are not killed by their law alone: {}",
        faults.len(),
        mutants.len(),
        faults.join("; ")
    );
    say(format_args!(
        "{} mutations, each killed by its law and by no other, {took:.0} s",
        mutants.len()
    ));
    Ok(())
}

/// Builds the kit with a mutation in it. The copy is as it was afterwards.
fn mutated(
    folder: &Path,
    copy: &Copy,
    nth: usize,
    mutant: &Mutant,
    script: Option<&PathBuf>,
) -> anyhow::Result<Trial> {
    let file = &mutant.change.file;
    let path = copy.root.join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    copy.write(file, &mutant.apply(&text)?)?;
    let built = build(folder, copy, &format!("{nth:02}"), script.cloned());
    copy.write(file, &text)?;
    built
}

fn build(folder: &Path, copy: &Copy, name: &str, script: Option<PathBuf>) -> anyhow::Result<Trial> {
    let started = Instant::now();
    let built = folder.join("target");
    let output = cargo()
        .current_dir(&copy.root)
        .args(["build", "--quiet", "--locked", "--package", KIT])
        .args(["--color", "never", "--target-dir"])
        .arg(&built)
        .stdin(Stdio::null())
        .output()
        .context("starting cargo")?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        bail!("it does not build:\n{}", told.trim());
    }
    let program = folder.join(format!("kit_{name}"));
    let from = built.join("debug").join(format!("{KIT}{}", std::env::consts::EXE_SUFFIX));
    fs::copy(&from, &program).with_context(|| format!("copying {}", from.display()))?;
    Ok(Trial {
        told: folder.join(format!("told_{name}")),
        program,
        script,
        built: started.elapsed(),
    })
}

/// Starts the check of the laws.
fn watch(trial: &Trial, worlds: u64, scripts: &[&Path]) -> anyhow::Result<Child> {
    let shown = trial.program.display();
    let told = File::create(&trial.told).with_context(|| format!("starting {shown}"))?;
    let mut command = Command::new(&trial.program);
    command.args(["laws", "--watch", "--worlds", &worlds.to_string()]);
    for script in scripts {
        command.arg("--script").arg(script);
    }
    let child = command.stdin(Stdio::null()).stdout(told).spawn();
    child.with_context(|| format!("starting {shown}"))
}

/// Waits for the laws and reads their report.
fn judge(trial: &Trial, mut child: Child) -> anyhow::Result<Watched> {
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().context("waiting for the laws")? {
            break status;
        }
        if started.elapsed() > LONGEST {
            child.kill().context("ending the laws")?;
            child.wait().context("ending the laws")?;
            bail!(
                "no law kills it: the laws have not come to an end after {} s",
                LONGEST.as_secs()
            );
        }
        thread::sleep(LOOK);
    };
    let told = fs::read_to_string(&trial.told)
        .with_context(|| format!("reading {}", trial.told.display()))?;
    fs::remove_file(&trial.program)
        .with_context(|| format!("removing {}", trial.program.display()))?;
    read(status, &told)
}

fn read(status: ExitStatus, told: &str) -> anyhow::Result<Watched> {
    serde_json::from_str(told.trim())
        .with_context(|| format!("no law kills it: the kit ends with {status}, and tells {told:?}"))
}

/// Prints the result of a mutation and returns the fault, if it is one.
fn conclude(mutant: &Mutant, watched: anyhow::Result<Watched>, built: Duration) -> Option<String> {
    let Mutant { law, change } = mutant;
    let name = &change.name;
    let (told, fault) = match &watched {
        Ok(watched) => verdict(*law, watched),
        Err(error) => (format!("{error:#}"), true),
    };
    say(format_args!("law {law}: {name}: {told} (built in {:.1} s)", built.as_secs_f64()));
    fault.then(|| format!("law {law}: {name}"))
}

/// Returns the verdict on a mutation, and true when it is a fault.
fn verdict(law: u8, watched: &Watched) -> (String, bool) {
    let all = watched.scripts + watched.worlds;
    if watched.broken.is_empty() {
        return (format!("SURVIVES {all} worlds"), true);
    }
    let killers: Vec<u8> = watched.broken.keys().copied().collect();
    if killers == [law] {
        let times = watched.broken.values().map(|count| count.times).sum::<u64>();
        return (format!("killed by law {law} alone, {times} times in {all}"), false);
    }
    let mut told = format!("KILLED BY THE LAWS {killers:?}");
    for (killer, Count { times, first }) in &watched.broken {
        // Writing to a string does not fail.
        let _written = write!(told, "\n    law {killer}, {times} times: {first}");
    }
    (told, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(told: &str) -> Watched {
        serde_json::from_str(told).unwrap()
    }

    #[test]
    fn only_the_law_itself_may_kill() {
        let none = watched(r#"{"scripts":1,"worlds":9,"broken":{}}"#);
        assert_eq!(verdict(4, &none), (String::from("SURVIVES 10 worlds"), true));
        let alone = r#"{"scripts":1,"worlds":9,"broken":{"4":{"times":3,"first":"world 2: a"}}}"#;
        let told = String::from("killed by law 4 alone, 3 times in 10");
        assert_eq!(verdict(4, &watched(alone)), (told, false));
        assert!(verdict(5, &watched(alone)).1);
        let both = r#"{"scripts":0,"worlds":9,"broken":{
            "4":{"times":3,"first":"a"},"5":{"times":1,"first":"b"}}}"#;
        let (told, fault) = verdict(4, &watched(both));
        assert!(fault && told.contains("law 5, 1 times: b"), "{told}");
    }

    #[test]
    fn what_is_no_verdict_is_a_fault() {
        let status = Command::new("sh").args(["-c", "exit 3"]).status().unwrap();
        let error = read(status, "").unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
    }
}
