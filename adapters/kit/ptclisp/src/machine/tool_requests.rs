//! Tool calls: their arguments on the way out, and their answers on the way in.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt};
use crate::json::{self, KeyNames};
use crate::program::ToolAnswer;
use crate::value::Value;

/// A call that a tool is to answer.
pub(crate) struct ToolRequest {
    pub(crate) name: Arc<str>,
    pub(crate) args: Map<String, Json>,
}

/// A tool's arguments: a map, or keywords and values, or nothing. At any depth a keyword's hyphen is an
/// underscore, and a text is the name as it is.
pub(super) fn arguments(
    ctx: &mut Context,
    name: &str,
    args: &[Value],
) -> Result<Map<String, Json>, Halt> {
    for arg in args {
        ctx.walk(arg.shape().weight.saturating_mul(4))?;
        ctx.digits(arg)?;
        let bytes = arg.shape().weight.saturating_mul(64);
        ctx.reserve(usize::try_from(bytes).unwrap_or(usize::MAX))?;
    }
    let object = match args {
        [] | [Value::Nil] => Map::new(),
        [Value::Map(entries)] => json::object(entries.iter(), KeyNames::OfArguments)?,
        pairs if pairs.len() % 2 == 0 && pairs.iter().step_by(2).all(is_key) => {
            let pairs = pairs.chunks_exact(2).map(|pair| (&pair[0], &pair[1]));
            json::object(pairs, KeyNames::OfArguments)?
        }
        _ => {
            let message = format!("tool/{name} takes named arguments, not positional ones");
            let hint = format!("Write (tool/{name} {{:key value}}).");
            return Err(Fault::new(FaultClass::ToolArgs, message).hint(hint).into());
        }
    };
    Ok(object)
}

fn is_key(value: &Value) -> bool {
    matches!(value, Value::Kw(_) | Value::Str(_))
}

/// Converts the answer of a tool to a value.
pub(super) fn answer_value(
    ctx: &mut Context,
    name: &str,
    answer: &ToolAnswer,
) -> Result<Value, Halt> {
    match answer {
        ToolAnswer::Value(value) => json::build(ctx, value),
        ToolAnswer::Output(output) => json::data_or_text(ctx, output),
        ToolAnswer::Text(text) => ctx.text(text),
        ToolAnswer::Error(why) => {
            let message = format!("Tool '{name}' failed: {why}");
            let hint = "Call it with other arguments, or go on without it.";
            Err(Fault::new(FaultClass::Tool, message).hint(hint).into())
        }
    }
}
