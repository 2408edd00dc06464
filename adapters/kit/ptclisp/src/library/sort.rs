//! Sorting: by the language's own order, or by a function that says of two which comes first.

use std::cmp::Ordering;

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt, type_error};
use crate::flow::{Frame, FrameRequest};
use crate::library::access::{check_callable, not_set, seq};
use crate::library::arith::is_number;
use crate::library::compare::compare;
use crate::library::each::{Args, Each, EachKind, key_function};
use crate::library::flow;
use crate::show;
use crate::value::Value;

/// Items sorted by their keys, the order of equals kept.
pub(super) fn by_keys(ctx: &mut Context, pairs: Vec<(Value, Value)>) -> Result<Vec<Value>, Halt> {
    let sorted = merge_sort(ctx, pairs, |ctx, a, b| {
        ctx.walk(a.0.shape().weight.min(b.0.shape().weight))?;
        compare(&a.0, &b.0)
    })?;
    Ok(sorted.into_iter().map(|(_, item)| item).collect())
}

/// A stable sort that a comparison may break off.
fn merge_sort<T: Clone>(
    ctx: &mut Context,
    mut items: Vec<T>,
    order: impl Fn(&mut Context, &T, &T) -> Result<Ordering, Halt>,
) -> Result<Vec<T>, Halt> {
    let mut width = 1;
    while width < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        for run in items.chunks(2 * width) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            while let ([a, rest_left @ ..], [b, rest_right @ ..]) = (left, right) {
                ctx.spend_steps(1)?;
                if order(ctx, a, b)? == Ordering::Greater {
                    merged.push(b.clone());
                    right = rest_right;
                } else {
                    merged.push(a.clone());
                    left = rest_left;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        items = merged;
        width *= 2;
    }
    // One item is in order, but it must be one that has an order.
    if let [only] = items.as_slice() {
        order(ctx, only, only)?;
    }
    Ok(items)
}

/// Sorting by a function of the program: one call a comparison.
struct ComparatorSort {
    by: Value,
    keys: Vec<Value>,
    items: Vec<Value>,
    /// The order so far, as places in `items`.
    order: Vec<usize>,
    merged: Vec<usize>,
    width: usize,
    /// The next of the left run and its end, the next of the right and its end.
    runs: [usize; 4],
}

impl ComparatorSort {
    fn start(by: Value, keys: Vec<Value>, items: Vec<Value>) -> ComparatorSort {
        let order: Vec<usize> = (0..items.len()).collect();
        let mut sorting =
            ComparatorSort { by, keys, items, order, merged: Vec::new(), width: 1, runs: [0; 4] };
        sorting.open(0);
        sorting
    }

    fn open(&mut self, at: usize) {
        let size = self.order.len();
        let middle = (at + self.width).min(size);
        let end = (at + 2 * self.width).min(size);
        self.runs = [at, middle, middle, end];
    }
}

impl Frame for ComparatorSort {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt> {
        if let Some(answer) = given {
            let first = match answer {
                Value::Int(n) => n <= 0,
                Value::Float(n) => n <= 0.0,
                other => other.truthy(),
            };
            let side = if first { 0 } else { 2 };
            self.merged.push(self.order[self.runs[side]]);
            self.runs[side] += 1;
        }
        loop {
            let [left, left_end, right, right_end] = self.runs;
            if left < left_end && right < right_end {
                let (a, b) = (self.order[left], self.order[right]);
                let args = vec![self.keys[a].clone(), self.keys[b].clone()];
                return Ok(FrameRequest::Call(self.by.clone(), args));
            }
            self.merged.extend_from_slice(&self.order[left..left_end]);
            self.merged.extend_from_slice(&self.order[right..right_end]);
            if right_end < self.order.len() {
                self.open(right_end);
                continue;
            }
            self.order = std::mem::take(&mut self.merged);
            self.width *= 2;
            if self.width >= self.order.len() {
                let sorted = self.order.iter().map(|place| self.items[*place].clone());
                return ctx.vec(sorted.collect()).map(FrameRequest::Done);
            }
            ctx.walk(self.order.len() as u64)?;
            self.open(0);
        }
    }
}

/// Reads a direction, `:asc` or `:desc`: true for descending, `None` for anything else.
fn direction(by: &Value) -> Option<bool> {
    match by {
        Value::Kw(name) if **name == *"asc" => Some(false),
        Value::Kw(name) if **name == *"desc" => Some(true),
        _ => None,
    }
}

/// Direction of a comparator of the language, so that `>` sorts texts too; also of a direction keyword.
fn known(by: &Value) -> Option<bool> {
    match by {
        Value::Kw(_) => direction(by),
        Value::Native(native) => match native.name {
            "<" | "<=" | "compare" => Some(false),
            ">" | ">=" => Some(true),
            _ => None,
        },
        _ => None,
    }
}

fn sorted(ctx: &mut Context, pairs: Vec<(Value, Value)>, down: bool) -> Result<FrameRequest, Halt> {
    let sorted = merge_sort(ctx, pairs, |ctx, a, b| {
        ctx.walk(a.0.shape().weight.min(b.0.shape().weight))?;
        let order = compare(&a.0, &b.0)?;
        Ok(if down { order.reverse() } else { order })
    })?;
    let items = sorted.into_iter().map(|(_, item)| item).collect();
    ctx.vec(items).map(FrameRequest::Done)
}

fn sort(ctx: &mut Context, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    let collection = args.pop().unwrap_or_default();
    let by = args.pop();
    if let Some(by) = &by {
        check_callable("sort", 1, by)?;
    }
    let place = 1 + usize::from(by.is_some());
    not_set("sort", &collection)?;
    let items = seq(ctx, "sort", place, &collection)?;
    let down = by.as_ref().map_or(Some(false), known);
    match (down, by) {
        (None, Some(by)) => {
            Ok(FrameRequest::Push(Box::new(ComparatorSort::start(by, items.clone(), items))))
        }
        (down, _) => {
            let pairs = items.iter().cloned().zip(items.iter().cloned()).collect();
            sorted(ctx, pairs, down.unwrap_or(false))
        }
    }
}

/// `sort-by` with a comparator: first the keys, then the order.
struct KeyedSort {
    key: Value,
    by: Value,
    items: Vec<Value>,
    keys: Vec<Value>,
}

impl Frame for KeyedSort {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt> {
        self.keys.extend(given);
        if let Some(item) = self.items.get(self.keys.len()) {
            return Ok(FrameRequest::Call(self.key.clone(), vec![item.clone()]));
        }
        let (keys, items) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.items));
        match known(&self.by) {
            Some(down) => {
                let pairs = keys.into_iter().zip(items).collect();
                sorted(ctx, pairs, down)
            }
            None => Ok(FrameRequest::Push(Box::new(ComparatorSort::start(
                self.by.clone(),
                keys,
                items,
            )))),
        }
    }
}

/// The sorting that is pushed over a `KeyedSort` gives its value to it; this gives it on.
struct SortResultFrame(Option<Box<dyn Frame>>);

impl Frame for SortResultFrame {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt> {
        let Some(inner) = &mut self.0 else {
            return Ok(FrameRequest::Done(given.unwrap_or_default()));
        };
        match inner.step(ctx, given)? {
            FrameRequest::Push(next) => {
                self.0 = Some(next);
                self.step(ctx, None)
            }
            other => Ok(other),
        }
    }
}

fn sort_by(ctx: &mut Context, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    if args.len() == 2 {
        let function = key_function(ctx, "sort-by", &args[0])?;
        let items = seq(ctx, "sort-by", 2, &args[1])?;
        if matches!(args[0], Value::Vec(_)) && items.iter().any(is_number) {
            return type_error("sort-by: a path leads into maps, and an item is a number");
        }
        return Ok(Each::push(EachKind::SortBy, function, Args::One(items)));
    }
    let collection = args.pop().unwrap_or_default();
    let by = args.pop().unwrap_or_default();
    let key = args.pop().unwrap_or_default();
    let orders = |value: &Value| value.is_function() || direction(value).is_some();
    if orders(&collection) && !orders(&by) {
        let (key, by) = (show::brief(&key), show::brief(&collection));
        let message =
            "sort-by expects (key, comparator, collection) but got (key, collection, comparator)";
        let fault = Fault::new(FaultClass::Type, message);
        let hint = match direction(&collection) {
            Some(_) => format!("Try: (sort-by {key} {by} collection)."),
            None => format!("Try: (sort-by {key} > collection), with {by} as the comparator."),
        };
        return Err(fault.hint(hint).into());
    }
    if !orders(&by) {
        let message = format!("sort-by: arg 2 expected comparator, got {}", by.kind());
        let hint = "A comparator is a function such as >, or :asc or :desc.";
        return Err(Fault::new(FaultClass::Type, message).hint(hint).into());
    }
    let key = key_function(ctx, "sort-by", &key)?;
    let items = seq(ctx, "sort-by", 3, &collection)?;
    let keyed = KeyedSort { key, by, items, keys: Vec::new() };
    Ok(FrameRequest::Push(Box::new(SortResultFrame(Some(Box::new(keyed))))))
}

pub(super) const NATIVES: &[NativeFunction] =
    &[flow("sort", 1, 2, sort), flow("sort-by", 2, 3, sort_by)];
