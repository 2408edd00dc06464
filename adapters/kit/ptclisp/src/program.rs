//! Programs: prepared, run until they call a tool, and resumed with what the tool answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::analyze::{NameScope, analyze, nearest_of};
use crate::code::{Op, Proto};
use crate::context::{Context, stopped};
use crate::fault::{Fault, FaultClass, Halt};
use crate::json::unfinished;
use crate::limits::Limits;
use crate::machine::{Machine, MachineStep, ToolRequest};
use crate::read::{TextRepair, read};
use crate::repair;
use crate::session::LispSession;
use crate::show;
use crate::value::Value;

/// Environment of a program.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The values that a program reads as `data/name`.
    pub data: Arc<BTreeMap<Arc<str>, Value>>,
    /// The tools that a program calls as `(tool/name {..})`.
    pub tools: Arc<BTreeSet<Arc<str>>>,
    /// True if `data/name` without such an input is a fault; it is nil otherwise.
    pub strict_data: bool,
}

/// A program that was read and checked: it has no unknown name and no unknown tool.
#[derive(Clone)]
pub struct Program {
    source: Arc<str>,
    proto: Arc<Proto>,
    repairs: Arc<[TextRepair]>,
    inputs: Inputs,
    limits: Limits,
}

impl Program {
    /// Reads and checks a program. Nothing of it runs.
    ///
    /// # Errors
    /// The first thing that is wrong with it, with its place and what to write instead.
    pub fn prepare(
        source: &str,
        inputs: &Inputs,
        session: &LispSession,
        limits: &Limits,
    ) -> Result<Program, Fault> {
        let placed = |fault: Fault| fault.with_position(source);
        let scope = NameScope {
            tools: &inputs.tools,
            defined: &|name| session.definitions.contains_key(name),
            any_tool: false,
        };
        let text = read(source, limits).map_err(placed)?;
        let (proto, repairs) = match analyze(&text.forms, &scope) {
            Ok(proto) => (proto, text.repairs),
            Err(fault) => match repair::closed_early(source, &text, &fault, &scope, limits) {
                Some(repaired) => repaired,
                None => return Err(placed(fault)),
            },
        };
        Ok(Program {
            source: Arc::from(source),
            proto,
            repairs: repairs.into(),
            inputs: inputs.clone(),
            limits: limits.clone(),
        })
    }

    /// Checks a program without knowing which names are defined. Nothing of it runs.
    ///
    /// # Errors
    /// The first fault that it has with any definitions.
    pub fn check(source: &str, tools: &BTreeSet<Arc<str>>, limits: &Limits) -> Result<(), Fault> {
        let scope = NameScope {
            tools,
            // A definition never has the name of a namespace.
            defined: &|name| !name.contains('/'),
            any_tool: false,
        };
        let text = read(source, limits).map_err(|fault| fault.with_position(source))?;
        let proto = analyze(&text.forms, &scope);
        proto.map(|_| ()).map_err(|fault| fault.with_position(source))
    }

    /// Checks that each input that the program names is present.
    ///
    /// # Errors
    /// The fault of the first input that is missing.
    pub fn check_inputs(&self) -> Result<(), Fault> {
        match unknown_input(&self.proto, &self.inputs.data) {
            Some(fault) => Err(fault.with_position(&self.source)),
            None => Ok(()),
        }
    }

    /// Returns the repairs made in its text.
    pub fn repairs(&self) -> &[TextRepair] {
        &self.repairs
    }

    /// A run from the program's start, with what the session knows.
    pub fn start(&self, session: &LispSession) -> LispRun {
        let mut ctx = Context::new(self.limits.clone());
        ctx.defs = session.definitions.clone();
        ctx.history = session.history.clone().into();
        ctx.data = self.inputs.data.clone();
        ctx.strict_data = self.inputs.strict_data;
        ctx.tools = self.inputs.tools.clone();
        ctx.ids = session.ids;
        LispRun {
            program: self.clone(),
            machine: Machine::new(self.proto.clone(), ctx),
            stage: RunStage::Going,
            calls: 0,
        }
    }
}

/// Finds the first input that a program names and that is missing.
fn unknown_input(proto: &Proto, data: &BTreeMap<Arc<str>, Value>) -> Option<Fault> {
    for (op, place) in proto.code.iter().zip(&proto.places) {
        if let Op::Data(index) = op
            && let Some(Value::Str(name)) = proto.consts.get(*index as usize)
            && !data.contains_key(name)
        {
            let message = format!("data/{name} is not among the inputs");
            let known: Vec<String> =
                data.keys().take(50).map(|key| format!("data/{key}")).collect();
            let near = nearest_of(name, data.keys().map(|key| &**key));
            let hint = match (near, known.is_empty()) {
                (_, true) => "There are no inputs.".to_owned(),
                (Some(near), _) => {
                    format!("Did you mean data/{near}? There is: {}.", known.join(", "))
                }
                (None, false) => format!("There is: {}.", known.join(", ")),
            };
            return Some(Fault::new(FaultClass::UnboundVar, message).hint(hint).at(*place));
        }
    }
    let within = proto.templates.iter().flat_map(|made| &made.arities);
    within.into_iter().find_map(|body| unknown_input(body, data))
}

/// A call of a tool, for which the program waits.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Number of calls before it in this run.
    pub index: u32,
    /// Name of the tool.
    pub name: Arc<str>,
    /// Its arguments, with `_` for the `-` of keywords.
    pub args: Map<String, Json>,
}

/// Answer of a tool.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolAnswer {
    /// Output as JSON data.
    Value(Json),
    /// Output that is data if all of it is a JSON value, and text if not.
    Output(Arc<str>),
    /// Output that is text, whatever it contains.
    Text(Arc<str>),
    /// Reason of a failure. It ends the program unless a `try` catches it.
    Error(String),
}

/// State of a run after a step.
#[derive(Debug)]
pub enum RunStep {
    /// It waits for tools: for one, or for those that branches of parallel forms call side by side, in
    /// order. They may run at the same time.
    Calls(Vec<ToolCall>),
    /// The program has ended.
    Done(Box<RunOutcome>),
}

/// End of a program.
#[derive(Clone, Debug)]
pub enum RunEnd {
    /// With the value of its last form.
    Value(Value),
    /// The program returned this value.
    Return(Value),
    /// The program failed with this value.
    Fail(Value),
    /// A fault ended the program.
    Fault(Fault),
}

/// Result of a program.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// End of the program.
    pub end: RunEnd,
    /// Printed lines, in order.
    pub prints: Vec<String>,
    /// The definitions after it; those before it where it failed.
    pub definitions: BTreeMap<Arc<str>, Value>,
    /// The steps that it took.
    pub steps: u64,
    /// The bytes that it allocated.
    pub memory_bytes: u64,
    /// The names that it defined, whether they were known before or not.
    pub defined: BTreeSet<Arc<str>>,
    /// The highest number that a function has.
    pub(crate) ids: u64,
}

/// A program on its way.
pub struct LispRun {
    program: Program,
    machine: Machine,
    stage: RunStage,
    calls: u32,
}

enum RunStage {
    Going,
    /// For so many answers.
    Waiting(usize),
    Ended,
}

/// Reason for refusing to run or to resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MisuseError {
    /// It waits for answers, and none was given.
    #[error("the run waits for tools: give their answers with resume")]
    WaitingForAnswers,
    /// It waits for another number of answers.
    #[error("the run waits for another number of answers: give one for each call")]
    WrongAnswerCount,
    /// It waits for nothing.
    #[error("the run waits for no tool: call start's first step with go")]
    NotWaiting,
    /// The run has ended.
    #[error("the run has ended: start another")]
    Ended,
}

impl LispRun {
    /// Runs from the start until tools are called or the program ends.
    ///
    /// # Errors
    /// If the run waits for tools or has ended.
    pub fn begin(&mut self) -> Result<RunStep, MisuseError> {
        match self.stage {
            RunStage::Going => Ok(self.advance()),
            RunStage::Waiting(_) => Err(MisuseError::WaitingForAnswers),
            RunStage::Ended => Err(MisuseError::Ended),
        }
    }

    /// Sets the check that ends the run with a fault. It is called every few thousand steps.
    pub fn stop_when(&mut self, stopped: impl Fn() -> bool + Send + Sync + 'static) {
        self.machine.ctx.stop = Some(Arc::new(stopped));
    }

    /// Ends the run with the fault of a run that was stopped.
    pub fn stop(&mut self) -> RunStep {
        let halt = self.machine.break_off(stopped());
        self.end(Err(halt))
    }

    /// The first step of a run that was just started.
    pub(crate) fn first(&mut self) -> RunStep {
        self.advance()
    }

    /// Goes on with the tools' answers, one for each call of the last step and in their order.
    ///
    /// # Errors
    /// If the run waits for no tool, or for another number of answers.
    pub fn resume(&mut self, answers: Vec<ToolAnswer>) -> Result<RunStep, MisuseError> {
        match self.stage {
            RunStage::Waiting(count) if count == answers.len() => {
                self.machine.answer(answers);
                Ok(self.advance())
            }
            RunStage::Waiting(_) => Err(MisuseError::WrongAnswerCount),
            RunStage::Going => Err(MisuseError::NotWaiting),
            RunStage::Ended => Err(MisuseError::Ended),
        }
    }

    fn advance(&mut self) -> RunStep {
        match self.machine.run() {
            MachineStep::Ended(ended) => self.end(ended),
            MachineStep::Tools(asked) => {
                self.stage = RunStage::Waiting(asked.len());
                let index = self.calls;
                self.calls = index.saturating_add(u32::try_from(asked.len()).unwrap_or(u32::MAX));
                let numbered = (index..).zip(asked);
                let call = |(index, ToolRequest { name, args })| ToolCall { index, name, args };
                RunStep::Calls(numbered.map(call).collect())
            }
        }
    }

    fn end(&mut self, ended: Result<Value, Halt>) -> RunStep {
        self.stage = RunStage::Ended;
        let last = self.program.proto.places.last().copied();
        let checked = ended.and_then(|value| {
            self.checked(value).map_err(|halt| match (halt, last) {
                (Halt::Fault(fault), Some(last)) => fault.at(last).into(),
                (halt, _) => halt,
            })
        });
        let end = match checked {
            Ok(value) => RunEnd::Value(value),
            Err(Halt::Return(value)) => match self.checked(value) {
                Ok(value) => RunEnd::Return(value),
                Err(halt) => self.fault(halt),
            },
            Err(Halt::Fail(value)) => match self.checked(value) {
                Ok(value) => RunEnd::Fail(value),
                Err(halt) => self.fault(halt),
            },
            Err(halt) => self.fault(halt),
        };
        let ctx = &mut self.machine.ctx;
        RunStep::Done(Box::new(RunOutcome {
            end,
            prints: std::mem::take(&mut ctx.prints),
            definitions: std::mem::take(&mut ctx.defs),
            steps: ctx.limits.steps - ctx.steps_left(),
            defined: std::mem::take(&mut ctx.defined),
            ids: ctx.ids,
            memory_bytes: ctx.limits.memory_bytes - ctx.memory_left,
        }))
    }

    /// Checks that what leaves the program can be written out: parts that are shared in it are
    /// written each time.
    fn checked(&mut self, value: Value) -> Result<Value, Halt> {
        let ctx = &mut self.machine.ctx;
        ctx.walk_deep(&value)?;
        ctx.digits(&value)?;
        if let Some(part) = value.unfinished() {
            return Err(unfinished(part).into());
        }
        let mut held = value.shape().weight;
        for definition in ctx.defs.values() {
            held = held.saturating_add(definition.shape().weight);
        }
        let limit = ctx.limits.retained_parts;
        if held > limit {
            let message = format!("the result and the definitions have more than {limit} parts");
            let hint = "Define and return only what is needed later.";
            return Err(Fault::new(FaultClass::Memory, message).hint(hint).into());
        }
        Ok(value)
    }

    fn fault(&self, halt: Halt) -> RunEnd {
        RunEnd::Fault(match halt {
            Halt::Fault(mut fault) => {
                if let Some(data) = fault.data.take().map(|data| show::brief(&data))
                    && data != fault.message
                {
                    fault.message = format!("{} {data}", fault.message);
                }
                fault.with_position(&self.program.source)
            }
            Halt::Return(_) | Halt::Fail(_) => {
                Fault::new(FaultClass::Runtime, "the program ended twice")
            }
        })
    }
}
