//! `update` and `update-in`: a part of a collection put through a function.

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Halt, runtime, type_error, unexpected};
use crate::flow::{Frame, FrameRequest};
use crate::library::access::{check_callable, entry};
use crate::library::maps::{assoc_in, assoc_one};
use crate::library::{ANY, flow};
use crate::value::Value;

struct Update {
    whole: Value,
    path: Vec<Value>,
    call: Option<(Value, Vec<Value>)>,
}

impl Frame for Update {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt> {
        if let Some((function, args)) = self.call.take() {
            return Ok(FrameRequest::Call(function, args));
        }
        let whole = std::mem::take(&mut self.whole);
        let value = given.unwrap_or_default();
        match self.path.as_slice() {
            [key] => assoc_one(ctx, whole, key.clone(), value).map(FrameRequest::Done),
            path => assoc_in(ctx, whole, path, value).map(FrameRequest::Done),
        }
    }
}

fn start(
    whole: Value,
    path: Vec<Value>,
    old: Value,
    rest: Vec<Value>,
) -> Result<FrameRequest, Halt> {
    let mut rest = rest.into_iter();
    let function = rest.next().unwrap_or_default();
    check_callable("update", 3, &function)?;
    let args = std::iter::once(old).chain(rest).collect();
    Ok(FrameRequest::Push(Box::new(Update { whole, path, call: Some((function, args)) })))
}

fn check(name: &str, whole: &Value, key: &Value) -> Result<(), Halt> {
    match whole {
        Value::Map(_) => Ok(()),
        Value::Vec(items) => {
            let index = key.as_int();
            let size = items.items.len();
            match index {
                None => type_error(format!("{name}: an index is an integer, got {}", key.kind())),
                Some(index) if usize::try_from(index).is_ok_and(|index| index < size) => Ok(()),
                Some(index) => {
                    runtime(format!("index {index} out of bounds for list of length {size}"))
                }
            }
        }
        other => unexpected(name, 1, "map or list", other),
    }
}

fn update(_: &mut Context, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    if args.len() < 3 {
        return type_error("update takes a map or a vector, a key and a function");
    }
    let rest = args.split_off(2);
    let key = args.pop().unwrap_or_default();
    let whole = args.pop().unwrap_or_default();
    check("update", &whole, &key)?;
    let old = entry(&whole, &key).unwrap_or_default();
    start(whole, vec![key], old, rest)
}

fn update_in(ctx: &mut Context, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    if args.len() < 3 {
        return type_error("update-in takes a map or a vector, a path and a function");
    }
    let rest = args.split_off(2);
    let path = args.pop().unwrap_or_default();
    let whole = args.pop().unwrap_or_default();
    let path = crate::library::access::seq(ctx, "update-in", 2, &path)?;
    let path = if path.is_empty() { vec![Value::Nil] } else { path };
    let mut old = whole.clone();
    for (depth, key) in path.iter().enumerate() {
        if depth == 0 || matches!(old, Value::Vec(_)) {
            check("update-in", &old, key)?;
        }
        old = entry(&old, key).unwrap_or_default();
    }
    start(whole, path, old, rest)
}

pub(super) const NATIVES: &[NativeFunction] =
    &[flow("update", 1, ANY, update), flow("update-in", 2, ANY, update_in)];
