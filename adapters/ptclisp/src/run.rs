//! A program on its way: calls and answers as the port has them, and what it comes to.

use std::sync::Arc;

use serde_json::Value as Json;
use windlass_core::{ProgramEnd, ProgramFault};
use windlass_ports::{
    CancelSignal, PreparedProgram, ProgramAnswer, ProgramCall, ProgramDone, ProgramStep,
    ProgramWorld, RunningProgram,
};

use windlass_kit_ptclisp::{
    Answer, Class, End, Fault, Outcome, Program, Run, Session, Step, TooLong, ToolCall, Value,
    json_text, sorted,
};

use crate::runtime::told;

/// A program that was read, or why its world cannot be had.
pub(crate) struct Prepared(Result<Box<Ready>, ProgramFault>);

struct Ready {
    program: Program,
    session: Session,
    bounds: Bounds,
    stop: CancelSignal,
}

/// Limits that the machine does not enforce.
struct Bounds {
    memory: Option<Arc<str>>,
    value_bytes: usize,
    kept_bytes: usize,
}

impl Prepared {
    pub(crate) fn new(program: Program, session: Session, world: &ProgramWorld) -> Prepared {
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        Prepared(Ok(Box::new(Ready {
            program,
            session,
            bounds: Bounds {
                memory: world.memory.clone(),
                value_bytes: size(world.limits.value_bytes),
                kept_bytes: size(world.limits.kept_bytes),
            },
            stop: world.stop.clone(),
        })))
    }

    /// One that cannot start.
    pub(crate) fn refused(fault: ProgramFault) -> Prepared {
        Prepared(Err(fault))
    }
}

impl PreparedProgram for Prepared {
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
        let mut run = ready.program.start(&ready.session);
        let stop = ready.stop.clone();
        run.stop_when(move || stop.is_cancelled());
        Ok(Box::new(Running {
            run,
            session: ready.session,
            bounds: ready.bounds,
            stop: ready.stop,
            stage: Stage::Start,
            steps: 0,
        }))
    }
}

struct Running {
    run: Run,
    session: Session,
    bounds: Bounds,
    stop: CancelSignal,
    stage: Stage,
    /// Steps that it had taken when it ended.
    steps: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Start,
    /// For so many answers.
    Waits(usize),
    Ended,
}

impl RunningProgram for Running {
    fn go_on(&mut self, answers: Vec<ProgramAnswer>) -> ProgramStep {
        let waits_for = match self.stage {
            Stage::Start => 0,
            Stage::Waits(count) => count,
            Stage::Ended => return self.misused("the program has ended: start it again"),
        };
        if answers.len() != waits_for {
            let given = answers.len();
            return self.misused(&format!(
                "the program waits for {waits_for} answers and was given {given}"
            ));
        }
        if self.stop.is_cancelled() {
            let step = self.run.stop();
            return self.told(step);
        }
        let step = match self.stage {
            Stage::Start => self.run.go(),
            Stage::Waits(_) | Stage::Ended => {
                self.run.resume(answers.into_iter().map(read).collect())
            }
        };
        match step {
            Ok(step) => self.told(step),
            Err(misuse) => self.misused(&misuse.to_string()),
        }
    }
}

impl Running {
    fn told(&mut self, step: Step) -> ProgramStep {
        match step {
            Step::Calls(calls) => {
                self.stage = Stage::Waits(calls.len());
                let call = |call: ToolCall| ProgramCall {
                    name: call.name,
                    arguments: sorted(Json::Object(call.args)).to_string(),
                };
                ProgramStep::Calls(calls.into_iter().map(call).collect())
            }
            Step::Done(outcome) => {
                self.stage = Stage::Ended;
                self.steps = outcome.steps;
                ProgramStep::Done(Box::new(self.done(*outcome)))
            }
        }
    }

    fn misused(&mut self, message: &str) -> ProgramStep {
        self.stage = Stage::Ended;
        ProgramStep::Done(Box::new(ProgramDone {
            end: ProgramEnd::Fault(ProgramFault::new("misuse", message)),
            prints: Vec::new(),
            memory: None,
            defined: Vec::new(),
            steps: self.steps,
        }))
    }

    fn done(&mut self, outcome: Outcome) -> ProgramDone {
        let ended = self.end(&outcome).and_then(|end| {
            let memory = match &end {
                ProgramEnd::Value { .. } | ProgramEnd::Return { .. } => self.memory(&outcome)?,
                ProgramEnd::Fail { .. } | ProgramEnd::Fault(_) => None,
            };
            Ok((end, memory))
        });
        let (end, memory) = ended.unwrap_or_else(|fault| (ProgramEnd::Fault(told(fault)), None));
        let lasts = matches!(end, ProgramEnd::Value { .. } | ProgramEnd::Return { .. });
        let defined = outcome.defined.iter().filter(|_| lasts);
        ProgramDone {
            end,
            defined: defined.map(|name| name.to_string()).collect(),
            memory,
            steps: outcome.steps,
            prints: outcome.prints,
        }
    }

    fn end(&self, outcome: &Outcome) -> Result<ProgramEnd, Fault> {
        Ok(match &outcome.end {
            End::Value(value) => ProgramEnd::Value {
                value: self.text(value)?,
            },
            End::Return(value) => ProgramEnd::Return {
                value: self.text(value)?,
            },
            End::Fail(value) => ProgramEnd::Fail {
                value: self.text(value)?,
            },
            End::Fault(fault) => ProgramEnd::Fault(told(fault.clone())),
        })
    }

    /// A value as JSON text.
    fn text(&self, value: &Value) -> Result<Arc<str>, Fault> {
        let most = self.bounds.value_bytes;
        if let Some(text) = json_text(value, most) {
            return Ok(Arc::from(text));
        }
        let message =
            format!("the value that the program ends with takes more than {most} bytes as JSON");
        let hint = "End with less of it: (count xs), (take 20 xs), (select-keys m [..]). What later \
                    programs need of it can be kept with (def name value) before a small last form.";
        Err(Fault::new(Class::ValueLimit, message).hint(hint))
    }

    /// Returns the memory of the program; `None` if it equals the memory before.
    fn memory(&self, outcome: &Outcome) -> Result<Option<Arc<str>>, Fault> {
        let mut session = self.session.clone();
        session.commit(outcome);
        if session.definitions.is_empty() && session.history.is_empty() {
            return Ok(None);
        }
        let most = self.bounds.kept_bytes;
        loop {
            match session.to_text(most) {
                Ok(text) if self.bounds.memory.as_deref() == Some(&*text) => return Ok(None),
                Ok(text) => return Ok(Some(Arc::from(text))),
                Err(TooLong { .. }) if session.history.len() > 1 => {
                    session.history.remove(0);
                }
                Err(TooLong { .. }) => {
                    let message =
                        format!("the definitions and the last result take more than {most} bytes");
                    let hint = "Define less: what is needed of the data instead of all of it, and \
                                (def name nil) for what is not needed any more.";
                    return Err(Fault::new(Class::KeptLimit, message).hint(hint));
                }
            }
        }
    }
}

/// Passes the answer of a tool on. It is read when the program reaches it.
fn read(answer: ProgramAnswer) -> Answer {
    match answer {
        ProgramAnswer::Done(text) => Answer::Text(text),
        ProgramAnswer::Failed(why) => Answer::Error(why.to_string()),
    }
}
