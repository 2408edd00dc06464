//! Calls: what happens when a value is called with the topmost values as its arguments.

use std::sync::Arc;

use crate::analyze::unknown_tool;
use crate::callable::{Closure, ComposedFunction, ComposedKind, NativeBody, NativeFunction};
use crate::fault::{Fault, FaultClass, Halt};
use crate::flow::FrameRequest;
use crate::library::{access, composed, lazy};
use crate::machine::strand::{Activation, CodeActivation, StrandState};
use crate::machine::tool_requests::{ToolRequest, arguments};
use crate::machine::{Machine, PauseReason};
use crate::show;
use crate::value::Value;

/// Slots that are laid out for the price of one step.
const SLOTS_A_STEP: u64 = 8;

impl Machine {
    /// Calls what lies under the topmost `count` values with them. What it gives at once is left in the
    /// state; a function of the program is left as the topmost frame.
    pub(super) fn call(&mut self, mut count: usize) -> Result<Option<PauseReason>, Halt> {
        loop {
            let under = self.now.stack.len().saturating_sub(count + 1);
            self.ctx.spend_steps(1)?;
            match self.now.stack[under].clone() {
                Value::Native(native) => return self.call_native(native, under, count),
                Value::Fn(closure) => return self.call_closure(closure, under, count),
                Value::Tool(name) => return self.call_tool(name, under),
                Value::Composed(made) => match self.call_composed(&made, under)? {
                    ComposedStep::Again(spread) => count = spread,
                    ComposedStep::Done(turn) => return Ok(turn),
                },
                data => {
                    let args = &self.now.stack[under + 1..];
                    let value = access::call(&mut self.ctx, &data, args)?;
                    self.now.stack.truncate(under);
                    self.now.state = StrandState::Given(value);
                    return Ok(None);
                }
            }
        }
    }

    fn call_native(
        &mut self,
        native: &'static NativeFunction,
        under: usize,
        count: usize,
    ) -> Result<Option<PauseReason>, Halt> {
        if let Some(used) = native.lazy
            && lazy::is_lazy(used, &self.now.stack[under + 1..])
        {
            let args = self.now.stack.split_off(under + 1);
            self.now.stack.truncate(under);
            let next = lazy::call(&mut self.ctx, native, used, args)?;
            return self.follow(next, false);
        }
        if count < native.least || count > native.most {
            return Err(native_arity(native, count));
        }
        match native.body {
            NativeBody::Pure(body) => {
                // Whatever is done with a large number, all of it is looked at.
                for arg in &self.now.stack[under + 1..] {
                    if let Value::Big(n) = arg {
                        self.ctx.spend_steps(n.bits() / 256)?;
                    }
                }
                let value = body(&mut self.ctx, &mut self.now.stack[under + 1..])?;
                self.now.stack.truncate(under);
                self.now.state = StrandState::Given(value);
                Ok(None)
            }
            NativeBody::Flow(body) => {
                let args = self.now.stack.split_off(under + 1);
                self.now.stack.truncate(under);
                let next = body(&mut self.ctx, args)?;
                self.follow(next, false)
            }
            NativeBody::Each(start, kind) => {
                let args = self.now.stack.split_off(under + 1);
                self.now.stack.truncate(under);
                let next = start(&mut self.ctx, native.name, kind, &args)?;
                self.follow(next, false)
            }
        }
    }

    fn call_closure(
        &mut self,
        closure: Arc<Closure>,
        under: usize,
        count: usize,
    ) -> Result<Option<PauseReason>, Halt> {
        let fits = |arity: &crate::callable::Arity| {
            arity.proto.params == count || (arity.proto.variadic && count >= arity.proto.params)
        };
        let Some(arity) = closure.arities.iter().position(fits) else {
            return Err(closure_arity(&closure, count));
        };
        let proto = closure.arities[arity].proto.clone();
        let base = under + 1;
        if proto.variadic {
            let rest = self.now.stack.split_off(base + proto.params);
            let rest = self.ctx.vec(rest)?;
            self.now.stack.push(rest);
        }
        // Most functions have few slots; to lay out many takes its time.
        self.ctx.spend_steps(proto.slots as u64 / SLOTS_A_STEP)?;
        self.now.stack.resize(base + proto.slots, Value::Nil);
        self.enter(Activation::Code(CodeActivation {
            closure: Some(closure),
            arity,
            proto,
            at: 0,
            base,
        }))?;
        self.now.state = StrandState::Code;
        Ok(None)
    }

    fn call_tool(&mut self, name: Arc<str>, under: usize) -> Result<Option<PauseReason>, Halt> {
        // A function of an earlier program may call what is not there now.
        if !self.ctx.tools.contains(&name) {
            return Err(unknown_tool(&name, &self.ctx.tools).into());
        }
        let limit = self.ctx.limits.tool_calls;
        if self.ctx.tool_calls >= limit {
            let message = format!("the program made more than {limit} tool calls");
            let hint = "Ask for more with one call, or work on fewer items.";
            return Err(Fault::new(FaultClass::CallLimit, message).hint(hint).into());
        }
        let args = self.now.stack.split_off(under + 1);
        self.now.stack.truncate(under);
        let args = arguments(&mut self.ctx, &name, &args)?;
        self.ctx.tool_calls += 1;
        self.now.state = StrandState::Asks(ToolRequest { name, args });
        Ok(Some(PauseReason::Waits))
    }

    fn call_composed(
        &mut self,
        made: &ComposedFunction,
        under: usize,
    ) -> Result<ComposedStep, Halt> {
        let Some((first, others)) = made.parts.split_first() else {
            return Ok(ComposedStep::Done(None));
        };
        match made.kind {
            ComposedKind::Partial => {
                self.ctx.walk(others.len() as u64)?;
                self.now.stack[under] = first.clone();
                self.now.stack.splice(under + 1..under + 1, others.iter().cloned());
            }
            ComposedKind::Fnil => {
                self.now.stack[under] = first.clone();
                for (arg, default) in self.now.stack[under + 1..].iter_mut().zip(others) {
                    if matches!(arg, Value::Nil) {
                        *arg = default.clone();
                    }
                }
            }
            ComposedKind::Constantly => {
                self.now.stack.truncate(under);
                self.now.state = StrandState::Given(first.clone());
                return Ok(ComposedStep::Done(None));
            }
            ComposedKind::Reduced | ComposedKind::Transducer | ComposedKind::Endless => {
                let callee = self.now.stack.swap_remove(under);
                return Err(access::not_callable(&callee));
            }
            ComposedKind::Comp
            | ComposedKind::Juxt
            | ComposedKind::Complement
            | ComposedKind::EveryPred
            | ComposedKind::SomeFn => {
                let args = self.now.stack.split_off(under + 1);
                self.now.stack.truncate(under);
                let frame = composed::frame(made.kind, &made.parts, args);
                return self.follow(FrameRequest::Push(frame), false).map(ComposedStep::Done);
            }
        }
        Ok(ComposedStep::Again(self.now.stack.len() - under - 1))
    }
}

/// Result of calling a made function.
enum ComposedStep {
    /// Its first part is to be called with so many arguments.
    Again(usize),
    Done(Option<PauseReason>),
}

fn native_arity(native: &NativeFunction, count: usize) -> Halt {
    let name = native.name;
    let expects = match (native.least, native.most) {
        (least, usize::MAX) => format!("requires at least {least} argument{}", plural(least)),
        (least, most) if least == most => format!("expects {least} argument(s)"),
        (least, most) if most == least + 1 => format!("expects {least} or {most} argument(s)"),
        (least, most) => format!("expects {least} to {most} argument(s)"),
    };
    let message = format!("{name} {expects}, got {count}");
    // What these two need is known before a program runs; where it is not, it is the same fault.
    let class = match name {
        "pmap" | "juxt" => FaultClass::InvalidArity,
        _ => FaultClass::Arity,
    };
    let hint = match (name, count) {
        ("range", 0) => "Give its end, (range n), or write (iterate inc 0) without one.".to_owned(),
        _ => format!("Call (doc {name}) in a program to see its use."),
    };
    Fault::new(class, message).hint(hint).into()
}

fn closure_arity(closure: &Closure, count: usize) -> Halt {
    let shown: Vec<String> = closure
        .arities
        .iter()
        .map(|arity| {
            let params = arity.proto.params;
            let more = if arity.proto.variadic { "+" } else { "" };
            format!("{params}{more}")
        })
        .collect();
    let message = format!(
        "{} expects {} argument(s), got {count}",
        show::readable(&Value::Str(Arc::from(closure.params()))),
        shown.join(" or ")
    );
    let message = format!("the function with parameters {message}");
    Fault::new(FaultClass::Arity, message)
        .hint("Call it with as many arguments as it has parameters.")
        .into()
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
