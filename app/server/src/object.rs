//! Objects: types that the description calls objects are read only from JSON objects. By default
//! serde also reads a struct from an array, field by field.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// Value that was read from an object.
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Reads an object of numbers, or null, for a field.
pub(crate) fn numbers<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let Some(mut read) = Option::<Map<String, Value>>::deserialize(from)? else {
        return Ok(None);
    };
    read.values_mut().for_each(as_integer);
    let value = serde_json::from_value(Value::Object(read));
    value.map(Some).map_err(D::Error::custom)
}

/// Reads a whole number or what is made of one, such as a position or an optional id, for a field.
pub(crate) fn number<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let mut value = Value::deserialize(from)?;
    as_integer(&mut value);
    serde_json::from_value(value).map_err(D::Error::custom)
}

/// Converts 3.0 into an integer. JSON Schema accepts it as one; serde does not.
fn as_integer(value: &mut Value) {
    // Above this a float cannot represent every integer.
    const MOST: f64 = 9_007_199_254_740_992.0;
    let Value::Number(number) = value else { return };
    let float = number.as_f64().filter(|_| number.is_f64());
    let float = float.filter(|float| float.fract() == 0.0 && (0.0..=MOST).contains(float));
    if let Some(whole) = float.and_then(|float| format!("{float:.0}").parse::<u64>().ok()) {
        *number = whole.into();
    }
}

/// Reads a field that may be missing, and is null only if its type says so.
pub(crate) fn present<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
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

/// Reads an array of objects, for a field that may be missing.
pub(crate) fn each_if_any<'de, D, T>(from: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    each(from).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_whole_number_may_have_a_point() {
        for (value, read) in [
            (json!(3), Some(3)),
            (json!(3.0), Some(3)),
            (json!(1e3), Some(1_000)),
            (json!(u64::MAX), Some(u64::MAX)),
            (json!(3.5), None),
            (json!(-1.0), None),
            (json!(1e300), None),
            (json!("3"), None),
        ] {
            assert_eq!(number(&value).ok(), read, "{value}");
        }
    }
}
