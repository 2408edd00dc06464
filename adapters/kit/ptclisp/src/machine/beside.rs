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
use crate::fault::{Class, Fault, Halt};
use crate::limits::SIDE_BY_SIDE;
use crate::machine::Machine;
use crate::machine::asks::Asked;
use crate::machine::fork::Fork;
use crate::machine::strand::{State, Strand};
use crate::program::Answer;
use crate::value::Value;

/// Largest depth of parallel forms in branches of each other. Deeper ones make their calls one after the other.
pub(super) const FORKS_DEEP: usize = 8;
/// Bytes charged for a branch besides its stacks.
const BRANCH_BYTES: usize = 512;

/// Position of a branch in the program: its index within its form, preceded by the position of the branch that
/// holds the form. Paths are ordered as the branches would run one after the other.
pub(super) type Path = Vec<usize>;

/// Strands that wait.
pub(super) struct Beside {
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

impl Default for Beside {
    fn default() -> Beside {
        Beside {
            strands: BTreeMap::new(),
            ready: BTreeSet::new(),
            next: BTreeSet::new(),
            // The program itself.
            leaves: 1,
            most: 0,
        }
    }
}

impl Beside {
    /// The fork of which a path names a branch, and which one.
    fn fork<'a>(&mut self, path: &'a [usize]) -> Option<(&mut Fork, &'a [usize], usize)> {
        let (index, around) = path.split_last()?;
        let fork = self.strands.get_mut(around)?.fork()?;
        Some((fork, around, *index))
    }

    /// Counts one more branch, where there were never so many.
    pub(super) fn counted(&mut self, ctx: &mut Context) -> Result<(), Halt> {
        ctx.take(1)?;
        if self.strands.len() > self.most {
            ctx.reserve(BRANCH_BYTES)?;
            self.most = self.strands.len();
        }
        Ok(())
    }

    /// Takes the calls that are to go out, in order.
    pub(super) fn asked(&mut self) -> Vec<Asked> {
        let mut all = Vec::new();
        for strand in self.strands.values_mut() {
            match std::mem::take(&mut strand.state) {
                State::Asks(asked) => {
                    strand.state = State::Waits(asked.name.clone());
                    all.push(asked);
                }
                other => strand.state = other,
            }
        }
        all
    }

    /// Gives answers to those that wait for one, in order.
    pub(super) fn answer(&mut self, answers: Vec<Answer>) {
        let mut answers = answers.into_iter();
        for (path, strand) in &mut self.strands {
            match std::mem::take(&mut strand.state) {
                State::Waits(name) => match answers.next() {
                    Some(answer) => {
                        strand.state = State::Answered(name, answer);
                        self.ready.insert(path.clone());
                    }
                    None => strand.state = State::Waits(name),
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
            self.next.insert(beneath(around, next));
        }
        self.leaves += 1;
        Some((path, function, args, depth))
    }

    /// Drops the branches of a form from one on, with all within them; answers how many there were of
    /// the form, and how many calls had not gone out.
    fn drop_from(&mut self, around: &[usize], index: usize) -> (usize, u32) {
        let from = beneath(around, index);
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
            unmade += u32::from(matches!(strand.state, State::Asks(_)));
            let lines = strand.printed();
            if let Some((fork, _, index)) = self.fork(path) {
                fork.tell(index, lines);
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
            self.beside.leaves -= 1;
            if let Some(next) = strand.fork().and_then(|fork| fork.next()) {
                self.beside.next.insert(beneath(&path, next));
            }
        }
        self.beside.strands.insert(path, strand);
    }

    /// Goes on with what comes next; false where all that is left waits for tools.
    pub(super) fn resume(&mut self) -> bool {
        if let Some(path) = self.beside.ready.pop_first() {
            if let Some(strand) = self.beside.strands.remove(&path) {
                self.now = strand;
                self.ctx.prints = std::mem::take(&mut self.now.prints);
            }
            self.path = path;
            return true;
        }
        let Some((path, function, args, depth)) = self.beside.begin() else {
            return false;
        };
        // Its stacks are new, or those of the branch that ended last, which are empty.
        self.now.state = State::Begin(function, args);
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
        let beside = &mut self.beside;
        let (fork, around, index) = beside.fork(&path)?;
        fork.tell(index, lines);
        match ended {
            Ok(value) => {
                let room = fork.room(&self.ctx);
                fork.gave(index, value);
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
            strand.state = State::Joined;
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
        let beside = &mut self.beside;
        beside.ready.clear();
        beside.next.clear();
        // From the inside out.
        while let Some((path, mut strand)) = beside.strands.pop_last() {
            let lines = strand.printed();
            if at.starts_with(&path) {
                halt = strand.unwind(halt);
            }
            match beside.fork(&path) {
                Some((fork, _, index)) => fork.tell(index, lines),
                None => self.ctx.prints = lines,
            }
        }
        halt
    }
}

/// The path of a branch of a form in the branch of another.
fn beneath(around: &[usize], index: usize) -> Path {
    let mut path = around.to_vec();
    path.push(index);
    path
}

/// Returns true if a halt ends all strands.
fn ends_all(halt: &Halt) -> bool {
    match halt {
        Halt::Fault(fault) => matches!(fault.class, Class::Fuel | Class::Memory | Class::Stopped),
        Halt::Return(_) | Halt::Fail(_) => false,
    }
}
