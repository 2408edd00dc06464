//! Faults as values: `throw`, `ex-info` and what asks a caught one.

use std::collections::BTreeMap;

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt, misfit};
use crate::library::access::entry;
use crate::library::pure;
use crate::show;
use crate::value::Value;

/// Makes the map that a fault is to the program.
pub(crate) fn fault_map(
    ctx: &mut Context,
    class: FaultClass,
    message: Value,
    data: Option<Value>,
    cause: Option<FaultClass>,
) -> Result<Value, Halt> {
    let cause = cause.map(|class| Value::keyword(class.name()));
    let mut entries = BTreeMap::new();
    entries.insert(Value::keyword("type"), Value::keyword(class.name()));
    entries.insert(Value::keyword("message"), message);
    entries.extend(data.map(|data| (Value::keyword("data"), data)));
    entries.extend(cause.map(|cause| (Value::keyword("cause"), cause)));
    ctx.map(entries)
}

/// Makes the map of a fault that the program may throw.
fn ex_info(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if !matches!(args[0], Value::Str(_) | Value::Nil) {
        return misfit("ex-info", args);
    }
    let message = std::mem::take(&mut args[0]);
    let data = args.get_mut(1).map(std::mem::take);
    fault_map(ctx, FaultClass::Thrown, message, data, None)
}

fn throw(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    ctx.writes(&args[0])?;
    let thrown = &args[0];
    // One that was caught goes on as what it was; any other map is data as a whole.
    let class = class_under(thrown, "type");
    let message = match named(thrown, "message") {
        Some(Value::Str(message)) => message.to_string(),
        _ => show::display(thrown),
    };
    let mut fault = Fault::new(class.unwrap_or(FaultClass::Thrown), message);
    fault.cause = class.and_then(|_| class_under(thrown, "cause"));
    fault.data = match thrown {
        Value::Map(_) if class.is_some() => named(thrown, "data"),
        Value::Map(_) => Some(thrown.clone()),
        _ => None,
    };
    Err(fault.into())
}

/// The class of faults that a map names under a keyword, unless it is a limit.
fn class_under(value: &Value, name: &str) -> Option<FaultClass> {
    match named(value, name)? {
        Value::Kw(name) => FaultClass::of_name(&name).filter(|class| !class.is_limit()),
        _ => None,
    }
}

/// The entry of a value under a keyword.
fn named(value: &Value, name: &str) -> Option<Value> {
    entry(value, &Value::keyword(name))
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("throw", 1, 1, throw),
    pure("ex-info", 1, 3, ex_info),
    pure("ex-data", 1, 1, |_, args| Ok(named(&args[0], "data").unwrap_or_default())),
    pure("ex-message", 1, 1, |_, args| match &args[0] {
        Value::Str(_) => Ok(args[0].clone()),
        fault => Ok(named(fault, "message").unwrap_or_default()),
    }),
];
