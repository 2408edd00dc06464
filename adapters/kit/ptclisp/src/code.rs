//! Compiled code: operations of a stack machine, a function's own slots, where each came from.

use std::sync::Arc;

use crate::fault::FaultClass;
use crate::value::Value;

/// One operation. A jump goes to an operation of the same function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Pushes a constant onto the stack.
    Const(u32),
    /// Pushes the value of a slot.
    Local(u32),
    /// Pushes a slot that is not read again, and empties it.
    Move(u32),
    /// Pops into a slot.
    Store(u32),
    /// Pushes what the function closed over.
    Capture(u32),
    /// Pushes the running function.
    Myself,
    /// Pushes the value of a definition.
    Global(u32),
    /// Pushes a definition, or nil where there is none.
    GlobalOrNil(u32),
    /// Pushes an input by its name.
    Data(u32),
    /// Pushes one of the last results, the latest being 1.
    History(u8),
    /// Drops the top of the stack.
    Pop,
    /// Jumps to another operation.
    Jump(u32),
    /// Goes back to a loop's start; counts.
    Loop(u32, u32),
    /// Pops, and jumps if it is false.
    IfFalse(u32),
    /// Jumps if the top is false, else pops it.
    AndJump(u32),
    /// Jumps if the top is true, else pops it.
    OrJump(u32),
    /// Jumps if the slot is nil.
    IfNil(u32, u32),
    /// Calls with so many arguments; the function lies under them.
    Call(u32),
    /// Makes a function of a template.
    Closure(u32),
    /// Makes a vector of the topmost.
    Vec(u32),
    /// Makes a map of the topmost pairs.
    Map(u32),
    /// Makes a set of the topmost.
    Set(u32),
    /// Defines the top under a name, and pushes the name.
    Def(u32),
    /// Jumps, with the name pushed, if it is defined.
    IfDefined(u32, u32),
    /// Checks that the slot can be taken apart in order.
    AsSeq(u32),
    /// Pushes the item of a slot.
    Nth(u32, u32),
    /// Pushes the items of a slot from this one on.
    Rest(u32, u32),
    /// Checks that the slot can be taken apart by key.
    AsMap(u32),
    /// Makes a slot of keys and values a map.
    Pairs(u32),
    /// Pushes the entry of the slot under a constant, or jumps if there is none.
    Key(u32, u32, u32),
    /// Turns a slot into the items of a `for` binding, whose name is the constant.
    Items(u32, u32),
    /// Pushes the next item of a slot, its index in the slot after, or jumps at the end.
    Each(u32, u32),
    /// Pops to the end of the vector in a slot.
    Append(u32),
    /// Jumps if the slot does not equal the constant.
    IfNot(u32, u32, u32),
    /// Stores the height of the stack in a slot, for handlers of the operations after it.
    Enter(u32),
    /// Continues with the fault that the slot names; does nothing if the slot is nil.
    Rethrow(u32),
    /// Ends the function with the top.
    Ret,
}

/// Handler of the faults of some operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handler {
    /// The first of the operations, and the one after the last.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The operation that goes on, with the fault pushed.
    pub(crate) goal: u32,
    /// The slot with the height of the stack.
    pub(crate) height: u32,
    pub(crate) faults: CaughtFaults,
}

/// The faults that a handler takes. Limits are never among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaughtFaults {
    /// All faults, as maps.
    All,
    /// The faults of a class, as maps.
    Class(FaultClass),
    /// All faults, as names for [`Op::Rethrow`].
    Passing,
}

/// Source of a closed-over value when a function is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaptureSource {
    /// The making function's slot.
    Slot(u32),
    /// A value that the making function closed over itself.
    Capture(u32),
    /// The making function itself.
    Myself,
}

/// A function to be made: its bodies by arity.
#[derive(Debug)]
pub(crate) struct FunctionTemplate {
    pub(crate) arities: Vec<Arc<Proto>>,
    /// It as a form, which compiles to the same bodies again.
    pub(crate) text: Arc<str>,
}

/// Compiled body of a function or program.
#[derive(Debug, Default)]
pub(crate) struct Proto {
    pub(crate) name: Option<Arc<str>>,
    /// Its parameters as they are shown.
    pub(crate) shown: Box<str>,
    pub(crate) params: usize,
    /// True if further arguments are collected in one more slot.
    pub(crate) variadic: bool,
    pub(crate) slots: usize,
    pub(crate) code: Vec<Op>,
    /// The byte of the program that each operation was written at.
    pub(crate) places: Vec<u32>,
    pub(crate) consts: Vec<Value>,
    pub(crate) templates: Vec<FunctionTemplate>,
    pub(crate) captures: Vec<CaptureSource>,
    /// Handlers of faults, the inner ones first.
    pub(crate) handlers: Vec<Handler>,
    /// The name of each captured value.
    pub(crate) names: Vec<Box<str>>,
}

/// The place of operations that this program's text does not have: of functions kept from an earlier one.
pub(crate) const ELSEWHERE: u32 = u32::MAX;
