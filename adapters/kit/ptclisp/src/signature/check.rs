//! Checking a value: all that is wrong with it, each with its path.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{Field, Plain, Type};

/// The most mismatches that are told of one value; the others are counted.
pub const MISMATCHES: usize = 100;

/// Difference between a value and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatches {
    /// The first of them, at most [`MISMATCHES`], in the order of the type's fields and the items.
    pub told: Vec<Mismatch>,
    /// Number of further differences.
    pub more: usize,
}

/// A part of a value that is something else than its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Path within the value.
    pub path: Vec<Segment>,
    /// Type that was expected.
    pub wanted: Wanted,
    /// Kind of the value found.
    pub found: Found,
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// To a field, named as in the signature.
    Field(Arc<str>),
    /// To an item, counted from 0.
    Item(usize),
}

/// Expectation of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A value of this kind.
    Plain(Plain),
    /// A list of items.
    List,
    /// A map of fields.
    Map,
    /// That the field is there.
    Field,
}

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
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
        let wanted = match self.wanted {
            Wanted::Plain(Plain::DateTime) => "datetime (%DateTime{})",
            Wanted::Plain(plain) => plain.name(),
            Wanted::List => "list",
            Wanted::Map => "map",
            Wanted::Field => "field",
        };
        let found = match self.found {
            Found::String => "string",
            Found::Int => "int",
            Found::Float => "float",
            Found::Bool => "bool",
            Found::Nil => "keyword",
            Found::List => "list",
            Found::Map => "map",
            Found::Nothing => "nil",
        };
        format!("expected {wanted}, got {found}")
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Segment::Field(name) => f.write_str(name),
            Segment::Item(at) => write!(f, "{at}"),
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
        for (at, mismatch) in self.told.iter().enumerate() {
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
pub(super) fn dotted(path: &[Segment]) -> String {
    let names: Vec<String> = path.iter().map(Segment::to_string).collect();
    names.join(".")
}

impl Type {
    /// Checks a value.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn check(&self, value: &Json) -> Result<(), Mismatches> {
        let mut checker = Checker {
            path: Vec::new(),
            wrong: Mismatches {
                told: Vec::new(),
                more: 0,
            },
        };
        checker.check(self, value);
        if checker.wrong.told.is_empty() {
            Ok(())
        } else {
            Err(checker.wrong)
        }
    }
}

struct Checker {
    path: Vec<Segment>,
    wrong: Mismatches,
}

impl Checker {
    fn check(&mut self, kind: &Type, value: &Json) {
        match (kind, value) {
            (Type::Maybe(_), Json::Null) => {}
            (Type::Plain(plain) | Type::Maybe(plain), _) => {
                if !is(*plain, value) {
                    self.tell(Wanted::Plain(*plain), found(value));
                }
            }
            (Type::List(kind), Json::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    self.within(Segment::Item(at), |checker| checker.check(kind, item));
                }
            }
            (Type::List(_), _) => self.tell(Wanted::List, found(value)),
            (Type::Map(fields), Json::Object(object)) => {
                for field in fields {
                    self.field(field, object);
                }
            }
            (Type::Map(_), _) => self.tell(Wanted::Map, found(value)),
        }
    }

    fn field(&mut self, field: &Field, object: &Map<String, Json>) {
        self.within(Segment::Field(field.name.clone()), |checker| {
            match (named(object, &field.name), &field.kind) {
                (Some(value), kind) => checker.check(kind, value),
                (None, Type::Maybe(_)) => {}
                (None, Type::Plain(_) | Type::List(_) | Type::Map(_)) => {
                    checker.tell(Wanted::Field, Found::Nothing);
                }
            }
        });
    }

    fn within(&mut self, segment: Segment, check: impl FnOnce(&mut Self)) {
        self.path.push(segment);
        check(self);
        self.path.pop();
    }

    fn tell(&mut self, wanted: Wanted, found: Found) {
        if self.wrong.told.len() == MISMATCHES {
            self.wrong.more += 1;
            return;
        }
        self.wrong.told.push(Mismatch {
            path: self.path.clone(),
            wanted,
            found,
        });
    }
}

/// A field's value, under the first spelling of its name that is there.
fn named<'a>(object: &'a Map<String, Json>, name: &str) -> Option<&'a Json> {
    let low = name.replace('-', "_");
    let value = object.get(&low).or_else(|| object.get(name));
    value.or_else(|| object.get(&low.replace('_', "-")))
}

fn is(plain: Plain, value: &Json) -> bool {
    match plain {
        Plain::String => value.is_string(),
        Plain::Int => value.is_i64() || value.is_u64(),
        Plain::Float => value.is_number(),
        Plain::Bool => value.is_boolean(),
        Plain::Keyword => match value {
            Json::String(name) => names_keyword(name),
            Json::Null | Json::Bool(_) => true,
            Json::Number(_) | Json::Array(_) | Json::Object(_) => false,
        },
        Plain::Map => value.is_object(),
        Plain::Any => true,
        Plain::DateTime => false,
    }
}

fn names_keyword(name: &str) -> bool {
    let of_keyword = |c: u8| c.is_ascii_alphanumeric() || b"+-*<>=?!_".contains(&c);
    !name.is_empty() && name.bytes().all(of_keyword)
}

fn found(value: &Json) -> Found {
    match value {
        Json::Null => Found::Nil,
        Json::Bool(_) => Found::Bool,
        Json::Number(number) if number.is_f64() => Found::Float,
        Json::Number(_) => Found::Int,
        Json::String(_) => Found::String,
        Json::Array(_) => Found::List,
        Json::Object(_) => Found::Map,
    }
}
