//! The machine: one stack for values, one for frames. Nothing of a program's depth is on the native
//! stack, and between two steps everything can wait for tools' answers.

mod asks;
mod beside;
mod call;
mod exec;
mod fork;
mod strand;

use std::sync::Arc;

use crate::code::Proto;
use crate::context::Context;
use crate::fault::{Class, Fault, Halt};
use crate::flow::Next;
use crate::program::Answer;
use crate::value::Value;

pub(crate) use asks::Asked;
use beside::{Beside, Path};
use fork::Fork;
use strand::{Act, Code, State, Strand};

/// Result of running the machine.
pub(crate) enum Turn {
    /// Tools are called; there is one at least.
    Tools(Vec<Asked>),
    /// The program has ended.
    Ended(Result<Value, Halt>),
}

/// Reason for pausing the running strand.
enum Pause {
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
    beside: Beside,
}

impl Machine {
    /// At the start of a program.
    pub(crate) fn new(proto: Arc<Proto>, ctx: Context) -> Machine {
        let mut now = Strand::default();
        now.stack.resize(proto.slots, Value::Nil);
        now.acts.push(Act::Code(Code {
            closure: None,
            arity: 0,
            proto,
            at: 0,
            base: 0,
        }));
        Machine {
            ctx,
            now,
            path: Path::new(),
            beside: Beside::default(),
        }
    }

    /// Runs until all that goes on waits for tools, or the program ends.
    pub(crate) fn run(&mut self) -> Turn {
        loop {
            let ended = match self.advance() {
                Ok(None) => continue,
                Ok(Some(Pause::Waits)) => {
                    self.park();
                    None
                }
                Ok(Some(Pause::Ended(value))) => Some(Ok(value)),
                Err(halt) => Some(Err(self.now.unwind(halt))),
            };
            if let Some(ended) = ended
                && let Some(ended) = self.ended(ended)
            {
                return Turn::Ended(ended);
            }
            if !self.resume() {
                return match self.beside.asked() {
                    asked if asked.is_empty() => {
                        let fault = Fault::new(Class::Runtime, "nothing can go on");
                        Turn::Ended(Err(self.break_off(fault)))
                    }
                    asked => Turn::Tools(asked),
                };
            }
        }
    }

    /// Gives the tools' answers to those that called them, in the order of the calls, and goes on with
    /// the first.
    pub(crate) fn answer(&mut self, answers: Vec<Answer>) {
        self.beside.answer(answers);
        self.resume();
    }

    fn advance(&mut self) -> Result<Option<Pause>, Halt> {
        match std::mem::take(&mut self.now.state) {
            State::Code if self.now.acts.is_empty() => {
                Err(Fault::new(Class::Runtime, "nothing runs").into())
            }
            State::Code => self.execute(),
            State::Begin(function, args) => {
                self.beside.counted(&mut self.ctx)?;
                self.begin(function, args)
            }
            State::Given(value) => match self.now.acts.last_mut() {
                None => Ok(Some(Pause::Ended(value))),
                Some(Act::Code(_)) => {
                    self.now.stack.push(value);
                    Ok(None)
                }
                Some(Act::Flow(frame)) => {
                    self.ctx.take(1)?;
                    let next = frame.step(&mut self.ctx, Some(value))?;
                    self.follow(next, true)
                }
                Some(Act::Fork(fork)) => {
                    self.ctx.take(1)?;
                    fork.room(&self.ctx)?;
                    fork.given(value);
                    self.one_by_one()
                }
            },
            State::Start => match self.now.acts.last_mut() {
                Some(Act::Flow(frame)) => {
                    let next = frame.step(&mut self.ctx, None)?;
                    self.follow(next, true)
                }
                Some(Act::Fork(_)) => self.one_by_one(),
                _ => Ok(None),
            },
            State::Answered(name, answer) => {
                let value = asks::taken(&mut self.ctx, &name, &answer)?;
                self.now.state = State::Given(value);
                Ok(None)
            }
            State::Joined => self.finish(),
            State::Asks(_) | State::Waits(_) | State::Forked => {
                Err(Fault::new(Class::Runtime, "what is waited for has not come").into())
            }
        }
    }

    /// Goes on with a fork whose branches run here, one after the other.
    fn one_by_one(&mut self) -> Result<Option<Pause>, Halt> {
        match self.now.fork().and_then(Fork::begin) {
            Some((function, args)) => self.begin(function, args),
            None => self.finish(),
        }
    }

    /// Takes what the topmost fork comes to.
    fn finish(&mut self) -> Result<Option<Pause>, Halt> {
        if let Some(fork) = self.now.fork() {
            self.ctx.prints.extend(fork.printed());
            let value = fork.finish(&mut self.ctx)?;
            self.now.acts.pop();
            self.now.state = State::Given(value);
        }
        Ok(None)
    }

    /// Does what a function that calls functions wants; `framed`: its frame is topmost.
    fn follow(&mut self, next: Next, framed: bool) -> Result<Option<Pause>, Halt> {
        match next {
            Next::Done(value) => {
                if framed {
                    self.now.acts.pop();
                }
                self.now.state = State::Given(value);
                Ok(None)
            }
            Next::Become(function, args) => {
                if framed {
                    self.now.acts.pop();
                }
                self.begin(function, args)
            }
            Next::Call(function, args) => self.begin(function, args),
            Next::Push(frame) => {
                self.enter(Act::Flow(frame))?;
                self.now.state = State::Start;
                Ok(None)
            }
            Next::Fork(branches) => {
                if framed {
                    self.now.acts.pop();
                }
                let fork = Fork::new(branches);
                let here = fork.count() <= 1 || self.path.len() >= beside::FORKS_DEEP;
                self.enter(Act::Fork(Box::new(fork)))?;
                if here {
                    self.now.state = State::Start;
                    return Ok(None);
                }
                self.now.state = State::Forked;
                Ok(Some(Pause::Waits))
            }
        }
    }

    /// Calls a function for a frame.
    fn begin(&mut self, function: Value, args: Vec<Value>) -> Result<Option<Pause>, Halt> {
        let count = args.len();
        self.now.stack.push(function);
        self.now.stack.extend(args);
        self.call(count)
    }

    fn enter(&mut self, act: Act) -> Result<(), Halt> {
        let nested = self.now.depth.saturating_add(self.now.acts.len());
        if nested >= self.ctx.limits.calls_deep as usize {
            let limit = self.ctx.limits.calls_deep;
            let message = format!("calls are nested deeper than {limit}");
            let hint = "Use loop and recur, or reduce, instead of a function that calls itself.";
            return Err(Fault::new(Class::Depth, message).hint(hint).into());
        }
        self.now.acts.push(act);
        self.now.count(&mut self.ctx)
    }
}
