//! Sequences without an end, transducers, and what ends them: `iterate`, `into`, `transduce` and their like. No
//! other sequence is lazy.

use crate::callable::{ComposedKind, NativeFunction, endless};
use crate::context::Context;
use crate::fault::{Halt, type_error, unbounded};
use crate::flow::{Frame, FrameRequest};
use crate::library::access::{check_callable, check_pred, integer, seq};
use crate::library::pipeline::{Pipeline, Sink, SourceKind, first_items, source};
use crate::library::stages::{LazyUse, Stage, StageKind, stages};
use crate::library::{flow, pure, sequences, staged as staged_native};
use crate::value::Value;

/// Returns true if a call with these arguments makes a transducer, or takes from an endless sequence.
pub(crate) fn is_lazy(used: LazyUse, args: &[Value]) -> bool {
    let is_endless = |arg: Option<&Value>| arg.is_some_and(|arg| endless(arg).is_some());
    match used {
        LazyUse::Stage(kind) => {
            args.len() == kind.args() || (args.len() == kind.args() + 1 && is_endless(args.last()))
        }
        LazyUse::Item(_) => args.len() == 1 && is_endless(args.first()),
        LazyUse::Nth => matches!(args.len(), 2 | 3) && is_endless(args.first()),
        LazyUse::Some => args.len() == 2 && is_endless(args.last()),
    }
}

/// Makes such a call.
pub(crate) fn call(
    ctx: &mut Context,
    native: &'static NativeFunction,
    used: LazyUse,
    args: Vec<Value>,
) -> Result<FrameRequest, Halt> {
    let (sequence, sink) = match (used, args.as_slice()) {
        (LazyUse::Stage(kind), _) => return staged(ctx, native, kind, args),
        (LazyUse::Item(index), [sequence]) => (sequence, Sink::Nth(index.into(), Value::Nil)),
        (LazyUse::Nth, [sequence, index, ..]) => {
            let index = integer(native.name, 2, index)?;
            if index < 0 {
                let none = args.get(2).cloned().unwrap_or_default();
                return Ok(FrameRequest::Done(none));
            }
            (sequence, Sink::Nth(index, Value::Nil))
        }
        (LazyUse::Some, [function, sequence]) => {
            check_pred(function)?;
            (sequence, Sink::Some(function.clone(), Value::Nil))
        }
        _ => return Err(unbounded(native.name)),
    };
    let (source, stages) = source(ctx, native.name, 1, sequence)?;
    Ok(Pipeline::push(source, stages, sink))
}

/// Makes the transducer, or takes from the sequence: all that is wanted of it, or none yet.
fn staged(
    ctx: &mut Context,
    native: &'static NativeFunction,
    kind: StageKind,
    mut args: Vec<Value>,
) -> Result<FrameRequest, Halt> {
    let sequence = if args.len() > kind.args() { args.pop() } else { None };
    let stage = Stage::new(kind, native.name, &args)?;
    let Some(sequence) = sequence else {
        args.insert(0, Value::Native(native));
        return ctx.compose(ComposedKind::Transducer, args).map(FrameRequest::Done);
    };
    if kind.ends() {
        let (source, mut stages) = source(ctx, native.name, 2, &sequence)?;
        stages.push(stage);
        return Ok(Pipeline::push(source, stages, Sink::Into(None, Vec::new())));
    }
    let mut parts = endless(&sequence).map(|made| made.parts.clone()).unwrap_or_default();
    args.insert(0, Value::Native(native));
    parts.push(ctx.compose(ComposedKind::Transducer, args)?);
    ctx.compose(ComposedKind::Endless, parts).map(FrameRequest::Done)
}

/// Makes an endless sequence.
pub(super) fn make(ctx: &mut Context, kind: SourceKind, args: Vec<Value>) -> Result<Value, Halt> {
    let args = ctx.vec(args)?;
    ctx.compose(ComposedKind::Endless, vec![Value::keyword(kind.name()), args])
}

/// Collections side by side, as far as all have items. One of them has an end.
pub(super) fn columns(
    ctx: &mut Context,
    name: &str,
    place: usize,
    args: &[Value],
) -> Result<Vec<Vec<Value>>, Halt> {
    let mut columns: Vec<Option<Vec<Value>>> = Vec::with_capacity(args.len());
    for (index, arg) in args.iter().enumerate() {
        columns.push(match endless(arg) {
            Some(_) => None,
            None => Some(seq(ctx, name, place + index, arg)?),
        });
    }
    let rows = columns.iter().flatten().map(Vec::len).min();
    let mut all = Vec::with_capacity(args.len());
    for (index, (arg, column)) in args.iter().zip(columns).enumerate() {
        all.push(match (column, rows) {
            (Some(column), _) => column,
            (None, Some(rows)) => first_items(ctx, name, place + index, arg, rows)?,
            (None, None) => return Err(unbounded(name)),
        });
    }
    Ok(all)
}

fn iterate(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    check_callable("iterate", 1, &args[0])?;
    make(ctx, SourceKind::Iterate, args.to_vec())
}

fn cycle(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match seq(ctx, "cycle", 1, &args[0])? {
        items if items.is_empty() => ctx.vec(items),
        items => make(ctx, SourceKind::Cycle, items),
    }
}

fn repeat(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let [count, value] = args else {
        return make(ctx, SourceKind::Repeat, args.to_vec());
    };
    let count = usize::try_from(integer("repeat", 1, count)?).unwrap_or(0);
    ctx.room(count)?;
    let all = vec![value.clone(); count];
    ctx.vec(all)
}

fn repeatedly(ctx: &mut Context, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    let function = args.pop().unwrap_or_default();
    check_callable("repeatedly", args.len() + 1, &function)?;
    let endless = make(ctx, SourceKind::Repeatedly, vec![function])?;
    let Some(count) = args.pop() else {
        return Ok(FrameRequest::Done(endless));
    };
    let stage = Stage::new(StageKind::Take, "repeatedly", &[count])?;
    let (source, _) = source(ctx, "repeatedly", 2, &endless)?;
    Ok(Pipeline::push(source, vec![stage], Sink::Into(None, Vec::new())))
}

/// `(into coll from)`, `(into coll xform from)`.
fn into(ctx: &mut Context, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    if args.len() == 2 && endless(&args[1]).is_none() {
        return sequences::into(ctx, &mut args).map(FrameRequest::Done);
    }
    let from = args.pop().unwrap_or_default();
    let own = match args.len() {
        2 => stages(ctx, "into", 2, &args[1])?,
        _ => Vec::new(),
    };
    let whole = std::mem::take(&mut args[0]);
    if matches!(whole, Value::Nil | Value::Str(_)) {
        return crate::fault::misfit("into", &[whole, from]);
    }
    through(ctx, "into", own, &from, Sink::Into(Some(whole), Vec::new()))
}

/// Sends a collection through stages.
fn through(
    ctx: &mut Context,
    name: &str,
    own: Vec<Stage>,
    from: &Value,
    sink: Sink,
) -> Result<FrameRequest, Halt> {
    let (source, mut all) = source(ctx, name, 3, from)?;
    let bounded = !own.is_empty() || endless(from).is_none() || matches!(sink, Sink::Fold(..));
    if !bounded {
        return Err(unbounded(name));
    }
    all.extend(own);
    Ok(Pipeline::push(source, all, sink))
}

fn sequence(ctx: &mut Context, args: Vec<Value>) -> Result<FrameRequest, Halt> {
    match args.as_slice() {
        [from] => {
            let items = seq(ctx, "sequence", 1, from)?;
            ctx.vec(items).map(FrameRequest::Done)
        }
        [xform, from] => {
            let own = stages(ctx, "sequence", 1, xform)?;
            through(ctx, "sequence", own, from, Sink::Into(None, Vec::new()))
        }
        _ => type_error("sequence takes a transducer and a collection"),
    }
}

/// `(transduce xform f coll)`: it begins with what `(f)` gives.
struct Transduce {
    stages: Vec<Stage>,
    function: Value,
    from: Value,
    stage: TransduceStage,
}

#[derive(Clone, Copy)]
enum TransduceStage {
    Start,
    First,
    All,
}

impl Frame for Transduce {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt> {
        match self.stage {
            TransduceStage::Start => {
                self.stage = TransduceStage::First;
                Ok(FrameRequest::Call(self.function.clone(), Vec::new()))
            }
            TransduceStage::First => {
                self.stage = TransduceStage::All;
                let stages = std::mem::take(&mut self.stages);
                let sink = Sink::Fold(self.function.clone(), given);
                through(ctx, "transduce", stages, &self.from, sink)
            }
            TransduceStage::All => Ok(FrameRequest::Done(given.unwrap_or_default())),
        }
    }
}

fn transduce(ctx: &mut Context, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    let own = stages(ctx, "transduce", 1, &args[0])?;
    let from = args.pop().unwrap_or_default();
    let first = if args.len() == 3 { args.pop() } else { None };
    let function = args.pop().unwrap_or_default();
    check_callable("transduce", 2, &function)?;
    match first {
        Some(first) => through(ctx, "transduce", own, &from, Sink::Fold(function, Some(first))),
        None => Ok(FrameRequest::Push(Box::new(Transduce {
            stages: own,
            function,
            from,
            stage: TransduceStage::Start,
        }))),
    }
}

/// `doall` and `dorun`: all sequences are made at once, so that nothing is left to do.
fn made_already(ctx: &mut Context, args: &mut [Value], keeps: bool) -> Result<Value, Halt> {
    let last = args.last().cloned().unwrap_or_default();
    if endless(&last).is_some() {
        return Err(unbounded(if keeps { "doall" } else { "dorun" }));
    }
    ctx.spend_steps(1)?;
    Ok(if keeps { last } else { Value::Nil })
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("iterate", 2, 2, iterate),
    pure("cycle", 1, 1, cycle),
    pure("repeat", 1, 2, repeat),
    flow("repeatedly", 1, 2, repeatedly),
    flow("into", 2, 3, into),
    flow("sequence", 1, 2, sequence),
    flow("eduction", 2, 2, sequence),
    flow("transduce", 3, 4, transduce),
    staged_native(
        StageKind::Cat,
        pure("cat", 1, 1, |_, _| type_error("cat is a transducer: (into [] cat colls)")),
    ),
    pure("reduced", 1, 1, |ctx, args| ctx.compose(ComposedKind::Reduced, args.to_vec())),
    pure("doall", 1, 2, |ctx, args| made_already(ctx, args, true)),
    pure("dorun", 1, 2, |ctx, args| made_already(ctx, args, false)),
];
