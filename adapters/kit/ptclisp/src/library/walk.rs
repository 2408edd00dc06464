//! Functions that go through nested data, each level a frame: `tree-seq`, `walk`, `prewalk`, `postwalk`.

use std::collections::BTreeMap;

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::Halt;
use crate::flow::{Frame, FrameRequest};
use crate::library::access::{check_pred, seq};
use crate::library::flow;
use crate::value::Value;

/// `tree-seq`: nodes in order, the ones to visit on a stack.
struct TreeSeq {
    branches: Value,
    children: Value,
    found: Vec<Value>,
    /// The nodes to visit, the next one last.
    waiting: Vec<Value>,
    asked: PendingCall,
}

/// Subject of the last call.
enum PendingCall {
    Nothing,
    Branch(Value),
    Children,
}

impl Frame for TreeSeq {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt> {
        match (std::mem::replace(&mut self.asked, PendingCall::Nothing), given) {
            (PendingCall::Branch(node), Some(answer)) if answer.truthy() => {
                self.asked = PendingCall::Children;
                return Ok(FrameRequest::Call(self.children.clone(), vec![node]));
            }
            (PendingCall::Children, Some(children)) => {
                let children = seq(ctx, "tree-seq", 2, &children)?;
                self.waiting.extend(children.into_iter().rev());
                ctx.room(self.waiting.len() + self.found.len())?;
            }
            _ => {}
        }
        let Some(node) = self.waiting.pop() else {
            return ctx.vec(std::mem::take(&mut self.found)).map(FrameRequest::Done);
        };
        self.found.push(node.clone());
        self.asked = PendingCall::Branch(node.clone());
        Ok(FrameRequest::Call(self.branches.clone(), vec![node]))
    }
}

fn tree_seq(_: &mut Context, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    let root = args.pop().unwrap_or_default();
    let children = args.pop().unwrap_or_default();
    let branches = args.pop().unwrap_or_default();
    check_pred(&branches)?;
    Ok(FrameRequest::Push(Box::new(TreeSeq {
        branches,
        children,
        found: Vec::new(),
        waiting: vec![root],
        asked: PendingCall::Nothing,
    })))
}

/// The order in which a node and its parts are changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WalkOrder {
    /// The parts by one function, the whole by another.
    Once,
    /// The whole first, then its parts.
    Before,
    /// The parts first, then the whole.
    After,
}

/// One level of a walk.
struct TreeWalk {
    order: WalkOrder,
    inner: Value,
    outer: Value,
    node: Value,
    parts: Vec<Value>,
    done: Vec<Value>,
    stage: WalkStage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WalkStage {
    Start,
    Replaced,
    Parts,
    Whole,
}

impl TreeWalk {
    fn level(&self, node: Value) -> Box<dyn Frame> {
        Box::new(TreeWalk {
            order: self.order,
            inner: self.inner.clone(),
            outer: self.outer.clone(),
            node,
            parts: Vec::new(),
            done: Vec::new(),
            stage: WalkStage::Start,
        })
    }

    fn open(&mut self, ctx: &mut Context) -> Result<(), Halt> {
        self.stage = WalkStage::Parts;
        if matches!(self.node, Value::Vec(_) | Value::Set(_) | Value::Map(_)) {
            self.parts = seq(ctx, "walk", 3, &self.node)?;
            self.parts.reverse();
        }
        Ok(())
    }

    /// The node made again of its changed parts.
    fn rebuilt(&mut self, ctx: &mut Context) -> Result<Value, Halt> {
        let done = std::mem::take(&mut self.done);
        match &self.node {
            Value::Vec(_) => ctx.vec(done),
            Value::Set(_) => ctx.set_of(done),
            Value::Map(_) => {
                let mut entries = BTreeMap::new();
                for entry in done {
                    match entry.as_items() {
                        Some([key, value]) => {
                            ctx.walk_deep(key)?;
                            entries.insert(key.clone(), value.clone());
                        }
                        _ => {
                            return crate::fault::type_error(format!(
                                "walk: an entry of a map became {}; keep it [key value]",
                                entry.kind()
                            ));
                        }
                    }
                }
                ctx.map(entries)
            }
            other => Ok(other.clone()),
        }
    }
}

impl Frame for TreeWalk {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<FrameRequest, Halt> {
        match (self.stage, given) {
            (WalkStage::Start, _) if self.order == WalkOrder::Before => {
                self.stage = WalkStage::Replaced;
                return Ok(FrameRequest::Call(self.inner.clone(), vec![self.node.clone()]));
            }
            (WalkStage::Start, _) => self.open(ctx)?,
            (WalkStage::Replaced, Some(node)) => {
                self.node = node;
                self.open(ctx)?;
            }
            (WalkStage::Parts, Some(part)) => self.done.push(part),
            (WalkStage::Whole, Some(whole)) => return Ok(FrameRequest::Done(whole)),
            _ => {}
        }
        if let Some(part) = self.parts.pop() {
            return Ok(match self.order {
                WalkOrder::Once => FrameRequest::Call(self.inner.clone(), vec![part]),
                // An entry of a map is a node only where its parts are: as a vector.
                WalkOrder::Before | WalkOrder::After => FrameRequest::Push(self.level(part)),
            });
        }
        let whole = self.rebuilt(ctx)?;
        match self.order {
            WalkOrder::Before => Ok(FrameRequest::Done(whole)),
            WalkOrder::Once | WalkOrder::After => {
                self.stage = WalkStage::Whole;
                let function =
                    if self.order == WalkOrder::Once { &self.outer } else { &self.inner };
                Ok(FrameRequest::Call(function.clone(), vec![whole]))
            }
        }
    }
}

fn walk(order: WalkOrder, mut args: Vec<Value>) -> Result<FrameRequest, Halt> {
    let node = args.pop().unwrap_or_default();
    let outer = args.pop().unwrap_or_default();
    let inner = args.pop().unwrap_or_else(|| outer.clone());
    check_pred(&inner)?;
    check_pred(&outer)?;
    Ok(FrameRequest::Push(Box::new(TreeWalk {
        order,
        inner,
        outer,
        node,
        parts: Vec::new(),
        done: Vec::new(),
        stage: WalkStage::Start,
    })))
}

pub(super) const NATIVES: &[NativeFunction] = &[
    flow("tree-seq", 3, 3, tree_seq),
    flow("walk", 3, 3, |_, args| walk(WalkOrder::Once, args)),
    flow("prewalk", 2, 2, |_, args| walk(WalkOrder::Before, args)),
    flow("postwalk", 2, 2, |_, args| walk(WalkOrder::After, args)),
];
