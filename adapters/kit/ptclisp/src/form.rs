//! Forms: what the reader makes of the text, each with the byte it begins at.

use num_bigint::BigInt;

/// A form and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) at: u32,
    pub(crate) kind: FormKind,
}

/// Kind of a form, with its parts.
#[derive(Clone, Debug)]
pub(crate) enum FormKind {
    Nil,
    Bool(bool),
    Int(BigInt),
    Float(f64),
    Str(Box<str>),
    Kw(Box<str>),
    Sym(Box<str>),
    Regex(Box<str>),
    List(Vec<Form>),
    Vec(Vec<Form>),
    Map(Vec<Form>),
    Set(Vec<Form>),
    /// `#(..)`: the forms between its parentheses.
    Short(Vec<Form>),
    /// A quoted form, `'form`.
    Quote(Box<Form>),
    /// A var by its name, `#'name`.
    Var(Box<Form>),
}

impl Form {
    pub(crate) fn new(at: u32, kind: FormKind) -> Form {
        Form { at, kind }
    }

    /// A symbol at the place of another form.
    pub(crate) fn symbol(at: u32, name: &str) -> Form {
        Form::new(at, FormKind::Sym(name.into()))
    }

    /// The name, if it is a symbol.
    pub(crate) fn as_sym(&self) -> Option<&str> {
        match &self.kind {
            FormKind::Sym(name) => Some(name),
            _ => None,
        }
    }

    /// The name, if it is a keyword.
    pub(crate) fn as_kw(&self) -> Option<&str> {
        match &self.kind {
            FormKind::Kw(name) => Some(name),
            _ => None,
        }
    }

    /// The forms within, if it is a vector.
    pub(crate) fn as_vec(&self) -> Option<&[Form]> {
        match &self.kind {
            FormKind::Vec(forms) => Some(forms),
            _ => None,
        }
    }

    /// Name of this kind of form in messages.
    pub(crate) fn described(&self) -> String {
        match &self.kind {
            FormKind::Nil => "nil".to_owned(),
            FormKind::Bool(value) => format!("boolean {value}"),
            FormKind::Int(n) => format!("number {n}"),
            FormKind::Float(n) => format!("number {n}"),
            FormKind::Str(text) => format!("string {text:?}"),
            FormKind::Kw(name) => format!("keyword :{name}"),
            FormKind::Sym(name) => format!("symbol '{name}'"),
            FormKind::Regex(_) => "a regular expression".to_owned(),
            FormKind::List(_) => "a list".to_owned(),
            FormKind::Vec(_) => "a vector".to_owned(),
            FormKind::Map(_) => "a map".to_owned(),
            FormKind::Set(_) => "a set".to_owned(),
            FormKind::Short(_) => "a function".to_owned(),
            FormKind::Quote(_) | FormKind::Var(_) => "a quoted form".to_owned(),
        }
    }

    /// Returns true if two forms are written alike; a list and a vector of the same forms are. A regular
    /// expression and a short function are alike to nothing.
    pub(crate) fn alike(&self, other: &Form) -> bool {
        use FormKind::{Bool, Float, Int, Kw, List, Map, Nil, Quote, Set, Str, Sym, Var, Vec};
        match (&self.kind, &other.kind) {
            (Nil, Nil) => true,
            (Bool(a), Bool(b)) => a == b,
            (Int(a), Int(b)) => a == b,
            (Float(a), Float(b)) => a == b,
            (Str(a), Str(b)) | (Kw(a), Kw(b)) | (Sym(a), Sym(b)) => a == b,
            (List(a) | Vec(a), List(b) | Vec(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.alike(b))
            }
            (Map(a), Map(b)) => {
                let pairs = |forms: &[Form]| {
                    forms.chunks(2).map(<[Form]>::to_vec).collect::<std::vec::Vec<_>>()
                };
                let (a, b) = (pairs(a), pairs(b));
                a.len() == b.len()
                    && a.iter().all(|x| {
                        b.iter()
                            .any(|y| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.alike(y)))
                    })
            }
            (Set(a), Set(b)) => {
                a.len() == b.len() && a.iter().all(|x| b.iter().any(|y| x.alike(y)))
            }
            (Quote(a), Quote(b)) | (Var(a), Var(b)) => a.alike(b),
            _ => false,
        }
    }
}
