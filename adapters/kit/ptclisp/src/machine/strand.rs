//! Strands: what runs has a stack for values and one for calls. A branch of a parallel form is a strand of
//! its own.

use std::sync::Arc;

use crate::callable::Closure;
use crate::code::{ELSEWHERE, Handler, Proto};
use crate::context::Context;
use crate::fault::{Fault, Halt};
use crate::flow::Frame;
use crate::machine::caught;
use crate::machine::fork::ParallelRun;
use crate::machine::tool_requests::ToolRequest;
use crate::program::ToolAnswer;
use crate::value::Value;

/// A call in progress.
pub(super) enum Activation {
    Code(CodeActivation),
    Flow(Box<dyn Frame>),
    Fork(Box<ParallelRun>),
}

/// A function of the program in progress.
pub(super) struct CodeActivation {
    pub(super) closure: Option<Arc<Closure>>,
    pub(super) arity: usize,
    pub(super) proto: Arc<Proto>,
    pub(super) at: usize,
    /// Index of its first slot on the stack.
    pub(super) base: usize,
}

impl Activation {
    /// Returns the halt as seen by the caller: with a position, or with the class of the frame.
    fn leave(&self, mut halt: Halt) -> Halt {
        match self {
            Activation::Code(code) => {
                if let Halt::Fault(fault) = &mut halt
                    && fault.offset.is_none()
                    && let Some(place) = code.proto.places.get(code.at.saturating_sub(1))
                    && *place != ELSEWHERE
                {
                    fault.offset = Some(*place);
                }
                halt
            }
            Activation::Flow(frame) => frame.fault(halt),
            Activation::Fork(fork) => fork.fault(halt),
        }
    }
}

impl CodeActivation {
    /// The nearest handler of a fault of the operation at hand.
    fn handler(&self, fault: &Fault) -> Option<Handler> {
        let at = u32::try_from(self.at.checked_sub(1)?).ok()?;
        let takes = |handler: &&Handler| {
            (handler.start..handler.end).contains(&at) && caught::takes(handler.faults, fault)
        };
        self.proto.handlers.iter().find(takes).copied()
    }
}

/// State of a strand.
#[derive(Default)]
pub(super) enum StrandState {
    /// The topmost code goes on.
    #[default]
    Code,
    /// A function is called: it is a branch that begins.
    Begin(Value, Vec<Value>),
    /// The topmost frame is given a value.
    Given(Value),
    /// The topmost frame starts.
    Start,
    /// A tool is to be called.
    Asks(ToolRequest),
    /// A tool was called.
    Waits(Arc<str>),
    /// A tool has answered.
    Answered(Arc<str>, ToolAnswer),
    /// The topmost fork has branches on strands of their own.
    Forked,
    /// All branches have ended.
    Joined,
}

/// Stacks, and where they stand.
#[derive(Default)]
pub(super) struct Strand {
    pub(super) stack: Vec<Value>,
    pub(super) acts: Vec<Activation>,
    pub(super) state: StrandState,
    /// Number of calls around it.
    pub(super) depth: usize,
    /// The most bytes that its stacks took, as they were counted.
    pub(super) counted: usize,
    /// Its prints, while another strand runs.
    pub(super) prints: Vec<String>,
}

impl Strand {
    /// The topmost fork, where that is what is topmost.
    pub(super) fn fork(&mut self) -> Option<&mut ParallelRun> {
        match self.acts.last_mut() {
            Some(Activation::Fork(fork)) => Some(fork),
            _ => None,
        }
    }

    /// Returns true if it has branches on strands of their own.
    pub(super) fn is_forked(&self) -> bool {
        matches!(self.state, StrandState::Forked)
    }

    /// Counts what its stacks take where that is more than ever before, room to grow included.
    pub(super) fn count(&mut self, ctx: &mut Context) -> Result<(), Halt> {
        let values = self.stack.len() * size_of::<Value>();
        let acts = self.acts.len() * size_of::<Activation>();
        let bytes = 2 * (values + acts);
        if bytes > self.counted {
            ctx.reserve(bytes - self.counted)?;
            self.counted = bytes;
        }
        Ok(())
    }

    /// Leaves all its calls with a halt.
    pub(super) fn unwind(&mut self, mut halt: Halt) -> Halt {
        while let Some(act) = self.acts.pop() {
            halt = act.leave(halt);
        }
        self.stack.clear();
        halt
    }

    /// Leaves its calls with a halt up to the one that catches it, which goes on.
    ///
    /// # Errors
    /// The halt, if none of its calls catches it: it has left them all.
    pub(super) fn catch(&mut self, ctx: &mut Context, mut halt: Halt) -> Result<(), Halt> {
        while let Some(act) = self.acts.pop() {
            halt = act.leave(halt);
            let (Activation::Code(mut code), Halt::Fault(fault)) = (act, &halt) else {
                continue;
            };
            let Some(handler) = code.handler(fault) else {
                continue;
            };
            match caught::value(ctx, fault, handler.faults) {
                Ok(value) => {
                    let height = self.stack[code.base + handler.height as usize].as_int();
                    let height = height.and_then(|height| usize::try_from(height).ok());
                    self.stack.truncate(code.base + height.unwrap_or(0));
                    self.stack.push(value);
                    code.at = handler.goal as usize;
                    self.acts.push(Activation::Code(code));
                    self.state = StrandState::Code;
                    return Ok(());
                }
                Err(worse) => halt = worse,
            }
        }
        self.stack.clear();
        Err(halt)
    }

    /// Takes its prints, with those of its branches.
    pub(super) fn printed(&mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.prints);
        if let Some(fork) = self.fork() {
            lines.extend(fork.printed());
        }
        lines
    }
}
