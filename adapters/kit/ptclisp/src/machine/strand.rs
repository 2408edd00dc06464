//! Strands: what runs has a stack for values and one for calls. A branch of a parallel form is a strand of
//! its own.

use std::sync::Arc;

use crate::callable::Closure;
use crate::code::{ELSEWHERE, Proto};
use crate::context::Context;
use crate::fault::Halt;
use crate::flow::Frame;
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
            match act {
                Activation::Code(code) => {
                    if let Halt::Fault(fault) = &mut halt
                        && fault.offset.is_none()
                        && let Some(place) = code.proto.places.get(code.at.saturating_sub(1))
                        && *place != ELSEWHERE
                    {
                        fault.offset = Some(*place);
                    }
                }
                Activation::Flow(frame) => halt = frame.fault(halt),
                Activation::Fork(fork) => halt = fork.fault(halt),
            }
        }
        self.stack.clear();
        halt
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
