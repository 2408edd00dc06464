//! Functions that carry a value from call to call: `reduce` and its like.

use crate::callable::{NativeFunction, endless};
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt, unbounded, unexpected};
use crate::flow::{Frame, FrameRequest};
use crate::library::access::{check_callable, seq};
use crate::library::pipeline::{self, Pipeline, Sink};
use crate::library::{ANY, flow};
use crate::value::{Entries, Value};

struct Fold {
    function: Value,
    items: std::vec::IntoIter<Value>,
    value: Option<Value>,
    /// Entries are given as key and value.
    pairs: bool,
    /// All values on the way are kept.
    way: Option<Vec<Value>>,
}

impl Frame for Fold {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt> {
        let value = match given.or_else(|| self.value.take()) {
            Some(value) => value,
            None => match self.items.next() {
                Some(first) => first,
                // Of nothing, `reduce` makes nothing.
                None if self.way.is_none() => return Ok(FrameRequest::Done(Value::Nil)),
                None => return Ok(FrameRequest::Become(self.function.clone(), Vec::new())),
            },
        };
        let (value, over) = match pipeline::reduced(&value) {
            Some(last) => (last, true),
            None => (value, false),
        };
        if let Some(way) = &mut self.way {
            way.push(value.clone());
        }
        if over {
            self.items = Vec::new().into_iter();
        }
        let Some(item) = self.items.next() else {
            return match self.way.take() {
                Some(way) => ctx.vec(way).map(FrameRequest::Done),
                None => Ok(FrameRequest::Done(value)),
            };
        };
        let mut args = vec![value];
        match item.as_items() {
            Some([key, value]) if self.pairs => args.extend([key.clone(), value.clone()]),
            _ => args.push(item),
        }
        Ok(FrameRequest::Call(self.function.clone(), args))
    }
}

fn fold(
    ctx: &mut Context,
    name: &str,
    mut args: Vec<Value>,
    way: bool,
) -> Result<FrameRequest, Halt> {
    let collection = args.pop().unwrap_or_default();
    let value = if args.len() == 2 { args.pop() } else { None };
    let function = args.pop().unwrap_or_default();
    check_callable(name, 1, &function)?;
    if !way && endless(&collection).is_some() {
        let (source, stages) = pipeline::source(ctx, name, 2, &collection)?;
        return Ok(Pipeline::push(source, stages, Sink::Fold(function, value)));
    }
    let items = seq(ctx, name, 2 + usize::from(value.is_some()), &collection)?;
    Ok(FrameRequest::Push(Box::new(Fold {
        function,
        items: items.into_iter(),
        value,
        pairs: false,
        way: way.then(Vec::new),
    })))
}

fn reduce_kv(ctx: &mut Context, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    let collection = args.pop().unwrap_or_default();
    let value = args.pop();
    let function = args.pop().unwrap_or_default();
    check_callable("reduce-kv", 1, &function)?;
    if !matches!(collection, Value::Nil | Value::Map(_)) {
        return unexpected("reduce-kv", 3, "map", &collection);
    }
    let items = seq(ctx, "reduce-kv", 3, &collection)?;
    Ok(FrameRequest::Push(Box::new(Fold {
        function,
        items: items.into_iter(),
        value,
        pairs: true,
        way: None,
    })))
}

/// `merge-with`: entry after entry into the first map; a key that is there calls the function.
struct MergeWith {
    function: Value,
    into: std::sync::Arc<Entries>,
    entries: std::vec::IntoIter<Value>,
    /// The key whose values are being merged.
    key: Option<Value>,
}

impl Frame for MergeWith {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt> {
        if let (Some(value), Some(key)) = (given, self.key.take()) {
            ctx.put(&mut self.into, key, value)?;
        }
        for entry in self.entries.by_ref() {
            let [key, value] = entry.as_items().unwrap_or_default() else {
                continue;
            };
            ctx.walk_deep(key)?;
            if let Some((_, known)) = self.into.addressed(key) {
                self.key = Some(key.clone());
                let args = vec![known.clone(), value.clone()];
                return Ok(FrameRequest::Call(self.function.clone(), args));
            }
            ctx.put(&mut self.into, key.clone(), value.clone())?;
        }
        Ok(FrameRequest::Done(Value::Map(std::mem::take(&mut self.into))))
    }
}

fn merge_with(ctx: &mut Context, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    let function = args.remove(0);
    check_callable("merge-with", 1, &function)?;
    if let [only] = args.as_slice()
        && !matches!(only, Value::Nil)
    {
        return Ok(FrameRequest::Done(only.clone()));
    }
    let mut entries = Vec::new();
    for (index, arg) in args.iter().enumerate() {
        match arg {
            Value::Nil => {}
            Value::Map(_) => entries.extend(seq(ctx, "merge-with", index + 1, arg)?),
            other => return unexpected("merge-with", index + 1, "map", other),
        }
    }
    Ok(FrameRequest::Push(Box::new(MergeWith {
        function,
        into: std::sync::Arc::default(),
        entries: entries.into_iter(),
        key: None,
    })))
}

/// `(apply f a b [c d])`.
fn apply(ctx: &mut Context, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    let last = args.pop().unwrap_or_default();
    let function = args.remove(0);
    let spread = match &last {
        Value::Nil | Value::Str(_) => None,
        other => crate::library::access::items(ctx, other)?,
    };
    if endless(&last).is_some() {
        return Err(unbounded("apply"));
    }
    let Some(spread) = spread else {
        let kind = last.kind();
        let message = format!("apply expects collection as last argument, got {kind}");
        let fault = Fault::new(FaultClass::Type, message);
        return Err(fault.hint("Give the arguments in a vector.").into());
    };
    ctx.walk(4 * spread.len() as u64)?;
    args.extend(spread);
    ctx.room(args.len())?;
    Ok(FrameRequest::Become(function, args))
}

pub(super) const NATIVES: &[NativeFunction] = &[
    flow("reduce", 2, 3, |ctx, args| fold(ctx, "reduce", args, false)),
    flow("reductions", 2, 3, |ctx, args| fold(ctx, "reductions", args, true)),
    flow("reduce-kv", 3, 3, reduce_kv),
    flow("merge-with", 1, ANY, merge_with),
    flow("apply", 2, ANY, apply),
];
