//! Calls: what happens when a value is called with the topmost values as its arguments.

use std::sync::Arc;

use crate::analyze::unknown_tool;
use crate::callable::{Body, Closure, Made, MadeKind, Native};
use crate::fault::{Class, Fault, Halt};
use crate::flow::Next;
use crate::library::{access, made};
use crate::machine::asks::{Asked, arguments};
use crate::machine::strand::{Act, Code, State};
use crate::machine::{Machine, Pause};
use crate::show;
use crate::value::Value;

/// Slots that are laid out for the price of one step.
const SLOTS_A_STEP: u64 = 8;

impl Machine {
    /// Calls what lies under the topmost `count` values with them. What it gives at once is left in the
    /// state; a function of the program is left as the topmost frame.
    pub(super) fn call(&mut self, mut count: usize) -> Result<Option<Pause>, Halt> {
        loop {
            let under = self.now.stack.len().saturating_sub(count + 1);
            self.ctx.take(1)?;
            match self.now.stack[under].clone() {
                Value::Native(native) => return self.call_native(native, under, count),
                Value::Fn(closure) => return self.call_closure(closure, under, count),
                Value::Tool(name) => return self.call_tool(name, under),
                Value::Made(made) => match self.call_made(&made, under)? {
                    Spread::Again(spread) => count = spread,
                    Spread::Done(turn) => return Ok(turn),
                },
                data => {
                    let args = &self.now.stack[under + 1..];
                    let value = access::call(&mut self.ctx, &data, args)?;
                    self.now.stack.truncate(under);
                    self.now.state = State::Given(value);
                    return Ok(None);
                }
            }
        }
    }

    fn call_native(
        &mut self,
        native: &'static Native,
        under: usize,
        count: usize,
    ) -> Result<Option<Pause>, Halt> {
        if count < native.least || count > native.most {
            return Err(native_arity(native, count));
        }
        match native.body {
            Body::Pure(body) => {
                // Whatever is done with a large number, all of it is looked at.
                for arg in &self.now.stack[under + 1..] {
                    if let Value::Big(n) = arg {
                        self.ctx.take(n.bits() / 256)?;
                    }
                }
                let value = body(&mut self.ctx, &mut self.now.stack[under + 1..])?;
                self.now.stack.truncate(under);
                self.now.state = State::Given(value);
                Ok(None)
            }
            Body::Flow(body) => {
                let args = self.now.stack.split_off(under + 1);
                self.now.stack.truncate(under);
                let next = body(&mut self.ctx, args)?;
                self.follow(next, false)
            }
            Body::Each(start, kind) => {
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
    ) -> Result<Option<Pause>, Halt> {
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
        self.ctx.take(proto.slots as u64 / SLOTS_A_STEP)?;
        self.now.stack.resize(base + proto.slots, Value::Nil);
        self.enter(Act::Code(Code {
            closure: Some(closure),
            arity,
            proto,
            at: 0,
            base,
        }))?;
        self.now.state = State::Code;
        Ok(None)
    }

    fn call_tool(&mut self, name: Arc<str>, under: usize) -> Result<Option<Pause>, Halt> {
        // A function of an earlier program may call what is not there now.
        if !self.ctx.tools.contains(&name) {
            return Err(unknown_tool(&name, &self.ctx.tools).into());
        }
        let limit = self.ctx.limits.tool_calls;
        if self.ctx.tool_calls >= limit {
            let message = format!("the program made more than {limit} tool calls");
            let hint = "Ask for more with one call, or work on fewer items.";
            return Err(Fault::new(Class::CallLimit, message).hint(hint).into());
        }
        let args = self.now.stack.split_off(under + 1);
        self.now.stack.truncate(under);
        let args = arguments(&mut self.ctx, &name, &args)?;
        self.ctx.tool_calls += 1;
        self.now.state = State::Asks(Asked { name, args });
        Ok(Some(Pause::Waits))
    }

    fn call_made(&mut self, made: &Made, under: usize) -> Result<Spread, Halt> {
        let Some((first, others)) = made.parts.split_first() else {
            return Ok(Spread::Done(None));
        };
        match made.kind {
            MadeKind::Partial => {
                self.ctx.walk(others.len() as u64)?;
                self.now.stack[under] = first.clone();
                self.now
                    .stack
                    .splice(under + 1..under + 1, others.iter().cloned());
            }
            MadeKind::Fnil => {
                self.now.stack[under] = first.clone();
                for (arg, default) in self.now.stack[under + 1..].iter_mut().zip(others) {
                    if matches!(arg, Value::Nil) {
                        *arg = default.clone();
                    }
                }
            }
            MadeKind::Constantly => {
                self.now.stack.truncate(under);
                self.now.state = State::Given(first.clone());
                return Ok(Spread::Done(None));
            }
            MadeKind::Comp
            | MadeKind::Juxt
            | MadeKind::Complement
            | MadeKind::EveryPred
            | MadeKind::SomeFn => {
                let args = self.now.stack.split_off(under + 1);
                self.now.stack.truncate(under);
                let frame = made::frame(made.kind, &made.parts, args);
                return self.follow(Next::Push(frame), false).map(Spread::Done);
            }
        }
        Ok(Spread::Again(self.now.stack.len() - under - 1))
    }
}

/// Result of calling a made function.
enum Spread {
    /// Its first part is to be called with so many arguments.
    Again(usize),
    Done(Option<Pause>),
}

fn native_arity(native: &Native, count: usize) -> Halt {
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
        "pmap" | "juxt" => Class::InvalidArity,
        _ => Class::Arity,
    };
    let hint = format!("Call (doc {name}) in a program to see its use.");
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
    Fault::new(Class::Arity, message)
        .hint("Call it with as many arguments as it has parameters.")
        .into()
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
