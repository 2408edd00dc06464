//! JSON with its keys in their order, and with numbers and texts as they were written.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Most levels of a value that is read.
pub(super) const LEVELS: usize = 64;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Object(Vec<(String, Self)>),
    Array(Vec<Self>),
    /// Any other value, as it is written.
    Raw(String),
}

impl Json {
    /// Reads a whole value; `None` if it is not JSON, or too deep.
    pub(super) fn read(text: &str) -> Option<Self> {
        Self::level(text.trim(), 0)
    }

    fn level(text: &str, level: usize) -> Option<Self> {
        if level > LEVELS {
            return None;
        }
        Some(match text.bytes().next()? {
            b'{' => {
                let read = |(key, raw): (String, &RawValue)| {
                    Some((key, Self::level(raw.get(), level + 1)?))
                };
                Self::Object(entries(text)?.into_iter().map(read).collect::<Option<_>>()?)
            }
            b'[' => {
                let read = |raw: &RawValue| Self::level(raw.get(), level + 1);
                Self::Array(items(text)?.into_iter().map(read).collect::<Option<_>>()?)
            }
            _ => {
                let raw: &RawValue = serde_json::from_str(text).ok()?;
                Self::Raw(raw.get().to_owned())
            }
        })
    }

    /// Creates a string.
    pub(super) fn string(text: &str) -> Self {
        Self::Raw(serde_json::Value::from(text).to_string())
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(entries) = self else {
            return None;
        };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the text of a string.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Raw(raw) => serde_json::from_str(raw).ok(),
            Self::Object(_) | Self::Array(_) => None,
        }
    }

    /// Returns true for a string of this text.
    pub(super) fn is_text(&self, text: &str) -> bool {
        self.text().is_some_and(|own| own == text)
    }

    /// Returns the items of an array; none for other values.
    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::Array(items) => items,
            Self::Object(_) | Self::Raw(_) => &[],
        }
    }

    /// Returns true for a value that is written so.
    pub(super) fn is(&self, raw: &str) -> bool {
        matches!(self, Self::Raw(own) if own == raw)
    }

    /// Appends the value as JSON without white space.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Object(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    Self::string(key).write(out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
            Self::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Raw(raw) => out.push_str(raw),
        }
    }
}

/// Reads the items of an array, each as a part of `text`.
pub(super) fn items(text: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(text).ok()
}

/// Reads the entries of an object in their order, each value as a part of `text`.
pub(super) fn entries(text: &str) -> Option<Vec<(String, &RawValue)>> {
    serde_json::from_str::<Entries<'_>>(text).ok().map(|Entries(entries)| entries)
}

struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        from.deserialize_map(EntriesVisitor)
    }
}
