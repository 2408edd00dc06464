//! The analyzer: forms to code. All that can be known before a program runs is found here, so that a
//! program that cannot work has no effect at all.

mod bind;
mod choose;
mod derived;
mod each;
mod expr;
mod forms;
mod live;
mod names;
mod near;
mod thread;
mod tries;

pub(crate) use expr::unknown_tool;
pub(crate) use names::function_name;
pub(crate) use near::nearest_of;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::code::{CaptureSource, ELSEWHERE, FunctionTemplate, Op, Proto};
use crate::fault::{Fault, FaultClass};
use crate::form::{Form, FormKind};
use crate::value::Value;

/// Names that a program may use besides those of the language.
pub(crate) struct NameScope<'a> {
    pub(crate) tools: &'a BTreeSet<Arc<str>>,
    pub(crate) defined: &'a dyn Fn(&str) -> bool,
    /// True if any tool may be named: it is looked up when it is called.
    pub(crate) any_tool: bool,
}

/// The most unknown names that a fault lists.
const NAMES_IN_MESSAGE: usize = 20;

/// Compiles a whole program.
pub(crate) fn analyze(forms: &[Form], scope: &NameScope<'_>) -> Result<Arc<Proto>, Fault> {
    let mut analyzer = Analyzer::new(scope);
    for form in forms {
        analyzer.find_definitions(form);
    }
    analyzer.body(0, forms, false)?;
    analyzer.emit(Op::Ret, forms.last().map_or(0, |last| last.at));
    if !analyzer.unbound.is_empty() {
        return Err(analyzer.unbound_fault());
    }
    let function = analyzer.fns.pop().unwrap_or_default();
    Ok(Arc::new(function.finish()))
}

/// Compiles a function that was kept, where these names have values of their own. The template's captures
/// are slots: the values in the order of their names.
pub(crate) fn analyze_stored(
    form: &Form,
    names: &[String],
    scope: &NameScope<'_>,
) -> Result<FunctionTemplate, Fault> {
    let mut analyzer = Analyzer::new(scope);
    analyzer.stored = true;
    for name in names {
        let slot = analyzer.slot();
        analyzer.name_slot(name, slot);
        // No name that is made up within may be one of these.
        let hidden = name.strip_prefix('\0').and_then(|n| n.parse().ok());
        analyzer.hidden = analyzer.hidden.max(hidden.unwrap_or(0));
    }
    let fault = || Fault::new(FaultClass::Parse, "it is not a single function");
    let FormKind::List(forms) = &form.kind else {
        return Err(fault());
    };
    match forms.split_first() {
        Some((head, rest)) if head.as_sym() == Some("fn") => analyzer.fn_form(0, rest)?,
        _ => return Err(fault()),
    }
    if !analyzer.unbound.is_empty() {
        return Err(analyzer.unbound_fault());
    }
    let mut function = analyzer.fns.pop().unwrap_or_default();
    function.proto.templates.pop().ok_or_else(fault)
}

type AnalyzeResult = Result<(), Fault>;

/// One function while it is compiled.
#[derive(Default)]
struct FunctionBuilder {
    proto: Proto,
    locals: Vec<(Box<str>, u32)>,
    next: u32,
    captures: Vec<Box<str>>,
    /// The name that it knows itself by.
    name: Option<Box<str>>,
    targets: Vec<RecurTarget>,
}

/// Target of a `recur`.
struct RecurTarget {
    start: u32,
    slots: Vec<u32>,
    counter: u32,
}

impl FunctionBuilder {
    fn finish(mut self) -> Proto {
        live::mark_moves(&mut self.proto);
        self.proto.names = self.captures;
        self.proto
    }
}

/// Storage that a name refers to.
enum NameStorage {
    Slot(u32),
    Capture(u32),
    Myself,
}

struct Analyzer<'a> {
    scope: &'a NameScope<'a>,
    fns: Vec<FunctionBuilder>,
    /// Names that this program defines anywhere.
    defined: BTreeSet<Box<str>>,
    unbound: Vec<(Box<str>, u32)>,
    hidden: u32,
    /// True if the code comes from an earlier program.
    stored: bool,
}

impl<'a> Analyzer<'a> {
    fn new(scope: &'a NameScope<'a>) -> Analyzer<'a> {
        Analyzer {
            scope,
            fns: vec![FunctionBuilder::default()],
            defined: BTreeSet::new(),
            unbound: Vec::new(),
            hidden: 0,
            stored: false,
        }
    }
}

impl Analyzer<'_> {
    fn top(&mut self) -> &mut FunctionBuilder {
        if self.fns.is_empty() {
            self.fns.push(FunctionBuilder::default());
        }
        let last = self.fns.len() - 1;
        &mut self.fns[last]
    }

    fn emit(&mut self, op: Op, at: u32) -> usize {
        let place = if self.stored { ELSEWHERE } else { at };
        let proto = &mut self.top().proto;
        proto.code.push(op);
        proto.places.push(place);
        proto.code.len() - 1
    }

    /// The next operation's number: a jump's goal.
    fn here(&mut self) -> u32 {
        self.top().proto.code.len() as u32
    }

    /// Lets a jump that was emitted without a goal go to here.
    fn land(&mut self, jump: usize) {
        let here = self.here();
        let op = &mut self.top().proto.code[jump];
        match op {
            Op::Jump(goal) | Op::IfFalse(goal) | Op::AndJump(goal) | Op::OrJump(goal) => {
                *goal = here;
            }
            Op::IfNil(_, goal) | Op::IfDefined(_, goal) | Op::Each(_, goal) => *goal = here,
            Op::Key(_, _, goal) | Op::IfNot(_, _, goal) => *goal = here,
            _ => {}
        }
    }

    fn constant(&mut self, value: Value) -> u32 {
        let consts = &mut self.top().proto.consts;
        if let Some(known) = consts.iter().position(|known| *known == value) {
            return known as u32;
        }
        consts.push(value);
        consts.len() as u32 - 1
    }

    fn emit_const(&mut self, value: Value, at: u32) {
        let index = self.constant(value);
        self.emit(Op::Const(index), at);
    }

    fn emit_nil(&mut self, at: u32) {
        self.emit_const(Value::Nil, at);
    }

    /// A slot of the running function that has no name.
    fn slot(&mut self) -> u32 {
        let function = self.top();
        let slot = function.next;
        function.next += 1;
        function.proto.slots = function.proto.slots.max(function.next as usize);
        slot
    }

    /// Names a slot from here to the end of the scope.
    fn name_slot(&mut self, name: &str, slot: u32) {
        self.top().locals.push((name.into(), slot));
    }

    /// A name that no program can write.
    fn hidden_name(&mut self) -> String {
        self.hidden += 1;
        format!("\u{0}{}", self.hidden)
    }

    /// Compiles within a scope of its own.
    fn scoped(&mut self, compile: impl FnOnce(&mut Self) -> AnalyzeResult) -> AnalyzeResult {
        let (locals, next) = (self.top().locals.len(), self.top().next);
        let done = compile(self);
        let function = self.top();
        function.locals.truncate(locals);
        function.next = next;
        done
    }

    /// Finds a local name, also of the functions around.
    fn local(&mut self, name: &str) -> Option<NameStorage> {
        let depth = self.fns.len();
        self.local_in(depth, name)
    }

    fn local_in(&mut self, depth: usize, name: &str) -> Option<NameStorage> {
        let index = depth.checked_sub(1)?;
        let function = &self.fns[index];
        let found = function.locals.iter().rev().find(|(known, _)| **known == *name);
        if let Some((_, slot)) = found {
            return Some(NameStorage::Slot(*slot));
        }
        if function.name.as_deref() == Some(name) {
            return Some(NameStorage::Myself);
        }
        if let Some(known) = function.captures.iter().position(|known| **known == *name) {
            return Some(NameStorage::Capture(known as u32));
        }
        let from = match self.local_in(index, name)? {
            NameStorage::Slot(slot) => CaptureSource::Slot(slot),
            NameStorage::Capture(capture) => CaptureSource::Capture(capture),
            NameStorage::Myself => CaptureSource::Myself,
        };
        let function = &mut self.fns[index];
        function.captures.push(name.into());
        function.proto.captures.push(from);
        Some(NameStorage::Capture(function.captures.len() as u32 - 1))
    }

    fn is_local(&mut self, name: &str) -> bool {
        self.fns.iter().any(|function| {
            function.name.as_deref() == Some(name)
                || function.locals.iter().any(|(known, _)| **known == *name)
        })
    }

    fn load(&mut self, place: NameStorage, at: u32) {
        let op = match place {
            NameStorage::Slot(slot) => Op::Local(slot),
            NameStorage::Capture(capture) => Op::Capture(capture),
            NameStorage::Myself => Op::Myself,
        };
        self.emit(op, at);
    }

    /// Compiles forms one after the other; the last one's value stays.
    fn body(&mut self, at: u32, forms: &[Form], tail: bool) -> AnalyzeResult {
        let Some((last, before)) = forms.split_last() else {
            self.emit_nil(at);
            return Ok(());
        };
        for form in before {
            self.expr(form, false)?;
            self.emit(Op::Pop, form.at);
        }
        self.expr(last, tail)
    }

    /// Notes the names that are defined anywhere in a form.
    fn find_definitions(&mut self, form: &Form) {
        match &form.kind {
            FormKind::List(forms) => {
                if let [head, name, ..] = forms.as_slice()
                    && matches!(head.as_sym(), Some("def" | "defn" | "defonce" | "defn-"))
                    && let Some(name) = name.as_sym()
                {
                    self.defined.insert(name.into());
                }
                forms.iter().for_each(|form| self.find_definitions(form));
            }
            FormKind::Vec(forms)
            | FormKind::Map(forms)
            | FormKind::Set(forms)
            | FormKind::Short(forms) => forms.iter().for_each(|form| self.find_definitions(form)),
            _ => {}
        }
    }

    fn add_template(&mut self, arities: Vec<Arc<Proto>>, text: String) -> u32 {
        let templates = &mut self.top().proto.templates;
        let text = text.into();
        templates.push(FunctionTemplate { arities, text });
        templates.len() as u32 - 1
    }

    fn unbound_fault(&self) -> Fault {
        let mut seen = BTreeSet::new();
        let names = self.unbound.iter().map(|(name, _)| &**name);
        let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
        let (first, more) = names.split_at(names.len().min(NAMES_IN_MESSAGE));
        let message = match (first, more.len()) {
            ([name], _) => format!("Undefined variable: {name}"),
            (names, 0) => format!("Undefined variables: {}", names.join(", ")),
            (names, more) => format!("Undefined variables: {}, and {more} more", names.join(", ")),
        };
        let mut fault = Fault::new(FaultClass::UnboundVar, message);
        if let Some((name, at)) = self.unbound.first() {
            fault = fault.at(*at);
            fault = fault.hint(match first {
                [_] => self.remedy(name, "Did you mean"),
                names => self.remedies(names),
            });
        }
        fault
    }

    /// Returns the hint for an unknown name.
    fn remedy(&self, name: &str, words: &str) -> String {
        let known = self.defined.iter().map(|name| &**name);
        if *name == *expr::REDUCED {
            "Call it within the function that reduce calls.".to_owned()
        } else if let Some(instead) = near::instead(name) {
            instead.to_owned()
        } else if let Some(near) = near::nearest(name, known) {
            format!("{words} {near}?")
        } else {
            "Define it with def or let, or use a function of the language.".to_owned()
        }
    }

    /// Returns the hints for the first unknown names that have a known replacement or a near name.
    fn remedies(&self, names: &[&str]) -> String {
        let known = |name: &&&str| {
            let defined = self.defined.iter().map(|name| &**name);
            near::instead(name).is_some() || near::nearest(name, defined).is_some()
        };
        let told: Vec<String> = names
            .iter()
            .filter(known)
            .take(4)
            .map(|name| format!("{name}: {}", self.remedy(name, "did you mean")))
            .collect();
        match told.is_empty() {
            true => self.remedy("", ""),
            false => told.join(" "),
        }
    }
}

/// The fault of a form with too few or too many parts.
fn shape<T>(at: u32, expected: &str) -> Result<T, Fault> {
    let message = format!("expected {expected}");
    Err(Fault::new(FaultClass::InvalidArity, message).hint(format!("Write {expected}.")).at(at))
}

/// The fault of a form that the language does not have.
fn invalid<T>(at: u32, message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::new(FaultClass::InvalidForm, message).at(at))
}
