//! Forks: a parallel form in progress. Its branches begin in order, and what they give is put together in
//! order, whichever ends first.

use std::collections::BTreeMap;

use crate::context::Context;
use crate::fault::Halt;
use crate::flow::Branches;
use crate::value::Value;

pub(super) struct ParallelRun {
    branches: Branches,
    /// The branches that are to run: fewer than there are, once one of them has failed.
    count: usize,
    /// Results of the branches that have begun; nil until they are known.
    results: Vec<Value>,
    /// Those that have begun and not ended.
    open: usize,
    /// Halt of the first failed branch in order.
    failed: Option<Halt>,
    /// Prints of ended branches.
    prints: BTreeMap<usize, Vec<String>>,
}

impl ParallelRun {
    pub(super) fn new(branches: Branches) -> ParallelRun {
        ParallelRun {
            count: branches.calls.count(),
            branches,
            results: Vec::new(),
            open: 0,
            failed: None,
            prints: BTreeMap::new(),
        }
    }

    /// Number of branches to run.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The next branch that is to begin, if there is one.
    pub(super) fn next(&self) -> Option<usize> {
        let next = self.results.len();
        (next < self.count).then_some(next)
    }

    /// Begins the next branch: what is called, and with what.
    pub(super) fn begin(&mut self) -> Option<(Value, Vec<Value>)> {
        let call = self.branches.calls.at(self.next()?)?;
        self.results.push(Value::Nil);
        self.open += 1;
        Some(call)
    }

    /// Takes what the branch that began last gave, where one after the other runs.
    pub(super) fn set_last_result(&mut self, value: Value) {
        self.set_result(self.results.len().saturating_sub(1), value);
    }

    /// A branch has given this.
    pub(super) fn set_result(&mut self, index: usize, value: Value) {
        if let Some(result) = self.results.get_mut(index) {
            *result = value;
        }
        self.open = self.open.saturating_sub(1);
    }

    /// A branch has failed. Those after it are not gone on with: `left` of them had begun. What those
    /// before it come to is still told first.
    pub(super) fn failed(&mut self, index: usize, halt: Halt, left: usize) {
        self.failed = Some(halt);
        self.count = index;
        self.open = self.open.saturating_sub(1 + left);
    }

    /// Returns true if no branch runs or waits to run.
    pub(super) fn is_over(&self) -> bool {
        self.open == 0 && self.next().is_none()
    }

    /// A branch has printed this.
    pub(super) fn add_prints(&mut self, index: usize, lines: Vec<String>) {
        if !lines.is_empty() {
            self.prints.entry(index).or_default().extend(lines);
        }
    }

    /// Prints of its branches, in their order.
    pub(super) fn printed(&mut self) -> impl Iterator<Item = String> {
        std::mem::take(&mut self.prints).into_values().flatten()
    }

    /// Returns its result.
    pub(super) fn finish(&mut self, ctx: &mut Context) -> Result<Value, Halt> {
        if let Some(halt) = self.failed.take() {
            return Err(halt);
        }
        let results = std::mem::take(&mut self.results);
        ctx.walk(results.len() as u64)?;
        ctx.vec(results)
    }

    /// Checks that there is memory for what it gives.
    pub(super) fn room(&self, ctx: &Context) -> Result<(), Halt> {
        let known = self.results.len();
        match known.is_multiple_of(64) {
            true => ctx.room(2 * known),
            false => Ok(()),
        }
    }

    /// A fault that leaves it has its class, unless a limit was reached.
    pub(super) fn fault(&self, mut halt: Halt) -> Halt {
        if let Halt::Fault(fault) = &mut halt
            && !fault.class.is_limit()
        {
            fault.reclassify(self.branches.class);
        }
        halt
    }
}
