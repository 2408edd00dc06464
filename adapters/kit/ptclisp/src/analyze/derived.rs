//! Forms that are written as other forms: `dotimes` and `letfn`.

use crate::analyze::forms::pairs;
use crate::analyze::{AnalyzeResult, Analyzer, invalid, shape};
use crate::fault::{Fault, FaultClass};
use crate::form::{Form, FormKind};

const LETFN: &str = "(letfn [(name [params] body ...) ...] body ...)";

/// The most functions of one `letfn`: each is one level of forms.
const MOST_FUNCTIONS: usize = 30;

/// A function of a `letfn`.
struct LocalFunction<'a> {
    name: &'a str,
    form: &'a Form,
    rest: &'a [Form],
}

impl Analyzer<'_> {
    /// `(dotimes [i n] body ...)`: as a `doseq` over a range.
    pub(super) fn dotimes_form(&mut self, at: u32, rest: &[Form]) -> AnalyzeResult {
        let bindings = pairs("dotimes", at, rest.first())?;
        let ([name, count], body) = (bindings, &rest[1..]) else {
            return shape(at, "(dotimes [i n] body ...)");
        };
        let whole = list(count.at, vec![symbol(count.at, "core/long"), count.clone()]);
        let range = list(count.at, vec![symbol(count.at, "core/range"), whole]);
        let bindings = Form::new(at, FormKind::Vec(vec![name.clone(), range]));
        let mut forms = vec![bindings];
        forms.extend(body.iter().cloned());
        if body.is_empty() {
            forms.push(Form::new(at, FormKind::Nil));
        }
        self.doseq_form(at, &forms)
    }

    /// `letfn`: functions that may call each other. One hidden function makes each of them by its number, and
    /// each makes those that it names when it is called.
    pub(super) fn letfn_form(&mut self, at: u32, rest: &[Form], tail: bool) -> AnalyzeResult {
        let Some((bindings, body)) = rest.split_first() else {
            return shape(at, LETFN);
        };
        let Some(forms) = bindings.as_vec() else {
            return invalid(bindings.at, format!("expected {LETFN}"));
        };
        let functions: Vec<LocalFunction<'_>> =
            forms.iter().map(local_function).collect::<Result<_, _>>()?;
        if functions.len() > MOST_FUNCTIONS {
            let message = format!("letfn takes at most {MOST_FUNCTIONS} functions: use defn");
            return invalid(bindings.at, message);
        }
        let maker = self.hidden_name();
        let number = self.hidden_name();
        let made = |index: usize, at: u32| {
            list(at, vec![symbol(at, &maker), Form::new(at, FormKind::Int(index.into()))])
        };
        let mut choice = Form::new(at, FormKind::Nil);
        for (index, function) in functions.iter().enumerate().rev() {
            let others = functions.iter().enumerate().filter(|(other, _)| *other != index);
            let others: Vec<(&str, Form)> =
                others.map(|(other, inner)| (inner.name, made(other, inner.form.at))).collect();
            let at = function.form.at;
            let same = list(
                at,
                vec![
                    symbol(at, "core/="),
                    symbol(at, &number),
                    Form::new(at, FormKind::Int(index.into())),
                ],
            );
            choice =
                list(at, vec![symbol(at, "core/if"), same, written(function, &others)?, choice]);
        }
        let params = Form::new(at, FormKind::Vec(vec![symbol(at, &number)]));
        let maker_form = list(at, vec![symbol(at, "core/fn"), symbol(at, &maker), params, choice]);
        let mut bindings = vec![symbol(at, &maker), maker_form];
        for (index, function) in functions.iter().enumerate() {
            bindings.push(symbol(function.form.at, function.name));
            bindings.push(made(index, function.form.at));
        }
        let mut forms = vec![Form::new(at, FormKind::Vec(bindings))];
        forms.extend(body.iter().cloned());
        self.let_form(at, &forms, tail)
    }
}

fn symbol(at: u32, name: &str) -> Form {
    Form::symbol(at, name)
}

fn list(at: u32, forms: Vec<Form>) -> Form {
    Form::new(at, FormKind::List(forms))
}

fn local_function(form: &Form) -> Result<LocalFunction<'_>, Fault> {
    let FormKind::List(forms) = &form.kind else {
        return shape(form.at, LETFN);
    };
    match forms.split_first() {
        Some((name, rest)) if !rest.is_empty() => match name.as_sym() {
            Some(name) if !name.contains('/') => Ok(LocalFunction { name, form, rest }),
            _ => shape(form.at, LETFN),
        },
        _ => shape(form.at, LETFN),
    }
}

/// A function of a `letfn` as `fn`, with the others that its bodies name.
fn written(function: &LocalFunction<'_>, others: &[(&str, Form)]) -> Result<Form, Fault> {
    let at = function.form.at;
    let mut forms = vec![symbol(at, "core/fn"), symbol(at, function.name)];
    if function.rest[0].as_vec().is_some() {
        forms.extend(arity(at, function.rest, others)?);
        return Ok(list(at, forms));
    }
    for one in function.rest {
        match &one.kind {
            FormKind::List(parts) if parts.first().is_some_and(|form| form.as_vec().is_some()) => {
                forms.push(list(one.at, arity(one.at, parts, others)?));
            }
            _ => return shape(one.at, LETFN),
        }
    }
    Ok(list(at, forms))
}

/// The parameters and the body of a function, within the functions that it names. A parameter of such a name is
/// the nearer one.
///
/// # Errors
/// If the default of a parameter names one of the functions: it is made before the body.
fn arity(at: u32, parts: &[Form], others: &[(&str, Form)]) -> Result<Vec<Form>, Fault> {
    let Some((params, body)) = parts.split_first() else {
        return Ok(Vec::new());
    };
    if let Some((name, _)) = others.iter().find(|(name, _)| defaults_name(params, name)) {
        let message = format!("the default of a parameter in letfn cannot name {name}");
        let hint =
            "Write the default in the body, as (or x default), or define the function with defn.";
        return Err(Fault::new(FaultClass::InvalidForm, message).hint(hint).at(params.at));
    }
    let needed = others
        .iter()
        .filter(|(name, _)| !names(params, name) && body.iter().any(|form| names(form, name)));
    let mut bindings = Vec::new();
    for (name, form) in needed {
        bindings.push(symbol(at, name));
        bindings.push(form.clone());
    }
    let mut inner = vec![symbol(at, "core/let"), Form::new(at, FormKind::Vec(bindings))];
    inner.extend(body.iter().cloned());
    Ok(vec![params.clone(), list(at, inner)])
}

/// Returns true if a default value within parameters has this symbol in it.
fn defaults_name(params: &Form, name: &str) -> bool {
    match &params.kind {
        FormKind::Vec(forms) => {
            // A parameter of this name is the nearer one for all defaults behind it.
            let nearer = forms.iter().position(|form| form.as_sym() == Some(name));
            let before = forms.iter().take(nearer.unwrap_or(forms.len()));
            before.into_iter().any(|form| defaults_name(form, name))
        }
        FormKind::Map(forms) => forms.chunks(2).any(|pair| match pair {
            [key, Form { kind: FormKind::Map(defaults), .. }] if key.as_kw() == Some("or") => {
                defaults.iter().skip(1).step_by(2).any(|default| names(default, name))
            }
            [pattern, _] => defaults_name(pattern, name),
            _ => false,
        }),
        _ => false,
    }
}

/// Returns true if a form has this symbol in it.
fn names(form: &Form, name: &str) -> bool {
    match &form.kind {
        FormKind::Sym(known) => **known == *name,
        FormKind::List(forms)
        | FormKind::Vec(forms)
        | FormKind::Map(forms)
        | FormKind::Set(forms)
        | FormKind::Short(forms) => forms.iter().any(|form| names(form, name)),
        FormKind::Quote(form) | FormKind::Var(form) => names(form, name),
        FormKind::Nil
        | FormKind::Bool(_)
        | FormKind::Int(_)
        | FormKind::Float(_)
        | FormKind::Str(_)
        | FormKind::Kw(_)
        | FormKind::Regex(_) => false,
    }
}
