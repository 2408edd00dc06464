//! Cases about calls and their answers.

use serde_json::{Value, json};
use windlass_core::ProgramEnd;
use windlass_ports::{ProgramAnswer, ProgramCall, ProgramStep};

use super::checks::{apart, ensure, json, obliging, run, run_sample, well_formed, written};
use super::{Checked, ProgramFixture, Sample, Violation, World};

/// Arguments that a call has.
fn arguments(call: &ProgramCall) -> Result<Value, Violation> {
    json(&call.arguments, "a call")
}

/// Answers each call with a number of its own: the count of calls before it.
fn numbered() -> impl FnMut(&[ProgramCall]) -> Vec<ProgramAnswer> + Send + 'static {
    let mut count = 0;
    move |calls| {
        calls
            .iter()
            .map(|_| {
                count += 1;
                ProgramAnswer::Done(format!("{{\"number\":{}}}", count - 1).into())
            })
            .collect()
    }
}

/// A call has the tool's name and its arguments as a JSON object.
///
/// # Errors
/// A violation when it has others.
pub fn a_call_has_its_arguments(fixture: &dyn ProgramFixture) -> Checked {
    for meant in ["{}", "{\"path\":\"a \\\"b\\\" \\u00e4\",\"deep\":{\"list\":[1,2.5,null,true]}}"]
    {
        let Some(told) = run_sample(fixture, &Sample::Call("look", meant), World::new())? else {
            continue;
        };
        let [calls] = &told.steps[..] else {
            return ensure(false, || format!("one call must be one step: {told:?}"));
        };
        let [call] = &calls[..] else {
            return ensure(false, || format!("one call must be made: {calls:?}"));
        };
        let (came, meant) = (arguments(call)?, json(meant, "the case")?);
        ensure(*call.name == *"look" && came == meant, || {
            format!("look must be called with {meant}: {call:?}")
        })?;
        told.ended_well("a program with a call")?;
    }
    Ok(())
}

/// An answer that is a whole JSON value is data, any other is text. A number is text if a program would not
/// write it back as it stands. The white space around a value is that of JSON.
///
/// # Errors
/// A violation when it is something else.
pub fn answers_are_data_or_text(fixture: &dyn ProgramFixture) -> Checked {
    let Some(source) = written(fixture, &Sample::Call("look", "{}")) else {
        return Ok(());
    };
    let answers: [(&str, Value); 21] = [
        ("{\"a\":{\"b\":[1,\"two\"]}}", json!({"a": {"b": [1, "two"]}})),
        ("[1,2,3]", json!([1, 2, 3])),
        ("[]", json!([])),
        ("{}", json!({})),
        ("twelve", json!("twelve")),
        ("12", json!(12)),
        (" 12\n", json!(12)),
        ("\u{a0}12", json!("\u{a0}12")),
        ("\u{2003}[12]", json!("\u{2003}[12]")),
        ("-2.5", json!(-2.5)),
        ("1.0", json!("1.0")),
        ("12345678901234567890", json!("12345678901234567890")),
        ("9007199254740993", json!("9007199254740993")),
        ("1.10", json!("1.10")),
        ("007", json!("007")),
        ("1e3", json!("1e3")),
        ("null", json!(null)),
        ("true", json!(true)),
        ("\"quoted\"", json!("quoted")),
        ("{\"a\":1} and more", json!("{\"a\":1} and more")),
        ("", json!("")),
    ];
    for (answer, meant) in answers {
        let told = run(fixture, &source, World::new(), move |calls| {
            calls.iter().map(|_| ProgramAnswer::Done(answer.into())).collect()
        })?;
        let came = told.returned(answer)?;
        ensure(came == meant, || {
            format!("the answer {answer:?} is {meant} to a program, and was {came}")
        })?;
    }
    Ok(())
}

/// The output of a tool of a workspace is text, whatever it contains. The last line end of a command's output is
/// left out.
///
/// # Errors
/// A violation when it is something else.
pub fn tools_of_a_workspace_give_text(fixture: &dyn ProgramFixture) -> Checked {
    let answers = [
        ("shell", "12\n", "12"),
        ("shell", "a\r\n\n", "a\r\n"),
        ("shell", "a\r\n", "a"),
        ("shell", "a\r", "a\r"),
        ("shell", "{\"a\":1}", "{\"a\":1}"),
        ("read_file", "[1]\n", "[1]\n"),
        ("read_file", "null", "null"),
    ];
    for (tool, answer, meant) in answers {
        let Some(source) = written(fixture, &Sample::Call(tool, "{}")) else {
            return Ok(());
        };
        let mut world = World::new();
        world.0.tools.push(tool.into());
        let told = run(fixture, &source, world, move |calls| {
            calls.iter().map(|_| ProgramAnswer::Done(answer.into())).collect()
        })?;
        let came = told.returned(answer)?;
        ensure(came == *meant, || {
            format!("the answer {answer:?} of {tool} is {meant:?} to a program, and was {came}")
        })?;
    }
    Ok(())
}

/// Whatever a tool answers: the program ends, and nothing panics.
///
/// # Errors
/// A violation when it does not.
pub fn foreign_answers_do_no_harm(fixture: &dyn ProgramFixture) -> Checked {
    let Some(source) = written(fixture, &Sample::Call("look", "{}")) else {
        return Ok(());
    };
    let answers = [
        "[".repeat(200_000),
        format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)),
        "{\"__proto__\":{\"polluted\":1},\"constructor\":7,\"toString\":1,\"then\":1}".to_owned(),
        "{\"a\":1,\"a\":2,\"\":3}".to_owned(),
        "[\"\\ud800\",\"\\u0000\",1e999,123456789012345678901234567890]".to_owned(),
        format!("[{}0]", "0,".repeat(200_000)),
        "x\u{0}y\u{feff}\u{202e}".to_owned(),
        "\u{e4}".repeat(1_000_000),
    ];
    for answer in answers {
        let begun: String = answer.chars().take(40).collect();
        let world = World::new().limits(|limits| limits.memory_bytes = 32 << 20);
        let told = run(fixture, &source, world, move |calls| {
            calls.iter().map(|_| ProgramAnswer::Done(answer.as_str().into())).collect()
        })?;
        match &told.done.end {
            ProgramEnd::Value { value } | ProgramEnd::Return { value } => {
                // It may be nested deeper than what reads it here takes; then its size is all
                // that is looked at.
                ensure(!value.is_empty(), || {
                    format!("the answer {begun:?} is returned as nothing")
                })?;
            }
            ProgramEnd::Fault(fault) => well_formed(fault, &begun)?,
            ProgramEnd::Fail { value } => {
                return ensure(false, || format!("over {begun:?} it gave up: {value}"));
            }
        }
    }
    Ok(())
}

/// A call that failed ends a program that does not look after it with a fault that says why.
///
/// # Errors
/// A violation when it ends otherwise.
pub fn a_failed_answer_is_told(fixture: &dyn ProgramFixture) -> Checked {
    let Some(source) = written(fixture, &Sample::Call("pay", "{}")) else {
        return Ok(());
    };
    let told = run(fixture, &source, World::new(), |calls| {
        calls.iter().map(|_| ProgramAnswer::Failed("the till is shut".into())).collect()
    })?;
    let fault = told.fault("a failed call")?;
    ensure(fault.class == "tool_error" && fault.message.contains("the till is shut"), || {
        format!("a failed call ends as {fault:?}, which does not say why")
    })?;
    well_formed(fault, "a failed call")
}

/// A call that failed is told also where the program does not look at its answer: no program ends well
/// over it.
///
/// # Errors
/// A violation when one does.
pub fn a_failed_answer_that_nobody_looks_at_is_told(fixture: &dyn ProgramFixture) -> Checked {
    let Some(source) = written(fixture, &Sample::Unheeded("pay")) else {
        return Ok(());
    };
    let told = run(fixture, &source, World::new(), |calls| {
        vec![ProgramAnswer::Failed("the till is shut".into()); calls.len()]
    })?;
    let what = "a failed call that nobody looks at";
    let fault = told.fault(what)?;
    ensure(fault.class == "tool_error" && fault.message.contains("the till is shut"), || {
        format!("{what} ends as {fault:?}, which does not say why")
    })?;
    well_formed(fault, what)?;
    let told = run(fixture, &source, World::new(), obliging)?;
    let came = told.returned("a call that nobody looks at")?;
    ensure(came == json!(1), || {
        format!("a program that does not look at a call that is done must return 1: {came}")
    })
}

/// A program may go on from a call that failed, and is told of one that did not.
///
/// # Errors
/// A violation when it does not.
pub fn a_failed_answer_may_be_gone_on_from(fixture: &dyn ProgramFixture) -> Checked {
    let Some(source) = written(fixture, &Sample::Recovered("pay", "{}")) else {
        return Ok(());
    };
    let answers = [
        (ProgramAnswer::Failed("the till is shut".into()), json!("recovered")),
        (ProgramAnswer::Done("{\"ok\":true}".into()), json!({"ok": true})),
    ];
    for (answer, meant) in answers {
        let told = run(fixture, &source, World::new(), move |calls| {
            calls.iter().map(|_| answer.clone()).collect()
        })?;
        let came = told.returned("a program that goes on")?;
        ensure(came == meant, || {
            format!("a program that goes on from a failed call must return {meant}: {came}")
        })?;
    }
    Ok(())
}

/// Answers are given to the calls in their order.
///
/// # Errors
/// A violation when they are given in another.
pub fn answers_come_in_the_order_of_the_calls(fixture: &dyn ProgramFixture) -> Checked {
    let both = Sample::Both([("look", "{\"at\":1}"), ("pay", "{\"cents\":2}")]);
    let Some(source) = written(fixture, &both) else {
        return Ok(());
    };
    let told = run(fixture, &source, World::new(), |calls| {
        calls
            .iter()
            .map(|call| {
                ProgramAnswer::Done(format!("[\"{}\",{}]", call.name, call.arguments).into())
            })
            .collect()
    })?;
    let came = told.returned("two calls at the same time")?;
    let meant = json!([["look", {"at": 1}], ["pay", {"cents": 2}]]);
    ensure(came == meant, || format!("two calls must be answered {meant}, and were {came}"))?;
    let names: Vec<&str> = told.steps.iter().flatten().map(|call| &*call.name).collect();
    ensure(names == ["look", "pay"], || {
        format!("look and pay must be called in this order: {names:?}")
    })?;
    ensure(told.steps.len() == 1, || "two calls at the same time must be one step".into())
}

/// Calls from loops and functions are made one after the other, and each gets its own answer.
///
/// # Errors
/// A violation when they are not.
pub fn calls_come_from_loops_and_functions(fixture: &dyn ProgramFixture) -> Checked {
    for sample in [Sample::Loop("look", 5), Sample::Mapped("look", 5)] {
        let Some(source) = written(fixture, &sample) else {
            continue;
        };
        let told = run(fixture, &source, World::new(), numbered())?;
        ensure(told.steps.iter().all(|calls| calls.len() == 1), || {
            format!("{sample:?} must make one call a step: {:?}", told.steps)
        })?;
        counts_up(&sample, &told.steps.concat(), 5)?;
        let came = told.returned("a loop")?;
        let last = json!({"number": 4});
        let all: Value = (0..5).map(|n| json!({ "number": n })).collect();
        ensure(came == last || came == all, || {
            format!("{sample:?} must return the answers, or the last of them: {came}")
        })?;
    }
    Ok(())
}

fn counts_up(sample: &Sample<'_>, calls: &[ProgramCall], count: u32) -> Checked {
    let came: Result<Vec<Value>, Violation> = calls.iter().map(arguments).collect();
    let meant: Vec<Value> = (0..count).map(|n| json!({ "n": n })).collect();
    let came = came?;
    ensure(came == meant, || {
        format!("{sample:?} must call with n from 0 to {}: {came:?}", count - 1)
    })
}

/// Calls of a parallel form stand in one step, and their answers in their order.
///
/// # Errors
/// A violation when they do not.
pub fn parallel_calls_stand_in_one_step(fixture: &dyn ProgramFixture) -> Checked {
    let sample = Sample::Parallel("look", 6);
    let Some(source) = written(fixture, &sample) else {
        return Ok(());
    };
    let told = run(fixture, &source, World::new(), numbered())?;
    let sizes: Vec<usize> = told.steps.iter().map(Vec::len).collect();
    ensure(sizes == [6], || format!("six calls at the same time must be one step: {sizes:?}"))?;
    counts_up(&sample, &told.steps.concat(), 6)?;
    let all: Value = (0..6).map(|n| json!({ "number": n })).collect();
    let came = told.returned("a parallel form")?;
    ensure(came == all, || format!("a parallel form must return {all}: {came}"))
}

/// Another number of answers than there are calls ends a program with a fault.
///
/// # Errors
/// A violation when it goes on.
pub fn another_number_of_answers_is_a_fault(fixture: &dyn ProgramFixture) -> Checked {
    let both = Sample::Both([("look", "{}"), ("pay", "{}")]);
    for (sample, waits) in [(both, 2), (Sample::Call("look", "{}"), 1)] {
        let Some(source) = written(fixture, &sample) else {
            continue;
        };
        for given in (0..4_usize).filter(|given| *given != waits) {
            let told = run(fixture, &source, World::new(), move |_| {
                vec![ProgramAnswer::Done("{}".into()); given]
            })?;
            let what = format!("{given} answers to {waits} calls");
            well_formed(told.fault(&what)?, &what)?;
        }
    }
    let Some(source) = written(fixture, &Sample::Return("1")) else {
        return Ok(());
    };
    let runtime = fixture.runtime();
    let step = apart(fixture, "answers before the first call", move || {
        let mut running = runtime.prepare(&source, &World::new().0)?.start()?;
        Ok(running.resume(vec![ProgramAnswer::Done("{}".into())]))
    })?;
    let step = step.map_err(|fault: windlass_core::ProgramFault| {
        Violation::new(format!("returning 1 was refused: {fault}"))
    })?;
    let fault = match &step {
        ProgramStep::Done(done) => matches!(done.end, ProgramEnd::Fault(_)),
        ProgramStep::Calls(_) => false,
    };
    ensure(fault, || format!("an answer before the first call must be a fault: {step:?}"))
}
