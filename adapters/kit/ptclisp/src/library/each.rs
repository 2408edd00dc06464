//! Functions that call a function for each of several items: `map`, `filter`, `group-by` and their like.
//! The calls are made one after the other and in order, wherever a tool is among them.

use crate::callable::{ComposedKind, NativeBody, NativeFunction};
use crate::context::Context;
use crate::fault::{FaultClass, Halt, misfit, runtime, type_error, unexpected};
use crate::flow::{Frame, FrameRequest};
use crate::library::access::{self, check_callable, check_keyfn, check_pred, seq};
use crate::library::choose::finish;
use crate::library::maps::PATH_OF;
use crate::library::stages::{LazyUse, StageKind};
use crate::library::{ANY, flow, lazily, lazy, staged};
use crate::value::Value;

/// Use of the results of the calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EachKind {
    Map,
    Filter,
    Remove,
    Keep,
    Mapcat,
    /// Nothing is made of them.
    Run,
    Some,
    Every,
    NotAny,
    NotEvery,
    TakeWhile,
    DropWhile,
    SplitWith,
    GroupBy,
    PartitionBy,
    DistinctBy,
    SortBy,
    /// Largest or smallest of numbers, of which there must be one for each item.
    MostKey(bool),
    /// Largest or smallest of anything comparable; nil is left out.
    MostBy(bool),
    SumBy,
    AvgBy,
    UpdateVals,
    UpdateKeys,
}

/// With what the function is called.
pub(super) enum Args {
    One(Vec<Value>),
    Indexed(Vec<Value>),
    /// The values of entries, or their keys.
    Of(Vec<Value>, usize),
    Many(Vec<Vec<Value>>),
}

/// A function that is called for each item.
pub(super) struct Each {
    pub(super) kind: EachKind,
    pub(super) function: Value,
    pub(super) args: Args,
    pub(super) at: usize,
    pub(super) results: Vec<Value>,
}

impl Each {
    pub(super) fn push(kind: EachKind, function: Value, args: Args) -> FrameRequest {
        FrameRequest::Push(Box::new(Each { kind, function, args, at: 0, results: Vec::new() }))
    }

    /// The items that were gone over.
    pub(super) fn items(&self) -> &[Value] {
        match &self.args {
            Args::One(items) | Args::Indexed(items) | Args::Of(items, _) => items,
            Args::Many(_) => &[],
        }
    }

    fn next(&mut self) -> Option<Result<FrameRequest, Halt>> {
        let at = self.at;
        let (function, args) = match &self.args {
            Args::One(items) => {
                let item = items.get(at)?.clone();
                if let Value::Kw(key) = &self.function
                    && bare(&item)
                {
                    let kind = item.kind();
                    return Some(type_error(format!("a {kind} has no entry under :{key}")));
                }
                (self.function.clone(), vec![item])
            }
            Args::Indexed(items) => {
                let item = items.get(at)?.clone();
                (self.function.clone(), vec![Value::from(at), item])
            }
            Args::Of(entries, part) => {
                let part = entries.get(at)?.as_items()?.get(*part)?.clone();
                (self.function.clone(), vec![part])
            }
            Args::Many(columns) => {
                let row: Option<Vec<Value>> =
                    columns.iter().map(|column| column.get(at).cloned()).collect();
                (self.function.clone(), row?)
            }
        };
        self.at += 1;
        Some(Ok(FrameRequest::Call(function, args)))
    }

    /// Returns true if a result decides the whole; stores the result otherwise.
    fn handle_result(&mut self, ctx: &Context, result: Value) -> Result<bool, Halt> {
        let decided = match self.kind {
            EachKind::Some | EachKind::NotAny => result.truthy(),
            EachKind::Every | EachKind::NotEvery => !result.truthy(),
            EachKind::TakeWhile | EachKind::DropWhile | EachKind::SplitWith => !result.truthy(),
            _ => false,
        };
        if self.results.len().is_multiple_of(64) {
            ctx.room(2 * self.results.len())?;
        }
        self.results.push(result);
        Ok(decided)
    }
}

impl Frame for Each {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt> {
        if let Some(result) = given
            && self.handle_result(ctx, result)?
        {
            return finish(ctx, self, true).map(FrameRequest::Done);
        }
        match self.next() {
            Some(next) => next,
            None => finish(ctx, self, false).map(FrameRequest::Done),
        }
    }

    fn fault(&self, halt: Halt) -> Halt {
        match halt {
            Halt::Fault(mut fault)
                if matches!(self.kind, EachKind::SortBy)
                    && !matches!(fault.class, FaultClass::Tool | FaultClass::Thrown)
                    && !fault.class.is_limit() =>
            {
                fault.reclassify(FaultClass::Type);
                Halt::Fault(fault)
            }
            other => other,
        }
    }
}

/// Returns true for a value without entries, so that a lookup in it is a slip.
fn bare(item: &Value) -> bool {
    item.is_function()
        || matches!(
            item,
            Value::Bool(_) | Value::Int(_) | Value::Big(_) | Value::Float(_) | Value::Str(_)
        )
}

/// A function and a collection that predicates are about.
fn with_pred(
    ctx: &mut Context,
    name: &str,
    kind: EachKind,
    args: &[Value],
) -> Result<FrameRequest, Halt> {
    check_pred(&args[0])?;
    if matches!(args[0], Value::Map(_)) && matches!(name, "filter" | "remove") {
        return type_error(format!("{name}: arg 1 expected predicate, got map"));
    }
    let function = for_items(ctx, &args[0], &args[1])?;
    let items = seq(ctx, name, 2, &args[1])?;
    Ok(Each::push(kind, function, Args::One(items)))
}

/// The function for the items of a collection: the characters of a text have nothing under a keyword.
fn for_items(ctx: &mut Context, function: &Value, collection: &Value) -> Result<Value, Halt> {
    match (function, collection) {
        (Value::Kw(_), Value::Str(_)) => ctx.compose(ComposedKind::Constantly, vec![Value::Nil]),
        _ => Ok(function.clone()),
    }
}

fn map_all(
    ctx: &mut Context,
    name: &str,
    kind: EachKind,
    args: &[Value],
) -> Result<FrameRequest, Halt> {
    check_keyfn(name, 1, &args[0])?;
    let function = args[0].clone();
    if let [_, only] = args {
        let function = for_items(ctx, &function, only)?;
        let items = seq(ctx, name, 2, only)?;
        return Ok(Each::push(kind, function, Args::One(items)));
    }
    let columns = lazy::columns(ctx, name, 2, &args[1..])?;
    Ok(Each::push(kind, function, Args::Many(columns)))
}

fn indexed(
    ctx: &mut Context,
    name: &str,
    kind: EachKind,
    args: &[Value],
) -> Result<FrameRequest, Halt> {
    check_pred(&args[0])?;
    let items = seq(ctx, name, 2, &args[1])?;
    Ok(Each::push(kind, args[0].clone(), Args::Indexed(items)))
}

fn by_key(
    ctx: &mut Context,
    name: &str,
    kind: EachKind,
    args: &[Value],
) -> Result<FrameRequest, Halt> {
    let maps = matches!(kind, EachKind::GroupBy | EachKind::PartitionBy | EachKind::DistinctBy);
    let function = match &args[0] {
        entries @ Value::Map(_) if maps => entries.clone(),
        other => key_function(ctx, name, other)?,
    };
    let function = for_items(ctx, &function, &args[1])?;
    if name == "group-by" && matches!(args[1], Value::Str(_)) {
        return misfit(name, args);
    }
    let items = seq(ctx, name, 2, &args[1])?;
    Ok(Each::push(kind, function, Args::One(items)))
}

/// `max-by` and `min-by`: of a collection, or of the arguments.
fn most_by(
    ctx: &mut Context,
    name: &str,
    kind: EachKind,
    args: &[Value],
) -> Result<FrameRequest, Halt> {
    match args {
        [_, collection] if access::items(ctx, collection)?.is_some() => {
            by_key(ctx, name, kind, args)
        }
        [function, items @ ..] if items.len() > 1 => {
            let function = key_function(ctx, name, function)?;
            Ok(Each::push(kind, function, Args::One(items.to_vec())))
        }
        _ => runtime(format!("{name} needs a function and a collection")),
    }
}

/// A key function; a text is a key and a vector a path.
pub(super) fn key_function(ctx: &mut Context, name: &str, value: &Value) -> Result<Value, Halt> {
    match value {
        Value::Vec(_) | Value::Str(_) => {
            let path = match value {
                Value::Vec(_) => value.clone(),
                other => ctx.vec(vec![other.clone()])?,
            };
            let parts = vec![Value::Native(&PATH_OF), path];
            ctx.compose(ComposedKind::Partial, parts)
        }
        other => {
            check_keyfn(name, 1, other)?;
            Ok(other.clone())
        }
    }
}

fn partition_by(ctx: &mut Context, args: Vec<Value>) -> Result<FrameRequest, Halt> {
    if matches!(args[0], Value::Vec(_)) {
        return type_error("expected function or key, got path");
    }
    by_key(ctx, "partition-by", EachKind::PartitionBy, &args)
}

fn mapcat(ctx: &mut Context, args: Vec<Value>) -> Result<FrameRequest, Halt> {
    check_callable("mapcat", 1, &args[0])?;
    map_all(ctx, "mapcat", EachKind::Mapcat, &args)
}

/// `max-key` and `min-key`: the items are arguments.
fn most_key(name: &str, largest: bool, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    if let [_] = args.as_slice() {
        return runtime(format!("{name}: there is nothing to choose from"));
    }
    let callable = args.first().is_some_and(|function| {
        function.is_function() || matches!(function, Value::Kw(_) | Value::Map(_) | Value::Set(_))
    });
    if !callable {
        return misfit(name, &args);
    }
    let function = args.remove(0);
    Ok(Each::push(EachKind::MostKey(largest), function, Args::One(args)))
}

fn update_all(
    ctx: &mut Context,
    name: &str,
    kind: EachKind,
    args: &[Value],
) -> Result<FrameRequest, Halt> {
    let part = usize::from(matches!(kind, EachKind::UpdateVals));
    match &args[0] {
        Value::Nil => return Ok(FrameRequest::Done(Value::Nil)),
        Value::Map(_) => {}
        other => return unexpected(name, 1, "map", other),
    }
    check_callable(name, 2, &args[1])?;
    let entries = seq(ctx, name, 1, &args[0])?;
    Ok(Each::push(kind, args[1].clone(), Args::Of(entries, part)))
}

/// Starts the calls of one function of this table, which has the name and the kind.
pub(crate) type Start = fn(&mut Context, &str, EachKind, &[Value]) -> Result<FrameRequest, Halt>;

const fn each(
    name: &'static str,
    least: usize,
    most: usize,
    start: Start,
    kind: EachKind,
) -> NativeFunction {
    let body = NativeBody::Each(start, kind);
    NativeFunction { name, least, most, body, lazy: None }
}

pub(super) const NATIVES: &[NativeFunction] = &[
    // One collection, or up to three side by side.
    staged(StageKind::Map, each("map", 2, 4, map_all, EachKind::Map)),
    each("mapv", 2, 4, map_all, EachKind::Map),
    staged(StageKind::Mapcat, flow("mapcat", 2, 2, mapcat)),
    staged(StageKind::Keep, each("keep", 2, 2, map_all, EachKind::Keep)),
    staged(StageKind::MapIndexed, each("map-indexed", 2, 2, indexed, EachKind::Map)),
    staged(StageKind::KeepIndexed, each("keep-indexed", 2, 2, indexed, EachKind::Keep)),
    staged(StageKind::Filter, each("filter", 2, 2, with_pred, EachKind::Filter)),
    each("filterv", 2, 2, with_pred, EachKind::Filter),
    staged(StageKind::Remove, each("remove", 2, 2, with_pred, EachKind::Remove)),
    each("run!", 2, 2, map_all, EachKind::Run),
    lazily(LazyUse::Some, each("some", 2, 2, with_pred, EachKind::Some)),
    each("every?", 2, 2, with_pred, EachKind::Every),
    each("not-any?", 2, 2, with_pred, EachKind::NotAny),
    each("not-every?", 2, 2, with_pred, EachKind::NotEvery),
    staged(StageKind::TakeWhile, each("take-while", 2, 2, with_pred, EachKind::TakeWhile)),
    staged(StageKind::DropWhile, each("drop-while", 2, 2, with_pred, EachKind::DropWhile)),
    each("split-with", 2, 2, with_pred, EachKind::SplitWith),
    each("group-by", 2, 2, by_key, EachKind::GroupBy),
    flow("partition-by", 2, 2, partition_by),
    each("distinct-by", 2, 2, by_key, EachKind::DistinctBy),
    each("max-by", 0, ANY, most_by, EachKind::MostBy(true)),
    each("min-by", 0, ANY, most_by, EachKind::MostBy(false)),
    each("sum-by", 2, 2, by_key, EachKind::SumBy),
    each("avg-by", 2, 2, by_key, EachKind::AvgBy),
    flow("max-key", 0, ANY, |_, args| most_key("max-key", true, args)),
    flow("min-key", 0, ANY, |_, args| most_key("min-key", false, args)),
    each("update-vals", 2, 2, update_all, EachKind::UpdateVals),
    each("update-keys", 2, 2, update_all, EachKind::UpdateKeys),
];
