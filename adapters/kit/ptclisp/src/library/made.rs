//! Functions that make functions, and how what they made runs.

use crate::callable::{MadeKind, Native};
use crate::context::Context;
use crate::fault::{Halt, misfit, runtime};
use crate::flow::{Frame, Next};
use crate::library::{ANY, find, pure};
use crate::value::Value;

/// The frame of a made function's call.
pub(crate) fn frame(kind: MadeKind, parts: &[Value], args: Vec<Value>) -> Box<dyn Frame> {
    Box::new(Running {
        kind,
        parts: parts.to_vec(),
        args,
        at: 0,
        results: Vec::new(),
    })
}

struct Running {
    kind: MadeKind,
    parts: Vec<Value>,
    args: Vec<Value>,
    at: usize,
    results: Vec<Value>,
}

impl Frame for Running {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<Next, Halt> {
        match self.kind {
            MadeKind::Comp => Ok(self.comp(given)),
            MadeKind::Complement => Ok(match given {
                None => Next::Call(self.parts[0].clone(), std::mem::take(&mut self.args)),
                Some(result) => Next::Done(Value::Bool(!result.truthy())),
            }),
            MadeKind::Juxt => {
                self.results.extend(given);
                match self.parts.get(self.at) {
                    Some(part) => {
                        self.at += 1;
                        Ok(Next::Call(part.clone(), self.args.clone()))
                    }
                    None => ctx.vec(std::mem::take(&mut self.results)).map(Next::Done),
                }
            }
            MadeKind::EveryPred | MadeKind::SomeFn => Ok(self.asked(given)),
            MadeKind::Partial | MadeKind::Constantly | MadeKind::Fnil => Ok(Next::Done(Value::Nil)),
        }
    }
}

impl Running {
    /// From the last part to the first; the first is called in this frame's place.
    fn comp(&mut self, given: Option<Value>) -> Next {
        let args = match given {
            None => std::mem::take(&mut self.args),
            Some(value) => vec![value],
        };
        match self.parts.pop() {
            Some(last) if self.parts.is_empty() => Next::Become(last, args),
            Some(part) => Next::Call(part, args),
            None => Next::Done(args.into_iter().next().unwrap_or_default()),
        }
    }

    /// Asks each part of each argument until one decides.
    fn asked(&mut self, given: Option<Value>) -> Next {
        let every = self.kind == MadeKind::EveryPred;
        if let Some(result) = given {
            if result.truthy() != every {
                return Next::Done(if every { Value::Bool(false) } else { result });
            }
            self.results = vec![result];
        }
        let (parts, args) = (self.parts.len(), self.args.len());
        if self.at >= parts * args {
            return Next::Done(if every {
                Value::Bool(true)
            } else {
                self.results.pop().unwrap_or_default()
            });
        }
        let (arg, part) = (self.at / parts, self.at % parts);
        self.at += 1;
        Next::Call(self.parts[part].clone(), vec![self.args[arg].clone()])
    }
}

fn make(ctx: &mut Context, kind: MadeKind, args: &mut [Value]) -> Result<Value, Halt> {
    ctx.made(kind, args.to_vec())
}

fn comp(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if args.is_empty() {
        return Ok(find("identity").map_or(Value::Nil, Value::Native));
    }
    make(ctx, MadeKind::Comp, args)
}

fn fnil(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if !args[0].is_function() {
        return misfit("fnil", args);
    }
    make(ctx, MadeKind::Fnil, args)
}

pub(super) const NATIVES: &[Native] = &[
    pure("comp", 0, ANY, comp),
    pure("partial", 0, ANY, |ctx, args| {
        if args.is_empty() {
            return runtime("partial requires a function");
        }
        make(ctx, MadeKind::Partial, args)
    }),
    pure("juxt", 1, ANY, |ctx, args| make(ctx, MadeKind::Juxt, args)),
    pure("complement", 1, 1, |ctx, args| {
        make(ctx, MadeKind::Complement, args)
    }),
    pure("constantly", 1, 1, |ctx, args| {
        make(ctx, MadeKind::Constantly, args)
    }),
    pure("fnil", 2, 2, fnil),
    pure("every-pred", 0, ANY, |ctx, args| {
        if args.is_empty() {
            return runtime("every-pred requires at least 1 predicate");
        }
        make(ctx, MadeKind::EveryPred, args)
    }),
    pure("some-fn", 0, ANY, |ctx, args| {
        if args.is_empty() {
            return runtime("some-fn requires at least 1 function");
        }
        make(ctx, MadeKind::SomeFn, args)
    }),
];
