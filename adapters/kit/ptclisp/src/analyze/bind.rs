//! Patterns and functions: how values get their names.

use std::sync::Arc;

use crate::analyze::{AnalyzeResult, Analyzer, FunctionBuilder, RecurTarget, invalid, shape};
use crate::code::{Op, Proto};
use crate::fault::{Fault, FaultClass};
use crate::form::{Form, FormKind};
use crate::print;
use crate::value::Value;

impl Analyzer<'_> {
    /// Names the parts of what is in a slot.
    pub(super) fn bind(&mut self, pattern: &Form, slot: u32) -> AnalyzeResult {
        match &pattern.kind {
            FormKind::Sym(name) => {
                if name.contains('/') && name.len() > 1 {
                    let message = format!("cannot bind {name}: a local name has no namespace");
                    return invalid(pattern.at, message);
                }
                self.name_slot(name, slot);
                Ok(())
            }
            FormKind::Vec(parts) => self.bind_items(pattern.at, parts, slot),
            FormKind::Map(parts) => {
                self.emit(Op::AsMap(slot), pattern.at);
                self.bind_entries(parts, slot)
            }
            _ => unsupported(pattern),
        }
    }

    fn bind_items(&mut self, at: u32, parts: &[Form], slot: u32) -> AnalyzeResult {
        self.emit(Op::AsSeq(slot), at);
        for (index, part) in parts.iter().enumerate() {
            let at = part.at;
            if part.as_sym() == Some("&") {
                let rest = match &parts[index + 1..] {
                    [rest] => rest,
                    _ => return invalid(at, "& needs exactly one pattern after it"),
                };
                self.emit(Op::Rest(slot, index as u32), at);
                return self.bind_top(rest);
            }
            self.emit(Op::Nth(slot, index as u32), at);
            self.bind_top(part)?;
        }
        Ok(())
    }

    /// Names the parts of what is on top of the stack.
    pub(super) fn bind_top(&mut self, pattern: &Form) -> AnalyzeResult {
        let slot = self.slot();
        self.emit(Op::Store(slot), pattern.at);
        self.bind(pattern, slot)
    }

    fn bind_entries(&mut self, parts: &[Form], slot: u32) -> AnalyzeResult {
        let mut defaults: &[Form] = &[];
        for pair in parts.chunks(2) {
            if let [key, value] = pair
                && key.as_kw() == Some("or")
                && let FormKind::Map(forms) = &value.kind
            {
                defaults = forms;
            }
        }
        for pair in parts.chunks(2) {
            let [left, right] = pair else { continue };
            match (&left.kind, &right.kind) {
                (FormKind::Kw(word), FormKind::Vec(names))
                    if matches!(&**word, "keys" | "strs") =>
                {
                    let keywords = &**word == "keys";
                    for name in names {
                        self.bind_named(name, keywords, defaults, slot)?;
                    }
                }
                (FormKind::Kw(word), FormKind::Sym(name)) if &**word == "as" => {
                    self.name_slot(name, slot);
                }
                (FormKind::Kw(word), FormKind::Map(_)) if &**word == "or" => {}
                (FormKind::Kw(word), _) if matches!(&**word, "keys" | "strs") => {
                    let message = format!(":{word} needs a vector of names");
                    return invalid(right.at, message);
                }
                (FormKind::Kw(_), _) => return unsupported(left),
                (_, FormKind::Kw(key)) => {
                    self.entry(left, Value::keyword(key), defaults, slot)?;
                }
                (_, FormKind::Str(key)) => self.entry(left, Value::text(key), defaults, slot)?,
                (_, _) => {
                    return invalid(right.at, format!("invalid source key: {}", right.described()));
                }
            }
        }
        Ok(())
    }

    /// One name of `:keys` or `:strs`.
    fn bind_named(
        &mut self,
        name: &Form,
        keywords: bool,
        defaults: &[Form],
        slot: u32,
    ) -> AnalyzeResult {
        let (FormKind::Sym(text) | FormKind::Kw(text)) = &name.kind else {
            return unsupported(name);
        };
        let key = if keywords { Value::keyword(text) } else { Value::text(text) };
        let target = Form::symbol(name.at, text);
        self.entry(&target, key, defaults, slot)
    }

    /// Names the entry of a slot under a key, or its default.
    fn entry(&mut self, target: &Form, key: Value, defaults: &[Form], slot: u32) -> AnalyzeResult {
        let at = target.at;
        let key = self.constant(key);
        let found = self.emit(Op::Key(slot, key, 0), at);
        let done = self.emit(Op::Jump(0), at);
        self.land(found);
        let default = target.as_sym().and_then(|name| {
            defaults
                .chunks(2)
                .find(|pair| {
                    matches!(&pair[0].kind, FormKind::Sym(known) | FormKind::Kw(known) if **known == *name)
                })
                .and_then(|pair| pair.get(1))
        });
        match default {
            Some(form) => self.expr(form, false)?,
            None => self.emit_nil(at),
        }
        self.land(done);
        self.bind_top(target)
    }

    /// `(fn name? [params] body ...)` or `(fn name? ([params] body ...) ...)`.
    pub(super) fn fn_form(&mut self, at: u32, rest: &[Form]) -> AnalyzeResult {
        let (name, rest) = match rest.split_first() {
            Some((first, after)) if first.as_sym().is_some() => (first.as_sym(), after),
            _ => (None, rest),
        };
        self.function(at, name, rest, "(fn [params] body)")
    }

    /// Compiles a function's bodies and leaves the function on the stack.
    pub(super) fn function(
        &mut self,
        at: u32,
        name: Option<&str>,
        rest: &[Form],
        expected: &str,
    ) -> AnalyzeResult {
        let mut arities = Vec::new();
        match rest.split_first() {
            Some((params, body)) if params.as_vec().is_some() => {
                arities.push(self.arity(at, name, params, body)?);
            }
            Some((first, _)) if matches!(first.kind, FormKind::List(_)) => {
                for arity in rest {
                    let FormKind::List(parts) = &arity.kind else {
                        return shape(at, expected);
                    };
                    match parts.split_first() {
                        Some((params, body)) if params.as_vec().is_some() => {
                            arities.push(self.arity(arity.at, name, params, body)?);
                        }
                        _ => return shape(arity.at, expected),
                    }
                }
            }
            None if name.is_none() && !expected.starts_with("(defn") => return shape(at, expected),
            _ => return invalid(at, format!("expected {expected}")),
        }
        let mut text = String::from("(fn ");
        if let Some(name) = name {
            text.push_str(name);
            text.push(' ');
        }
        print::forms(&mut text, rest);
        text.push(')');
        let template = self.add_template(arities, text);
        self.emit(Op::Closure(template), at);
        Ok(())
    }

    fn arity(
        &mut self,
        at: u32,
        name: Option<&str>,
        params: &Form,
        body: &[Form],
    ) -> Result<Arc<Proto>, Fault> {
        let forms = params.as_vec().unwrap_or_default();
        let split = forms.iter().position(|form| form.as_sym() == Some("&"));
        let (fixed, rest) = match split {
            None => (forms, None),
            Some(index) => match &forms[index + 1..] {
                [rest] => (&forms[..index], Some(rest)),
                _ => return invalid(params.at, "& needs exactly one pattern after it"),
            },
        };
        self.fns.push(FunctionBuilder { name: name.map(Into::into), ..FunctionBuilder::default() });
        let compiled = self.arity_body(at, fixed, rest, body);
        let function = self.fns.pop().unwrap_or_default();
        compiled?;
        let mut proto = function.finish();
        proto.name = name.map(Arc::from);
        proto.params = fixed.len();
        proto.variadic = rest.is_some();
        proto.shown = shown(fixed, rest);
        Ok(Arc::new(proto))
    }

    fn arity_body(
        &mut self,
        at: u32,
        fixed: &[Form],
        rest: Option<&Form>,
        body: &[Form],
    ) -> AnalyzeResult {
        let mut slots: Vec<u32> = fixed.iter().map(|_| self.slot()).collect();
        if rest.is_some() {
            slots.push(self.slot());
        }
        let counter = self.slot();
        self.emit_const(Value::Int(0), at);
        self.emit(Op::Store(counter), at);
        let start = self.here();
        for (pattern, slot) in fixed.iter().zip(&slots) {
            self.bind(pattern, *slot)?;
        }
        if let (Some(pattern), Some(slot)) = (rest, slots.last()) {
            if matches!(pattern.kind, FormKind::Map(_)) {
                self.emit(Op::Pairs(*slot), pattern.at);
            }
            self.bind(pattern, *slot)?;
        }
        self.top().targets.push(RecurTarget { start, slots, counter });
        self.body(at, body, true)?;
        self.emit(Op::Ret, at);
        Ok(())
    }

    /// `#(..)`: the parameters are the names that start with a percent sign.
    pub(super) fn short_function(&mut self, at: u32, forms: &[Form]) -> AnalyzeResult {
        let mut most = 0;
        let mut rest = false;
        for form in forms {
            parameters(form, &mut most, &mut rest);
        }
        if most > 20 {
            return invalid(at, "#() takes at most 20 parameters: %1 to %20");
        }
        let mut params: Vec<Form> =
            (1..=most).map(|index| Form::symbol(at, &format!("p{index}"))).collect();
        if rest {
            params.push(Form::symbol(at, "&"));
            params.push(Form::symbol(at, "%&"));
        }
        let params = Form::new(at, FormKind::Vec(params));
        let body = Form::new(at, FormKind::List(renamed(forms)));
        // `#(%)` gives its argument; it does not call it.
        let body = match (&body.kind, forms) {
            (FormKind::List(inner), [only])
                if only.as_sym().is_some_and(|n| n.starts_with('%')) =>
            {
                inner.first().cloned().unwrap_or(body)
            }
            _ => body,
        };
        if let Some(at) = short_within(&body) {
            return invalid(at, "Nested #() anonymous functions are not allowed");
        }
        let proto = self.arity(at, None, &params, std::slice::from_ref(&body))?;
        let mut text = String::from("(fn ");
        print::forms(&mut text, &[params, body]);
        text.push(')');
        let template = self.add_template(vec![proto], text);
        self.emit(Op::Closure(template), at);
        Ok(())
    }
}

fn unsupported(pattern: &Form) -> AnalyzeResult {
    let message = format!("unsupported pattern: {}", pattern.described());
    Err(Fault::new(FaultClass::UnsupportedPattern, message)
        .hint("Patterns are names, [a b & rest] and {:keys [a b] :or {a 1} :as all}.")
        .at(pattern.at))
}

/// The parameters as a function shows them.
fn shown(fixed: &[Form], rest: Option<&Form>) -> Box<str> {
    let name = |form: &Form| form.as_sym().unwrap_or("_").to_owned();
    let mut names: Vec<String> = fixed.iter().map(name).collect();
    if let Some(rest) = rest {
        names.push("&".to_owned());
        names.push(name(rest));
    }
    names.join(" ").into()
}

/// Notes which percent names a form uses.
fn parameters(form: &Form, most: &mut u32, rest: &mut bool) {
    match &form.kind {
        FormKind::Sym(name) => match name.strip_prefix('%') {
            Some("") => *most = (*most).max(1),
            Some("&") => *rest = true,
            Some(digits) => {
                if let Ok(index) = digits.parse::<u32>() {
                    *most = (*most).max(index);
                }
            }
            None => {}
        },
        FormKind::List(forms)
        | FormKind::Vec(forms)
        | FormKind::Map(forms)
        | FormKind::Set(forms)
        | FormKind::Short(forms) => {
            for form in forms {
                parameters(form, most, rest);
            }
        }
        _ => {}
    }
}

/// The forms with `%` and `%n` called by their parameters' names.
fn renamed(forms: &[Form]) -> Vec<Form> {
    let rename = |form: &Form| {
        let kind = match &form.kind {
            FormKind::Sym(name) => match name.strip_prefix('%') {
                Some("") => FormKind::Sym("p1".into()),
                Some(digits) if digits.parse::<u32>().is_ok() => {
                    FormKind::Sym(format!("p{digits}").into())
                }
                _ => return form.clone(),
            },
            FormKind::List(forms) => FormKind::List(renamed(forms)),
            FormKind::Vec(forms) => FormKind::Vec(renamed(forms)),
            FormKind::Map(forms) => FormKind::Map(renamed(forms)),
            FormKind::Set(forms) => FormKind::Set(renamed(forms)),
            _ => return form.clone(),
        };
        Form::new(form.at, kind)
    };
    forms.iter().map(rename).collect()
}

/// Position of a short function within a form.
fn short_within(form: &Form) -> Option<u32> {
    match &form.kind {
        FormKind::Short(_) => Some(form.at),
        FormKind::List(forms)
        | FormKind::Vec(forms)
        | FormKind::Map(forms)
        | FormKind::Set(forms) => forms.iter().find_map(short_within),
        _ => None,
    }
}
