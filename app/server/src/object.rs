//! Objects: what is described as an object is read from one. Left alone, serde reads a struct from an
//! array too, field by field.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// A value that was read from an object.
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Reading(PhantomData)).map(Self)
    }
}

struct Reading<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Reading<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Reads an object, or null, for a field.
pub(crate) fn optional<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let read = Option::<Object<T>>::deserialize(from)?;
    Ok(read.map(|Object(value)| value))
}

/// Reads an array of objects, for a field.
pub(crate) fn each<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let read = Vec::<Object<T>>::deserialize(from)?;
    Ok(read.into_iter().map(|Object(value)| value).collect())
}
