//! Cases about what lasts from one program to the next.

use serde_json::Value;
use windlass_core::{ProgramEnd, RetainedChange, RetainedMemory};

use super::checks::{ensure, json, run, run_sample, well_formed, written};
use super::{Checked, ProgramFixture, Sample, Told, Violation, World};

/// Runs a program, and returns the memory after it.
fn after(told: &Told, before: &RetainedMemory) -> RetainedMemory {
    let mut memory = before.clone();
    memory.apply(&told.done.retained);
    memory
}

/// Runs a program that keeps something, and returns the memory after it.
fn kept(
    fixture: &dyn ProgramFixture,
    name: &str,
    value: &str,
    before: &RetainedMemory,
) -> Result<Option<RetainedMemory>, Violation> {
    let world = World::new().memory(before);
    let Some(told) = run_sample(fixture, &Sample::Keep(name, value), world)? else {
        return Ok(None);
    };
    told.ended_well("a program that keeps something")?;
    ensure(told.done.defined.iter().any(|defined| defined == name), || {
        format!("{name} was kept, and {:?} is what it says to have defined", told.done.defined)
    })?;
    ensure(!told.done.retained.is_empty(), || {
        "a program that keeps something leaves no memory".into()
    })?;
    Ok(Some(after(&told, before)))
}

fn reads(
    fixture: &dyn ProgramFixture,
    name: &str,
    memory: &RetainedMemory,
    meant: &str,
) -> Checked {
    let world = World::new().memory(memory);
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
    let none = RetainedMemory::default();
    for value in ["7", "\"text \\u00e4\"", "null", "[1,{\"a\":[true]}]", "{}"] {
        let Some(memory) = kept(fixture, "found", value, &none)? else {
            return Ok(());
        };
        reads(fixture, "found", &memory, value)?;
    }
    let Some(first) = kept(fixture, "first", "1", &none)? else {
        return Ok(());
    };
    let Some(second) = kept(fixture, "second", "2", &first)? else {
        return Ok(());
    };
    reads(fixture, "first", &second, "1")?;
    reads(fixture, "second", &second, "2")?;
    let Some(third) = kept(fixture, "first", "3", &second)? else {
        return Ok(());
    };
    reads(fixture, "first", &third, "3")?;
    reads(fixture, "second", &third, "2")
}

/// A definition that a program removes is gone for those after it, also from a whole memory of an earlier
/// version. The rest of the memory stays.
///
/// # Errors
/// A violation when it is otherwise.
pub fn what_is_removed_is_gone(fixture: &dyn ProgramFixture) -> Checked {
    let none = RetainedMemory::default();
    let base = fixture.whole_memory("found", "7").map(|base| base.into());
    let whole = base.map(|base| RetainedMemory { base: Some(base), ..none.clone() });
    if let Some(whole) = &whole {
        reads(fixture, "found", whole, "7")?;
    }
    for before in kept(fixture, "found", "7", &none)?.into_iter().chain(whole) {
        let Some(both) = kept(fixture, "other", "1", &before)? else {
            return Ok(());
        };
        reads(fixture, "found", &both, "7")?;
        let world = World::new().memory(&both);
        let Some(told) = run_sample(fixture, &Sample::Remove("found"), world)? else {
            continue;
        };
        told.ended_well("a program that removes something")?;
        let left = after(&told, &both);
        reads(fixture, "other", &left, "1")?;
        let world = World::new().memory(&left);
        if let Some(told) = run_sample(fixture, &Sample::Return("1"), world)? {
            let names: Vec<&str> = told.done.alive.iter().map(|one| &*one.name).collect();
            ensure(names == ["other"], || format!("found was removed, and {names:?} are left"))?;
        }
    }
    Ok(())
}

/// A program that changes a small definition beside a large one records the small one alone.
///
/// # Errors
/// A violation when it records more.
pub fn a_small_change_is_a_small_record(fixture: &dyn ProgramFixture) -> Checked {
    let none = RetainedMemory::default();
    let ample = || World::new().limits(|limits| limits.source_bytes = 2 << 20);
    let Some(told) = run_sample(fixture, &Sample::KeepMuch(1 << 20), ample())? else {
        return Ok(());
    };
    told.ended_well("keeping a mebibyte")?;
    let memory = after(&told, &none);
    for (name, value) in [("small", "1"), ("small", "2")] {
        let world = World::new().memory(&memory);
        let Some(told) = run_sample(fixture, &Sample::Keep(name, value), world)? else {
            return Ok(());
        };
        told.ended_well("keeping something small beside a mebibyte")?;
        let value = |change: &RetainedChange| change.value.as_ref().map_or(0, |value| value.len());
        let sizes = told.done.retained.iter().map(|change| change.name.len() + value(change));
        let bytes = sizes.sum::<usize>();
        ensure(bytes < 1_000, || format!("{bytes} bytes are recorded for a small change"))?;
    }
    Ok(())
}

/// All definitions that last are listed after a program, each with a short preview.
///
/// # Errors
/// A violation when one is missing or its preview is long.
pub fn what_lasts_is_listed(fixture: &dyn ProgramFixture) -> Checked {
    let Some(memory) = kept(fixture, "found", "7", &RetainedMemory::default())? else {
        return Ok(());
    };
    for sample in [Sample::KeepMuch(10_000), Sample::Return("1"), Sample::Broken] {
        let Some(told) = run_sample(fixture, &sample, World::new().memory(&memory))? else {
            continue;
        };
        let listed = |name: &str| told.done.alive.iter().find(|one| one.name == name);
        let found = listed("found").is_some_and(|one| one.preview.contains('7'));
        ensure(found, || format!("{sample:?} does not list found: {:?}", told.done.alive))?;
        let long = told.done.alive.iter().find(|one| one.preview.len() > 400);
        ensure(long.is_none(), || format!("{sample:?} lists a long preview: {long:?}"))?;
    }
    Ok(())
}

/// A program that keeps nothing leaves what was kept as it was.
///
/// # Errors
/// A violation when something is lost.
pub fn a_program_that_keeps_nothing_changes_nothing(fixture: &dyn ProgramFixture) -> Checked {
    let Some(memory) = kept(fixture, "found", "7", &RetainedMemory::default())? else {
        return Ok(());
    };
    let world = World::new().memory(&memory);
    let Some(told) = run_sample(fixture, &Sample::Return("1"), world)? else {
        return Ok(());
    };
    told.returned("a program that keeps nothing")?;
    reads(fixture, "found", &after(&told, &memory), "7")
}

/// A program that fails, or gives up, leaves no memory.
///
/// # Errors
/// A violation when it does.
pub fn a_program_that_fails_keeps_nothing(fixture: &dyn ProgramFixture) -> Checked {
    let nothing = |told: &Told, sample: &Sample<'_>| {
        ensure(told.done.retained.is_empty(), || {
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
    let whole = |text: &String| RetainedMemory {
        base: Some(text.as_str().into()),
        ..RetainedMemory::default()
    };
    let mut memories: Vec<RetainedMemory> = foreign.iter().map(whole).collect();
    // As an entry, what no language reads.
    foreign.retain(|text| serde_json::from_str::<Value>(text).is_err());
    if let Some(own) = kept(fixture, "found", "[1,2,3]", &RetainedMemory::default())? {
        let texts = own.definitions().map(|(_, value)| value);
        foreign.extend(texts.map(|own| {
            let half = (1..=own.len() / 2).rev().find(|at| own.is_char_boundary(*at));
            own[..half.unwrap_or_default()].to_owned()
        }));
    }
    for text in &foreign {
        let mut memory = RetainedMemory::default();
        memory.apply(&[RetainedChange::set("found", text)]);
        memories.push(memory);
    }
    for memory in memories {
        let begun: String = format!("{memory:?}").chars().take(100).collect();
        let world = World::new().memory(&memory);
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
        ensure(told.done.retained.is_empty(), || {
            "a program that keeps more than it may left a memory".into()
        })?;
    }
    if let Some(told) = run_sample(fixture, &Sample::KeepMuch(2_000), world())? {
        told.ended_well("keeping what it may")?;
        let bytes = after(&told, &RetainedMemory::default()).bytes();
        ensure((2_000..=10_000).contains(&bytes), || {
            format!("2000 letters are kept in {bytes} bytes")
        })?;
        // The limit counts the same bytes.
        for (most, fits) in [(bytes, true), (bytes - 1, false)] {
            let world = World::new().limits(|limits| limits.retained_bytes = most);
            let Some(told) = run_sample(fixture, &Sample::KeepMuch(2_000), world)? else {
                return Ok(());
            };
            ensure(told.done.retained.is_empty() != fits, || {
                format!("{bytes} bytes are kept where {most} may be: {:?}", told.done.end)
            })?;
        }
    }
    Ok(())
}

/// Memory that was left under a wider limit counts, and programs go on with it: they may end, and make what is
/// kept smaller, and not larger. Its definitions count no more once they are replaced, also those of a whole
/// memory of an earlier version.
///
/// # Errors
/// A violation when it is otherwise.
pub fn memory_of_a_wider_limit_stays_usable(fixture: &dyn ProgramFixture) -> Checked {
    let wide = World::new().limits(|limits| limits.source_bytes = 2 << 20);
    let Some(told) = run_sample(fixture, &Sample::KeepMuch(30_000), wide)? else {
        return Ok(());
    };
    let mut memories = vec![after(&told, &RetainedMemory::default())];
    let letters = format!("\"{}\"", "x".repeat(30_000));
    memories.extend(
        fixture
            .whole_memory("much", &letters)
            .map(|base| RetainedMemory { base: Some(base.into()), ..RetainedMemory::default() }),
    );
    for memory in memories {
        let world = |memory: &RetainedMemory| {
            World::new().memory(memory).limits(|limits| limits.retained_bytes = 10_000)
        };
        for sample in [Sample::Value("1"), Sample::Return("1")] {
            if let Some(told) = run_sample(fixture, &sample, world(&memory))? {
                told.ended_well("a program beside memory of a wider limit")?;
            }
        }
        let larger = format!("\"{}\"", "y".repeat(5_000));
        if let Some(told) = run_sample(fixture, &Sample::Keep("more", &larger), world(&memory))? {
            told.fault("keeping more beside memory of a wider limit")?;
        }
        let Some(told) = run_sample(fixture, &Sample::Keep("much", "1"), world(&memory))? else {
            continue;
        };
        told.ended_well("keeping less than a wider limit allowed")?;
        let less = after(&told, &memory);
        reads(fixture, "much", &less, "1")?;
        if let Some(told) = run_sample(fixture, &Sample::Keep("more", &larger), world(&less))? {
            told.ended_well("keeping what there is room for again")?;
        }
    }
    Ok(())
}
