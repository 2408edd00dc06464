//! The basic forms: `let`, `if`, `def`, `loop` and their like.

use std::sync::Arc;

use crate::analyze::{AnalyzeResult, Analyzer, RecurTarget, invalid, shape};
use crate::code::Op;
use crate::fault::{Fault, FaultClass};
use crate::form::{Form, FormKind};
use crate::value::Value;

/// The pairs of a binding vector.
pub(super) fn pairs<'a>(
    form: &'a str,
    at: u32,
    bindings: Option<&'a Form>,
) -> Result<&'a [Form], Fault> {
    let expected = format!("({form} [bindings] body ...)");
    let Some(bindings) = bindings else {
        return shape(at, &expected);
    };
    let Some(forms) = bindings.as_vec() else {
        return invalid(bindings.at, format!("expected {expected}"));
    };
    if forms.len() % 2 == 1 {
        let message = format!("{form} bindings require pairs, got a trailing element");
        return invalid(bindings.at, message);
    }
    Ok(forms)
}

impl Analyzer<'_> {
    pub(super) fn let_form(&mut self, at: u32, rest: &[Form], tail: bool) -> AnalyzeResult {
        let bindings = pairs("let", at, rest.first())?;
        self.scoped(|this| {
            for pair in bindings.chunks(2) {
                if let [pattern, form] = pair {
                    this.expr(form, false)?;
                    this.bind_top(pattern)?;
                }
            }
            this.body(at, &rest[1..], tail)
        })
    }

    pub(super) fn if_form(
        &mut self,
        at: u32,
        rest: &[Form],
        tail: bool,
        not: bool,
    ) -> AnalyzeResult {
        let (test, then, other) = match rest {
            [test, then] => (test, then, None),
            [test, then, other] => (test, then, Some(other)),
            _ if not => return shape(at, "(if-not cond then else?)"),
            _ => return shape(at, "(if cond then else?)"),
        };
        self.expr(test, false)?;
        let fails = self.emit(Op::IfFalse(0), at);
        let (holding, failing) = if not { (other, Some(then)) } else { (Some(then), other) };
        self.branch(at, holding, tail)?;
        let done = self.emit(Op::Jump(0), at);
        self.land(fails);
        self.branch(at, failing, tail)?;
        self.land(done);
        Ok(())
    }

    /// A branch; one that is not there gives nil.
    fn branch(&mut self, at: u32, form: Option<&Form>, tail: bool) -> AnalyzeResult {
        match form {
            Some(form) => self.expr(form, tail),
            None => {
                self.emit_nil(at);
                Ok(())
            }
        }
    }

    pub(super) fn when_form(
        &mut self,
        at: u32,
        rest: &[Form],
        tail: bool,
        not: bool,
    ) -> AnalyzeResult {
        let Some((test, body)) = rest.split_first() else {
            let name = if not { "when-not" } else { "when" };
            return shape(at, &format!("({name} cond body ...)"));
        };
        self.expr(test, false)?;
        let fails = self.emit(Op::IfFalse(0), at);
        // What is done where the test holds, and where it fails.
        let (holding, failing) = if not { (&[] as &[Form], body) } else { (body, &[] as &[Form]) };
        self.body(at, holding, tail)?;
        let done = self.emit(Op::Jump(0), at);
        self.land(fails);
        self.body(at, failing, tail)?;
        self.land(done);
        Ok(())
    }

    pub(super) fn and_form(&mut self, at: u32, rest: &[Form], tail: bool) -> AnalyzeResult {
        let Some((last, before)) = rest.split_last() else {
            self.emit_const(Value::Bool(true), at);
            return Ok(());
        };
        let mut jumps = Vec::new();
        for form in before {
            self.expr(form, false)?;
            jumps.push(self.emit(Op::AndJump(0), form.at));
        }
        self.expr(last, tail)?;
        jumps.into_iter().for_each(|jump| self.land(jump));
        Ok(())
    }

    /// `or`: an undefined name counts as nil here, so that a definition of an earlier turn may be asked
    /// for with a default.
    pub(super) fn or_form(&mut self, at: u32, rest: &[Form], tail: bool) -> AnalyzeResult {
        let Some((last, before)) = rest.split_last() else {
            self.emit_nil(at);
            return Ok(());
        };
        let mut jumps = Vec::new();
        for form in before {
            self.lenient(form, false)?;
            jumps.push(self.emit(Op::OrJump(0), form.at));
        }
        self.lenient(last, tail)?;
        jumps.into_iter().for_each(|jump| self.land(jump));
        Ok(())
    }

    pub(super) fn def_form(&mut self, form: &str, at: u32, rest: &[Form]) -> AnalyzeResult {
        let (name, value) = match rest {
            [name] => {
                let shown = name.as_sym().unwrap_or("name");
                let expected = format!("({form} name value), got ({form} {shown}) without value");
                return shape(at, &expected);
            }
            [name, value] => (name, value),
            [name, doc, value] if matches!(doc.kind, FormKind::Str(_)) => (name, value),
            _ => return shape(at, &format!("({form} name value)")),
        };
        let name = self.defined_name(name)?;
        let index = self.constant(Value::text(&name));
        if form == "defonce" {
            let known = self.emit(Op::IfDefined(index, 0), at);
            self.expr(value, false)?;
            self.emit(Op::Def(index), at);
            self.land(known);
            return Ok(());
        }
        self.expr(value, false)?;
        self.emit(Op::Def(index), at);
        Ok(())
    }

    pub(super) fn defn_form(&mut self, at: u32, rest: &[Form]) -> AnalyzeResult {
        let expected = "(defn name [params] body)";
        let Some((name, rest)) = rest.split_first() else {
            return shape(at, expected);
        };
        let name = self.defined_name(name)?;
        if rest.is_empty() {
            return shape(at, expected);
        }
        let rest = match rest.split_first() {
            Some((doc, after)) if matches!(doc.kind, FormKind::Str(_)) => after,
            _ => rest,
        };
        // It knows itself by its definition, which may be replaced; not by a name of its own.
        self.function(at, None, rest, expected)?;
        let index = self.constant(Value::text(&name));
        self.emit(Op::Def(index), at);
        Ok(())
    }

    fn defined_name(&mut self, name: &Form) -> Result<Arc<str>, Fault> {
        let Some(text) = name.as_sym() else {
            let message = format!("cannot define {}: a name is needed", name.described());
            return invalid(name.at, message);
        };
        if let Some((space, _)) = text.split_once('/')
            && text.len() > 1
        {
            let message = format!(
                "cannot define {text}: {space} is a protected namespace whose names cannot be \
                 redefined by user code"
            );
            return invalid(name.at, message);
        }
        Ok(Arc::from(text))
    }

    pub(super) fn loop_form(&mut self, at: u32, rest: &[Form]) -> AnalyzeResult {
        let bindings = pairs("loop", at, rest.first())?;
        self.scoped(|this| {
            let mut slots = Vec::new();
            let mut patterns = Vec::new();
            let names = this.top().locals.len();
            for pair in bindings.chunks(2) {
                if let [pattern, form] = pair {
                    this.expr(form, false)?;
                    let slot = this.slot();
                    this.emit(Op::Store(slot), pattern.at);
                    slots.push(slot);
                    patterns.push((pattern, slot));
                    // A later binding may use an earlier one.
                    this.bind(pattern, slot)?;
                }
            }
            this.top().locals.truncate(names);
            let counter = this.slot();
            this.emit_const(Value::Int(0), at);
            this.emit(Op::Store(counter), at);
            let start = this.here();
            for (pattern, slot) in patterns {
                this.bind(pattern, slot)?;
            }
            this.top().targets.push(RecurTarget { start, slots, counter });
            let body = this.body(at, &rest[1..], true);
            this.top().targets.pop();
            body
        })
    }

    pub(super) fn recur_form(&mut self, at: u32, rest: &[Form], tail: bool) -> AnalyzeResult {
        if !tail {
            let fault = Fault::new(
                FaultClass::InvalidForm,
                "recur must be the last thing its function or loop does",
            );
            return Err(fault.hint("Move it to the end of a branch, or use reduce.").at(at));
        }
        let Some(target) = self.top().targets.last() else {
            return invalid(at, "recur outside of a function or loop");
        };
        let (start, slots, counter) = (target.start, target.slots.clone(), target.counter);
        if slots.len() != rest.len() {
            let message = format!("recur expects {} argument(s), got {}", slots.len(), rest.len());
            return Err(Fault::new(FaultClass::Arity, message)
                .hint("Give one value for each binding.")
                .at(at));
        }
        self.all(rest)?;
        for slot in slots.iter().rev() {
            self.emit(Op::Store(*slot), at);
        }
        self.emit(Op::Loop(counter, start), at);
        Ok(())
    }
}
