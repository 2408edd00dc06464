//! Cases about what lasts from one program to the next.

use windlass_core::ProgramEnd;

use super::checks::{ensure, json, run, run_sample, well_formed, written};
use super::{Checked, ProgramFixture, Sample, Told, Violation, World};

/// Runs a program that keeps something, and answers its memory.
fn kept(
    fixture: &dyn ProgramFixture,
    name: &str,
    value: &str,
    before: Option<&str>,
) -> Result<Option<String>, Violation> {
    let world = World::new().memory(before);
    let Some(told) = run_sample(fixture, &Sample::Keep(name, value), world)? else {
        return Ok(None);
    };
    told.ended_well("a program that keeps something")?;
    ensure(told.done.defined.iter().any(|defined| defined == name), || {
        format!("{name} was kept, and {:?} is what it says to have defined", told.done.defined)
    })?;
    let memory = told.done.memory.as_deref().map(str::to_owned);
    ensure(memory.is_some(), || "a program that keeps something leaves no memory".into())?;
    Ok(memory)
}

fn reads(fixture: &dyn ProgramFixture, name: &str, memory: &str, meant: &str) -> Checked {
    let world = World::new().memory(Some(memory));
    let Some(told) = run_sample(fixture, &Sample::Kept(name), world)? else {
        return Ok(());
    };
    let (came, meant) = (told.returned(name)?, json(meant, "the case")?);
    ensure(came == meant, || format!("{name} was kept as {meant}, and read as {came}"))
}

/// What a program keeps is read by those after it, also by another runtime object, until it is kept
/// again.
///
/// # Errors
/// A violation when it is not.
pub fn what_is_kept_lasts(fixture: &dyn ProgramFixture) -> Checked {
    for value in ["7", "\"text \\u00e4\"", "null", "[1,{\"a\":[true]}]", "{}"] {
        let Some(memory) = kept(fixture, "found", value, None)? else {
            return Ok(());
        };
        reads(fixture, "found", &memory, value)?;
    }
    let Some(first) = kept(fixture, "first", "1", None)? else {
        return Ok(());
    };
    let Some(second) = kept(fixture, "second", "2", Some(&first))? else {
        return Ok(());
    };
    reads(fixture, "first", &second, "1")?;
    reads(fixture, "second", &second, "2")?;
    let Some(third) = kept(fixture, "first", "3", Some(&second))? else {
        return Ok(());
    };
    reads(fixture, "first", &third, "3")?;
    reads(fixture, "second", &third, "2")
}

/// A program that keeps nothing leaves what was kept as it was.
///
/// # Errors
/// A violation when something is lost.
pub fn a_program_that_keeps_nothing_changes_nothing(fixture: &dyn ProgramFixture) -> Checked {
    let Some(memory) = kept(fixture, "found", "7", None)? else {
        return Ok(());
    };
    let world = World::new().memory(Some(&memory));
    let Some(told) = run_sample(fixture, &Sample::Return("1"), world)? else {
        return Ok(());
    };
    told.returned("a program that keeps nothing")?;
    // A runtime may keep the last value of each program: then there is a new memory, which has
    // what was in the old one.
    let after = told.done.memory.as_deref().unwrap_or(&memory);
    reads(fixture, "found", after, "7")
}

/// A program that fails, or gives up, leaves no memory.
///
/// # Errors
/// A violation when it does.
pub fn a_program_that_fails_keeps_nothing(fixture: &dyn ProgramFixture) -> Checked {
    let nothing = |told: &Told, sample: &Sample<'_>| {
        ensure(told.done.memory.is_none(), || {
            format!("{sample:?} failed, and left a memory: {:?}", told.done)
        })
    };
    for sample in [Sample::Broken, Sample::KeepAndFail("n", "1")] {
        let Some(told) = run_sample(fixture, &sample, World::new())? else {
            continue;
        };
        let failed = match &told.done.end {
            ProgramEnd::Fail { .. } | ProgramEnd::Fault(_) => true,
            ProgramEnd::Value { .. } | ProgramEnd::Return { .. } => false,
        };
        ensure(failed, || format!("{sample:?} must fail: {:?}", told.done))?;
        nothing(&told, &sample)?;
    }
    Ok(())
}

/// Memory that this runtime has not written is a fault before the program runs.
///
/// # Errors
/// A violation when it runs or panics.
pub fn memory_that_is_foreign_is_refused(fixture: &dyn ProgramFixture) -> Checked {
    let Some(source) = written(fixture, &Sample::Return("1")) else {
        return Ok(());
    };
    let mut foreign = vec![
        String::new(),
        "no JSON".to_owned(),
        "7".to_owned(),
        "[[[".to_owned(),
        "{\"some\":\"other runtime\"}".to_owned(),
        "[".repeat(100_000),
        format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)),
    ];
    if let Some(own) = kept(fixture, "found", "[1,2,3]", None)? {
        let half = (1..own.len() / 2).rev().find(|at| own.is_char_boundary(*at));
        foreign.extend(half.map(|half| own[..half].to_owned()));
    }
    for memory in foreign {
        let begun: String = memory.chars().take(40).collect();
        let world = World::new().memory(Some(&memory));
        let told = run(fixture, &source, world, super::checks::obliging)?;
        ensure(told.refused, || {
            format!("the memory {begun:?} must be refused: {:?}", told.done.end)
        })?;
        well_formed(told.fault("foreign memory")?, "foreign memory")?;
    }
    Ok(())
}

/// A program that keeps more than it may ends with a fault, and what it may keep is kept.
///
/// # Errors
/// A violation when it is otherwise.
pub fn memory_is_bounded(fixture: &dyn ProgramFixture) -> Checked {
    let world = || World::new().limits(|limits| limits.retained_bytes = 10_000);
    if let Some(told) = run_sample(fixture, &Sample::KeepMuch(20_000), world())? {
        let fault = told.fault("keeping more than it may")?;
        well_formed(fault, "keeping more than it may")?;
        ensure(told.done.memory.is_none(), || {
            "a program that keeps more than it may left a memory".into()
        })?;
    }
    if let Some(told) = run_sample(fixture, &Sample::KeepMuch(2_000), world())? {
        told.ended_well("keeping what it may")?;
        let bytes = told.done.memory.as_deref().map_or(0, str::len);
        ensure((2_000..=10_000).contains(&bytes), || {
            format!("2000 letters are kept in {bytes} bytes")
        })?;
    }
    Ok(())
}
