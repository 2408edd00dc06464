//! Checking a value: all that is wrong with it, each with its path.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{Field, NamedType, Type};

/// The most mismatches that are told of one value; the others are counted.
pub const MISMATCHES: usize = 100;

/// Difference between a value and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatches {
    /// The first of them, at most [`MISMATCHES`], in the order of the type's fields and the items.
    pub listed: Vec<Mismatch>,
    /// Number of further differences.
    pub more: usize,
}

/// A part of a value that is something else than its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Path within the value.
    pub path: Vec<PathSegment>,
    /// Type that was expected.
    pub expected: ExpectedValue,
    /// Kind of the value found.
    pub found: ValueKind,
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathSegment {
    /// To a field, named as in the signature.
    Field(Arc<str>),
    /// To an item, counted from 0.
    Item(usize),
}

/// Expectation of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedValue {
    /// A value of this kind.
    Plain(NamedType),
    /// A list of items.
    List,
    /// A map of fields.
    Map,
    /// That the field is there.
    Field,
}

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A string of JSON.
    String,
    /// A number without a fraction or exponent.
    Int,
    /// A number that is no integer.
    Float,
    /// The value true or false.
    Bool,
    /// The value null.
    Nil,
    /// An array of JSON.
    List,
    /// An object of JSON.
    Map,
    /// Nothing: the field is not there.
    Nothing,
}

impl Mismatch {
    /// Describes the difference in PtcRunner's words.
    pub fn message(&self) -> String {
        let expected = match self.expected {
            ExpectedValue::Plain(NamedType::DateTime) => "datetime (%DateTime{})",
            ExpectedValue::Plain(plain) => plain.name(),
            ExpectedValue::List => "list",
            ExpectedValue::Map => "map",
            ExpectedValue::Field => "field",
        };
        let found = match self.found {
            ValueKind::String => "string",
            ValueKind::Int => "int",
            ValueKind::Float => "float",
            ValueKind::Bool => "bool",
            ValueKind::Nil => "keyword",
            ValueKind::List => "list",
            ValueKind::Map => "map",
            ValueKind::Nothing => "nil",
        };
        format!("expected {expected}, got {found}")
    }
}

impl fmt::Display for PathSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathSegment::Field(name) => f.write_str(name),
            PathSegment::Item(at) => write!(f, "{at}"),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "[{}]: ", dotted(&self.path))?;
        }
        f.write_str(&self.message())
    }
}

impl fmt::Display for Mismatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, mismatch) in self.listed.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "{mismatch}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Mismatches {}

/// A path as people write it.
pub(super) fn dotted(path: &[PathSegment]) -> String {
    let names: Vec<String> = path.iter().map(PathSegment::to_string).collect();
    names.join(".")
}

impl Type {
    /// Checks a value.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn check(&self, value: &Json) -> Result<(), Mismatches> {
        let mut checker =
            Checker { path: Vec::new(), wrong: Mismatches { listed: Vec::new(), more: 0 } };
        checker.check(self, value);
        if checker.wrong.listed.is_empty() { Ok(()) } else { Err(checker.wrong) }
    }
}

struct Checker {
    path: Vec<PathSegment>,
    wrong: Mismatches,
}

impl Checker {
    fn check(&mut self, kind: &Type, value: &Json) {
        match (kind, value) {
            (Type::Optional(_), Json::Null) => {}
            (Type::Plain(plain) | Type::Optional(plain), _) => {
                if !is(*plain, value) {
                    self.add_mismatch(ExpectedValue::Plain(*plain), found(value));
                }
            }
            (Type::List(kind), Json::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    self.within(PathSegment::Item(at), |checker| checker.check(kind, item));
                }
            }
            (Type::List(_), _) => self.add_mismatch(ExpectedValue::List, found(value)),
            (Type::Map(fields), Json::Object(object)) => {
                for field in fields {
                    self.field(field, object);
                }
            }
            (Type::Map(_), _) => self.add_mismatch(ExpectedValue::Map, found(value)),
        }
    }

    fn field(&mut self, field: &Field, object: &Map<String, Json>) {
        self.within(PathSegment::Field(field.name.clone()), |checker| {
            match (named(object, &field.name), &field.kind) {
                (Some(value), kind) => checker.check(kind, value),
                (None, Type::Optional(_)) => {}
                (None, Type::Plain(_) | Type::List(_) | Type::Map(_)) => {
                    checker.add_mismatch(ExpectedValue::Field, ValueKind::Nothing);
                }
            }
        });
    }

    fn within(&mut self, segment: PathSegment, check: impl FnOnce(&mut Self)) {
        self.path.push(segment);
        check(self);
        self.path.pop();
    }

    fn add_mismatch(&mut self, expected: ExpectedValue, found: ValueKind) {
        if self.wrong.listed.len() == MISMATCHES {
            self.wrong.more += 1;
            return;
        }
        self.wrong.listed.push(Mismatch { path: self.path.clone(), expected, found });
    }
}

/// A field's value, under the first spelling of its name that is there.
fn named<'a>(object: &'a Map<String, Json>, name: &str) -> Option<&'a Json> {
    let low = name.replace('-', "_");
    let value = object.get(&low).or_else(|| object.get(name));
    value.or_else(|| object.get(&low.replace('_', "-")))
}

fn is(plain: NamedType, value: &Json) -> bool {
    match plain {
        NamedType::String => value.is_string(),
        NamedType::Int => value.is_i64() || value.is_u64(),
        NamedType::Float => value.is_number(),
        NamedType::Bool => value.is_boolean(),
        NamedType::Keyword => match value {
            Json::String(name) => names_keyword(name),
            Json::Null | Json::Bool(_) => true,
            Json::Number(_) | Json::Array(_) | Json::Object(_) => false,
        },
        NamedType::Map => value.is_object(),
        NamedType::Any => true,
        NamedType::DateTime => false,
    }
}

fn names_keyword(name: &str) -> bool {
    let of_keyword = |c: u8| c.is_ascii_alphanumeric() || b"+-*<>=?!_".contains(&c);
    !name.is_empty() && name.bytes().all(of_keyword)
}

fn found(value: &Json) -> ValueKind {
    match value {
        Json::Null => ValueKind::Nil,
        Json::Bool(_) => ValueKind::Bool,
        Json::Number(number) if number.is_f64() => ValueKind::Float,
        Json::Number(_) => ValueKind::Int,
        Json::String(_) => ValueKind::String,
        Json::Array(_) => ValueKind::List,
        Json::Object(_) => ValueKind::Map,
    }
}
