//! Cases about limits: each ends a program with a fault of its own class, whatever it does.

use windlass_core::{ProgramEnd, ProgramLimits};
use windlass_ports::ProgramAnswer;

use super::checks::{ensure, json, obliging, run, run_sample, well_formed, written};
use super::{Checked, ProgramFixture, Sample, Told, World};

/// A world in which a program that means harm is stopped within seconds.
fn tight() -> World {
    World::new().limits(|limits| {
        limits.steps = 2_000_000;
        limits.memory_bytes = 32 << 20;
        limits.depth = 500;
        limits.calls = 50;
    })
}

/// Holds a program to ending with a fault of one of these classes.
fn ends_as(told: &Told, classes: &[&str], what: &str) -> Checked {
    let fault = told.fault(what)?;
    well_formed(fault, what)?;
    ensure(classes.contains(&&*fault.class), || {
        format!("{what} must end as one of {classes:?}: {fault}")
    })?;
    ensure(told.done.retained.is_empty(), || format!("{what} left a memory"))
}

/// A source that is longer than it may be is refused before it is read.
///
/// # Errors
/// A violation when it runs.
pub fn long_sources_are_refused(fixture: &dyn ProgramFixture) -> Checked {
    let Some(source) = written(fixture, &Sample::Return("[1,2,3]")) else {
        return Ok(());
    };
    for (bytes, fits) in [(source.len() as u64 - 1, false), (source.len() as u64, true)] {
        let world = World::new().limits(|limits| limits.source_bytes = bytes);
        let told = run(fixture, &source, world, obliging)?;
        if fits {
            told.ended_well("a source as long as it may be")?;
        } else {
            ensure(told.refused, || "a source that is longer than it may be ran".into())?;
            ends_as(&told, &["program_too_large"], "a source that is too long")?;
        }
    }
    let long = source.repeat(1_000_000 / source.len());
    let told = run(fixture, &long, World::new(), obliging)?;
    ends_as(&told, &["program_too_large"], "a source of a million bytes")
}

/// A program that goes round for ever runs out of steps, and says how many it took.
///
/// # Errors
/// A violation when it does not.
pub fn endless_programs_run_out_of_steps(fixture: &dyn ProgramFixture) -> Checked {
    for steps in [1_000, 100_000, 2_000_000] {
        let world = tight().limits(|limits| limits.steps = steps);
        let Some(told) = run_sample(fixture, &Sample::Endless, world)? else {
            return Ok(());
        };
        ends_as(&told, &["fuel_exceeded"], "an endless program")?;
        ensure(told.done.steps >= steps, || {
            format!("the steps ran out at {steps}, and it says to have taken {}", told.done.steps)
        })?;
    }
    if let Some(told) = run_sample(fixture, &Sample::CallThenEndless("look"), tight())? {
        ends_as(&told, &["fuel_exceeded"], "an endless program after a call")?;
    }
    Ok(())
}

/// A loop goes round as often as it may and no more; where that is 0, only the steps bound it.
///
/// # Errors
/// A violation when it goes round more or less.
pub fn rounds_of_a_loop_are_bounded(fixture: &dyn ProgramFixture) -> Checked {
    for (most, rounds, fits) in [(10, 11, false), (10, 10, true), (1, 2, false), (0, 500, true)] {
        let world = tight().limits(|limits| limits.loop_rounds = most);
        let Some(told) = run_sample(fixture, &Sample::Rounds(rounds), world)? else {
            return Ok(());
        };
        let what = format!("a loop of {rounds} rounds that may have {most}");
        if fits {
            told.ended_well(&what)?;
        } else {
            ends_as(&told, &["loop_limit_exceeded"], &what)?;
        }
    }
    Ok(())
}

/// A program that takes more and more memory is stopped.
///
/// # Errors
/// A violation when it is not.
pub fn memory_bombs_are_stopped(fixture: &dyn ProgramFixture) -> Checked {
    for bytes in [1 << 20, 32 << 20] {
        let world = tight().limits(|limits| {
            limits.memory_bytes = bytes;
            limits.steps = ProgramLimits::default().steps;
        });
        if let Some(told) = run_sample(fixture, &Sample::MemoryBomb, world)? {
            ends_as(&told, &["memory_exceeded"], "a memory bomb")?;
        }
    }
    Ok(())
}

/// A function that calls itself for ever is stopped, and no stack overflows.
///
/// # Errors
/// A violation when it is not.
pub fn recursion_is_stopped(fixture: &dyn ProgramFixture) -> Checked {
    for depth in [10, 500, 1_000_000] {
        let world = tight().limits(|limits| limits.depth = depth);
        if let Some(told) = run_sample(fixture, &Sample::Recursion, world)? {
            let classes: &[&str] = if depth > 500 {
                &["depth_exceeded", "memory_exceeded", "fuel_exceeded"]
            } else {
                &["depth_exceeded"]
            };
            ends_as(&told, classes, "endless recursion")?;
        }
    }
    Ok(())
}

/// Sources and values that are nested without measure end in some way, and no stack overflows.
///
/// # Errors
/// A violation when one does not end.
pub fn deep_nesting_does_no_harm(fixture: &dyn ProgramFixture) -> Checked {
    for depth in [10, 100, 1_000, 30_000, 300_000] {
        let world = tight().limits(|limits| limits.source_bytes = 1 << 20);
        let Some(told) = run_sample(fixture, &Sample::NestedSource(depth), world)? else {
            break;
        };
        if depth <= 10 {
            told.ended_well("a value nested ten deep")?;
        } else if depth > 30_000 {
            told.fault("a value nested 300,000 deep")?;
        }
    }
    let world = World::new();
    if let Some(told) = run_sample(fixture, &Sample::NestedValue, world)? {
        let fault = told.fault("a value nested a million deep")?;
        well_formed(fault, "a value nested a million deep")?;
    }
    Ok(())
}

/// A pattern that takes a backtracking matcher exponential time ends.
///
/// # Errors
/// A violation when it does not.
pub fn patterns_do_not_run_away(fixture: &dyn ProgramFixture) -> Checked {
    let Some(told) = run_sample(fixture, &Sample::Catastrophic, tight())? else {
        return Ok(());
    };
    match &told.done.end {
        ProgramEnd::Value { value } | ProgramEnd::Return { value } => {
            json(value, "a match").map(drop)
        }
        ProgramEnd::Fault(_) => ends_as(&told, &["fuel_exceeded"], "a pattern that runs away"),
        ProgramEnd::Fail { value } => ensure(false, || format!("a match gave up: {value}")),
    }
}

/// Calls are counted wherever they stand: no program makes more than it may, one after the other or
/// at the same time.
///
/// # Errors
/// A violation when one does.
pub fn calls_are_counted(fixture: &dyn ProgramFixture) -> Checked {
    for sample in [
        Sample::EndlessCalls("look"),
        Sample::MillionCalls("look"),
        Sample::Loop("look", 60),
        Sample::Mapped("look", 60),
        Sample::Parallel("look", 60),
    ] {
        let Some(source) = written(fixture, &sample) else {
            continue;
        };
        let told = run(fixture, &source, tight(), obliging)?;
        let calls: usize = told.steps.iter().map(Vec::len).sum();
        ensure(calls <= 50, || format!("{sample:?} made {calls} calls, of which it may make 50"))?;
        let classes: &[&str] = if sample == Sample::MillionCalls("look") {
            &["tool_call_limit_exceeded", "fuel_exceeded", "memory_exceeded"]
        } else {
            &["tool_call_limit_exceeded"]
        };
        ends_as(&told, classes, &format!("{sample:?} with 50 calls"))?;
    }
    for sample in
        [Sample::Loop("look", 50), Sample::Mapped("look", 50), Sample::Parallel("look", 50)]
    {
        if let Some(told) = run_sample(fixture, &sample, tight())? {
            told.ended_well("a program with as many calls as it may make")?;
        }
    }
    // Calls that failed count as well.
    if let Some(source) = written(fixture, &Sample::EndlessCalls("pay")) {
        let told = run(fixture, &source, tight(), |calls| {
            vec![ProgramAnswer::Failed("no".into()); calls.len()]
        })?;
        told.fault("calls that fail for ever")?;
    }
    Ok(())
}

/// What a program prints is bounded, also where it fails over it.
///
/// # Errors
/// A violation when it is not.
pub fn prints_are_bounded(fixture: &dyn ProgramFixture) -> Checked {
    let world = || tight().limits(|limits| limits.print_bytes = 1_000);
    let printed = |told: &Told| -> usize { told.done.prints.iter().map(String::len).sum() };
    if let Some(told) = run_sample(fixture, &Sample::PrintMuch(1_000), world())? {
        ends_as(&told, &["print_limit_exceeded"], "printing more than it may")?;
        let bytes = printed(&told);
        ensure(bytes <= 1_000, || {
            format!("{bytes} bytes of prints are told, and 1000 may be printed")
        })?;
    }
    if let Some(told) = run_sample(fixture, &Sample::PrintMuch(50), world())? {
        told.ended_well("printing what it may")?;
        ensure(printed(&told) == 500, || {
            format!("500 bytes were printed, and told {:?}", told.done.prints)
        })?;
    }
    Ok(())
}

/// A value that is longer than it may be is a fault.
///
/// # Errors
/// A violation when it is returned, or one that is short enough is not.
pub fn values_are_bounded(fixture: &dyn ProgramFixture) -> Checked {
    let world = || tight().limits(|limits| limits.value_bytes = 10_000);
    if let Some(told) = run_sample(fixture, &Sample::ReturnMuch(20_000), world())? {
        let fault = told.fault("returning more than it may")?;
        well_formed(fault, "returning more than it may")?;
    }
    if let Some(told) = run_sample(fixture, &Sample::ReturnMuch(2_000), world())? {
        let value = told.returned("returning what it may")?;
        ensure(value.as_str().is_some_and(|text| text.len() == 2_000), || {
            format!("2000 letters must be returned: {value}")
        })?;
    }
    Ok(())
}

/// Each program that means harm, those that every language has and the further ones of this one, ends
/// within its limits. How long each took, and the most memory that the process had by then, is told on
/// stderr.
///
/// # Errors
/// A violation that names each that does not end, or panics.
#[allow(clippy::print_stderr, reason = "what is measured is to be read")]
pub fn hostile_programs_end(fixture: &dyn ProgramFixture) -> Checked {
    let every = [
        ("endless loop", Sample::Endless),
        ("memory bomb", Sample::MemoryBomb),
        ("endless recursion", Sample::Recursion),
        ("deep source", Sample::NestedSource(30_000)),
        ("deep value", Sample::NestedValue),
        ("pattern that runs away", Sample::Catastrophic),
        ("endless calls", Sample::EndlessCalls("look")),
        ("a million calls", Sample::MillionCalls("look")),
    ];
    let every = every.iter().filter_map(|(name, sample)| Some((*name, fixture.write(sample)?)));
    let mut wrong = Vec::new();
    for (name, source) in every.chain(fixture.hostile()) {
        let begun = std::time::Instant::now();
        let told = match run(fixture, &source, tight(), obliging) {
            Ok(told) => told,
            Err(violation) => {
                wrong.push(format!("{name}: {violation}"));
                continue;
            }
        };
        let (took, peak) = (begun.elapsed(), peak());
        let ended = match &told.done.end {
            ProgramEnd::Fault(fault) => {
                wrong.extend(well_formed(fault, name).err().map(|wrong| wrong.to_string()));
                fault.to_string()
            }
            ProgramEnd::Value { .. } | ProgramEnd::Return { .. } | ProgramEnd::Fail { .. } => {
                "ended".to_owned()
            }
        };
        eprintln!("{name}: {took:.1?}, {} steps, peak {peak}, {ended}", told.done.steps);
    }
    ensure(wrong.is_empty(), || wrong.join("\n"))
}

/// The most memory that this process had, where the system tells it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown", str::trim).to_owned()
}
