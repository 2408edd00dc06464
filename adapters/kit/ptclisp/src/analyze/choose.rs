//! Choices: `cond`, `condp`, `case`, `if-let` and their like.

use crate::analyze::expr::datum;
use crate::analyze::{AnalyzeResult, Analyzer, invalid, shape};
use crate::code::Op;
use crate::fault::{Fault, FaultClass};
use crate::form::{Form, FormKind};
use crate::value::Value;

impl Analyzer<'_> {
    pub(super) fn cond_form(&mut self, at: u32, rest: &[Form], tail: bool) -> AnalyzeResult {
        if rest.len() % 2 == 1 {
            let message = "cond needs a value for each test";
            return Err(Fault::new(FaultClass::InvalidCond, message).at(at));
        }
        let mut ends = Vec::new();
        let mut always = false;
        for pair in rest.chunks(2) {
            let [test, value] = pair else { continue };
            if matches!(test.as_kw(), Some("else")) {
                self.expr(value, tail)?;
                always = true;
                break;
            }
            self.expr(test, false)?;
            let next = self.emit(Op::IfFalse(0), test.at);
            self.expr(value, tail)?;
            ends.push(self.emit(Op::Jump(0), value.at));
            self.land(next);
        }
        if !always {
            self.emit_nil(at);
        }
        ends.into_iter().for_each(|end| self.land(end));
        Ok(())
    }

    pub(super) fn condp_form(&mut self, at: u32, rest: &[Form], tail: bool) -> AnalyzeResult {
        let [test, subject, clauses @ ..] = rest else {
            return invalid(at, "expected (condp pred expr test value ... default?)");
        };
        if clauses.len() < 2 {
            return invalid(at, "condp needs at least one test with its value");
        }
        if clauses.iter().any(|form| form.as_kw() == Some(">>")) {
            return invalid(at, "condp :>> result-fn form is not supported in PTC-Lisp");
        }
        self.scoped(|this| {
            this.expr(test, false)?;
            let holds = this.slot();
            this.emit(Op::Store(holds), test.at);
            this.expr(subject, false)?;
            let value = this.slot();
            this.emit(Op::Store(value), subject.at);
            let mut ends = Vec::new();
            let mut default = None;
            for clause in clauses.chunks(2) {
                let [expected, result] = clause else {
                    default = clause.first();
                    break;
                };
                this.load_slot(holds, expected.at);
                this.expr(expected, false)?;
                this.load_slot(value, expected.at);
                this.emit(Op::Call(2), expected.at);
                let next = this.emit(Op::IfFalse(0), expected.at);
                this.expr(result, tail)?;
                ends.push(this.emit(Op::Jump(0), result.at));
                this.land(next);
            }
            match default {
                Some(form) => this.expr(form, tail)?,
                None => this.emit_nil(at),
            }
            ends.into_iter().for_each(|end| this.land(end));
            Ok(())
        })
    }

    pub(super) fn case_form(&mut self, at: u32, rest: &[Form], tail: bool) -> AnalyzeResult {
        let Some((subject, clauses)) = rest.split_first() else {
            return invalid(at, "expected (case expr test value ... default?)");
        };
        self.scoped(|this| {
            this.expr(subject, false)?;
            let slot = this.slot();
            this.emit(Op::Store(slot), subject.at);
            let mut ends = Vec::new();
            let mut default = None;
            for clause in clauses.chunks(2) {
                let [test, result] = clause else {
                    default = clause.first();
                    break;
                };
                let tests: &[Form] = match &test.kind {
                    FormKind::List(tests) if tests.is_empty() => {
                        return invalid(test.at, "a group of tests in case is empty");
                    }
                    FormKind::List(tests) => tests,
                    _ => std::slice::from_ref(test),
                };
                let mut hits = Vec::new();
                let mut miss = None;
                for (index, test) in tests.iter().enumerate() {
                    let constant = constant(test)?;
                    let constant = this.constant(constant);
                    let other = this.emit(Op::IfNot(slot, constant, 0), test.at);
                    if index + 1 == tests.len() {
                        miss = Some(other);
                    } else {
                        hits.push(this.emit(Op::Jump(0), test.at));
                        this.land(other);
                    }
                }
                hits.into_iter().for_each(|hit| this.land(hit));
                this.expr(result, tail)?;
                ends.push(this.emit(Op::Jump(0), result.at));
                if let Some(miss) = miss {
                    this.land(miss);
                }
            }
            match default {
                Some(form) => this.expr(form, tail)?,
                None => this.emit_nil(at),
            }
            ends.into_iter().for_each(|end| this.land(end));
            Ok(())
        })
    }

    /// `if-let`, `if-some`, `when-let`, `when-some`, `when-first`.
    pub(super) fn bound_choice(
        &mut self,
        name: &str,
        at: u32,
        rest: &[Form],
        tail: bool,
    ) -> AnalyzeResult {
        let two = name.starts_with("if-");
        let expected = if two {
            format!("({name} [name expr] then else)")
        } else {
            format!("({name} [name expr] body ...)")
        };
        let Some((bindings, after)) = rest.split_first() else {
            return shape(at, &expected);
        };
        let Some(pair) = bindings.as_vec() else {
            return shape(at, &expected);
        };
        if two && after.len() != 2 {
            return shape(at, &expected);
        }
        let [pattern, subject] = pair else {
            let message = format!("{name} requires exactly one binding pair [name expr]");
            return invalid(bindings.at, message);
        };
        if pattern.as_sym().is_none() {
            let message = "binding must be a simple symbol, not a destructuring pattern";
            return invalid(pattern.at, message);
        }
        self.scoped(|this| this.choose(name, at, (pattern, subject), after, tail))
    }

    fn choose(
        &mut self,
        name: &str,
        at: u32,
        (pattern, subject): (&Form, &Form),
        after: &[Form],
        tail: bool,
    ) -> AnalyzeResult {
        if name == "when-first" {
            // The items of what is given; its first item is the value, and no item is no value.
            self.call_native("seq", subject)?;
        } else {
            self.expr(subject, false)?;
        }
        let slot = self.slot();
        self.emit(Op::Store(slot), subject.at);
        let otherwise = if name.ends_with("-let") {
            self.load_slot(slot, at);
            self.emit(Op::IfFalse(0), at)
        } else {
            self.emit(Op::IfNil(slot, 0), at)
        };
        let names = self.top().locals.len();
        if name == "when-first" {
            self.emit(Op::Nth(slot, 0), at);
            self.bind_top(pattern)?;
        } else {
            self.bind(pattern, slot)?;
        }
        let (then, other) = match (name.starts_with("if-"), after) {
            (true, [then, other]) => (std::slice::from_ref(then), std::slice::from_ref(other)),
            _ => (after, &[] as &[Form]),
        };
        self.body(at, then, tail)?;
        let done = self.emit(Op::Jump(0), at);
        self.land(otherwise);
        self.top().locals.truncate(names);
        self.body(at, other, tail)?;
        self.land(done);
        Ok(())
    }

    /// Calls a function of the language with one form's value.
    pub(super) fn call_native(&mut self, name: &str, argument: &Form) -> AnalyzeResult {
        match super::names::native(name) {
            Some(native) => self.emit_const(Value::Native(native), argument.at),
            None => return invalid(argument.at, format!("{name} is not there")),
        }
        self.expr(argument, false)?;
        self.emit(Op::Call(1), argument.at);
        Ok(())
    }
}

/// A constant of a `case`.
fn constant(test: &Form) -> Result<Value, Fault> {
    match &test.kind {
        FormKind::Nil
        | FormKind::Bool(_)
        | FormKind::Int(_)
        | FormKind::Float(_)
        | FormKind::Str(_)
        | FormKind::Kw(_) => datum(test),
        _ => invalid(
            test.at,
            "case test values must be compile-time constants (keywords, strings, numbers, booleans, nil)",
        ),
    }
}
