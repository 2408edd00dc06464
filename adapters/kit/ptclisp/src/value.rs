//! Values: what a program computes with. Clones are cheap, nesting is bounded, nothing here runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use num_bigint::BigInt;

use crate::callable::{Closure, ComposedFunction, ComposedKind, NativeFunction};
use crate::pattern::Pattern;
use crate::sorted::{SortedMap, SortedSet};

/// A value of the language.
///
/// A list, a vector and a sequence are one kind: what the original implementation shows of them is
/// the same. A character is a string of one grapheme.
#[derive(Clone, Default)]
pub enum Value {
    /// The value nil.
    #[default]
    Nil,
    /// The value true or false.
    Bool(bool),
    /// An integer of the machine.
    Int(i64),
    /// An integer that does not fit 64 bits.
    Big(Arc<BigInt>),
    /// A floating-point number, the infinities and not-a-number among them.
    Float(f64),
    /// A text in UTF-8.
    Str(Arc<str>),
    /// A keyword, without its colon.
    Kw(Arc<str>),
    /// A symbol, which only quoting makes.
    Sym(Arc<str>),
    /// A vector or any other sequence.
    Vec(Arc<Items>),
    /// A map, in the order of its keys.
    Map(Arc<Entries>),
    /// A set, in order.
    Set(Arc<Members>),
    /// A compiled regular expression.
    Regex(Arc<Pattern>),
    /// A definition's name: what `def` gives.
    Var(Arc<str>),
    /// A function that the program wrote.
    Fn(Arc<Closure>),
    /// A function of the language.
    Native(&'static NativeFunction),
    /// A tool, by its name.
    Tool(Arc<str>),
    /// A function that a function made: `partial`, `comp` and their like.
    Composed(Arc<ComposedFunction>),
}

/// Depth of a value, and its number of parts if shared parts are counted each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ValueSize {
    pub(crate) depth: u32,
    pub(crate) weight: u64,
}

impl ValueSize {
    /// Takes in a part.
    pub(crate) fn add(&mut self, part: ValueSize) {
        self.depth = self.depth.max(part.depth.saturating_add(1));
        self.weight = self.weight.saturating_add(part.weight);
    }

    /// Of a collection with these parts.
    pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a Value>) -> ValueSize {
        let mut shape = ValueSize { depth: 1, weight: 1 };
        for part in parts {
            shape.add(part.shape());
        }
        shape
    }
}

/// The items of a vector.
#[derive(Clone, Default)]
pub struct Items {
    pub(crate) items: Vec<Value>,
    pub(crate) shape: ValueSize,
}

impl Items {
    /// The items in order.
    pub fn as_slice(&self) -> &[Value] {
        &self.items
    }
}

/// The entries of a map.
#[derive(Clone, Default)]
pub struct Entries {
    pub(crate) entries: SortedMap<Value, Value>,
    pub(crate) shape: ValueSize,
}

impl Entries {
    /// The entries in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&Value, &Value)> {
        self.entries.iter()
    }
}

/// The members of a set.
#[derive(Clone, Default)]
pub struct Members {
    pub(crate) members: SortedSet<Value>,
    pub(crate) shape: ValueSize,
}

impl Members {
    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = &Value> {
        self.members.iter()
    }
}

impl Value {
    /// Returns true unless the value is `nil` or `false`.
    pub fn truthy(&self) -> bool {
        !matches!(self, Value::Nil | Value::Bool(false))
    }

    /// Makes a text without charging memory.
    pub(crate) fn text(text: &str) -> Value {
        Value::Str(Arc::from(text))
    }

    /// Makes a keyword without charging memory.
    pub(crate) fn keyword(name: &str) -> Value {
        Value::Kw(Arc::from(name))
    }

    /// Makes a map with keywords as keys without charging memory.
    pub fn record<'a>(entries: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
        let entries = entries.into_iter().map(|(name, value)| (Value::keyword(name), value));
        let entries: BTreeMap<Value, Value> = entries.collect();
        let shape = ValueSize::of(entries.iter().flat_map(|(key, value)| [key, value]));
        Value::Map(Arc::new(Entries { entries: entries.into(), shape }))
    }

    /// The smallest form of an integer.
    pub(crate) fn integer(n: BigInt) -> Value {
        match i64::try_from(&n) {
            Ok(small) => Value::Int(small),
            Err(_) => Value::Big(Arc::new(n)),
        }
    }

    /// Name of this value's kind in messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::Bool(_) => "boolean",
            Value::Int(_) | Value::Big(_) | Value::Float(_) => "number",
            Value::Str(_) => "string",
            Value::Kw(_) => "keyword",
            Value::Sym(_) => "symbol",
            Value::Vec(_) => "list",
            Value::Map(_) => "map",
            Value::Set(_) => "set",
            Value::Regex(_) => "regex",
            Value::Var(_) => "var",
            Value::Composed(made) => match made.kind {
                ComposedKind::Endless => "endless sequence",
                ComposedKind::Transducer => "transducer",
                ComposedKind::Reduced => "reduced value",
                _ => "function",
            },
            Value::Fn(_) | Value::Native(_) | Value::Tool(_) => "function",
        }
    }

    /// Returns its depth and size.
    pub(crate) fn shape(&self) -> ValueSize {
        let leaf = |weight: usize| ValueSize { depth: 0, weight: weight as u64 };
        match self {
            Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) => leaf(1),
            Value::Kw(_) | Value::Sym(_) | Value::Var(_) | Value::Regex(_) => leaf(1),
            Value::Native(_) | Value::Tool(_) => leaf(1),
            Value::Big(n) => leaf(1 + n.bits() as usize / 64),
            Value::Str(text) => leaf(1 + text.len() / 16),
            Value::Vec(items) => items.shape,
            Value::Map(entries) => entries.shape,
            Value::Set(members) => members.shape,
            Value::Fn(closure) => closure.shape,
            Value::Composed(made) => made.shape,
        }
    }

    /// Returns true if it can be called as a function.
    pub(crate) fn is_function(&self) -> bool {
        match self {
            Value::Fn(_) | Value::Native(_) | Value::Tool(_) => true,
            Value::Composed(made) => made.kind.is_callable(),
            _ => false,
        }
    }

    /// Returns the first part that is no data but for functions: a transducer, an endless sequence, a reduced
    /// value.
    pub(crate) fn unfinished(&self) -> Option<&Value> {
        match self {
            Value::Composed(made) => (!made.kind.is_callable()).then_some(self),
            Value::Vec(items) => items.items.iter().find_map(Value::unfinished),
            Value::Set(members) => members.iter().find_map(Value::unfinished),
            Value::Map(entries) => {
                let mut parts = entries.iter().flat_map(|(key, value)| [key, value]);
                parts.find_map(Value::unfinished)
            }
            _ => None,
        }
    }

    /// The integer, if it is one that fits.
    pub(crate) fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if it is a vector.
    pub(crate) fn as_items(&self) -> Option<&[Value]> {
        match self {
            Value::Vec(items) => Some(&items.items),
            _ => None,
        }
    }
}

impl fmt::Debug for Value {
    /// Writes large values by name only: a value may be far larger as text than in memory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::show::brief(self))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Value {
        i64::try_from(value).map_or_else(|_| Value::integer(BigInt::from(value)), Value::Int)
    }
}
