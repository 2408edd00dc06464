//! Executes the operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::callable::{Arity, Closure, endless};
use crate::code::{CaptureSource, Op, Proto};
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt, type_error, unbounded};
use crate::library::access;
use crate::machine::caught;
use crate::machine::strand::{Activation, CodeActivation, StrandState};
use crate::machine::{Machine, PauseReason};
use crate::order;
use crate::value::{Value, ValueSize};

impl Machine {
    /// Runs the topmost code until another frame is topmost, or the program waits or ends.
    pub(super) fn execute(&mut self) -> Result<Option<PauseReason>, Halt> {
        loop {
            let Some(Activation::Code(code)) = self.now.acts.last_mut() else {
                return Ok(None);
            };
            let Some(op) = code.proto.code.get(code.at).copied() else {
                return Err(Fault::new(FaultClass::Runtime, "the code has no end").into());
            };
            code.at += 1;
            self.ctx.spend_steps(1)?;
            let base = code.base;
            match op {
                Op::Const(index) => {
                    let value = code.proto.consts.get(index as usize).cloned();
                    self.now.stack.push(value.unwrap_or_default());
                }
                Op::Local(slot) => {
                    let value = self.now.stack[base + slot as usize].clone();
                    self.now.stack.push(value);
                }
                Op::Move(slot) => {
                    let value = std::mem::take(&mut self.now.stack[base + slot as usize]);
                    self.now.stack.push(value);
                }
                Op::Store(slot) => {
                    let value = self.now.stack.pop().unwrap_or_default();
                    self.now.stack[base + slot as usize] = value;
                }
                Op::Pop => {
                    self.now.stack.pop();
                }
                Op::Jump(goal) => code.at = goal as usize,
                Op::IfFalse(goal) => {
                    if !self.now.stack.pop().unwrap_or_default().truthy() {
                        code.at = goal as usize;
                    }
                }
                Op::AndJump(goal) => {
                    if self.now.stack.last().is_some_and(Value::truthy) {
                        self.now.stack.pop();
                    } else {
                        code.at = goal as usize;
                    }
                }
                Op::OrJump(goal) => {
                    if self.now.stack.last().is_some_and(Value::truthy) {
                        code.at = goal as usize;
                    } else {
                        self.now.stack.pop();
                    }
                }
                Op::IfNil(slot, goal) => {
                    if matches!(self.now.stack[base + slot as usize], Value::Nil) {
                        code.at = goal as usize;
                    }
                }
                Op::Loop(counter, goal) => {
                    let rounds = self.now.stack[base + counter as usize].as_int().unwrap_or(0) + 1;
                    let limit = self.ctx.limits.loop_rounds;
                    if limit > 0 && rounds > i64::from(limit) {
                        return Err(loop_limit(limit));
                    }
                    self.now.stack[base + counter as usize] = Value::Int(rounds);
                    code.at = goal as usize;
                }
                Op::Call(count) => {
                    if let Some(turn) = self.call(count as usize)? {
                        return Ok(Some(turn));
                    }
                    match std::mem::replace(&mut self.now.state, StrandState::Code) {
                        StrandState::Given(value) if self.tops_code() => self.now.stack.push(value),
                        StrandState::Code => {}
                        other => {
                            self.now.state = other;
                            return Ok(None);
                        }
                    }
                }
                Op::Ret => {
                    let value = self.now.stack.pop().unwrap_or_default();
                    // The function itself lies under its slots.
                    self.now.stack.truncate(base.saturating_sub(1));
                    self.now.acts.pop();
                    self.now.state = StrandState::Given(value);
                    return Ok(None);
                }
                other => self.uncommon(other)?,
            }
        }
    }

    fn tops_code(&self) -> bool {
        matches!(self.now.acts.last(), Some(Activation::Code(_)))
    }

    /// The operations that are not in every loop.
    fn uncommon(&mut self, op: Op) -> Result<(), Halt> {
        let Some(Activation::Code(code)) = self.now.acts.last_mut() else {
            return Ok(());
        };
        let (stack, ctx, base) = (&mut self.now.stack, &mut self.ctx, code.base);
        let constant = |code: &CodeActivation, index: u32| -> Value {
            let value = code.proto.consts.get(index as usize);
            value.cloned().unwrap_or_default()
        };
        match op {
            Op::Capture(index) => {
                let arity = code.closure.as_ref().and_then(|c| c.arities.get(code.arity));
                let value = arity.and_then(|arity| arity.captures.get(index as usize));
                stack.push(value.cloned().unwrap_or_default());
            }
            Op::Myself => {
                let value = code.closure.clone().map_or(Value::Nil, Value::Fn);
                stack.push(value);
            }
            Op::Global(index) => {
                let name = constant(code, index);
                let value = global(ctx, name.as_str().unwrap_or_default())?;
                stack.push(value);
            }
            Op::GlobalOrNil(index) => {
                let name = constant(code, index);
                let value = ctx.defs.get(name.as_str().unwrap_or_default()).cloned();
                stack.push(value.unwrap_or_default());
            }
            Op::Data(index) => {
                let name = constant(code, index);
                let value = data(ctx, name.as_str().unwrap_or_default())?;
                stack.push(value);
            }
            Op::History(back) => {
                let index = ctx.history.len().checked_sub(usize::from(back));
                let value = index.and_then(|index| ctx.history.get(index).cloned());
                stack.push(value.unwrap_or_default());
            }
            Op::Closure(index) => {
                let value = closure(code, stack, ctx, index)?;
                stack.push(value);
            }
            Op::Vec(count) => {
                let from = stack.len().saturating_sub(count as usize);
                let items = stack.split_off(from);
                let value = ctx.vec(items)?;
                stack.push(value);
            }
            Op::Map(count) => {
                let from = stack.len().saturating_sub(2 * count as usize);
                let mut entries = BTreeMap::new();
                let mut parts = stack.drain(from..);
                while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                    ctx.walk_deep(&key)?;
                    entries.insert(key, value);
                }
                drop(parts);
                let value = ctx.map(entries)?;
                stack.push(value);
            }
            Op::Set(count) => {
                let from = stack.len().saturating_sub(count as usize);
                let members = stack.split_off(from);
                let value = ctx.set_of(members)?;
                stack.push(value);
            }
            Op::Def(index) => {
                let name = constant(code, index);
                let value = stack.pop().unwrap_or_default();
                if let Value::Str(name) = name {
                    ctx.reserve(128)?;
                    if !ctx.defined.contains(&name) {
                        ctx.defined.insert(name.clone());
                    }
                    ctx.defs.insert(name.clone(), value);
                    stack.push(Value::Var(name));
                }
            }
            Op::IfDefined(index, goal) => {
                if let Value::Str(name) = constant(code, index)
                    && ctx.defs.contains_key(&name)
                {
                    stack.push(Value::Var(name));
                    code.at = goal as usize;
                }
            }
            Op::AsSeq(slot) => match &stack[base + slot as usize] {
                Value::Nil | Value::Vec(_) => {}
                other => return Err(destructure("list", other)),
            },
            Op::AsMap(slot) => match &stack[base + slot as usize] {
                Value::Nil | Value::Map(_) => {}
                other => return Err(destructure("map", other)),
            },
            Op::Nth(slot, index) => {
                let items = stack[base + slot as usize].as_items();
                let value = items.and_then(|items| items.get(index as usize)).cloned();
                stack.push(value.unwrap_or_default());
            }
            Op::Rest(slot, from) => {
                let items = stack[base + slot as usize].as_items().unwrap_or_default();
                let rest = items.get(from as usize..).unwrap_or_default().to_vec();
                let value = ctx.vec(rest)?;
                stack.push(value);
            }
            Op::Pairs(slot) => {
                let slot = base + slot as usize;
                let items = stack[slot].as_items().unwrap_or_default();
                if let [Value::Map(_)] = items {
                    stack[slot] = items[0].clone();
                } else if items.len() % 2 == 1 {
                    return Err(destructure("pairs of key and value", &stack[slot]));
                } else {
                    let mut entries = BTreeMap::new();
                    for pair in items.chunks(2) {
                        let value = pair.get(1).cloned().unwrap_or_default();
                        ctx.walk_deep(&pair[0])?;
                        entries.insert(pair[0].clone(), value);
                    }
                    stack[slot] = ctx.map(entries)?;
                }
            }
            Op::Key(slot, key, goal) => {
                let key = constant(code, key);
                match access::entry(&stack[base + slot as usize], &key) {
                    Some(value) => stack.push(value),
                    None => code.at = goal as usize,
                }
            }
            Op::Items(slot, name) => {
                let slot = base + slot as usize;
                let given = std::mem::take(&mut stack[slot]);
                let items = match access::items(ctx, &given)? {
                    Some(items) => ctx.vec(items)?,
                    None => {
                        let name = constant(code, name);
                        let name = name.as_str().unwrap_or_default();
                        return Err(not_items(name, &given));
                    }
                };
                stack[slot] = items;
                stack[slot + 1] = Value::Int(0);
            }
            Op::Each(slot, goal) => {
                let slot = base + slot as usize;
                let index = stack[slot + 1].as_int().unwrap_or(0);
                let items = stack[slot].as_items().unwrap_or_default();
                match items.get(index as usize).cloned() {
                    Some(item) => {
                        stack[slot + 1] = Value::Int(index + 1);
                        stack.push(item);
                    }
                    None => code.at = goal as usize,
                }
            }
            Op::Append(slot) => {
                let value = stack.pop().unwrap_or_default();
                if let Value::Vec(items) = &mut stack[base + slot as usize] {
                    ctx.push(items, value)?;
                }
            }
            Op::IfNot(slot, index, goal) => {
                let expected = constant(code, index);
                let given = &stack[base + slot as usize];
                if !order::equal(given, &expected) {
                    code.at = goal as usize;
                }
            }
            Op::Enter(slot) => {
                let height = stack.len() - base;
                stack[base + slot as usize] = Value::from(height);
            }
            Op::Rethrow(slot) => match &stack[base + slot as usize] {
                Value::Nil => {}
                place => return Err(caught::held(ctx, place)),
            },
            _ => return Err(Fault::new(FaultClass::Runtime, "an unknown operation").into()),
        }
        Ok(())
    }
}

fn loop_limit(limit: u32) -> Halt {
    let message = format!("Loop iteration limit exceeded ({limit} iterations)");
    let hint =
        "Use reduce or map over a finite collection, or split the work across smaller loops.";
    Fault::new(FaultClass::LoopLimit, message).hint(hint).into()
}

fn global(ctx: &Context, name: &str) -> Result<Value, Halt> {
    if let Some(value) = ctx.defs.get(name) {
        return Ok(value.clone());
    }
    if let Some(native) = crate::library::find(name) {
        return Ok(Value::Native(native));
    }
    let message = format!("Undefined variable: {name}");
    let hint = "Its definition has not run yet: define it before it is used.";
    Err(Fault::new(FaultClass::UnboundVar, message).hint(hint).into())
}

fn data(ctx: &Context, name: &str) -> Result<Value, Halt> {
    match ctx.data.get(name) {
        Some(value) => Ok(value.clone()),
        None if ctx.strict_data => {
            let known: Vec<&str> = ctx.data.keys().map(|key| &**key).collect();
            let hint = format!("There is: {}.", known.join(", "));
            let message = format!("data/{name} is not bound");
            Err(Fault::new(FaultClass::Runtime, message).hint(hint).into())
        }
        None => Ok(Value::Nil),
    }
}

fn closure(
    code: &CodeActivation,
    stack: &[Value],
    ctx: &mut Context,
    index: u32,
) -> Result<Value, Halt> {
    let Some(template) = code.proto.templates.get(index as usize) else {
        return type_error("a function without a body");
    };
    let mut shape = ValueSize { depth: 1, weight: 1 };
    let mut arities = Vec::with_capacity(template.arities.len());
    for proto in &template.arities {
        let captures = captures(code, stack, proto);
        shape.add(ValueSize::of(&captures));
        ctx.reserve(64 + captures.len() * size_of::<Value>())?;
        arities.push(Arity { proto: proto.clone(), captures });
    }
    ctx.fits(shape)?;
    let id = ctx.id();
    let text = template.text.clone();
    Ok(Value::Fn(Arc::new(Closure { id, arities, shape, text })))
}

fn captures(code: &CodeActivation, stack: &[Value], proto: &Proto) -> Vec<Value> {
    let captured = |from: &CaptureSource| match from {
        CaptureSource::Slot(slot) => stack[code.base + *slot as usize].clone(),
        CaptureSource::Capture(index) => code
            .closure
            .as_ref()
            .and_then(|closure| closure.arities.get(code.arity))
            .and_then(|arity| arity.captures.get(*index as usize))
            .cloned()
            .unwrap_or_default(),
        CaptureSource::Myself => code.closure.clone().map_or(Value::Nil, Value::Fn),
    };
    proto.captures.iter().map(captured).collect()
}

fn destructure(expected: &str, given: &Value) -> Halt {
    let shown = crate::show::brief(given);
    let message = format!("expected {expected} or nil, got {shown}");
    let hint = match expected {
        "list" if endless(given).is_some() => {
            "The sequence has no end. Take a part of it first: (take n xs)."
        }
        "map" => "A {:keys [..]} pattern takes a map apart.",
        "pairs of key and value" => "Give a value for each key: (f :a 1 :b 2).",
        _ => "A [..] pattern takes a vector apart; use seq for a string, a set or a map.",
    };
    Fault::new(FaultClass::Destructure, message).hint(hint).into()
}

fn not_items(name: &str, given: &Value) -> Halt {
    if endless(given).is_some() {
        return unbounded(&format!("the binding '{name}'"));
    }
    let message = format!(
        "for binding '{name}' expected a collection, got: {} ({})",
        crate::show::brief(given),
        given.kind()
    );
    let hint = "Bind it to a vector, a set, a map or a string.";
    Fault::new(FaultClass::InvalidArity, message).hint(hint).into()
}
