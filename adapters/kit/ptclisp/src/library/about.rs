//! Functions about functions: `doc`, `apropos` and their like.

use crate::analyze::function_name;
use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Halt, misfit};
use crate::library::{docs, names, pure};
use crate::value::Value;

/// Bytes of the texts that a search reads in the time of a step.
const BYTES_A_STEP: u64 = 64;

/// The name that is asked about.
fn subject(value: &Value) -> Option<String> {
    match value {
        Value::Str(name) | Value::Sym(name) | Value::Kw(name) => Some(name.to_string()),
        Value::Native(native) => Some(native.name.to_owned()),
        _ => None,
    }
}

fn doc(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Some(name) = subject(&args[0]) else {
        return misfit("doc", args);
    };
    let text = docs::text(&name).or_else(|| docs::text(function_name(&name)?));
    let line = text.unwrap_or_else(|| format!("No documentation found for {name:?}."));
    ctx.print(line)?;
    Ok(Value::Nil)
}

fn source(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Some(name) = subject(&args[0]) else {
        return misfit("source", args);
    };
    ctx.print(format!("No source available for {name:?}."))?;
    Ok(Value::Nil)
}

fn apropos(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Some(text) = subject(&args[0]) else {
        return misfit("apropos", args);
    };
    let text = text.trim().to_lowercase();
    let mut found: Vec<&str> = Vec::new();
    if !text.is_empty() {
        ctx.spend_steps(docs::BYTES / BYTES_A_STEP)?;
        found.extend(names().filter(|name| name.contains(&text)));
        found.extend(docs::meaning(&text).filter(|name| !name.contains(&text)));
    }
    let found: Result<Vec<Value>, Halt> = found.into_iter().map(|name| ctx.text(name)).collect();
    ctx.vec(found?)
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("doc", 1, 1, doc),
    pure("source", 1, 1, source),
    pure("dir", 0, 1, |ctx, _| ctx.vec(Vec::new())),
    pure("export-meta", 1, 1, |_, _| Ok(Value::Nil)),
    pure("apropos", 1, 1, apropos),
];
