//! A check that a JSON text has one reading: no duplicate key, and a limited depth.
//!
//! Readers of an object with a duplicate key use the first or the last entry. So a checked value
//! could differ from the value that a tool acts on.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Reason for rejecting a JSON text.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct AmbiguousJson {
    /// Key that appears twice in one object, if that is the reason. Keys are compared unescaped.
    pub duplicate_key: Option<String>,
    /// Error of the reader, with its position. It names at most 100 characters of a key.
    pub error: serde_json::Error,
}

/// Checks that a text is one JSON value with one reading, nested at most `depth` deep.
///
/// # Errors
/// [`AmbiguousJson`] at the first duplicate key, at a value that is nested too deeply and at
/// malformed JSON.
pub fn check(text: &[u8], depth: usize) -> Result<(), AmbiguousJson> {
    let mut duplicate_key = None;
    let mut from = serde_json::Deserializer::from_slice(text);
    let walk = JsonCheck { depth, duplicate_key: &mut duplicate_key };
    let walked = walk.deserialize(&mut from).and_then(|()| from.end());
    walked.map_err(|error| AmbiguousJson { duplicate_key, error })
}

/// Finds a key that appears twice in one object. Malformed JSON has none.
#[must_use]
pub fn duplicate_key(text: &str) -> Option<String> {
    check(text.as_bytes(), usize::MAX).err()?.duplicate_key
}

/// Visitor of a value that stops with an error at the first fault.
struct JsonCheck<'a> {
    /// Remaining levels of nesting.
    depth: usize,
    duplicate_key: &'a mut Option<String>,
}

impl JsonCheck<'_> {
    fn deeper<E: Error>(&self) -> Result<usize, E> {
        let deeper = self.depth.checked_sub(1);
        deeper.ok_or_else(|| E::custom("it is nested too deeply"))
    }
}

impl<'de> DeserializeSeed<'de> for JsonCheck<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonCheck<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let depth = self.deeper()?;
        let duplicate_key = self.duplicate_key;
        loop {
            let walk = JsonCheck { depth, duplicate_key: &mut *duplicate_key };
            if seq.next_element_seed(walk)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let depth = self.deeper()?;
        let duplicate_key = self.duplicate_key;
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                let start: String = key.chars().take(100).collect();
                *duplicate_key = Some(key);
                return Err(A::Error::custom(format!("the key {start:?} is there twice")));
            }
            seen.insert(key);
            map.next_value_seed(JsonCheck { depth, duplicate_key: &mut *duplicate_key })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_found_at_any_depth() {
        for (text, wanted) in [
            (r#"{"a":1,"a":1}"#, Some("a")),
            (r#"{"a":1,"b":{"c":[0,{"d":null,"e":true,"d":"x"}]}}"#, Some("d")),
            (r#"[{"env":{}},{"env":{},"\u0065nv":{}}]"#, Some("env")),
            (r#"{"":1,"":2}"#, Some("")),
            (r#"{"a":{"a":{"a":[{"a":1},{"a":-1.5}]}},"A":1,"a ":1}"#, None),
            ("null", None),
            ("{\"a\":1,", None),
        ] {
            assert_eq!(duplicate_key(text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_nested_too_deeply_is_left_to_the_reader_of_json() {
        let deep = |n| format!("{}{}{}", "[".repeat(n), r#"{"a":1,"a":1}"#, "]".repeat(n));
        assert_eq!(duplicate_key(&deep(100)).as_deref(), Some("a"));
        assert_eq!(duplicate_key(&deep(100_000)), None);
        let read: Result<serde_json::Value, _> = serde_json::from_str(&deep(100_000));
        assert!(read.is_err(), "so it is no JSON, which is a fault of its own");
    }
}
