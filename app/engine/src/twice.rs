//! Keys that are in an object twice. Whoever reads such JSON takes the first or the last of them, so
//! what is checked could be another value than what a tool acts on. Pure.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A key that is twice in one object of a JSON text, at whatever depth. Keys are compared as the
/// JSON says them. `None` also for what is no JSON, or is nested deeper than JSON is read here.
pub(crate) fn key(text: &str) -> Option<String> {
    let mut found = None;
    let mut from = serde_json::Deserializer::from_str(text);
    let _ = Walk(&mut found).deserialize(&mut from);
    found
}

/// Walks through a value, and stops with an error at the first key that is there twice.
struct Walk<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
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
        while seq.next_element_seed(Walk(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                *self.0 = Some(key);
                return Err(A::Error::custom("a key is there twice"));
            }
            seen.insert(key);
            map.next_value_seed(Walk(self.0))?;
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
            (
                r#"{"a":1,"b":{"c":[0,{"d":null,"e":true,"d":"x"}]}}"#,
                Some("d"),
            ),
            (r#"[{"env":{}},{"env":{},"\u0065nv":{}}]"#, Some("env")),
            (r#"{"":1,"":2}"#, Some("")),
            (
                r#"{"a":{"a":{"a":[{"a":1},{"a":-1.5}]}},"A":1,"a ":1}"#,
                None,
            ),
            ("null", None),
            ("{\"a\":1,", None),
        ] {
            assert_eq!(key(text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_nested_too_deeply_is_left_to_the_reader_of_json() {
        let deep = |n| format!("{}{}{}", "[".repeat(n), r#"{"a":1,"a":1}"#, "]".repeat(n));
        assert_eq!(key(&deep(100)).as_deref(), Some("a"));
        assert_eq!(key(&deep(100_000)), None);
        let read: Result<serde_json::Value, _> = serde_json::from_str(&deep(100_000));
        assert!(
            read.is_err(),
            "so it is no JSON, which is a fault of its own"
        );
    }
}
