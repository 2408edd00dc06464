//! A program on its way: calls and answers as the port has them, and what it comes to.

use std::sync::Arc;

use serde_json::Value as Json;
use windlass_core::{ProgramEnd, ProgramFault};
use windlass_ports::{
    CancelSignal, PreparedProgram, ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramResult,
    ProgramStep, RunningProgram, text_output,
};

use windlass_kit_ptclisp::{
    Fault, FaultClass, LispRun, Program, RunEnd, RunOutcome, RunStep, ToolAnswer, ToolCall, Value,
    json_text, sorted,
};

use crate::memory::RetainedSession;
use crate::runtime::program_fault;

/// A program that was read, or why its world cannot be had.
pub(crate) struct LoadedProgram(Result<Box<ReadyProgram>, ProgramFault>);

struct ReadyProgram {
    program: Program,
    session: RetainedSession,
    bounds: RunLimits,
    stop: CancelSignal,
}

/// Limits that the machine does not enforce.
struct RunLimits {
    value_bytes: usize,
    kept_bytes: usize,
    /// True if a definition at the end is no value.
    must_return: bool,
}

impl LoadedProgram {
    pub(crate) fn new(
        program: Program,
        session: RetainedSession,
        world: &ProgramEnvironment,
    ) -> LoadedProgram {
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        LoadedProgram(Ok(Box::new(ReadyProgram {
            program,
            session,
            bounds: RunLimits {
                value_bytes: size(world.limits.value_bytes),
                kept_bytes: size(world.limits.retained_bytes),
                must_return: world.must_return,
            },
            stop: world.cancel.clone(),
        })))
    }

    /// One that cannot start.
    pub(crate) fn refused(fault: ProgramFault) -> LoadedProgram {
        LoadedProgram(Err(fault))
    }
}

impl PreparedProgram for LoadedProgram {
    fn repairs(&self) -> Vec<String> {
        let Ok(ready) = &self.0 else {
            return Vec::new();
        };
        let repairs = ready.program.repairs().iter();
        repairs
            .map(|repair| {
                let at = repair.position;
                format!(
                    "left out a '{}' too many at line {}, column {}",
                    repair.removed, at.line, at.column
                )
            })
            .collect()
    }

    fn start(self: Box<Self>) -> Result<Box<dyn RunningProgram>, ProgramFault> {
        let ready = *self.0?;
        let mut run = ready.program.start(&ready.session.session);
        let stop = ready.stop.clone();
        run.stop_when(move || stop.is_cancelled());
        Ok(Box::new(PtcLispRun {
            run,
            session: ready.session,
            bounds: ready.bounds,
            stop: ready.stop,
            stage: ProgramStage::Start,
            steps: 0,
        }))
    }
}

struct PtcLispRun {
    run: LispRun,
    session: RetainedSession,
    bounds: RunLimits,
    stop: CancelSignal,
    stage: ProgramStage,
    /// Steps that it had taken when it ended.
    steps: u64,
}

enum ProgramStage {
    Start,
    /// For the answers of these tools.
    Waits(Vec<Arc<str>>),
    Ended,
}

impl RunningProgram for PtcLispRun {
    fn resume(&mut self, answers: Vec<ProgramAnswer>) -> ProgramStep {
        let asked = match &mut self.stage {
            ProgramStage::Start => Vec::new(),
            ProgramStage::Waits(asked) => std::mem::take(asked),
            ProgramStage::Ended => return self.misused("the program has ended: start it again"),
        };
        let waits_for = asked.len();
        if answers.len() != waits_for {
            let given = answers.len();
            return self.misused(&format!(
                "the program waits for {waits_for} answers and was given {given}"
            ));
        }
        if self.stop.is_cancelled() {
            let step = self.run.stop();
            return self.program_step(step);
        }
        let step = match self.stage {
            ProgramStage::Start => self.run.begin(),
            ProgramStage::Waits(_) | ProgramStage::Ended => {
                let answers = asked.iter().zip(answers);
                self.run.resume(answers.map(|(tool, answer)| read(tool, answer)).collect())
            }
        };
        match step {
            Ok(step) => self.program_step(step),
            Err(misuse) => self.misused(&misuse.to_string()),
        }
    }
}

impl PtcLispRun {
    fn program_step(&mut self, step: RunStep) -> ProgramStep {
        match step {
            RunStep::Calls(calls) => {
                self.stage =
                    ProgramStage::Waits(calls.iter().map(|call| call.name.clone()).collect());
                let call = |call: ToolCall| ProgramCall {
                    name: call.name,
                    arguments: sorted(Json::Object(call.args)).to_string(),
                };
                ProgramStep::Calls(calls.into_iter().map(call).collect())
            }
            RunStep::Done(outcome) => {
                self.stage = ProgramStage::Ended;
                self.steps = outcome.steps;
                ProgramStep::Done(Box::new(self.done(*outcome)))
            }
        }
    }

    fn misused(&mut self, message: &str) -> ProgramStep {
        self.stage = ProgramStage::Ended;
        ProgramStep::Done(Box::new(ProgramResult {
            end: ProgramEnd::Fault(ProgramFault::new("misuse", message)),
            prints: Vec::new(),
            retained: Vec::new(),
            defined: Vec::new(),
            alive: Vec::new(),
            steps: self.steps,
        }))
    }

    fn done(&mut self, outcome: RunOutcome) -> ProgramResult {
        let ended = self.end(&outcome).and_then(|end| {
            let retained = match &end {
                ProgramEnd::Value { .. } | ProgramEnd::Return { .. } => {
                    self.session.commit(&outcome, self.bounds.kept_bytes)?
                }
                ProgramEnd::Fail { .. } | ProgramEnd::Fault(_) => Vec::new(),
            };
            Ok((end, retained))
        });
        let (end, retained) =
            ended.unwrap_or_else(|fault| (ProgramEnd::Fault(program_fault(fault)), Vec::new()));
        let lasts = matches!(end, ProgramEnd::Value { .. } | ProgramEnd::Return { .. });
        let defined = outcome.defined.iter().filter(|_| lasts);
        let alive = self.session.alive();
        ProgramResult {
            end,
            defined: defined.map(|name| name.to_string()).collect(),
            retained,
            alive,
            steps: outcome.steps,
            prints: outcome.prints,
        }
    }

    fn end(&self, outcome: &RunOutcome) -> Result<ProgramEnd, Fault> {
        Ok(match &outcome.end {
            RunEnd::Value(Value::Var(_)) if self.bounds.must_return => {
                ProgramEnd::Value { value: Arc::from("null") }
            }
            RunEnd::Value(value) => ProgramEnd::Value { value: self.text(value)? },
            RunEnd::Return(value) => ProgramEnd::Return { value: self.text(value)? },
            RunEnd::Fail(value) => ProgramEnd::Fail { value: self.text(value)? },
            RunEnd::Fault(fault) => ProgramEnd::Fault(program_fault(fault.clone())),
        })
    }

    /// A value as JSON text.
    fn text(&self, value: &Value) -> Result<Arc<str>, Fault> {
        let most = self.bounds.value_bytes;
        if let Some(text) = json_text(value, most)? {
            return Ok(Arc::from(text));
        }
        let message =
            format!("the value that the program ends with takes more than {most} bytes as JSON");
        let hint = "End with less of it: (count xs), (take 20 xs), (select-keys m [..]). What later \
                    programs need of it can be kept with (def name value) before a small last form.";
        Err(Fault::new(FaultClass::ValueLimit, message).hint(hint))
    }
}

/// Passes the answer of a tool on. It is read when the program reaches it.
fn read(tool: &str, answer: ProgramAnswer) -> ToolAnswer {
    match answer {
        ProgramAnswer::Done(output) => match text_output(tool, &output) {
            Some(text) if text.len() == output.len() => ToolAnswer::Text(output),
            Some(text) => ToolAnswer::Text(Arc::from(text)),
            None => ToolAnswer::Output(output),
        },
        ProgramAnswer::Failed(why) => ToolAnswer::Error(why.to_string()),
    }
}
