//! Callable values: closures, the language's functions, and functions made of functions.

use std::sync::Arc;

use crate::code::Proto;
use crate::context::Context;
use crate::fault::Halt;
use crate::flow::FrameRequest;
use crate::library::each::{EachKind, Start};
use crate::library::stages::LazyUse;
use crate::value::{Value, ValueSize};

/// A function that the program wrote, with what it closed over.
pub struct Closure {
    pub(crate) id: u64,
    pub(crate) arities: Vec<Arity>,
    pub(crate) shape: ValueSize,
    /// It as a form.
    pub(crate) text: Arc<str>,
}

/// One of a function's bodies, by the number of its parameters.
pub(crate) struct Arity {
    pub(crate) proto: Arc<Proto>,
    pub(crate) captures: Vec<Value>,
}

impl Closure {
    /// The parameters as they are shown.
    pub(crate) fn params(&self) -> String {
        self.arities.first().map(|arity| arity.proto.shown.to_string()).unwrap_or_default()
    }
}

impl ComposedKind {
    /// Returns true for what can be called.
    pub(crate) fn is_callable(self) -> bool {
        !matches!(self, ComposedKind::Reduced | ComposedKind::Transducer | ComposedKind::Endless)
    }
}

/// A function of the language.
pub struct NativeFunction {
    pub(crate) name: &'static str,
    pub(crate) least: usize,
    pub(crate) most: usize,
    pub(crate) body: NativeBody,
    /// Use of endless sequences, if the function accepts them.
    pub(crate) lazy: Option<LazyUse>,
}

impl NativeFunction {
    /// Returns true if it takes any number of arguments.
    pub(crate) fn variadic(&self) -> bool {
        self.most == usize::MAX
    }
}

/// Implementation of a function of the language.
#[derive(Clone, Copy)]
pub(crate) enum NativeBody {
    /// At once; it may take its arguments out of the slice.
    Pure(fn(&mut Context, &mut [Value]) -> Result<Value, Halt>),
    /// By calling other functions.
    Flow(fn(&mut Context, Vec<Value>) -> Result<FrameRequest, Halt>),
    /// By calling one function for each item; the results are used as the kind says.
    Each(Start, EachKind),
}

/// A function made of functions.
pub struct ComposedFunction {
    pub(crate) id: u64,
    pub(crate) shape: ValueSize,
    pub(crate) kind: ComposedKind,
    pub(crate) parts: Vec<Value>,
}

/// Operation of a made function on its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComposedKind {
    /// Calls the first part with the others before the arguments.
    Partial,
    /// Calls the parts from the last to the first.
    Comp,
    /// Gives what each part gives.
    Juxt,
    /// Negates the result of the part.
    Complement,
    /// Returns the part itself.
    Constantly,
    /// Tests that all parts hold of all arguments.
    EveryPred,
    /// The first true thing that a part gives of an argument.
    SomeFn,
    /// Calls the first part with the others in the place of nil arguments.
    Fnil,
    /// Ends a `reduce` with its part. It is not called.
    Reduced,
    /// Makes a stage of a function of the language and its arguments. It is not called.
    Transducer,
    /// The kind of a source, its arguments, and transducers of its items. It is not called.
    Endless,
}

/// An endless sequence.
pub(crate) fn endless(value: &Value) -> Option<&Arc<ComposedFunction>> {
    match value {
        Value::Composed(made) if made.kind == ComposedKind::Endless => Some(made),
        _ => None,
    }
}
