//! A body as a tree: the form in which one version of a body is converted to the next.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// Body of a fact, or a part of it, as its text has it.
#[derive(Debug, Clone, PartialEq)]
pub enum BodyTree {
    /// The value `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer that is not negative.
    Unsigned(u64),
    /// A negative integer.
    Signed(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    Text(String),
    /// An array.
    List(Vec<BodyTree>),
    /// An object, with its keys in their order.
    Map(Vec<(String, BodyTree)>),
}

impl BodyTree {
    /// Returns the value at a key of an object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else {
            return None;
        };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Removes a key of an object and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Self> {
        let Self::Map(entries) = self else {
            return None;
        };
        let at = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(at).1)
    }

    /// Adds a key to an object, which has none of that name. Changes nothing else than an object.
    pub fn insert(&mut self, key: &str, value: Self) {
        if let Self::Map(entries) = self {
            entries.push((String::from(key), value));
        }
    }
}

impl<'de> Deserialize<'de> for BodyTree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = BodyTree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<BodyTree, E> {
        Ok(BodyTree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<BodyTree, E> {
        Ok(BodyTree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<BodyTree, E> {
        Ok(BodyTree::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<BodyTree, E> {
        Ok(BodyTree::Signed(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<BodyTree, E> {
        Ok(BodyTree::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<BodyTree, E> {
        Ok(BodyTree::Text(String::from(value)))
    }

    fn visit_string<E>(self, value: String) -> Result<BodyTree, E> {
        Ok(BodyTree::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<BodyTree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(BodyTree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<BodyTree, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(BodyTree::Map(map))
    }
}
