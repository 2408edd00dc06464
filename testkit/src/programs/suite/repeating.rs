//! Cases about a run that is repeated: it makes the same calls and ends in the same way.

use std::sync::Arc;

use windlass_core::ProgramFault;
use windlass_ports::{ProgramAnswer, ProgramCall, ProgramStep, RunningProgram};

use super::checks::{apart, ensure, obliging, run, run_sample, written};
use super::{Checked, ProgramFixture, Sample, Violation, World};

/// Programs that are run again and again.
const SAMPLES: [Sample<'_>; 12] = [
    Sample::Value("{\"b\":1,\"a\":[2,3]}"),
    Sample::Fail("\"no\""),
    Sample::Broken,
    Sample::Call("look", "{\"z\":1,\"y\":{\"x\":2,\"w\":3},\"a\":4}"),
    Sample::Both([("look", "{\"b\":1,\"a\":2}"), ("pay", "{}")]),
    Sample::Loop("look", 7),
    Sample::Mapped("look", 7),
    Sample::Parallel("look", 7),
    Sample::Recovered("pay", "{}"),
    Sample::Keep("found", "{\"b\":1,\"a\":2}"),
    Sample::Print(&["one", "two"]),
    Sample::Recursion,
];

/// Answers by the call alone, some of them with a failure.
fn judging(calls: &[ProgramCall]) -> Vec<ProgramAnswer> {
    let answer = |call: &ProgramCall| {
        if *call.name == *"pay" {
            ProgramAnswer::Failed("the till is shut".into())
        } else {
            ProgramAnswer::Done(format!("{{\"of\":{}}}", call.arguments).into())
        }
    };
    calls.iter().map(answer).collect()
}

fn begin(
    fixture: &dyn ProgramFixture,
    source: &str,
    world: &World,
) -> Result<Box<dyn RunningProgram>, Violation> {
    let begun = fixture.runtime().prepare(source, &world.0).and_then(|prepared| prepared.start());
    begun.map_err(|fault: ProgramFault| Violation::new(format!("{source:?} is refused: {fault}")))
}

/// A program's time is that of its world, if its language has a clock.
///
/// # Errors
/// A violation when it is another.
pub fn the_time_is_given(fixture: &dyn ProgramFixture) -> Checked {
    for now_ms in [0, 1_795_651_200_123] {
        let mut world = World::new();
        world.0.now_ms = now_ms;
        let Some(told) = run_sample(fixture, &Sample::Now, world)? else {
            return Ok(());
        };
        let came = told.returned("the time")?;
        ensure(came == now_ms, || format!("the time must be {now_ms}, and was {came}"))?;
    }
    Ok(())
}

/// Random numbers are the same for the same seed, and others for another one.
///
/// # Errors
/// A violation when they are not.
pub fn random_numbers_follow_from_the_seed(fixture: &dyn ProgramFixture) -> Checked {
    let mut numbers = Vec::new();
    for seed in [7, 7, 8] {
        let mut world = World::new();
        world.0.seed = seed;
        let Some(told) = run_sample(fixture, &Sample::Random, world)? else {
            return Ok(());
        };
        numbers.push(told.returned("a random number")?);
    }
    let follow = numbers.first() == numbers.get(1) && numbers.get(1) != numbers.get(2);
    ensure(follow, || format!("numbers must follow from the seed: {numbers:?} of 7, 7 and 8"))
}

/// The same program with the same answers makes the same calls, with the same bytes as arguments, and
/// ends in the same way after as many steps.
///
/// # Errors
/// A violation when it does not.
pub fn the_same_answers_make_the_same_run(fixture: &dyn ProgramFixture) -> Checked {
    for sample in SAMPLES {
        let Some(source) = written(fixture, &sample) else {
            continue;
        };
        let first = run(fixture, &source, World::new(), judging)?;
        for _ in 0..3 {
            let again = run(fixture, &source, World::new(), judging)?;
            ensure(first == again, || {
                format!("{sample:?} did {first:?} at first, and then {again:?}")
            })?;
        }
    }
    // The step at which the steps run out is the same one too.
    if let Some(source) = written(fixture, &Sample::Endless) {
        let world = || World::new().limits(|limits| limits.steps = 100_000);
        let first = run(fixture, &source, world(), judging)?;
        let again = run(fixture, &source, world(), judging)?;
        ensure(first == again, || {
            format!("the steps ran out as {first:?} at first, and then as {again:?}")
        })?;
    }
    Ok(())
}

/// A run that is lost after any number of steps is made up for by one from the start that is given the
/// answers that are on record.
///
/// # Errors
/// A violation when it makes other calls.
pub fn a_run_goes_on_from_recorded_answers(fixture: &dyn ProgramFixture) -> Checked {
    for sample in SAMPLES {
        let Some(source) = written(fixture, &sample) else {
            continue;
        };
        let whole = run(fixture, &source, World::new(), judging)?;
        for lost_after in 0..=whole.steps.len() {
            let record = whole.steps.clone();
            let mut lost = begin(fixture, &source, &World::new())?;
            let lost = apart(fixture, "a run that is lost", move || {
                let mut answers = Vec::new();
                for calls in record.iter().take(lost_after) {
                    let came = lost.resume(answers);
                    if came != ProgramStep::Calls(calls.clone()) {
                        return Err(came);
                    }
                    answers = judging(calls);
                }
                Ok(())
            })?;
            lost.map_err(|came| {
                Violation::new(format!("{sample:?}: another run came to {came:?}"))
            })?;
            let again = run(fixture, &source, World::new(), judging)?;
            ensure(again == whole, || {
                format!(
                    "{sample:?}, lost after {lost_after} steps, did {again:?} instead of {whole:?}"
                )
            })?;
        }
    }
    Ok(())
}

/// Two programs on their way at the same time, in one runtime, do not see each other.
///
/// # Errors
/// A violation when one does what it does not do alone.
pub fn programs_do_not_see_each_other(fixture: &dyn ProgramFixture) -> Checked {
    let (Some(one), Some(other)) = (
        written(fixture, &Sample::Loop("look", 4)),
        written(fixture, &Sample::Both([("pay", "{}"), ("look", "{}")])),
    ) else {
        return Ok(());
    };
    let alone = [
        run(fixture, &one, World::new(), obliging)?,
        run(fixture, &other, World::new(), obliging)?,
    ];
    let runtime = fixture.runtime();
    let both = apart(fixture, "two programs at once", move || {
        let mut runs = Vec::new();
        for source in [&one, &other] {
            runs.push(runtime.prepare(source, &World::new().0)?.start()?);
        }
        let mut steps = [Vec::new(), Vec::new()];
        let mut answers = [Vec::new(), Vec::new()];
        let mut done = [None, None];
        for _ in 0..10 {
            for at in [0, 1] {
                if done[at].is_some() {
                    continue;
                }
                match runs[at].resume(std::mem::take(&mut answers[at])) {
                    ProgramStep::Calls(calls) => {
                        answers[at] = obliging(&calls);
                        steps[at].push(calls);
                    }
                    ProgramStep::Done(end) => done[at] = Some(*end),
                }
            }
        }
        Ok((steps, done))
    })?;
    let (steps, done) = both.map_err(|fault: ProgramFault| {
        Violation::new(format!("one of two programs was refused: {fault}"))
    })?;
    for (at, alone) in alone.iter().enumerate() {
        ensure(steps[at] == alone.steps && done[at].as_ref() == Some(&alone.done), || {
            format!("beside another a program did {:?}, not {alone:?}", done[at])
        })?;
    }
    Ok(())
}

/// A program goes on at any thread.
///
/// # Errors
/// A violation when it does something else there.
pub fn any_thread_may_go_on(fixture: &dyn ProgramFixture) -> Checked {
    let Some(source) = written(fixture, &Sample::Loop("look", 4)) else {
        return Ok(());
    };
    let alone = run(fixture, &source, World::new(), obliging)?;
    let mut running = begin(fixture, &source, &World::new())?;
    let mut answers = Vec::new();
    for step in 0..=alone.steps.len() {
        let (back, came) = apart(fixture, "a step on another thread", move || {
            let came = running.resume(answers);
            (running, came)
        })?;
        running = back;
        match came {
            ProgramStep::Calls(calls) => {
                ensure(alone.steps.get(step) == Some(&calls), || {
                    format!("on another thread it called {calls:?}")
                })?;
                answers = obliging(&calls);
            }
            ProgramStep::Done(done) => {
                return ensure(step == alone.steps.len() && *done == alone.done, || {
                    format!("on another thread it ended as {done:?}")
                });
            }
        }
    }
    let words: Arc<str> = "on other threads it did not end".into();
    ensure(false, || words.to_string())
}
