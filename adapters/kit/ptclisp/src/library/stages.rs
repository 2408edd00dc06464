//! Stages: what transducers do with one item after the other. A stage passes items on, drops them, or asks its
//! function about them.

use std::sync::Arc;

use crate::callable::ComposedKind;
use crate::context::{Context, ValueSet};
use crate::fault::{Halt, type_error};
use crate::library::access::{check_callable, check_pred, integer, shared_items};
use crate::order;
use crate::value::{Items, Value};

/// The functions that make a stage if their collection is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StageKind {
    Map,
    Filter,
    Remove,
    Keep,
    Mapcat,
    MapIndexed,
    KeepIndexed,
    Take,
    Drop,
    TakeWhile,
    DropWhile,
    Distinct,
    Dedupe,
    Cat,
}

impl StageKind {
    /// Number of arguments without the collection.
    pub(crate) fn args(self) -> usize {
        match self {
            StageKind::Distinct | StageKind::Dedupe | StageKind::Cat => 0,
            StageKind::Map
            | StageKind::Filter
            | StageKind::Remove
            | StageKind::Keep
            | StageKind::Mapcat
            | StageKind::MapIndexed
            | StageKind::KeepIndexed
            | StageKind::Take
            | StageKind::Drop
            | StageKind::TakeWhile
            | StageKind::DropWhile => 1,
        }
    }

    /// Returns true if the stage ends what is endless.
    pub(crate) fn ends(self) -> bool {
        matches!(self, StageKind::Take | StageKind::TakeWhile)
    }
}

/// Use that a function makes of endless sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LazyUse {
    /// It makes a stage.
    Stage(StageKind),
    /// It takes the item at this index.
    Item(u8),
    /// It takes the item at the index that it is given.
    Nth,
    /// It takes items until its function gives something true.
    Some,
}

/// A stage in progress.
pub(super) struct Stage {
    kind: StageKind,
    function: Value,
    /// Items that it still takes or drops, or the index of the next one.
    count: i64,
    /// True once `take-while` has ended or `drop-while` has begun to pass items.
    turned: bool,
    seen: ValueSet,
    last: Option<Value>,
}

/// Decision of a stage about an item.
pub(super) enum StageStep {
    /// The item goes on.
    Pass(Value),
    /// These go on in order.
    PassAll(Arc<Items>),
    /// It goes no further.
    Skip,
    /// It goes no further, and nothing after it.
    Stop,
    /// It goes on, and nothing after it.
    Last(Value),
    /// The function is asked about it.
    Ask(Value, Vec<Value>),
}

impl Stage {
    /// A stage of these arguments.
    pub(super) fn new(kind: StageKind, name: &str, args: &[Value]) -> Result<Stage, Halt> {
        let mut stage = Stage {
            kind,
            function: args.first().cloned().unwrap_or_default(),
            count: 0,
            turned: false,
            seen: ValueSet::new(),
            last: None,
        };
        match kind {
            StageKind::Take | StageKind::Drop => stage.count = integer(name, 1, &stage.function)?,
            StageKind::Filter | StageKind::Remove | StageKind::TakeWhile | StageKind::DropWhile => {
                check_pred(&stage.function)?;
            }
            StageKind::Map
            | StageKind::Keep
            | StageKind::Mapcat
            | StageKind::MapIndexed
            | StageKind::KeepIndexed => check_callable(name, 1, &stage.function)?,
            StageKind::Distinct | StageKind::Dedupe | StageKind::Cat => {}
        }
        Ok(stage)
    }

    /// Returns true if it takes no more items.
    pub(super) fn is_closed(&self) -> bool {
        match self.kind {
            StageKind::Take => self.count <= 0,
            StageKind::TakeWhile => self.turned,
            _ => false,
        }
    }

    /// Takes an item.
    pub(super) fn take(&mut self, ctx: &mut Context, item: Value) -> Result<StageStep, Halt> {
        if self.is_closed() {
            return Ok(StageStep::Stop);
        }
        Ok(match self.kind {
            StageKind::DropWhile if self.turned => StageStep::Pass(item),
            StageKind::Map
            | StageKind::Filter
            | StageKind::Remove
            | StageKind::Keep
            | StageKind::Mapcat
            | StageKind::TakeWhile
            | StageKind::DropWhile => StageStep::Ask(self.function.clone(), vec![item]),
            StageKind::MapIndexed | StageKind::KeepIndexed => {
                self.count += 1;
                let index = Value::Int(self.count - 1);
                StageStep::Ask(self.function.clone(), vec![index, item])
            }
            StageKind::Take => {
                self.count -= 1;
                match self.count {
                    0 => StageStep::Last(item),
                    _ => StageStep::Pass(item),
                }
            }
            StageKind::Drop if self.count > 0 => {
                self.count -= 1;
                StageStep::Skip
            }
            StageKind::Drop => StageStep::Pass(item),
            StageKind::Distinct => {
                ctx.seek(&item, self.seen.len())?;
                ctx.room(2 * self.seen.len())?;
                match self.seen.insert(item.clone()) {
                    true => StageStep::Pass(item),
                    false => StageStep::Skip,
                }
            }
            StageKind::Dedupe => {
                ctx.walk_deep(&item)?;
                match self.last.replace(item.clone()) {
                    Some(last) if order::equal(&last, &item) => StageStep::Skip,
                    _ => StageStep::Pass(item),
                }
            }
            StageKind::Cat => StageStep::PassAll(shared_items(ctx, "cat", 1, &item)?),
        })
    }

    /// Takes what its function gave of an item.
    pub(super) fn decide(
        &mut self,
        ctx: &mut Context,
        item: Value,
        result: Value,
    ) -> Result<StageStep, Halt> {
        Ok(match self.kind {
            StageKind::Filter if result.truthy() => StageStep::Pass(item),
            StageKind::Remove if !result.truthy() => StageStep::Pass(item),
            StageKind::Filter | StageKind::Remove => StageStep::Skip,
            StageKind::Keep | StageKind::KeepIndexed => match result {
                Value::Nil => StageStep::Skip,
                result => StageStep::Pass(result),
            },
            StageKind::Mapcat => StageStep::PassAll(shared_items(ctx, "mapcat", 1, &result)?),
            StageKind::TakeWhile if result.truthy() => StageStep::Pass(item),
            StageKind::TakeWhile => {
                self.turned = true;
                StageStep::Stop
            }
            StageKind::DropWhile if result.truthy() => StageStep::Skip,
            StageKind::DropWhile => {
                self.turned = true;
                StageStep::Pass(item)
            }
            _ => StageStep::Pass(result),
        })
    }
}

/// Returns the stages of a transducer, in order.
pub(super) fn stages(
    ctx: &mut Context,
    name: &str,
    place: usize,
    xform: &Value,
) -> Result<Vec<Stage>, Halt> {
    let mut all = Vec::new();
    add_stages(ctx, name, place, xform, &mut all)?;
    Ok(all)
}

/// Adds the stages of a transducer. A transducer that a composition shares has stages of its own at each
/// place, so that each costs a step and its memory.
pub(super) fn add_stages(
    ctx: &mut Context,
    name: &str,
    place: usize,
    xform: &Value,
    all: &mut Vec<Stage>,
) -> Result<(), Halt> {
    ctx.spend_steps(1)?;
    let (kind, native, args) = match xform {
        Value::Native(native) if native.lazy == Some(LazyUse::Stage(StageKind::Cat)) => {
            (StageKind::Cat, native, [].as_slice())
        }
        Value::Native(native) if native.name == "identity" => return Ok(()),
        Value::Composed(made) if made.kind == ComposedKind::Comp => {
            for part in &made.parts {
                add_stages(ctx, name, place, part, all)?;
            }
            return Ok(());
        }
        Value::Composed(made) if made.kind == ComposedKind::Transducer => {
            match made.parts.split_first() {
                Some((Value::Native(native), args)) => match native.lazy {
                    Some(LazyUse::Stage(kind)) => (kind, native, args),
                    _ => return no_transducer(name, place, xform),
                },
                _ => return no_transducer(name, place, xform),
            }
        }
        other => return no_transducer(name, place, other),
    };
    // While the vector grows, its stages are there up to three times.
    ctx.reserve(3 * size_of::<Stage>())?;
    all.push(Stage::new(kind, native.name, args)?);
    Ok(())
}

fn no_transducer<T>(name: &str, place: usize, value: &Value) -> Result<T, Halt> {
    let kind = value.kind();
    type_error(format!(
        "{name}: arg {place} expected a transducer, as (map f) or (comp (filter p) (take n)), got {kind}"
    ))
}
