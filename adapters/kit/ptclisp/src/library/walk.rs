//! Functions that go through nested data, each level a frame: `tree-seq`, `walk`, `prewalk`, `postwalk`.

use std::collections::BTreeMap;

use crate::callable::Native;
use crate::context::Context;
use crate::fault::Halt;
use crate::flow::{Frame, Next};
use crate::library::access::{check_pred, seq};
use crate::library::flow;
use crate::value::Value;

/// `tree-seq`: nodes in order, the ones to visit on a stack.
struct Tree {
    branches: Value,
    children: Value,
    found: Vec<Value>,
    /// The nodes to visit, the next one last.
    waiting: Vec<Value>,
    asked: Asked,
}

/// Subject of the last call.
enum Asked {
    Nothing,
    Branch(Value),
    Children,
}

impl Frame for Tree {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<Next, Halt> {
        match (std::mem::replace(&mut self.asked, Asked::Nothing), given) {
            (Asked::Branch(node), Some(answer)) if answer.truthy() => {
                self.asked = Asked::Children;
                return Ok(Next::Call(self.children.clone(), vec![node]));
            }
            (Asked::Children, Some(children)) => {
                let children = seq(ctx, "tree-seq", 2, &children)?;
                self.waiting.extend(children.into_iter().rev());
                ctx.room(self.waiting.len() + self.found.len())?;
            }
            _ => {}
        }
        let Some(node) = self.waiting.pop() else {
            return ctx.vec(std::mem::take(&mut self.found)).map(Next::Done);
        };
        self.found.push(node.clone());
        self.asked = Asked::Branch(node.clone());
        Ok(Next::Call(self.branches.clone(), vec![node]))
    }
}

fn tree_seq(_: &mut Context, mut args: Vec<Value>) -> Result<Next, Halt> {
    let root = args.pop().unwrap_or_default();
    let children = args.pop().unwrap_or_default();
    let branches = args.pop().unwrap_or_default();
    check_pred(&branches)?;
    Ok(Next::Push(Box::new(Tree {
        branches,
        children,
        found: Vec::new(),
        waiting: vec![root],
        asked: Asked::Nothing,
    })))
}

/// The order in which a node and its parts are changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The parts by one function, the whole by another.
    Once,
    /// The whole first, then its parts.
    Before,
    /// The parts first, then the whole.
    After,
}

/// One level of a walk.
struct Walk {
    order: Order,
    inner: Value,
    outer: Value,
    node: Value,
    parts: Vec<Value>,
    done: Vec<Value>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Start,
    Replaced,
    Parts,
    Whole,
}

impl Walk {
    fn level(&self, node: Value) -> Box<dyn Frame> {
        Box::new(Walk {
            order: self.order,
            inner: self.inner.clone(),
            outer: self.outer.clone(),
            node,
            parts: Vec::new(),
            done: Vec::new(),
            stage: Stage::Start,
        })
    }

    fn open(&mut self, ctx: &mut Context) -> Result<(), Halt> {
        self.stage = Stage::Parts;
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

impl Frame for Walk {
    fn step(&mut self, ctx: &mut Context, given: Option<Value>) -> Result<Next, Halt> {
        match (self.stage, given) {
            (Stage::Start, _) if self.order == Order::Before => {
                self.stage = Stage::Replaced;
                return Ok(Next::Call(self.inner.clone(), vec![self.node.clone()]));
            }
            (Stage::Start, _) => self.open(ctx)?,
            (Stage::Replaced, Some(node)) => {
                self.node = node;
                self.open(ctx)?;
            }
            (Stage::Parts, Some(part)) => self.done.push(part),
            (Stage::Whole, Some(whole)) => return Ok(Next::Done(whole)),
            _ => {}
        }
        if let Some(part) = self.parts.pop() {
            return Ok(match self.order {
                Order::Once => Next::Call(self.inner.clone(), vec![part]),
                // An entry of a map is a node only where its parts are: as a vector.
                Order::Before | Order::After => Next::Push(self.level(part)),
            });
        }
        let whole = self.rebuilt(ctx)?;
        match self.order {
            Order::Before => Ok(Next::Done(whole)),
            Order::Once | Order::After => {
                self.stage = Stage::Whole;
                let function = if self.order == Order::Once {
                    &self.outer
                } else {
                    &self.inner
                };
                Ok(Next::Call(function.clone(), vec![whole]))
            }
        }
    }
}

fn walk(order: Order, mut args: Vec<Value>) -> Result<Next, Halt> {
    let node = args.pop().unwrap_or_default();
    let outer = args.pop().unwrap_or_default();
    let inner = args.pop().unwrap_or_else(|| outer.clone());
    check_pred(&inner)?;
    check_pred(&outer)?;
    Ok(Next::Push(Box::new(Walk {
        order,
        inner,
        outer,
        node,
        parts: Vec::new(),
        done: Vec::new(),
        stage: Stage::Start,
    })))
}

pub(super) const NATIVES: &[Native] = &[
    flow("tree-seq", 3, 3, tree_seq),
    flow("walk", 3, 3, |_, args| walk(Order::Once, args)),
    flow("prewalk", 2, 2, |_, args| walk(Order::Before, args)),
    flow("postwalk", 2, 2, |_, args| walk(Order::After, args)),
];
