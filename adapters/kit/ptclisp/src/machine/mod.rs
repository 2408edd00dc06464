//! The machine: one stack for values, one for frames. Nothing of a program's depth is on the native
//! stack, and between two steps everything can wait for tools' answers.

mod call;
mod caught;
mod exec;
mod fork;
mod strand;
mod strand_set;
mod tool_requests;

use std::sync::Arc;

use crate::code::Proto;
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt};
use crate::flow::FrameRequest;
use crate::program::ToolAnswer;
use crate::value::Value;

use fork::ParallelRun;
use strand::{Activation, CodeActivation, Strand, StrandState};
use strand_set::{Path, StrandSet};
pub(crate) use tool_requests::ToolRequest;

/// Result of running the machine.
pub(crate) enum MachineStep {
    /// Tools are called; there is one at least.
    Tools(Vec<ToolRequest>),
    /// The program has ended.
    Ended(Result<Value, Halt>),
}

/// Reason for pausing the running strand.
enum PauseReason {
    /// It waits: its state says for what.
    Waits,
    /// It ended, with this value.
    Ended(Value),
}

/// A program in progress.
pub(crate) struct Machine {
    pub(crate) ctx: Context,
    /// Strand that runs now.
    now: Strand,
    /// Path of its branch; the program itself is no branch.
    path: Path,
    /// Strands that wait.
    strands: StrandSet,
}

impl Machine {
    /// At the start of a program.
    pub(crate) fn new(proto: Arc<Proto>, ctx: Context) -> Machine {
        let mut now = Strand::default();
        now.stack.resize(proto.slots, Value::Nil);
        now.acts.push(Activation::Code(CodeActivation {
            closure: None,
            arity: 0,
            proto,
            at: 0,
            base: 0,
        }));
        Machine { ctx, now, path: Path::new(), strands: StrandSet::default() }
    }

    /// Runs until all that goes on waits for tools, or the program ends.
    pub(crate) fn run(&mut self) -> MachineStep {
        loop {
            let ended = match self.advance() {
                Ok(None) => continue,
                Ok(Some(PauseReason::Waits)) => {
                    self.park();
                    None
                }
                Ok(Some(PauseReason::Ended(value))) => Some(Ok(value)),
                Err(halt) => match self.now.catch(&mut self.ctx, halt) {
                    Ok(()) => continue,
                    Err(halt) => Some(Err(halt)),
                },
            };
            if let Some(ended) = ended
                && let Some(ended) = self.ended(ended)
            {
                return MachineStep::Ended(ended);
            }
            if !self.resume() {
                return match self.strands.take_requests() {
                    asked if asked.is_empty() => {
                        let fault = Fault::new(FaultClass::Runtime, "nothing can go on");
                        MachineStep::Ended(Err(self.break_off(fault)))
                    }
                    asked => MachineStep::Tools(asked),
                };
            }
        }
    }

    /// Gives the tools' answers to those that called them, in the order of the calls, and goes on with
    /// the first.
    pub(crate) fn answer(&mut self, answers: Vec<ToolAnswer>) {
        self.strands.answer(answers);
        self.resume();
    }

    fn advance(&mut self) -> Result<Option<PauseReason>, Halt> {
        match std::mem::take(&mut self.now.state) {
            StrandState::Code if self.now.acts.is_empty() => {
                Err(Fault::new(FaultClass::Runtime, "nothing runs").into())
            }
            StrandState::Code => self.execute(),
            StrandState::Begin(function, args) => {
                self.strands.counted(&mut self.ctx)?;
                self.begin(function, args)
            }
            StrandState::Given(value) => match self.now.acts.last_mut() {
                None => Ok(Some(PauseReason::Ended(value))),
                Some(Activation::Code(_)) => {
                    self.now.stack.push(value);
                    Ok(None)
                }
                Some(Activation::Flow(frame)) => {
                    self.ctx.spend_steps(1)?;
                    let next = frame.step(&mut self.ctx, Some(value))?;
                    self.follow(next, true)
                }
                Some(Activation::Fork(fork)) => {
                    self.ctx.spend_steps(1)?;
                    fork.room(&self.ctx)?;
                    fork.set_last_result(value);
                    self.one_by_one()
                }
            },
            StrandState::Start => match self.now.acts.last_mut() {
                Some(Activation::Flow(frame)) => {
                    let next = frame.step(&mut self.ctx, None)?;
                    self.follow(next, true)
                }
                Some(Activation::Fork(_)) => self.one_by_one(),
                _ => Ok(None),
            },
            StrandState::Answered(name, answer) => {
                let value = tool_requests::answer_value(&mut self.ctx, &name, &answer)?;
                self.now.state = StrandState::Given(value);
                Ok(None)
            }
            StrandState::Joined => self.finish(),
            StrandState::Asks(_) | StrandState::Waits(_) | StrandState::Forked => {
                Err(Fault::new(FaultClass::Runtime, "what is waited for has not come").into())
            }
        }
    }

    /// Goes on with a fork whose branches run here, one after the other.
    fn one_by_one(&mut self) -> Result<Option<PauseReason>, Halt> {
        match self.now.fork().and_then(ParallelRun::begin) {
            Some((function, args)) => self.begin(function, args),
            None => self.finish(),
        }
    }

    /// Takes what the topmost fork comes to.
    fn finish(&mut self) -> Result<Option<PauseReason>, Halt> {
        if let Some(fork) = self.now.fork() {
            self.ctx.prints.extend(fork.printed());
            let value = fork.finish(&mut self.ctx)?;
            self.now.acts.pop();
            self.now.state = StrandState::Given(value);
        }
        Ok(None)
    }

    /// Does what a function that calls functions wants; `framed`: its frame is topmost.
    fn follow(&mut self, next: FrameRequest, framed: bool) -> Result<Option<PauseReason>, Halt> {
        match next {
            FrameRequest::Done(value) => {
                if framed {
                    self.now.acts.pop();
                }
                self.now.state = StrandState::Given(value);
                Ok(None)
            }
            FrameRequest::Become(function, args) => {
                if framed {
                    self.now.acts.pop();
                }
                self.begin(function, args)
            }
            FrameRequest::Call(function, args) => self.begin(function, args),
            FrameRequest::Push(frame) => {
                self.enter(Activation::Flow(frame))?;
                self.now.state = StrandState::Start;
                Ok(None)
            }
            FrameRequest::Fork(branches) => {
                if framed {
                    self.now.acts.pop();
                }
                let fork = ParallelRun::new(branches);
                let here = fork.count() <= 1 || self.path.len() >= strand_set::FORKS_DEEP;
                self.enter(Activation::Fork(Box::new(fork)))?;
                if here {
                    self.now.state = StrandState::Start;
                    return Ok(None);
                }
                self.now.state = StrandState::Forked;
                Ok(Some(PauseReason::Waits))
            }
        }
    }

    /// Calls a function for a frame.
    fn begin(&mut self, function: Value, args: Vec<Value>) -> Result<Option<PauseReason>, Halt> {
        let count = args.len();
        self.now.stack.push(function);
        self.now.stack.extend(args);
        self.call(count)
    }

    fn enter(&mut self, act: Activation) -> Result<(), Halt> {
        let nested = self.now.depth.saturating_add(self.now.acts.len());
        if nested >= self.ctx.limits.calls_deep as usize {
            let limit = self.ctx.limits.calls_deep;
            let message = format!("calls are nested deeper than {limit}");
            let hint = "Use loop and recur, or reduce, instead of a function that calls itself.";
            return Err(Fault::new(FaultClass::Depth, message).hint(hint).into());
        }
        self.now.acts.push(act);
        self.now.count(&mut self.ctx)
    }
}
