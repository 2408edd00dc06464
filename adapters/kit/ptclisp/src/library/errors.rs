//! Faults as values: `throw`, `ex-info` and what asks a caught one.

use std::collections::BTreeMap;

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt, misfit};
use crate::library::pure;
use crate::show;
use crate::value::Value;

/// A fault as `catch` gives it: a map of its class, its message and what was thrown with it.
fn ex_info(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if !matches!(args[0], Value::Str(_) | Value::Nil) {
        return misfit("ex-info", args);
    }
    let mut entries = BTreeMap::new();
    entries.insert(Value::keyword("type"), Value::keyword(FaultClass::Thrown.name()));
    entries.insert(Value::keyword("message"), std::mem::take(&mut args[0]));
    if let Some(data) = args.get_mut(1) {
        entries.insert(Value::keyword("data"), std::mem::take(data));
    }
    ctx.map(entries)
}

fn throw(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    ctx.writes(&args[0])?;
    let entry = |name: &str| match &args[0] {
        Value::Map(entries) => entries.addressed(&Value::keyword(name)).map(|(_, value)| value),
        _ => None,
    };
    let class = match entry("type") {
        // One that was caught goes on as what it was.
        Some(Value::Kw(name)) => FaultClass::of_name(name).filter(|class| !class.is_limit()),
        _ => None,
    };
    let message = match entry("message") {
        Some(Value::Str(message)) => message.to_string(),
        _ => show::display(&args[0]),
    };
    let mut fault = Fault::new(class.unwrap_or(FaultClass::Thrown), message);
    fault.data = match &args[0] {
        Value::Map(_) if entry("message").is_some() => entry("data").cloned(),
        map @ Value::Map(_) => Some(map.clone()),
        _ => None,
    };
    Err(fault.into())
}

fn part(args: &[Value], name: &str) -> Value {
    match &args[0] {
        Value::Map(entries) => {
            entries.addressed(&Value::keyword(name)).map_or(Value::Nil, |(_, value)| value.clone())
        }
        _ => Value::Nil,
    }
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("throw", 1, 1, throw),
    pure("ex-info", 1, 3, ex_info),
    pure("ex-data", 1, 1, |_, args| Ok(part(args, "data"))),
    pure("ex-message", 1, 1, |_, args| match &args[0] {
        Value::Str(_) => Ok(args[0].clone()),
        _ => Ok(part(args, "message")),
    }),
];
