//! Expressions: literals, names and calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::analyze::names::{self, NameMeaning};
use crate::analyze::near::nearest_of;
use crate::analyze::{AnalyzeResult, Analyzer, NameStorage, invalid, shape};
use crate::code::Op;
use crate::fault::{Fault, FaultClass};
use crate::form::{Form, FormKind};
use crate::pattern::Pattern;
use crate::value::{Items, Value, ValueSize};

/// The function that ends a `reduce`.
pub(super) const REDUCED: &str = "reduced";

impl Analyzer<'_> {
    /// Compiles a form; its value is left on the stack. `tail`: nothing follows in its function or loop.
    pub(super) fn expr(&mut self, form: &Form, tail: bool) -> AnalyzeResult {
        let at = form.at;
        match &form.kind {
            FormKind::Sym(name) => self.symbol(name, at),
            FormKind::List(forms) => self.list(at, forms, tail),
            FormKind::Vec(forms) => {
                self.all(forms)?;
                self.emit(Op::Vec(forms.len() as u32), at);
                Ok(())
            }
            FormKind::Map(forms) => {
                let keys: Vec<&Form> = forms.iter().step_by(2).collect();
                no_twins(&keys, "key", "map")?;
                self.all(forms)?;
                self.emit(Op::Map(forms.len() as u32 / 2), at);
                Ok(())
            }
            FormKind::Set(forms) => {
                let members: Vec<&Form> = forms.iter().collect();
                no_twins(&members, "element", "set")?;
                self.all(forms)?;
                self.emit(Op::Set(forms.len() as u32), at);
                Ok(())
            }
            FormKind::Short(forms) => self.short_function(at, forms),
            FormKind::Quote(quoted) => {
                let value = datum(quoted)?;
                self.emit_const(value, at);
                Ok(())
            }
            FormKind::Var(name) => self.var(at, name),
            FormKind::Nil
            | FormKind::Bool(_)
            | FormKind::Int(_)
            | FormKind::Float(_)
            | FormKind::Str(_)
            | FormKind::Kw(_)
            | FormKind::Regex(_) => {
                let value = datum(form)?;
                self.emit_const(value, at);
                Ok(())
            }
        }
    }

    pub(super) fn all(&mut self, forms: &[Form]) -> AnalyzeResult {
        forms.iter().try_for_each(|form| self.expr(form, false))
    }

    fn list(&mut self, at: u32, forms: &[Form], tail: bool) -> AnalyzeResult {
        let Some((head, rest)) = forms.split_first() else {
            return invalid(at, "() calls nothing; [] is the empty vector");
        };
        if let Some(name) = head.as_sym()
            && !self.is_local(name)
            && let Some(done) = self.special(name, at, rest, tail)
        {
            return done;
        }
        match head.as_sym() {
            Some(name) if self.ends_nothing(name) => self.unbound.push((name.into(), head.at)),
            _ => self.expr(head, false)?,
        }
        self.all(rest)?;
        self.emit(Op::Call(rest.len() as u32), at);
        Ok(())
    }

    /// Returns true for the call of `reduced` outside functions: it ends what calls the function that it is in,
    /// and nothing calls the program.
    fn ends_nothing(&mut self, name: &str) -> bool {
        let is_own =
            self.is_local(name) || self.defined.contains(name) || (self.scope.defined)(name);
        name == REDUCED && !is_own && self.fns.len() == 1
    }

    /// Compiles the form of this name, if the language has a form of this name.
    fn special(&mut self, name: &str, at: u32, rest: &[Form], tail: bool) -> Option<AnalyzeResult> {
        let name = name
            .strip_prefix("clojure.core/")
            .or_else(|| name.strip_prefix("core/"))
            .unwrap_or(name);
        Some(match name {
            "do" => self.body(at, rest, tail),
            "let" => self.let_form(at, rest, tail),
            "if" => self.if_form(at, rest, tail, false),
            "if-not" => self.if_form(at, rest, tail, true),
            "when" => self.when_form(at, rest, tail, false),
            "when-not" => self.when_form(at, rest, tail, true),
            "fn" => self.fn_form(at, rest),
            "def" | "defonce" => self.def_form(name, at, rest),
            "defn" | "defn-" => self.defn_form(at, rest),
            "loop" => self.loop_form(at, rest),
            "recur" => self.recur_form(at, rest, tail),
            "and" => self.and_form(at, rest, tail),
            "or" => self.or_form(at, rest, tail),
            "cond" => self.cond_form(at, rest, tail),
            "condp" => self.condp_form(at, rest, tail),
            "case" => self.case_form(at, rest, tail),
            "if-let" | "if-some" | "when-let" | "when-some" | "when-first" => {
                self.bound_choice(name, at, rest, tail)
            }
            "try" => self.try_form(at, rest),
            "catch" | "finally" => invalid(at, format!("{name} stands at the end of a try only")),
            "for" => self.for_form(at, rest),
            "doseq" => self.doseq_form(at, rest),
            "dotimes" => self.dotimes_form(at, rest),
            "letfn" => self.letfn_form(at, rest, tail),
            "->" | "->>" | "some->" | "some->>" => self.thread_form(name, at, rest),
            "cond->" | "cond->>" => self.cond_thread_form(name, at, rest),
            "as->" => self.as_thread_form(at, rest),
            "comment" => {
                self.emit_nil(at);
                Ok(())
            }
            "quote" => match rest {
                [form] => datum(form).map(|value| self.emit_const(value, at)),
                _ => shape(at, "(quote form)"),
            },
            "var" => match rest {
                [form] => self.var(at, form),
                _ => shape(at, "(var name)"),
            },
            "return" | "fail" if rest.len() != 1 => shape(at, &format!("({name} value)")),
            "apply" if rest.len() < 2 => shape(at, "(apply f ... coll)"),
            "." => invalid(at, "there are no methods: (. object member) is not available"),
            "juxt" if rest.is_empty() => shape(at, "(juxt f ...) with at least one function"),
            "pmap" if rest.len() < 2 => shape(at, "(pmap f coll) or (pmap f c1 c2 ...)"),
            "doc" | "dir" | "source" | "export-meta" => {
                return self.about(name, at, rest);
            }
            _ => return None,
        })
    }

    /// `(doc name)` and its like take a name unquoted.
    fn about(&mut self, name: &str, at: u32, rest: &[Form]) -> Option<AnalyzeResult> {
        let [form] = rest else { return None };
        let subject = form.as_sym()?;
        if self.is_local(subject) {
            return None;
        }
        let native = names::native(name)?;
        self.emit_const(Value::Native(native), at);
        self.emit_const(Value::text(subject), form.at);
        self.emit(Op::Call(1), at);
        Some(Ok(()))
    }

    fn symbol(&mut self, name: &str, at: u32) -> AnalyzeResult {
        if let Some(place) = self.local(name) {
            self.load(place, at);
            return Ok(());
        }
        match self.resolve(name, at)? {
            Some(op) => {
                self.emit(op, at);
            }
            None if is_placeholder(name) => {
                let message = format!("{name} stands for an argument within #() only");
                return Err(Fault::new(FaultClass::InvalidPlaceholder, message).at(at));
            }
            None => self.unbound.push((name.into(), at)),
        }
        Ok(())
    }

    /// The operation that gives what a name that is not local stands for.
    pub(super) fn resolve(&mut self, name: &str, at: u32) -> Result<Option<Op>, Fault> {
        if self.defined.contains(name) || (self.scope.defined)(name) {
            let index = self.constant(Value::text(name));
            return Ok(Some(Op::Global(index)));
        }
        match names::resolve(name) {
            NameMeaning::Native(native) => {
                Ok(Some(Op::Const(self.constant(Value::Native(native)))))
            }
            NameMeaning::Data(key) => Ok(Some(Op::Data(self.constant(Value::text(key))))),
            NameMeaning::Tool(tool) => {
                if self.scope.any_tool || self.scope.tools.contains(tool) {
                    let value = Value::Tool(Arc::from(tool));
                    return Ok(Some(Op::Const(self.constant(value))));
                }
                Err(unknown_tool(tool, self.scope.tools).at(at))
            }
            NameMeaning::History(back) => Ok(Some(Op::History(back))),
            NameMeaning::Unknown => Ok(None),
            NameMeaning::Refused(fault) => Err(fault.at(at)),
        }
    }

    /// `#'name`: what the name stands for.
    fn var(&mut self, at: u32, name: &Form) -> AnalyzeResult {
        match name.as_sym() {
            Some(name) => self.symbol(name, at),
            None => invalid(at, "#' needs a name"),
        }
    }

    /// Compiles a form where an undefined name stands for nil.
    pub(super) fn lenient(&mut self, form: &Form, tail: bool) -> AnalyzeResult {
        if let Some(name) = form.as_sym()
            && !self.is_local(name)
            && self.resolve(name, form.at)?.is_none()
        {
            let index = self.constant(Value::text(name));
            self.emit(Op::GlobalOrNil(index), form.at);
            return Ok(());
        }
        self.expr(form, tail)
    }

    /// Loads a hidden local.
    pub(super) fn load_slot(&mut self, slot: u32, at: u32) {
        self.load(NameStorage::Slot(slot), at);
    }
}

/// Returns true for `%`, `%&`, `%1` and the like.
fn is_placeholder(name: &str) -> bool {
    name.strip_prefix('%')
        .is_some_and(|rest| rest == "&" || rest.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The fault of a tool that is not there.
pub(crate) fn unknown_tool(tool: &str, known: &BTreeSet<Arc<str>>) -> Fault {
    if known.is_empty() {
        let message = format!("Unknown tool: {tool}. Tools cannot be called now");
        let hint = "Write it without tools: use what is known, and end with (return value).";
        return Fault::new(FaultClass::UnknownTool, message).hint(hint);
    }
    let names: Vec<&str> = known.iter().map(|tool| &**tool).collect();
    let names = names.join(", ");
    let message = format!("Unknown tool: {tool}. Available tools: {names}");
    let near = nearest_of(tool, known.iter().map(|tool| &**tool));
    Fault::new(FaultClass::UnknownTool, message).hint(match near {
        Some(near) => format!("Did you mean tool/{near}?"),
        None => "Call one of the available tools.".to_owned(),
    })
}

/// Refuses a literal in which two keys are written alike.
fn no_twins(forms: &[&Form], what: &str, of: &str) -> AnalyzeResult {
    // Literals of thousands of keys are data that no model writes by hand; equal keys of theirs are
    // found when the value is made.
    if forms.len() > 500 {
        return Ok(());
    }
    for (index, form) in forms.iter().enumerate() {
        if forms[..index].iter().any(|before| before.alike(form)) {
            let message = format!("duplicate {what} {} in {of} literal", form.described());
            return Err(Fault::new(FaultClass::DuplicateKey, message)
                .hint("Remove one of them.")
                .at(form.at));
        }
    }
    Ok(())
}

/// A form as a value.
pub(super) fn datum(form: &Form) -> Result<Value, Fault> {
    Ok(match &form.kind {
        FormKind::Nil => Value::Nil,
        FormKind::Bool(value) => Value::Bool(*value),
        FormKind::Int(n) => Value::integer(n.clone()),
        FormKind::Float(n) => Value::Float(*n),
        FormKind::Str(text) => Value::text(text),
        FormKind::Kw(name) => Value::keyword(name),
        FormKind::Sym(name) => Value::Sym(Arc::from(&**name)),
        FormKind::Regex(source) => match Pattern::new(source) {
            Ok(pattern) => Value::Regex(Arc::new(pattern)),
            Err(why) => {
                let message = format!("invalid regular expression #{source:?}: {why}");
                return Err(Fault::new(FaultClass::InvalidForm, message)
                    .hint("Backreferences and look-around are not available; the rest is.")
                    .at(form.at));
            }
        },
        FormKind::List(forms) | FormKind::Vec(forms) => vector(data(forms)?),
        FormKind::Map(forms) => {
            let values = data(forms)?;
            let pairs = values.chunks(2).filter_map(|pair| match pair {
                [key, value] => Some((key.clone(), value.clone())),
                _ => None,
            });
            let entries: std::collections::BTreeMap<Value, Value> = pairs.collect();
            let shape = ValueSize::of(entries.iter().flat_map(|(key, value)| [key, value]));
            Value::Map(Arc::new(crate::value::Entries { entries: entries.into(), shape }))
        }
        FormKind::Set(forms) => {
            let members: BTreeSet<Value> = data(forms)?.into_iter().collect();
            let shape = ValueSize::of(&members);
            Value::Set(Arc::new(crate::value::Members { members: members.into(), shape }))
        }
        FormKind::Quote(form) => datum(form)?,
        FormKind::Short(_) | FormKind::Var(_) => {
            return invalid(form.at, "a function cannot be quoted");
        }
    })
}

fn data(forms: &[Form]) -> Result<Vec<Value>, Fault> {
    forms.iter().map(datum).collect()
}

fn vector(items: Vec<Value>) -> Value {
    let shape = ValueSize::of(&items);
    Value::Vec(Arc::new(Items { items, shape }))
}
