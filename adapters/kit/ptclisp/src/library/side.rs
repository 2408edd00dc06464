//! Functions whose calls may wait for tools side by side: `pmap` and `pcalls`. How their branches run is
//! the machine's.

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt};
use crate::flow::{BranchCalls, Branches, FrameRequest};
use crate::library::access::check_keyfn;
use crate::library::{ANY, flow, lazy};
use crate::value::Value;

fn pmap(ctx: &mut Context, args: Vec<Value>) -> Result<FrameRequest, Halt> {
    check_keyfn("pmap", 1, &args[0])?;
    let columns = lazy::columns(ctx, "pmap", 2, &args[1..])?;
    Ok(FrameRequest::Fork(Branches {
        class: FaultClass::Pmap,
        calls: BranchCalls::Rows(args[0].clone(), columns),
    }))
}

fn pcalls(_: &mut Context, args: Vec<Value>) -> Result<FrameRequest, Halt> {
    for thunk in &args {
        let callable = match thunk {
            Value::Native(native) => native.least == 0,
            other => other.is_function(),
        };
        if !callable {
            let message = format!(
                "pcalls requires functions without parameters, got: {}",
                crate::show::brief(thunk)
            );
            let fault = Fault::new(FaultClass::Pcalls, message);
            return Err(fault.hint("Write (pcalls #(f 1) #(g 2)).").into());
        }
    }
    Ok(FrameRequest::Fork(Branches { class: FaultClass::Pcalls, calls: BranchCalls::Thunks(args) }))
}

pub(super) const NATIVES: &[NativeFunction] =
    &[flow("pmap", 2, ANY, pmap), flow("pcalls", 0, ANY, pcalls)];
