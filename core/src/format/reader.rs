//! Reads the body of a fact from a tree, with or without the fields that the fact does not have.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::tree::BodyTree;

/// Error for a body that does not have the form of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidBody(pub String);

impl de::Error for InvalidBody {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Treatment of fields that a struct does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnknownFields {
    /// They are handed to the struct, which rejects or ignores them.
    Pass,
    /// They are left out.
    Skip,
}

/// Deserializes a tree.
pub(super) struct TreeReader {
    pub(super) tree: BodyTree,
    pub(super) unknown: UnknownFields,
}

/// Entries of an object, as a reader of maps takes them.
type Entries = MapDeserializer<'static, alloc::vec::IntoIter<(String, TreeReader)>, InvalidBody>;

impl TreeReader {
    fn entries(map: Vec<(String, BodyTree)>, unknown: UnknownFields) -> Entries {
        let read = |(key, tree)| (key, Self { tree, unknown });
        let entries: Vec<(String, Self)> = map.into_iter().map(read).collect();
        MapDeserializer::new(entries.into_iter())
    }
}

impl<'de> IntoDeserializer<'de, InvalidBody> for TreeReader {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for TreeReader {
    type Error = InvalidBody;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidBody> {
        let unknown = self.unknown;
        match self.tree {
            BodyTree::Null => visitor.visit_unit(),
            BodyTree::Bool(value) => visitor.visit_bool(value),
            BodyTree::Unsigned(value) => visitor.visit_u64(value),
            BodyTree::Signed(value) => visitor.visit_i64(value),
            BodyTree::Float(value) => visitor.visit_f64(value),
            BodyTree::Text(value) => visitor.visit_string(value),
            BodyTree::List(items) => {
                let items = items.into_iter().map(|tree| Self { tree, unknown });
                let mut items = SeqDeserializer::new(items);
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            BodyTree::Map(map) => {
                let mut entries = Self::entries(map, unknown);
                let value = visitor.visit_map(&mut entries)?;
                entries.end()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidBody> {
        if matches!(self.tree, BodyTree::Null) {
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, InvalidBody> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidBody> {
        if let (BodyTree::Map(map), UnknownFields::Skip) = (&mut self.tree, self.unknown) {
            map.retain(|(key, _)| fields.contains(&key.as_str()));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidBody> {
        match self.tree {
            BodyTree::Text(variant) => visitor.visit_enum(variant.into_deserializer()),
            BodyTree::Map(map) => {
                let entries = Self::entries(map, self.unknown);
                MapAccessDeserializer::new(entries).deserialize_enum(name, variants, visitor)
            }
            BodyTree::Null
            | BodyTree::Bool(_)
            | BodyTree::Unsigned(_)
            | BodyTree::Signed(_)
            | BodyTree::Float(_)
            | BodyTree::List(_) => Err(InvalidBody(alloc::format!("no variant of {name}"))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}
