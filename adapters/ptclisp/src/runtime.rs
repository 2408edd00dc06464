//! Implements the program runtime port.
//!
//! It is stricter than [`Program`] alone: a missing input rejects the program, as an unknown name does, and
//! values, memory and prints have limits in bytes of text. Memory has an entry for each definition and for
//! each of the last results. If these do not fit beside the definitions, `*3` and then `*2` are dropped; if
//! `*1` does not fit either, the program ends with a fault.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;
use windlass_core::{ProgramFault, ProgramLimits};
use windlass_ports::{PreparedProgram, ProgramEnvironment, ProgramGuide, ProgramRuntime};

use windlass_kit_ptclisp::{Fault, FaultClass, Inputs, Limits, Program, Value, from_json};

use crate::memory::RetainedSession;
use crate::{answer, guide, run};

/// PTC-Lisp as a runtime of programs.
#[derive(Clone, Copy, Debug, Default)]
pub struct PtcLisp;

impl ProgramRuntime for PtcLisp {
    fn name(&self) -> &'static str {
        "ptclisp"
    }

    fn guide(&self, guide: &ProgramGuide) -> String {
        guide::guide(guide)
    }

    fn extract(&self, answer: &str) -> Option<Result<String, ProgramFault>> {
        answer::program(answer)
    }

    fn prepare(
        &self,
        source: &str,
        world: &ProgramEnvironment,
    ) -> Result<Box<dyn PreparedProgram>, ProgramFault> {
        let limits = limits(&world.limits);
        let tools: BTreeSet<Arc<str>> = world.tools.iter().cloned().collect();
        let (session, data) = match (session(world), inputs(world)) {
            (Ok(session), Ok(data)) => (session, data),
            (Err(fault), _) | (_, Err(fault)) => {
                // What is wrong with the program itself is found all the same.
                Program::check(source, &tools, &limits).map_err(program_fault)?;
                return Ok(Box::new(run::LoadedProgram::refused(program_fault(fault))));
            }
        };
        let inputs = Inputs { data: Arc::new(data), tools: Arc::new(tools), strict_data: true };
        let program =
            Program::prepare(source, &inputs, &session.session, &limits).map_err(program_fault)?;
        program.check_inputs().map_err(program_fault)?;
        Ok(Box::new(run::LoadedProgram::new(program, session, world)))
    }
}

/// The limits of a run. How deep values and forms may be nested is the language's own.
fn limits(given: &ProgramLimits) -> Limits {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    Limits {
        steps: given.steps,
        memory_bytes: given.memory_bytes,
        calls_deep: given.depth,
        loop_rounds: given.loop_rounds,
        tool_calls: given.calls,
        prints_bytes: size(given.print_bytes),
        program_bytes: size(given.source_bytes),
        ..Limits::default()
    }
}

/// Reads the memory of earlier programs.
fn session(world: &ProgramEnvironment) -> Result<RetainedSession, Fault> {
    RetainedSession::read(&world.memory)
        .map_err(|why| Fault::new(FaultClass::World, format!("what lasts cannot be read: {why}")))
}

/// Name of the input that holds the failure of the program before.
const FAILURE: &str = "fail";

/// Returns the inputs of the program, with the failure of the program before it.
fn inputs(world: &ProgramEnvironment) -> Result<BTreeMap<Arc<str>, Value>, Fault> {
    let mut inputs = data(world)?;
    inputs.entry(Arc::from(FAILURE)).or_insert_with(|| match &world.failure {
        None => Value::Nil,
        Some(failure) => Value::record([
            ("reason", Value::Kw(Arc::from(&*failure.reason))),
            ("message", Value::Str(Arc::from(&*failure.message))),
            ("details", Value::record([])),
        ]),
    });
    Ok(inputs)
}

/// Reads the inputs of the session.
fn data(world: &ProgramEnvironment) -> Result<BTreeMap<Arc<str>, Value>, Fault> {
    let Some(text) = &world.data else {
        return Ok(BTreeMap::new());
    };
    let wrong = |why: String| {
        let message = format!("the inputs of programs are not an object of JSON: {why}");
        Fault::new(FaultClass::World, message).hint("Give an object with an entry for each input.")
    };
    match serde_json::from_str(text) {
        Ok(Json::Object(object)) => {
            let entries = object.iter();
            entries
                .map(|(name, value)| Ok((Arc::from(&**name), from_json(value)?)))
                .collect::<Result<_, Fault>>()
                .map_err(|fault| wrong(fault.to_string()))
        }
        Ok(_) => Err(wrong("they are another value".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// A fault as the port tells it.
pub(crate) fn program_fault(fault: Fault) -> ProgramFault {
    let fault = fault.with_advice();
    ProgramFault {
        class: fault.class.name().to_owned(),
        message: fault.message,
        line: fault.position.map(|at| at.line),
        column: fault.position.map(|at| at.column),
        hint: fault.hint,
    }
}
