//! The port `ProgramRuntime` of Windlass: programs as the engine runs them.
//!
//! What is stricter than [`Program`](crate::Program): an input that is not there refuses the program, as an
//! unknown name does; values, what lasts and prints are bounded in bytes of text. What lasts is
//! [a session's text](crate::Session::to_text). Where the last results do not fit beside the definitions,
//! `*3` and then `*2` are forgotten; where even `*1` does not, the program ends with a fault.

mod answer;
mod guide;
mod run;
mod schema;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod word_tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;
use windlass_core::{ProgramFault, ProgramLimits, ToolSpec};
use windlass_ports::{PreparedProgram, ProgramRuntime, ProgramWorld};

use crate::analyze::{Scope, analyze};
use crate::code::{Op, Proto};
use crate::fault::{Class, Fault};
use crate::json::from_json;
use crate::limits::Limits;
use crate::program::{Inputs, Program};
use crate::read::read;
use crate::session::Session;
use crate::value::Value;

/// PTC-Lisp as a runtime of programs.
#[derive(Clone, Copy, Debug, Default)]
pub struct PtcLisp;

impl ProgramRuntime for PtcLisp {
    fn name(&self) -> &'static str {
        "ptclisp"
    }

    fn guide(&self, tools: &[ToolSpec]) -> String {
        guide::guide(tools)
    }

    fn extract(&self, answer: &str) -> Option<Result<String, ProgramFault>> {
        answer::program(answer)
    }

    fn prepare(
        &self,
        source: &str,
        world: &ProgramWorld,
    ) -> Result<Box<dyn PreparedProgram>, ProgramFault> {
        let limits = limits(&world.limits);
        let tools: BTreeSet<Arc<str>> = world.tools.iter().cloned().collect();
        let (session, data) = match (session(world), data(world)) {
            (Ok(session), Ok(data)) => (session, data),
            (Err(fault), _) | (_, Err(fault)) => {
                // What is wrong with the program itself is found all the same.
                checked(source, &tools, &limits).map_err(told)?;
                return Ok(Box::new(run::Prepared::refused(told(fault))));
            }
        };
        let inputs = Inputs {
            data: Arc::new(data),
            tools: Arc::new(tools),
            strict_data: true,
        };
        let program = Program::prepare(source, &inputs, &session, &limits).map_err(told)?;
        if let Some(fault) = unknown_input(program.proto(), &inputs.data) {
            return Err(told(fault.placed(source)));
        }
        Ok(Box::new(run::Prepared::new(program, session, world)))
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

/// What the programs before it left.
fn session(world: &ProgramWorld) -> Result<Session, Fault> {
    match &world.memory {
        None => Ok(Session::default()),
        Some(text) => Session::from_text(text)
            .map_err(|why| Fault::new(Class::World, format!("what lasts cannot be read: {why}"))),
    }
}

/// The inputs.
fn data(world: &ProgramWorld) -> Result<BTreeMap<Arc<str>, Value>, Fault> {
    let Some(text) = &world.data else {
        return Ok(BTreeMap::new());
    };
    let wrong = |why: String| {
        let message = format!("the inputs of programs are not an object of JSON: {why}");
        Fault::new(Class::World, message).hint("Give an object with an entry for each input.")
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

/// Checks a program where it is not known what is defined.
fn checked(source: &str, tools: &BTreeSet<Arc<str>>, limits: &Limits) -> Result<(), Fault> {
    let scope = Scope {
        tools,
        // No name of a namespace is ever a definition's.
        defined: &|name| !name.contains('/'),
        any_tool: false,
    };
    let text = read(source, limits).map_err(|fault| fault.placed(source))?;
    let proto = analyze(&text.forms, &scope);
    proto.map(|_| ()).map_err(|fault| fault.placed(source))
}

/// The fault of the first input that a program names and that is not there.
fn unknown_input(proto: &Proto, data: &BTreeMap<Arc<str>, Value>) -> Option<Fault> {
    for (op, place) in proto.code.iter().zip(&proto.places) {
        if let Op::Data(index) = op
            && let Some(Value::Str(name)) = proto.consts.get(*index as usize)
            && !data.contains_key(name)
        {
            let message = format!("data/{name} is not among the inputs");
            let known: Vec<String> = data
                .keys()
                .take(50)
                .map(|key| format!("data/{key}"))
                .collect();
            let hint = match known.is_empty() {
                true => "There are no inputs.".to_owned(),
                false => format!("There is: {}.", known.join(", ")),
            };
            return Some(Fault::new(Class::UnboundVar, message).hint(hint).at(*place));
        }
    }
    let within = proto.templates.iter().flat_map(|made| &made.arities);
    within
        .into_iter()
        .find_map(|body| unknown_input(body, data))
}

/// A fault as the port tells it.
fn told(fault: Fault) -> ProgramFault {
    let fault = fault.advised();
    ProgramFault {
        class: fault.class.name().to_owned(),
        message: fault.message,
        line: fault.position.map(|at| at.line),
        column: fault.position.map(|at| at.column),
        hint: fault.hint,
    }
}
