//! Cases about what comes before a run: the guide, extraction, and what is refused.

use serde_json::json;
use windlass_core::{EffectClass, ProgramTransport, ToolSpec};
use windlass_ports::ProgramGuide;

use super::checks::{ensure, json, run, run_sample, well_formed, written};
use super::{Checked, ProgramFixture, Sample, World};

fn spec(name: &str, description: &str) -> ToolSpec {
    ToolSpec::new(name, EffectClass::ReadOnly).with(|it| {
        it.description = description.into();
        it.parameters = json!({
            "type": "object",
            "properties": { "path": { "type": "string" } },
            "required": ["path"],
        })
        .to_string();
    })
}

/// The guide is the same text for the same tools, names each of them and what it does, and says
/// something where there are none.
///
/// # Errors
/// A violation when it is not.
pub fn the_guide_is_the_same_and_names_every_tool(fixture: &dyn ProgramFixture) -> Checked {
    let tools = [spec("look", "Looks at a path."), spec("pay", "Pays an invoice.")];
    let content =
        |tools: &[ToolSpec]| ProgramGuide { tools: tools.to_vec(), ..ProgramGuide::default() };
    let guide = fixture.runtime().guide(&content(&tools));
    ensure(guide == fixture.runtime().guide(&content(&tools)), || {
        "the guide to the same tools is another text".into()
    })?;
    for tool in &tools {
        ensure(guide.contains(&tool.name) && guide.contains(&tool.description), || {
            format!("the guide does not say what {} is", tool.name)
        })?;
    }
    let none = fixture.runtime().guide(&content(&[]));
    ensure(!none.is_empty() && !none.contains("Looks at"), || {
        "the guide to no tools names one, or says nothing".into()
    })?;
    ensure(!fixture.runtime().name().is_empty(), || "the runtime has no name".into())
}

/// The guide states the form of the result, the inputs by name and type, the number of programs and
/// the limits, in both transports.
///
/// # Errors
/// A violation when it lacks one.
pub fn the_guide_states_the_contract_the_inputs_and_the_limits(
    fixture: &dyn ProgramFixture,
) -> Checked {
    let schema = json!({
        "type": "object",
        "properties": { "total": { "type": "number" } },
        "required": ["total"],
    });
    let mut content = ProgramGuide {
        tools: vec![spec("look", "Looks at a path.")],
        data: Some(r#"{"owner":{"name":"Ann"},"rows":[{"id":1},{"id":2}]}"#.into()),
        schema: Some(schema.to_string()),
        programs: 7,
        re_asks: 3,
        ..ProgramGuide::default()
    };
    content.limits.print_bytes = 11 << 10;
    content.limits.value_bytes = 13 << 10;
    content.limits.retained_bytes = 17 << 10;
    content.report.prints = 3 << 10;
    content.report.value = 5 << 10;
    for (transport, how) in [
        (ProgramTransport::Call, "run_program"),
        (ProgramTransport::Text, "in the text of the answer"),
    ] {
        content.transport = transport;
        let guide = fixture.runtime().guide(&content);
        for there in [
            how,
            &schema.to_string(),
            "object {total: number}",
            "owner",
            "object {name: text}",
            "rows",
            "list of 2 object {id: number}",
            "at most 7 programs",
            "at most 3 times",
            "3 KiB",
            "5 KiB",
            "11 KiB",
            "13 KiB",
            "17 KiB",
        ] {
            ensure(guide.contains(there), || {
                format!("the guide does not contain {there:?}: {guide}")
            })?;
        }
    }
    Ok(())
}

/// What the language does not have is refused by `prepare`, in words.
///
/// # Errors
/// A violation when it is not.
pub fn what_is_no_program_is_refused(fixture: &dyn ProgramFixture) -> Checked {
    let sources = fixture.malformed();
    ensure(!sources.is_empty(), || "no source is malformed".into())?;
    for source in sources {
        let told = run(fixture, &source, World::new(), super::checks::obliging)?;
        ensure(told.refused, || format!("{source:?} must be refused, and ran: {:?}", told.done))?;
        well_formed(told.fault(&source)?, &source)?;
    }
    Ok(())
}

/// A program that names a tool which it is not given is refused, also where it would never call it.
///
/// # Errors
/// A violation when it runs.
pub fn an_unknown_tool_is_refused_before_anything_runs(fixture: &dyn ProgramFixture) -> Checked {
    for sample in [
        Sample::Call("no_such_tool", "{}"),
        Sample::NeverCalled("no_such_tool"),
        Sample::Both([("look", "{}"), ("no_such_tool", "{}")]),
    ] {
        let Some(told) = run_sample(fixture, &sample, World::new())? else {
            continue;
        };
        ensure(told.refused, || format!("{sample:?} names an unknown tool, and ran: {told:?}"))?;
        let fault = told.fault("an unknown tool")?;
        ensure(fault.class == "unknown_tool" && fault.message.contains("no_such_tool"), || {
            format!("an unknown tool is refused as {fault:?}")
        })?;
        well_formed(fault, "an unknown tool")?;
    }
    Ok(())
}

/// A program that names something that nothing has is refused, also where it would never be reached.
///
/// # Errors
/// A violation when it runs.
pub fn an_unknown_name_is_refused_before_anything_runs(fixture: &dyn ProgramFixture) -> Checked {
    let Some(told) = run_sample(fixture, &Sample::UnknownName, World::new())? else {
        return Ok(());
    };
    ensure(told.refused, || format!("an unknown name must be refused, and it ran: {told:?}"))?;
    let fault = told.fault("an unknown name")?;
    ensure(fault.class == "unbound_var", || format!("an unknown name is refused as {fault:?}"))?;
    well_formed(fault, "an unknown name")
}

/// In a world without tools no program can call one; one that calls none runs.
///
/// # Errors
/// A violation when one can.
pub fn without_tools_none_can_be_called(fixture: &dyn ProgramFixture) -> Checked {
    for sample in [
        Sample::Call("look", "{}"),
        Sample::Loop("look", 3),
        Sample::Mapped("look", 3),
        Sample::Parallel("look", 3),
        Sample::NeverCalled("look"),
    ] {
        let world = World::new().without_tools();
        if let Some(told) = run_sample(fixture, &sample, world)? {
            ensure(told.refused && told.steps.is_empty(), || {
                format!("{sample:?} must be refused where there are no tools: {told:?}")
            })?;
        }
    }
    let world = World::new().without_tools();
    if let Some(told) = run_sample(fixture, &Sample::Return("1"), world)? {
        told.returned("a program without tools")?;
    }
    Ok(())
}

/// The program between an answer's words is the one that was written.
///
/// # Errors
/// A violation when it is not.
pub fn a_program_is_taken_out_of_an_answer(fixture: &dyn ProgramFixture) -> Checked {
    let Some(source) = written(fixture, &Sample::Return("[7]")) else {
        return Ok(());
    };
    let answer = fixture.answer(&source);
    let found = match fixture.runtime().extract(&answer) {
        Some(Ok(found)) => found,
        other => {
            return ensure(false, || format!("a program in {answer:?} is taken out as {other:?}"));
        }
    };
    let told = run(fixture, &found, World::new(), super::checks::obliging)?;
    let value = told.returned("the program of an answer")?;
    ensure(value == json("[7]", "the case")?, || {
        format!("the program of an answer returned {value}")
    })
}

/// An answer that is prose has no program.
///
/// # Errors
/// A violation when one is found.
pub fn an_answer_without_a_program_has_none(fixture: &dyn ProgramFixture) -> Checked {
    for answer in ["", "The answer is seven.", "I am done.\n\nIt went well."] {
        let found = fixture.runtime().extract(answer);
        ensure(found.is_none(), || format!("in {answer:?} there is a program: {found:?}"))?;
    }
    Ok(())
}
