//! Cases about how a program ends, what it prints and what it reads.

use std::sync::Arc;

use serde_json::json;
use windlass_core::{ProgramEnd, ProgramFailure};
use windlass_ports::ProgramStep;

use super::checks::{apart, ensure, json, obliging, run, run_sample, well_formed, written};
use super::{Checked, ProgramFixture, Sample, World};

/// Values of each kind that JSON has.
const VALUES: [&str; 9] = [
    "7",
    "-1.5",
    "true",
    "null",
    "\"text\"",
    "\"\\u00e4 \\ud83d\\ude00 \\\" \\n\"",
    "[]",
    "[1,[2,{\"a\":3}]]",
    "{\"a\":{\"b\":[1,2]},\"c\":\"d\"}",
];

/// A program that does not return ends with the value of its last form, as JSON.
///
/// # Errors
/// A violation when it ends otherwise.
pub fn a_program_ends_with_a_value(fixture: &dyn ProgramFixture) -> Checked {
    for value in VALUES {
        let Some(told) = run_sample(fixture, &Sample::Value(value), World::new())? else {
            continue;
        };
        let ProgramEnd::Value { value: came } = &told.done.end else {
            return ensure(false, || format!("must end with {value}: {:?}", told.done.end));
        };
        let (came, meant) = (json(came, "a value")?, json(value, "the case")?);
        ensure(came == meant, || format!("must end with the value {meant} and ended with {came}"))?;
    }
    Ok(())
}

/// A program returns a value as JSON.
///
/// # Errors
/// A violation when it ends otherwise.
pub fn a_program_returns_a_value(fixture: &dyn ProgramFixture) -> Checked {
    for value in VALUES {
        let Some(told) = run_sample(fixture, &Sample::Return(value), World::new())? else {
            continue;
        };
        let (came, meant) = (told.returned(value)?, json(value, "the case")?);
        ensure(came == meant, || format!("must return {meant} and returned {came}"))?;
    }
    Ok(())
}

/// A program gives up for its reason, as JSON.
///
/// # Errors
/// A violation when it ends otherwise.
pub fn a_program_gives_up(fixture: &dyn ProgramFixture) -> Checked {
    for reason in ["\"no money\"", "{\"code\":3}"] {
        let Some(told) = run_sample(fixture, &Sample::Fail(reason), World::new())? else {
            continue;
        };
        let ProgramEnd::Fail { value } = &told.done.end else {
            return ensure(false, || format!("must give up for {reason}: {:?}", told.done.end));
        };
        let (came, meant) = (json(value, "a reason")?, json(reason, "the case")?);
        ensure(came == meant, || format!("must give up for {meant} and did for {came}"))?;
    }
    Ok(())
}

/// A program that goes wrong ends with a fault that says something, and not before it runs.
///
/// # Errors
/// A violation when it ends otherwise.
pub fn a_program_that_breaks_ends_with_a_fault(fixture: &dyn ProgramFixture) -> Checked {
    let Some(told) = run_sample(fixture, &Sample::Broken, World::new())? else {
        return Ok(());
    };
    ensure(!told.refused, || format!("a well-formed program was refused: {:?}", told.done.end))?;
    well_formed(told.fault("a broken program")?, "a broken program")
}

/// A program that has ended answers every further step with a fault.
///
/// # Errors
/// A violation when it goes on, or panics.
pub fn a_program_that_has_ended_goes_no_further(fixture: &dyn ProgramFixture) -> Checked {
    let Some(source) = written(fixture, &Sample::Return("1")) else {
        return Ok(());
    };
    let runtime = fixture.runtime();
    let steps = apart(fixture, "a program that has ended", move || {
        let prepared = runtime.prepare(&source, &World::new().0)?;
        let mut running = prepared.start()?;
        Ok([(), (), ()].map(|()| running.resume(Vec::new())))
    })?;
    let steps = steps.map_err(|fault: windlass_core::ProgramFault| {
        super::Violation::new(format!("returning 1 was refused: {fault}"))
    })?;
    for (number, step) in steps.iter().enumerate() {
        let ProgramStep::Done(done) = step else {
            return ensure(false, || format!("returning 1 called a tool: {step:?}"));
        };
        let fault = match &done.end {
            ProgramEnd::Fault(_) => true,
            ProgramEnd::Value { .. } | ProgramEnd::Return { .. } | ProgramEnd::Fail { .. } => false,
        };
        ensure(fault == (number > 0), || {
            format!("step {} of a program that ends with its first: {:?}", number + 1, done.end)
        })?;
    }
    Ok(())
}

/// What a program prints is told line by line, in order, also where it fails later.
///
/// # Errors
/// A violation when it is not.
pub fn prints_are_told_line_by_line(fixture: &dyn ProgramFixture) -> Checked {
    let lines = ["first", "second", "third"];
    let Some(told) = run_sample(fixture, &Sample::Print(&lines), World::new())? else {
        return Ok(());
    };
    told.ended_well("a program that prints")?;
    ensure(told.done.prints == lines, || {
        format!("{lines:?} was printed, and {:?} told", told.done.prints)
    })
}

/// A program reads its inputs.
///
/// # Errors
/// A violation when it reads something else.
pub fn inputs_are_read(fixture: &dyn ProgramFixture) -> Checked {
    let data = "{\"limit\":12,\"names\":[\"a\",{\"b\":null}]}";
    for (name, meant) in [("limit", "12"), ("names", "[\"a\",{\"b\":null}]")] {
        let world = World::new().data(data);
        let Some(told) = run_sample(fixture, &Sample::Data(name), world)? else {
            continue;
        };
        let (came, meant) = (told.returned(name)?, json(meant, "the case")?);
        ensure(came == meant, || format!("the input {name} is {meant}, and {came} was read"))?;
    }
    Ok(())
}

/// Inputs that are no object are a fault before the program runs.
///
/// # Errors
/// A violation when it runs or panics.
pub fn inputs_that_are_no_object_are_refused(fixture: &dyn ProgramFixture) -> Checked {
    let deep = "[".repeat(100_000);
    for data in ["[1]", "7", "", "{\"a\":", "no JSON", &deep] {
        let Some(source) = written(fixture, &Sample::Return("1")) else {
            return Ok(());
        };
        let told = run(fixture, &source, World::new().data(data), obliging)?;
        let begun: String = data.chars().take(20).collect();
        ensure(told.refused, || format!("inputs {begun:?} must be refused: {:?}", told.done.end))?;
        well_formed(told.fault("inputs")?, "inputs that are no object")?;
    }
    Ok(())
}

/// The failure of the program before is the input `fail`, unless the session has an input of this name.
/// Without one nothing is there.
///
/// # Errors
/// A violation when it is something else.
pub fn the_failure_before_is_an_input(fixture: &dyn ProgramFixture) -> Checked {
    let failure = ProgramFailure { reason: "type_error".into(), message: "no \"number\"".into() };
    let told = json!({ "reason": "type_error", "message": "no \"number\"", "details": {} });
    for (failure, data, meant) in [
        (None, None, json!(null)),
        (Some(failure.clone()), None, told),
        (Some(failure), Some("{\"fail\":7}"), json!(7)),
    ] {
        let mut world = World::new();
        (world.0.failure, world.0.data) = (failure.map(Arc::new), data.map(Arc::from));
        let Some(told) = run_sample(fixture, &Sample::Data("fail"), world)? else {
            return Ok(());
        };
        let came = told.returned("the failure before")?;
        ensure(came == meant, || format!("the failure must be {meant}, and was {came}"))?;
    }
    Ok(())
}
