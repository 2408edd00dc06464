//! Pipelines: items of a source, one after the other, through stages to an end. A source may be endless: no more
//! items are made than are taken.

use std::sync::Arc;

use crate::callable::{ComposedKind, endless};
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt, type_error};
use crate::flow::{Frame, FrameRequest};
use crate::library::access::shared_items;
use crate::library::sequences::conj;
use crate::library::stages::{Stage, StageStep, add_stages};
use crate::value::{Items, Value};

/// Kind of an endless sequence: the function that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceKind {
    Iterate,
    Repeatedly,
    Repeat,
    Cycle,
}

impl SourceKind {
    /// Returns the name of the function, under which a sequence is stored.
    pub(super) fn name(self) -> &'static str {
        match self {
            SourceKind::Iterate => "iterate",
            SourceKind::Repeatedly => "repeatedly",
            SourceKind::Repeat => "repeat",
            SourceKind::Cycle => "cycle",
        }
    }

    /// Returns the kind of this name.
    fn of_name(name: &str) -> Option<SourceKind> {
        let all =
            [SourceKind::Iterate, SourceKind::Repeatedly, SourceKind::Repeat, SourceKind::Cycle];
        all.into_iter().find(|kind| kind.name() == name)
    }
}

/// Source of the items.
pub(super) enum Source {
    Items(ItemCursor),
    /// A value, and then the function of the one before; true once the first was taken.
    Iterate(Value, Value, bool),
    /// Results of calls of a function.
    Repeatedly(Value),
    Repeat(Value),
    Cycle(Arc<Items>, usize),
}

/// Collector of the items that pass all stages.
pub(super) enum Sink {
    /// A vector, or a collection with them added to it.
    Into(Option<Value>, Vec<Value>),
    /// The one after so many, or this.
    Nth(i64, Value),
    /// A value that a function carries from item to item.
    Fold(Value, Option<Value>),
    /// The first true thing that a function gives of one.
    Some(Value, Value),
}

/// Subject of the last call.
enum PendingCall {
    Nothing,
    Source,
    Stage(usize, Value),
    Sink,
}

/// Items of a collection that remain to be taken.
pub(super) struct ItemCursor {
    items: Arc<Items>,
    next: usize,
}

impl ItemCursor {
    fn new(items: Arc<Items>) -> ItemCursor {
        ItemCursor { items, next: 0 }
    }
}

impl Iterator for ItemCursor {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let item = self.items.items.get(self.next)?.clone();
        self.next += 1;
        Some(item)
    }
}

pub(super) struct Pipeline {
    source: Source,
    stages: Vec<Stage>,
    sink: Sink,
    /// The item under way, with the stage that it comes to.
    current: Option<(usize, Value)>,
    /// Collections that stages passed on, each with the stage that its items come to. Later stages are last.
    open: Vec<(usize, ItemCursor)>,
    asked: PendingCall,
    stopped: bool,
}

impl Pipeline {
    pub(super) fn push(source: Source, stages: Vec<Stage>, sink: Sink) -> FrameRequest {
        let stopped = stages.iter().any(Stage::is_closed);
        FrameRequest::Push(Box::new(Pipeline {
            source,
            stages,
            sink,
            current: None,
            open: Vec::new(),
            asked: PendingCall::Nothing,
            stopped,
        }))
    }

    /// Takes what was given for the last call.
    fn take_result(&mut self, ctx: &mut Context, result: Value) -> Result<(), Halt> {
        match std::mem::replace(&mut self.asked, PendingCall::Nothing) {
            PendingCall::Nothing => {}
            PendingCall::Source => {
                if let Source::Iterate(_, current, _) = &mut self.source {
                    *current = result.clone();
                }
                self.current = Some((0, result));
            }
            PendingCall::Stage(at, item) => {
                if let Some(stage) = self.stages.get_mut(at) {
                    let step = stage.decide(ctx, item, result)?;
                    self.follow(at, step);
                }
            }
            PendingCall::Sink => match &mut self.sink {
                Sink::Fold(_, value) => match reduced(&result) {
                    Some(last) => {
                        *value = Some(last);
                        self.stop();
                    }
                    None => *value = Some(result),
                },
                Sink::Some(_, found) if result.truthy() => {
                    *found = result;
                    self.stop();
                }
                Sink::Some(..) | Sink::Into(..) | Sink::Nth(..) => {}
            },
        }
        Ok(())
    }

    /// Takes no more items: neither of the source nor of a collection that a stage passed on.
    fn stop(&mut self) {
        self.stopped = true;
        self.open.clear();
    }

    /// Does what a stage decided; answers the call that it asks for.
    fn follow(&mut self, at: usize, step: StageStep) -> Option<FrameRequest> {
        match step {
            StageStep::Pass(item) => self.current = Some((at + 1, item)),
            StageStep::PassAll(items) => self.open.push((at + 1, ItemCursor::new(items))),
            StageStep::Skip => {}
            // All open collections are of this stage or of earlier ones.
            StageStep::Stop => self.stop(),
            StageStep::Last(item) => {
                self.stop();
                self.current = Some((at + 1, item));
            }
            StageStep::Ask(function, args) => {
                let item = args.last().cloned().unwrap_or_default();
                self.asked = PendingCall::Stage(at, item);
                return Some(FrameRequest::Call(function, args));
            }
        }
        None
    }

    /// Takes an item that has come through all stages.
    fn arrive(&mut self, ctx: &mut Context, item: Value) -> Result<Option<FrameRequest>, Halt> {
        match &mut self.sink {
            Sink::Into(_, items) => {
                if items.len().is_multiple_of(64) {
                    ctx.room(2 * items.len())?;
                }
                items.push(item);
            }
            Sink::Nth(0, found) => {
                *found = item;
                self.stop();
            }
            Sink::Nth(left, _) => *left -= 1,
            Sink::Fold(_, value @ None) => *value = Some(item),
            Sink::Fold(function, Some(value)) => {
                self.asked = PendingCall::Sink;
                let args = vec![std::mem::take(value), item];
                return Ok(Some(FrameRequest::Call(function.clone(), args)));
            }
            Sink::Some(function, _) => {
                self.asked = PendingCall::Sink;
                return Ok(Some(FrameRequest::Call(function.clone(), vec![item])));
            }
        }
        Ok(None)
    }

    /// The next item of the source, or the call that makes it; nothing at its end.
    fn pull(&mut self) -> Option<Option<FrameRequest>> {
        let item = match &mut self.source {
            Source::Items(items) => items.next()?,
            Source::Iterate(_, first, begun @ false) => {
                *begun = true;
                first.clone()
            }
            Source::Iterate(function, last, true) => {
                self.asked = PendingCall::Source;
                let args = vec![last.clone()];
                return Some(Some(FrameRequest::Call(function.clone(), args)));
            }
            Source::Repeatedly(function) => {
                self.asked = PendingCall::Source;
                return Some(Some(FrameRequest::Call(function.clone(), Vec::new())));
            }
            endless => endless.next(),
        };
        self.current = Some((0, item));
        Some(None)
    }

    /// The next item that is under way, of the latest stage first.
    fn next_item(&mut self) -> Option<(usize, Value)> {
        if let Some(current) = self.current.take() {
            return Some(current);
        }
        while let Some((at, items)) = self.open.last_mut() {
            match items.next() {
                Some(item) => return Some((*at, item)),
                None => self.open.pop(),
            };
        }
        None
    }

    fn finish(&mut self, ctx: &mut Context) -> Result<Value, Halt> {
        match &mut self.sink {
            Sink::Into(None, items) => ctx.vec(std::mem::take(items)),
            Sink::Into(Some(whole), items) => {
                let mut all = vec![std::mem::take(whole)];
                all.append(items);
                conj(ctx, &mut all)
            }
            Sink::Nth(_, value) | Sink::Some(_, value) => Ok(std::mem::take(value)),
            Sink::Fold(_, value) => Ok(value.take().unwrap_or_default()),
        }
    }
}

impl Frame for Pipeline {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt> {
        if let Some(result) = given {
            self.take_result(ctx, result)?;
        }
        loop {
            ctx.spend_steps(1)?;
            if let Some((at, item)) = self.next_item() {
                let asked = match self.stages.get_mut(at) {
                    Some(stage) => {
                        let step = stage.take(ctx, item)?;
                        self.follow(at, step)
                    }
                    None => self.arrive(ctx, item)?,
                };
                if let Some(call) = asked {
                    return Ok(call);
                }
                continue;
            }
            if self.stopped {
                return self.finish(ctx).map(FrameRequest::Done);
            }
            match self.pull() {
                Some(Some(call)) => return Ok(call),
                Some(None) => {}
                None => return self.finish(ctx).map(FrameRequest::Done),
            }
        }
    }
}

impl Source {
    /// The next item of an endless source that calls nothing.
    fn next(&mut self) -> Value {
        match self {
            Source::Repeat(value) => value.clone(),
            Source::Cycle(items, at) => {
                let item = items.items.get(*at).cloned().unwrap_or_default();
                *at = (*at + 1) % items.items.len().max(1);
                item
            }
            Source::Items(_) | Source::Iterate(..) | Source::Repeatedly(_) => Value::Nil,
        }
    }
}

/// The value in what `reduced` made.
pub(super) fn reduced(value: &Value) -> Option<Value> {
    match value {
        Value::Composed(made) if made.kind == ComposedKind::Reduced => made.parts.first().cloned(),
        _ => None,
    }
}

/// Returns the source of a collection's items, and the stages that belong to it.
pub(super) fn source(
    ctx: &mut Context,
    name: &str,
    place: usize,
    value: &Value,
) -> Result<(Source, Vec<Stage>), Halt> {
    let Some(made) = endless(value) else {
        let items = shared_items(ctx, name, place, value)?;
        return Ok((Source::Items(ItemCursor::new(items)), Vec::new()));
    };
    let (source, xforms) = match made.parts.as_slice() {
        [Value::Kw(kind), Value::Vec(args), xforms @ ..] => (stored_source(kind, args), xforms),
        _ => (None, [].as_slice()),
    };
    let Some(source) = source else {
        return type_error(format!("{name}: the sequence has no source"));
    };
    let mut all = Vec::new();
    for xform in xforms {
        add_stages(ctx, name, place, xform, &mut all)?;
    }
    Ok((source, all))
}

/// Returns the source that the parts of an endless sequence describe.
fn stored_source(kind: &str, args: &Arc<Items>) -> Option<Source> {
    Some(match (SourceKind::of_name(kind)?, args.items.as_slice()) {
        (SourceKind::Iterate, [function, first]) => {
            Source::Iterate(function.clone(), first.clone(), false)
        }
        (SourceKind::Repeatedly, [function]) => Source::Repeatedly(function.clone()),
        (SourceKind::Repeat, [value]) => Source::Repeat(value.clone()),
        (SourceKind::Cycle, _) => Source::Cycle(args.clone(), 0),
        _ => return None,
    })
}

/// The first items of an endless sequence that calls nothing.
pub(crate) fn first_items(
    ctx: &mut Context,
    name: &str,
    place: usize,
    value: &Value,
    count: usize,
) -> Result<Vec<Value>, Halt> {
    let (mut source, stages) = source(ctx, name, place, value)?;
    let calls = matches!(source, Source::Iterate(..) | Source::Repeatedly(_));
    if calls || !stages.is_empty() {
        let message = format!("{name}: arg {place} is an endless sequence that calls functions");
        let hint = "Take as many as the other collection has: (take (count xs) sequence). For the \
                    number of each item write (map-indexed f xs).";
        return Err(Fault::new(FaultClass::Type, message).hint(hint).into());
    }
    ctx.room(count)?;
    ctx.walk(4 * count as u64)?;
    Ok((0..count).map(|_| source.next()).collect())
}
