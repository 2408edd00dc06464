//! Runs functions that call functions: as a frame of the machine's own stack, one call a step.

use crate::context::Context;
use crate::fault::{FaultClass, Halt};
use crate::value::Value;

/// Request of a frame to the machine.
pub(crate) enum FrameRequest {
    /// It is done, with this value.
    Done(Value),
    /// Its function is called in its place, with no frame left behind.
    Become(Value, Vec<Value>),
    /// A function is called; what it gives comes back to this frame.
    Call(Value, Vec<Value>),
    /// A frame is put on the stack and started.
    Push(Box<dyn Frame>),
    /// Functions are called side by side, each on a stack of its own; what they give in their order is
    /// the value.
    Fork(Branches),
}

/// Calls that may wait for tools side by side.
pub(crate) struct Branches {
    /// The class of a fault that leaves one of them.
    pub(crate) class: FaultClass,
    pub(crate) calls: BranchCalls,
}

/// The calls, in order.
pub(crate) enum BranchCalls {
    /// A function, with the first item of each column, then the second of each, as far as all have one.
    Rows(Value, Vec<Vec<Value>>),
    /// Functions, each called with nothing.
    Thunks(Vec<Value>),
}

impl BranchCalls {
    /// Number of calls that it makes.
    pub(crate) fn count(&self) -> usize {
        match self {
            BranchCalls::Rows(_, columns) => columns.iter().map(Vec::len).min().unwrap_or(0),
            BranchCalls::Thunks(functions) => functions.len(),
        }
    }

    /// One of them: what is called, and with what.
    pub(crate) fn at(&self, index: usize) -> Option<(Value, Vec<Value>)> {
        match self {
            BranchCalls::Rows(function, columns) => {
                let row: Option<Vec<Value>> =
                    columns.iter().map(|column| column.get(index).cloned()).collect();
                Some((function.clone(), row?))
            }
            BranchCalls::Thunks(functions) => Some((functions.get(index)?.clone(), Vec::new())),
        }
    }
}

/// A function that calls functions, between two of its calls.
pub(crate) trait Frame: Send {
    /// Goes on: without a value when it starts, with what its call gave after that.
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt>;

    /// Maps a fault that leaves through this frame.
    fn fault(&self, halt: Halt) -> Halt {
        halt
    }
}
