//! Launches and records.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use windlass_ports::{NoSandbox, Sandbox as _, SandboxErrorKind, SandboxProfile};

use super::place::Place;
use super::{Checked, SandboxFixture};
use crate::store::ensure;

/// A program gets its arguments, folder, environment and streams, and its exit code is the launch's.
pub fn a_program_gets_what_its_launch_says(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    let mut launch = place.launch("/bin/sh", "run", "", "pwd; echo \"$1|$VALUE|$OTHER\"; exit 7");
    launch.arguments.extend(["name".into(), "one two".into()]);
    launch.environment.push(("VALUE".into(), "a\nb".into()));
    let ran = place.run_launch(launch, &place.profile())?;
    let folder = place.base.join("w");
    let expected = format!("{}\none two|a\nb|\n", folder.display());
    ensure!(ran.out == expected, "the program got {:?}, and was to get {expected:?}", ran.out);
    ensure!(ran.code == 7, "the exit code is 7: {ran:?}");
    let mut bare = place.launch("/bin/sh", "run", "", "exit 8");
    bare.environment.retain(|(name, _)| name != "PATH");
    let ran = place.run_launch(bare, &place.profile())?;
    ensure!(ran.code == 8, "a program without a search path runs: {ran:?}");
    let ran = place.run(&place.profile(), "run", "", "kill -KILL $$")?;
    ensure!(ran.code == 137, "a program that a signal ended has no success: {ran:?}");
    Ok(())
}

/// A profile that hides what it grants, or that has relative paths, is an error.
pub fn a_contradiction_starts_nothing(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    let hides = SandboxProfile { hidden: vec![place.base.clone()], ..place.profile() };
    let relative = SandboxProfile { writable: vec!["w".into()], ..place.profile() };
    for profile in [hides, relative] {
        let launch = place.launch("/bin/sh", "run", "", "true");
        let kind = place.sandbox.confine(launch, &profile).err().map(|error| error.kind);
        ensure!(
            kind == Some(SandboxErrorKind::Invalid),
            "a profile that contradicts itself is invalid: {kind:?}"
        );
    }
    Ok(())
}

/// The strength of a launch is the declared one, and names mechanisms.
pub fn the_strength_is_stated(fixture: &dyn SandboxFixture) -> Checked {
    let place = Place::new(fixture)?;
    let profile = place.profile();
    let declared = place.sandbox.strength(&profile).map_err(super::place::failed("ask"))?;
    let launch = place.launch("/bin/sh", "run", "", "true");
    let confined = place.confine(launch, &profile)?.strength;
    ensure!(declared == confined, "declares {declared}, and a launch has {confined}");
    ensure!(
        !declared.tier.is_empty() && !declared.mechanisms.is_empty(),
        "a tier without a name: {declared:?}"
    );
    let none = NoSandbox.strength(&profile).map_err(super::place::failed("ask"))?;
    ensure!(declared.tier != none.tier, "a sandbox has the name of none: {declared}");
    Ok(())
}
