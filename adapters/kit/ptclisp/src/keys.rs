//! The key rule: which entry of a map a key addresses. Every function that reads, adds, changes or removes an
//! entry by its key asks here, and so does what takes a map apart.
//!
//! Objects of JSON have texts for keys, and programs say keywords. A key addresses
//!
//! 1. the entry that has this key;
//! 2. else the entry of the same name in the other form: a keyword and a text of one name are one key;
//! 3. else, for a keyword with hyphens, the entry of the name with underscores for them, in either form.
//!
//! A key that addresses no entry is new, and is added as it was given. A literal, `hash-map`, `zipmap` and what
//! groups or counts values keep keys as they are, so that a map may have both forms of a name. The form that is
//! given is found first in it, and it has no JSON: see [`crate::json`].

use std::sync::Arc;

use crate::value::{Entries, Value};

impl Entries {
    /// Returns the entry that a key addresses.
    pub(crate) fn addressed(&self, key: &Value) -> Option<(&Value, &Value)> {
        if let Some(found) = self.entries.get_key_value(key) {
            return Some(found);
        }
        if let Some(found) = self.entries.get_key_value(&other_form(key)?) {
            return Some(found);
        }
        let Value::Kw(name) = key else {
            return None;
        };
        if !name.contains('-') {
            return None;
        }
        let name: Arc<str> = name.replace('-', "_").into();
        let keyword = self.entries.get_key_value(&Value::Kw(name.clone()));
        keyword.or_else(|| self.entries.get_key_value(&Value::Str(name)))
    }

    /// Removes the entry that a key addresses.
    pub(crate) fn remove(&mut self, key: &Value) {
        let Some(own) = self.addressed(key).map(|(own, _)| own.clone()) else {
            return;
        };
        if let Some(value) = self.entries.remove(&own) {
            let gone = own.shape().weight.saturating_add(value.shape().weight);
            self.shape.weight = self.shape.weight.saturating_sub(gone);
        }
    }

    /// Returns the key of the entry that a key addresses, or the key itself if it is new.
    pub(crate) fn own_key(&self, key: Value) -> Value {
        match self.addressed(&key) {
            Some((own, _)) => own.clone(),
            None => key,
        }
    }
}

/// The same name in the other form, if the key has one.
fn other_form(key: &Value) -> Option<Value> {
    match key {
        Value::Kw(name) => Some(Value::Str(name.clone())),
        Value::Str(name) => Some(Value::Kw(name.clone())),
        _ => None,
    }
}
