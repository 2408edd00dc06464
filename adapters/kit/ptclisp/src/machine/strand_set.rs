//! Branches side by side: which of them runs next, and which calls go out together.
//!
//! One branch runs at a time, so that a program does the same each time. It runs until it ends or waits:
//! for a tool, or for branches of its own. Then the next one goes on: first those that were answered, then
//! those that have not begun, in the order in which they would run one after the other. Where none can go
//! on, all calls that are waited for go out as one step.
//!
//! What a form comes to is what it would come to one after the other: where a branch fails, returns or
//! gives up, those after it are not gone on with, those before it are, and the first one in order is told.
//! A call that was made stays made. Running out of steps or memory ends the whole program at once.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt};
use crate::limits::SIDE_BY_SIDE;
use crate::machine::Machine;
use crate::machine::fork::ParallelRun;
use crate::machine::strand::{Strand, StrandState};
use crate::machine::tool_requests::ToolRequest;
use crate::program::ToolAnswer;
use crate::value::Value;

/// Largest depth of parallel forms in branches of each other. Deeper ones make their calls one after the other.
pub(super) const FORKS_DEEP: usize = 8;
/// Bytes charged for a branch besides its stacks.
const BRANCH_BYTES: usize = 512;

/// Position of a branch in the program: its index within its form, preceded by the position of the branch that
/// holds the form. Paths are ordered as the branches would run one after the other.
pub(super) type Path = Vec<usize>;

/// Strands that wait.
pub(super) struct StrandSet {
    strands: BTreeMap<Path, Strand>,
    /// Those that can go on.
    ready: BTreeSet<Path>,
    /// The next branch of each form that has one.
    next: BTreeSet<Path>,
    /// Those that do not wait for branches of their own, the one that runs among them.
    leaves: usize,
    /// The most that there were at the same time.
    most: usize,
}

impl Default for StrandSet {
    fn default() -> StrandSet {
        StrandSet {
            strands: BTreeMap::new(),
            ready: BTreeSet::new(),
            next: BTreeSet::new(),
            // The program itself.
            leaves: 1,
            most: 0,
        }
    }
}

impl StrandSet {
    /// The fork of which a path names a branch, and which one.
    fn fork<'a>(&mut self, path: &'a [usize]) -> Option<(&mut ParallelRun, &'a [usize], usize)> {
        let (index, around) = path.split_last()?;
        let fork = self.strands.get_mut(around)?.fork()?;
        Some((fork, around, *index))
    }

    /// Counts one more branch, where there were never so many.
    pub(super) fn counted(&mut self, ctx: &mut Context) -> Result<(), Halt> {
        ctx.spend_steps(1)?;
        if self.strands.len() > self.most {
            ctx.reserve(BRANCH_BYTES)?;
            self.most = self.strands.len();
        }
        Ok(())
    }

    /// Takes the calls that are to go out, in order.
    pub(super) fn take_requests(&mut self) -> Vec<ToolRequest> {
        let mut all = Vec::new();
        for strand in self.strands.values_mut() {
            match std::mem::take(&mut strand.state) {
                StrandState::Asks(asked) => {
                    strand.state = StrandState::Waits(asked.name.clone());
                    all.push(asked);
                }
                other => strand.state = other,
            }
        }
        all
    }

    /// Gives answers to those that wait for one, in order.
    pub(super) fn answer(&mut self, answers: Vec<ToolAnswer>) {
        let mut answers = answers.into_iter();
        for (path, strand) in &mut self.strands {
            match std::mem::take(&mut strand.state) {
                StrandState::Waits(name) => match answers.next() {
                    Some(answer) => {
                        strand.state = StrandState::Answered(name, answer);
                        self.ready.insert(path.clone());
                    }
                    None => strand.state = StrandState::Waits(name),
                },
                other => strand.state = other,
            }
        }
    }

    /// Begins the next branch in order, where so many may run side by side.
    fn begin(&mut self) -> Option<(Path, Value, Vec<Value>, usize)> {
        if self.leaves >= SIDE_BY_SIDE {
            return None;
        }
        let path = self.next.pop_first()?;
        let (_, around) = path.split_last()?;
        let strand = self.strands.get_mut(around)?;
        let depth = strand.depth.saturating_add(strand.acts.len());
        let fork = strand.fork()?;
        let (function, args) = fork.begin()?;
        if let Some(next) = fork.next() {
            self.next.insert(child_path(around, next));
        }
        self.leaves += 1;
        Some((path, function, args, depth))
    }

    /// Drops the branches of a form from one on, with all within them; answers how many there were of
    /// the form, and how many calls had not gone out.
    fn drop_from(&mut self, around: &[usize], index: usize) -> (usize, u32) {
        let from = child_path(around, index);
        let within = |path: &&Path| path.starts_with(around);
        let dropped: Vec<Path> = self
            .strands
            .range(from.clone()..)
            .map(|(path, _)| path)
            .take_while(within)
            .cloned()
            .collect();
        let (mut branches, mut unmade) = (0, 0);
        // From the inside out, so that what they printed is kept.
        for path in dropped.iter().rev() {
            self.ready.remove(path);
            let Some(mut strand) = self.strands.remove(path) else {
                continue;
            };
            self.leaves -= usize::from(!strand.is_forked());
            branches += usize::from(path.len() == around.len() + 1);
            unmade += u32::from(matches!(strand.state, StrandState::Asks(_)));
            let lines = strand.printed();
            if let Some((fork, _, index)) = self.fork(path) {
                fork.add_prints(index, lines);
            }
        }
        let next = self.next.range(from..).take_while(within);
        for path in next.cloned().collect::<Vec<_>>() {
            self.next.remove(&path);
        }
        (branches, unmade)
    }
}

impl Machine {
    /// Sets what runs aside: it waits.
    pub(super) fn park(&mut self) {
        let path = std::mem::take(&mut self.path);
        let mut strand = std::mem::take(&mut self.now);
        strand.prints = std::mem::take(&mut self.ctx.prints);
        if strand.is_forked() {
            self.strands.leaves -= 1;
            if let Some(next) = strand.fork().and_then(|fork| fork.next()) {
                self.strands.next.insert(child_path(&path, next));
            }
        }
        self.strands.strands.insert(path, strand);
    }

    /// Goes on with what comes next; false where all that is left waits for tools.
    pub(super) fn resume(&mut self) -> bool {
        if let Some(path) = self.strands.ready.pop_first() {
            if let Some(strand) = self.strands.strands.remove(&path) {
                self.now = strand;
                self.ctx.prints = std::mem::take(&mut self.now.prints);
            }
            self.path = path;
            return true;
        }
        let Some((path, function, args, depth)) = self.strands.begin() else {
            return false;
        };
        // Its stacks are new, or those of the branch that ended last, which are empty.
        self.now.state = StrandState::Begin(function, args);
        self.now.depth = depth;
        self.path = path;
        true
    }

    /// Ends the running strand. Returns the result of the program if that ends it.
    pub(super) fn ended(&mut self, ended: Result<Value, Halt>) -> Option<Result<Value, Halt>> {
        let path = std::mem::take(&mut self.path);
        let lines = match path.is_empty() {
            true => return Some(ended),
            false => std::mem::take(&mut self.ctx.prints),
        };
        let beside = &mut self.strands;
        let (fork, around, index) = beside.fork(&path)?;
        fork.add_prints(index, lines);
        match ended {
            Ok(value) => {
                let room = fork.room(&self.ctx);
                fork.set_result(index, value);
                if let Err(halt) = room {
                    return Some(Err(self.over(&path, halt)));
                }
            }
            Err(halt) if ends_all(&halt) => return Some(Err(self.over(&path, halt))),
            Err(halt) => {
                let (left, unmade) = beside.drop_from(around, index + 1);
                self.ctx.tool_calls -= unmade;
                if let Some((fork, ..)) = beside.fork(&path) {
                    fork.failed(index, halt, left);
                }
            }
        }
        beside.leaves -= 1;
        let strand = beside.strands.get_mut(around)?;
        if strand.fork().is_some_and(|fork| fork.is_over()) {
            strand.state = StrandState::Joined;
            beside.ready.insert(around.to_vec());
            beside.leaves += 1;
        }
        None
    }

    /// Ends the program with a fault, wherever it waits.
    pub(crate) fn break_off(&mut self, fault: Fault) -> Halt {
        let halt = self.now.unwind(fault.into());
        let path = std::mem::take(&mut self.path);
        self.over(&path, halt)
    }

    /// Drops all that waits; the halt leaves through what is around a branch.
    fn over(&mut self, at: &[usize], mut halt: Halt) -> Halt {
        let beside = &mut self.strands;
        beside.ready.clear();
        beside.next.clear();
        // From the inside out.
        while let Some((path, mut strand)) = beside.strands.pop_last() {
            let lines = strand.printed();
            if at.starts_with(&path) {
                halt = strand.unwind(halt);
            }
            match beside.fork(&path) {
                Some((fork, _, index)) => fork.add_prints(index, lines),
                None => self.ctx.prints = lines,
            }
        }
        halt
    }
}

/// The path of a branch of a form in the branch of another.
fn child_path(around: &[usize], index: usize) -> Path {
    let mut path = around.to_vec();
    path.push(index);
    path
}

/// Returns true if a halt ends all strands.
fn ends_all(halt: &Halt) -> bool {
    match halt {
        Halt::Fault(fault) => {
            matches!(fault.class, FaultClass::Fuel | FaultClass::Memory | FaultClass::Stopped)
        }
        Halt::Return(_) | Halt::Fail(_) => false,
    }
}
