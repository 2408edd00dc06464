//! Starting a command: bare, and confined by each tier that works here.
//!
//! A start is a spawn of `sh -c true` until it has ended. The helper of the sandbox is this program,
//! which is about as large as the command.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use windlass_ports::{NoSandbox, ProcessLaunch, Sandbox, SandboxProfile};
use windlass_sandbox::{ProfileScope, SandboxConfig, SandboxTier, SystemSandbox};

use crate::rounds::Spread;
use xtask::say::say;

/// Longest time that the strongest tier may add to a start, in milliseconds.
const AT_MOST_MS: f64 = 5.0;

const TIERS: [(&str, SandboxTier); 3] = [
    ("namespaces", SandboxTier::Namespaces),
    ("landlock", SandboxTier::Landlock),
    ("bubblewrap", SandboxTier::Bubblewrap),
];

/// Extent of the measure.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Rounds; the median counts.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Starts of a round.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    starts: u32,
}

/// Measures, and returns true if the target is met.
///
/// # Errors
/// When a command cannot be run.
pub(crate) fn measure(plan: &Plan) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir()?;
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let scope = ProfileScope { workspace: folder.path().canonicalize()?, home, hidden: Vec::new() };
    std::fs::create_dir_all(folder.path().join(".git"))?;
    let profile = scope.profile("workspace").context("the profile `workspace`")?;
    let mut met = true;
    for (name, tier) in TIERS {
        let sandbox = SystemSandbox::new(SandboxConfig { tier, ..SandboxConfig::default() });
        let strength = match sandbox.strength(&profile) {
            Ok(strength) => strength,
            Err(error) => {
                say(format_args!("{name}: left out: {error}"));
                continue;
            }
        };
        let (mut added, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..plan.rounds {
            let bare = round(&NoSandbox, &profile, &scope, plan.starts)?;
            let confined = round(&sandbox, &profile, &scope, plan.starts)?;
            added.push(confined - bare);
            ratios.push(confined / bare);
        }
        let added = Spread::of(added).context("no rounds")?;
        let ratio = Spread::of(ratios).context("no rounds")?;
        let mark = match tier {
            SandboxTier::Namespaces if added.median > AT_MOST_MS => {
                met = false;
                " MISSED"
            }
            SandboxTier::Strongest
            | SandboxTier::Namespaces
            | SandboxTier::Landlock
            | SandboxTier::Bubblewrap => "",
        };
        say(format_args!("shell `true`, {strength} : bare spawn"));
        say(format_args!("  added {added} ms (at most {AT_MOST_MS} for namespaces){mark}"));
        say(format_args!("  ratio {ratio}"));
    }
    Ok(met)
}

/// Returns the time of one start, in milliseconds.
fn round(
    sandbox: &dyn Sandbox,
    profile: &SandboxProfile,
    scope: &ProfileScope,
    starts: u32,
) -> anyhow::Result<f64> {
    let begun = Instant::now();
    for _ in 0..starts {
        let launch = ProcessLaunch {
            program: PathBuf::from("/bin/sh"),
            arguments: vec!["-c".into(), "true".into()],
            folder: scope.workspace.clone(),
            environment: Vec::new(),
        };
        let launch = sandbox.confine(launch, profile)?.launch;
        let status = Command::new(launch.program)
            .args(launch.arguments)
            .current_dir(launch.folder)
            .env_clear()
            .envs(launch.environment)
            .stdin(Stdio::null())
            .status()?;
        anyhow::ensure!(status.success(), "the command ended with {status}");
    }
    Ok(begun.elapsed().as_secs_f64() * 1e3 / f64::from(starts))
}
