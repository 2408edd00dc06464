//! Functions that make functions, and how what they made runs.

use crate::callable::{ComposedKind, NativeFunction};
use crate::context::Context;
use crate::fault::{Halt, misfit, runtime};
use crate::flow::{Frame, FrameRequest};
use crate::library::{ANY, find, pure};
use crate::value::Value;

/// The frame of a made function's call.
pub(crate) fn frame(kind: ComposedKind, parts: &[Value], args: Vec<Value>) -> Box<dyn Frame> {
    Box::new(ComposedCall { kind, parts: parts.to_vec(), args, at: 0, results: Vec::new() })
}

struct ComposedCall {
    kind: ComposedKind,
    parts: Vec<Value>,
    args: Vec<Value>,
    at: usize,
    results: Vec<Value>,
}

impl Frame for ComposedCall {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt> {
        match self.kind {
            ComposedKind::Comp => Ok(self.comp(given)),
            ComposedKind::Complement => Ok(match given {
                None => FrameRequest::Call(self.parts[0].clone(), std::mem::take(&mut self.args)),
                Some(result) => FrameRequest::Done(Value::Bool(!result.truthy())),
            }),
            ComposedKind::Juxt => {
                self.results.extend(given);
                match self.parts.get(self.at) {
                    Some(part) => {
                        self.at += 1;
                        Ok(FrameRequest::Call(part.clone(), self.args.clone()))
                    }
                    None => ctx.vec(std::mem::take(&mut self.results)).map(FrameRequest::Done),
                }
            }
            ComposedKind::EveryPred | ComposedKind::SomeFn => Ok(self.next_predicate_call(given)),
            ComposedKind::Partial
            | ComposedKind::Constantly
            | ComposedKind::Fnil
            | ComposedKind::Reduced
            | ComposedKind::Transducer
            | ComposedKind::Endless => Ok(FrameRequest::Done(Value::Nil)),
        }
    }
}

impl ComposedCall {
    /// From the last part to the first; the first is called in this frame's place.
    fn comp(&mut self, given: Option<Value>) -> FrameRequest {
        let args = match given {
            None => std::mem::take(&mut self.args),
            Some(value) => vec![value],
        };
        match self.parts.pop() {
            Some(last) if self.parts.is_empty() => FrameRequest::Become(last, args),
            Some(part) => FrameRequest::Call(part, args),
            None => FrameRequest::Done(args.into_iter().next().unwrap_or_default()),
        }
    }

    /// Asks each part of each argument until one decides.
    fn next_predicate_call(&mut self, given: Option<Value>) -> FrameRequest {
        let every = self.kind == ComposedKind::EveryPred;
        if let Some(result) = given {
            if result.truthy() != every {
                return FrameRequest::Done(if every { Value::Bool(false) } else { result });
            }
            self.results = vec![result];
        }
        let (parts, args) = (self.parts.len(), self.args.len());
        if self.at >= parts * args {
            return FrameRequest::Done(if every {
                Value::Bool(true)
            } else {
                self.results.pop().unwrap_or_default()
            });
        }
        let (arg, part) = (self.at / parts, self.at % parts);
        self.at += 1;
        FrameRequest::Call(self.parts[part].clone(), vec![self.args[arg].clone()])
    }
}

fn make(ctx: &mut Context, kind: ComposedKind, args: &mut [Value]) -> Result<Value, Halt> {
    ctx.compose(kind, args.to_vec())
}

fn comp(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if args.is_empty() {
        return Ok(find("identity").map_or(Value::Nil, Value::Native));
    }
    make(ctx, ComposedKind::Comp, args)
}

fn fnil(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if !args[0].is_function() {
        return misfit("fnil", args);
    }
    make(ctx, ComposedKind::Fnil, args)
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("comp", 0, ANY, comp),
    pure("partial", 0, ANY, |ctx, args| {
        if args.is_empty() {
            return runtime("partial requires a function");
        }
        make(ctx, ComposedKind::Partial, args)
    }),
    pure("juxt", 1, ANY, |ctx, args| make(ctx, ComposedKind::Juxt, args)),
    pure("complement", 1, 1, |ctx, args| make(ctx, ComposedKind::Complement, args)),
    pure("constantly", 1, 1, |ctx, args| make(ctx, ComposedKind::Constantly, args)),
    pure("fnil", 2, 2, fnil),
    pure("every-pred", 0, ANY, |ctx, args| {
        if args.is_empty() {
            return runtime("every-pred requires at least 1 predicate");
        }
        make(ctx, ComposedKind::EveryPred, args)
    }),
    pure("some-fn", 0, ANY, |ctx, args| {
        if args.is_empty() {
            return runtime("some-fn requires at least 1 function");
        }
        make(ctx, ComposedKind::SomeFn, args)
    }),
];
