//! Caught faults: which of them a handler takes, and the values that they are for the program.

use crate::code::CaughtFaults;
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt};
use crate::library::errors::fault_map;
use crate::value::Value;

/// Bytes charged for a fault that is held while a `finally` runs.
const HELD_BYTES: usize = 256;

/// Returns true if a handler of these faults takes this one, by its class or by the class that it had within
/// `pmap` and its like. Nothing takes a limit.
pub(super) fn takes(faults: CaughtFaults, fault: &Fault) -> bool {
    match faults {
        _ if fault.class.is_limit() => false,
        CaughtFaults::All | CaughtFaults::Passing => true,
        CaughtFaults::Class(class) => fault.class == class || fault.cause == Some(class),
    }
}

/// Returns the value pushed for a handler: the fault as a map, or the index under which it is held.
pub(super) fn value(ctx: &mut Context, fault: &Fault, faults: CaughtFaults) -> Result<Value, Halt> {
    ctx.spend_steps(1)?;
    match faults {
        CaughtFaults::Passing => {
            ctx.reserve(HELD_BYTES + fault.message.len())?;
            ctx.held.push(fault.clone());
            Ok(Value::from(ctx.held.len() - 1))
        }
        CaughtFaults::All | CaughtFaults::Class(_) => {
            let message = ctx.text(&fault.message)?;
            fault_map(ctx, fault.class, message, fault.data.clone(), fault.cause)
        }
    }
}

/// The fault that is held at a place.
pub(super) fn held(ctx: &Context, place: &Value) -> Halt {
    let index = place.as_int().and_then(|index| usize::try_from(index).ok());
    let fault = index.and_then(|index| ctx.held.get(index).cloned());
    fault.unwrap_or_else(|| Fault::new(FaultClass::Runtime, "the fault is gone")).into()
}
