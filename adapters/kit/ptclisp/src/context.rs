//! State of a running program besides its stack: its meters, its definitions, its prints.

use std::collections::BTreeMap;
use std::mem::size_of;
use std::sync::Arc;

use crate::callable::{ComposedFunction, ComposedKind};
use crate::fault::{Fault, FaultClass, Halt};
use crate::limits::Limits;
use crate::matcher::Matcher;
use crate::pattern::Pattern;
use crate::value::{Entries, Items, Members, Value, ValueSize};

/// The bytes that a collection or a text costs beside its parts.
const HEAD_BYTES: usize = 48;
/// The bytes of an entry or a member.
const ENTRY_BYTES: usize = 2 * size_of::<Value>() + 16;
/// The deepest values, whatever the limit says: comparing and freeing them recurs that deep.
pub(crate) const DEEPEST_VALUE: u32 = 1000;
/// Parts of a value that are visited for the price of one step.
const PARTS_A_STEP: u64 = 4;

/// The most regular expressions that are held ready.
const PATTERNS: usize = 64;
/// The steps for compiling a state of a regular expression.
const STEPS_A_STATE: u64 = 8;
/// Answers whether a run must end now. A run calls it every few thousand steps.
pub(crate) type StopCheck = Arc<dyn Fn() -> bool + Send + Sync>;

/// The steps between two looks at the signal that stops a program.
const SLICE: u64 = 10_000;

/// The fault of a program that was told to stop.
pub(crate) fn stopped() -> Fault {
    let message = "the program was told to stop before it had ended";
    Fault::new(FaultClass::Stopped, message)
}

/// The steps for writing out the large numbers within a value, which has been paid for as a whole.
fn digits(value: &Value) -> u64 {
    match value {
        Value::Big(n) => {
            let words = n.bits() / 64;
            words.saturating_mul(words) / 32
        }
        Value::Vec(items) => items.items.iter().map(digits).fold(0, u64::saturating_add),
        Value::Set(members) => members.members.iter().map(digits).fold(0, u64::saturating_add),
        Value::Map(entries) => entries
            .entries
            .iter()
            .flat_map(|(key, value)| [key, value])
            .map(digits)
            .fold(0, u64::saturating_add),
        _ => 0,
    }
}

/// The fault of a regular expression.
fn bad_pattern(source: &str, why: &str) -> Halt {
    let message = format!("invalid regular expression {source:?}: {why}");
    let hint = "Backreferences and look-around are not available; the rest is.";
    Fault::new(FaultClass::Runtime, message).hint(hint).into()
}

/// Everything of a run that is not its stack.
pub(crate) struct Context {
    pub(crate) limits: Limits,
    /// The steps to the next look at the signal, and those after it.
    slice: u64,
    steps_after: u64,
    pub(crate) stop: Option<StopCheck>,
    pub(crate) memory_left: u64,
    pub(crate) ids: u64,
    pub(crate) defs: BTreeMap<Arc<str>, Value>,
    /// The names that this run has defined.
    pub(crate) defined: std::collections::BTreeSet<Arc<str>>,
    pub(crate) tools: Arc<std::collections::BTreeSet<Arc<str>>>,
    pub(crate) data: Arc<BTreeMap<Arc<str>, Value>>,
    pub(crate) strict_data: bool,
    pub(crate) history: Arc<[Value]>,
    pub(crate) prints: Vec<String>,
    pub(crate) printed: usize,
    pub(crate) tool_calls: u32,
    /// Faults that pass through a `finally`.
    pub(crate) held: Vec<Fault>,
    patterns: BTreeMap<Arc<str>, Arc<Pattern>>,
    matchers: BTreeMap<Box<str>, Matcher>,
}

impl Context {
    pub(crate) fn new(mut limits: Limits) -> Context {
        limits.values_deep = limits.values_deep.min(DEEPEST_VALUE);
        Context {
            slice: 0,
            steps_after: limits.steps,
            stop: None,
            memory_left: limits.memory_bytes,
            limits,
            ids: 0,
            defs: BTreeMap::new(),
            defined: std::collections::BTreeSet::new(),
            tools: Arc::default(),
            data: Arc::default(),
            strict_data: false,
            history: Arc::from([]),
            prints: Vec::new(),
            printed: 0,
            tool_calls: 0,
            held: Vec::new(),
            patterns: BTreeMap::new(),
            matchers: BTreeMap::new(),
        }
    }

    /// Charges steps to the program.
    #[inline]
    pub(crate) fn spend_steps(&mut self, steps: u64) -> Result<(), Halt> {
        match self.slice.checked_sub(steps) {
            Some(left) => {
                self.slice = left;
                Ok(())
            }
            None => self.spend_beyond_slice(steps),
        }
    }

    /// The steps that are left.
    pub(crate) fn steps_left(&self) -> u64 {
        self.slice + self.steps_after
    }

    /// Takes steps where the slice has not enough, and looks at the signal.
    #[cold]
    fn spend_beyond_slice(&mut self, steps: u64) -> Result<(), Halt> {
        if self.stop.as_ref().is_some_and(|stopped| stopped()) {
            return Err(stopped().into());
        }
        let Some(left) = self.steps_left().checked_sub(steps) else {
            return Err(self.out_of_steps());
        };
        self.slice = left.min(SLICE);
        self.steps_after = left - self.slice;
        Ok(())
    }

    #[cold]
    fn out_of_steps(&mut self) -> Halt {
        (self.slice, self.steps_after) = (0, 0);
        let message = format!("the program used its {} steps", self.limits.steps);
        let hint = "Work on less data, or split the work over several programs.";
        Fault::new(FaultClass::Fuel, message).hint(hint).into()
    }

    /// Takes the steps for looking at this many parts.
    pub(crate) fn walk(&mut self, parts: u64) -> Result<(), Halt> {
        self.spend_steps(parts / PARTS_A_STEP)
    }

    /// Takes the steps for looking at a value down to its leaves.
    pub(crate) fn walk_deep(&mut self, value: &Value) -> Result<(), Halt> {
        self.walk(value.shape().weight)
    }

    /// Takes the steps for finding the place of a value among so many in order.
    pub(crate) fn seek(&mut self, value: &Value, among: usize) -> Result<(), Halt> {
        let compared = 1 + u64::from(among.checked_ilog2().unwrap_or(0));
        self.spend_steps(value.shape().weight.saturating_mul(compared) / 8)
    }

    /// Takes the steps for writing out numbers: the digits of a large one take more than its size.
    pub(crate) fn digits(&mut self, value: &Value) -> Result<(), Halt> {
        self.spend_steps(digits(value))
    }

    /// Takes bytes, before they are allocated.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), Halt> {
        match self.memory_left.checked_sub(bytes as u64) {
            Some(left) => {
                self.memory_left = left;
                Ok(())
            }
            None => Err(self.out_of_memory()),
        }
    }

    #[cold]
    fn out_of_memory(&mut self) -> Halt {
        self.memory_left = 0;
        let limit = self.limits.memory_bytes;
        let message = format!("the program used its {limit} bytes of memory");
        let hint =
            "Keep only what is needed: filter and take before mapping, and build smaller texts.";
        Fault::new(FaultClass::Memory, message).hint(hint).into()
    }

    /// Checks that there is memory for so many values, before a vector of them is made.
    pub(crate) fn room(&self, values: usize) -> Result<(), Halt> {
        let bytes = (values as u64).saturating_mul(size_of::<Value>() as u64);
        if bytes > self.memory_left {
            let message = format!("{values} values do not fit the memory that is left");
            let hint = "Ask for fewer.";
            return Err(Fault::new(FaultClass::Memory, message).hint(hint).into());
        }
        Ok(())
    }

    /// Takes the steps for writing a value out, and checks that there is memory for that.
    pub(crate) fn writes(&mut self, value: &Value) -> Result<(), Halt> {
        self.walk_deep(value)?;
        self.digits(value)?;
        self.room(usize::try_from(value.shape().weight).unwrap_or(usize::MAX))
    }

    /// Checks how deep a value is nested.
    pub(crate) fn fits(&self, shape: ValueSize) -> Result<(), Halt> {
        if shape.depth <= self.limits.values_deep {
            return Ok(());
        }
        let limit = self.limits.values_deep;
        let message = format!("a value is nested deeper than {limit}");
        let hint = "Keep data flat: put parts side by side in one collection.";
        Err(Fault::new(FaultClass::Depth, message).hint(hint).into())
    }

    /// Makes a text and charges its memory.
    pub(crate) fn text(&mut self, text: impl AsRef<str>) -> Result<Value, Halt> {
        let text = text.as_ref();
        self.reserve(HEAD_BYTES + text.len())?;
        self.walk(text.len() as u64 / 16)?;
        Ok(Value::text(text))
    }

    /// Makes a vector and charges its memory.
    pub(crate) fn vec(&mut self, items: Vec<Value>) -> Result<Value, Halt> {
        let shape = ValueSize::of(&items);
        self.fits(shape)?;
        self.walk(items.len() as u64)?;
        self.reserve(HEAD_BYTES + items.len() * size_of::<Value>())?;
        Ok(Value::Vec(Arc::new(Items { items, shape })))
    }

    /// Makes a map and charges its memory.
    pub(crate) fn map(&mut self, entries: BTreeMap<Value, Value>) -> Result<Value, Halt> {
        let shape = ValueSize::of(entries.iter().flat_map(|(key, value)| [key, value]));
        self.fits(shape)?;
        self.walk(4 * entries.len() as u64)?;
        self.reserve(HEAD_BYTES + entries.len() * ENTRY_BYTES)?;
        Ok(Value::Map(Arc::new(Entries { entries: entries.into(), shape })))
    }

    /// Makes a set and charges its memory.
    pub(crate) fn set(&mut self, members: ValueSet) -> Result<Value, Halt> {
        let shape = ValueSize::of(&members);
        self.fits(shape)?;
        self.walk(4 * members.len() as u64)?;
        self.reserve(HEAD_BYTES + members.len() * ENTRY_BYTES)?;
        Ok(Value::Set(Arc::new(Members { members: members.into(), shape })))
    }

    /// A set of values that may repeat; looking for each costs what it weighs.
    pub(crate) fn set_of(
        &mut self,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Value, Halt> {
        let mut members = ValueSet::new();
        for value in values {
            self.seek(&value, members.len())?;
            members.insert(value);
        }
        self.set(members)
    }

    /// Adds to the end of a vector, in place where nothing else holds it.
    pub(crate) fn push(&mut self, items: &mut Arc<Items>, value: Value) -> Result<(), Halt> {
        let mut shape = items.shape;
        shape.add(value.shape());
        self.fits(shape)?;
        self.own(items, |items| items.items.len(), size_of::<Value>())?;
        let items = Arc::make_mut(items);
        items.items.push(value);
        items.shape = shape;
        Ok(())
    }

    /// Puts an entry into a map under the key that this one addresses, in place where nothing else holds it.
    pub(crate) fn put(
        &mut self,
        entries: &mut Arc<Entries>,
        key: Value,
        value: Value,
    ) -> Result<(), Halt> {
        self.seek(&key, entries.entries.len())?;
        let key = entries.own_key(key);
        let mut shape = entries.shape;
        shape.add(key.shape());
        shape.add(value.shape());
        self.fits(shape)?;
        self.own(entries, |entries| entries.entries.len(), ENTRY_BYTES)?;
        let entries = Arc::make_mut(entries);
        let key_weight = key.shape().weight;
        if let Some(old) = entries.entries.insert(key, value) {
            let gone = key_weight.saturating_add(old.shape().weight);
            shape.weight = shape.weight.saturating_sub(gone);
        }
        entries.shape = shape;
        Ok(())
    }

    /// Adds a member to a set, in place where nothing else holds it.
    pub(crate) fn add(&mut self, members: &mut Arc<Members>, value: Value) -> Result<(), Halt> {
        self.seek(&value, members.members.len())?;
        if members.members.contains(&value) {
            return Ok(());
        }
        let mut shape = members.shape;
        shape.add(value.shape());
        self.fits(shape)?;
        self.own(members, |members| members.members.len(), ENTRY_BYTES)?;
        let members = Arc::make_mut(members);
        members.members.insert(value);
        members.shape = shape;
        Ok(())
    }

    /// Takes what a change costs: one part where it is done in place, a whole copy where it is not.
    fn own<T>(
        &mut self,
        shared: &mut Arc<T>,
        parts: impl Fn(&T) -> usize,
        part_bytes: usize,
    ) -> Result<(), Halt> {
        // What is reserved for a part counts twice: room to grow is part of it.
        self.reserve(2 * part_bytes)?;
        if Arc::get_mut(shared).is_none() {
            let parts = parts(shared);
            self.walk(parts as u64)?;
            self.reserve(HEAD_BYTES + parts * part_bytes)?;
        }
        Ok(())
    }

    /// A function made of functions.
    pub(crate) fn compose(&mut self, kind: ComposedKind, parts: Vec<Value>) -> Result<Value, Halt> {
        let shape = ValueSize::of(&parts);
        self.fits(shape)?;
        self.reserve(HEAD_BYTES + parts.len() * size_of::<Value>())?;
        let id = self.id();
        Ok(Value::Composed(Arc::new(ComposedFunction { id, shape, kind, parts })))
    }

    /// A number that no other function of this run has.
    pub(crate) fn id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// A regular expression that is well formed; each source is checked once a run.
    pub(crate) fn pattern(&mut self, source: &str) -> Result<Arc<Pattern>, Halt> {
        if let Some(known) = self.patterns.get(source) {
            return Ok(known.clone());
        }
        self.spend_steps(200 + source.len() as u64)?;
        self.reserve(HEAD_BYTES + source.len())?;
        match Pattern::new(source) {
            Ok(pattern) => {
                let pattern = Arc::new(pattern);
                if self.patterns.len() < PATTERNS {
                    self.patterns.insert(Arc::from(source), pattern.clone());
                }
                Ok(pattern)
            }
            Err(why) => Err(bad_pattern(source, &why)),
        }
    }

    /// Takes a matcher for a regular expression out of the cache. Return it after use, so that it is built once.
    pub(crate) fn matcher(&mut self, pattern: &Pattern) -> Result<Matcher, Halt> {
        self.spend_steps(4)?;
        if let Some(known) = self.matchers.remove(&*pattern.source) {
            return Ok(known);
        }
        self.spend_steps(200 + pattern.source.len() as u64)?;
        let compiled = pattern.compiled();
        let matcher = Matcher::new(compiled.map_err(|why| bad_pattern(&pattern.source, &why))?);
        self.spend_steps(STEPS_A_STATE * matcher.states() as u64)?;
        self.reserve(matcher.bytes())?;
        Ok(matcher)
    }

    /// Takes a matcher back.
    pub(crate) fn return_matcher(&mut self, pattern: &Pattern, matcher: Matcher) {
        if self.matchers.len() < PATTERNS {
            self.matchers.insert(pattern.source.clone(), matcher);
        }
    }

    /// Keeps a printed line, shortened to the limit.
    pub(crate) fn print(&mut self, line: String) -> Result<(), Halt> {
        let limit = self.limits.print_chars;
        let chars = line.chars().count();
        let line = if chars > limit {
            let kept: String = line.chars().take(limit).collect();
            format!("{kept}... ({limit}/{chars} chars)")
        } else {
            line
        };
        self.reserve(HEAD_BYTES + line.len())?;
        self.printed = self.printed.saturating_add(line.len() + 1);
        if self.printed > self.limits.prints_bytes {
            let message =
                format!("the program printed more than {} bytes", self.limits.prints_bytes);
            let hint = "Print a summary: count, first few, or the keys.";
            return Err(Fault::new(FaultClass::PrintLimit, message).hint(hint).into());
        }
        self.prints.push(line);
        Ok(())
    }
}

pub(crate) type ValueSet = std::collections::BTreeSet<Value>;
