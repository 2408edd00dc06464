//! Retained definitions: what programs leave for later ones, recorded as changes.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::ProgramOutcome;

/// Change of one definition that lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetainedChange {
    /// Name of the definition.
    pub name: Arc<str>,
    /// New value, in the format of the runtime; `None` if the definition is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Arc<str>>,
}

impl RetainedChange {
    /// Returns a new value of a definition.
    #[must_use]
    pub fn set(name: &str, value: &str) -> Self {
        Self { name: name.into(), value: Some(value.into()) }
    }

    /// Returns its bytes.
    fn bytes(&self) -> u64 {
        let value = self.value.as_ref().map_or(0, |value| value.len());
        self.name.len().saturating_add(value) as u64
    }
}

/// Memory of a session's programs, in the format of their runtime.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetainedMemory {
    /// Whole memory, as earlier versions recorded it. The entries apply over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Arc<str>>,
    /// Values of the definitions by name; `None` for one of the base that is removed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub entries: BTreeMap<Arc<str>, Option<Arc<str>>>,
}

impl RetainedMemory {
    /// Returns true if nothing is retained.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.base.is_none() && self.entries.is_empty()
    }

    /// Applies changes, in order.
    pub fn apply(&mut self, changes: &[RetainedChange]) {
        for change in changes {
            match (&change.value, &self.base) {
                (None, None) => self.entries.remove(&change.name),
                (Some(_), _) | (None, Some(_)) => {
                    self.entries.insert(change.name.clone(), change.value.clone())
                }
            };
        }
    }

    /// Returns this memory with entries alone, where its base has these definitions.
    #[must_use]
    pub fn without_base(&self, base: impl IntoIterator<Item = RetainedChange>) -> Self {
        let mut memory = Self::default();
        base.into_iter().for_each(|change| memory.apply(&[change]));
        for (name, value) in &self.entries {
            memory.apply(&[RetainedChange { name: name.clone(), value: value.clone() }]);
        }
        memory
    }

    /// Returns true if programs may leave this memory in place of the one before: it has at most this many
    /// bytes, or no more than that one, which may have been left under a wider limit.
    #[must_use]
    pub fn is_within(&self, most: u64, before: &Self) -> bool {
        self.bytes() <= most.max(before.bytes())
    }

    /// Returns the definitions in entries, by name.
    pub fn definitions(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.entries.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
    }

    /// Returns its bytes: of each definition its name and its text, and all of a base. Runtimes compare the
    /// bytes of the memory without its base with [`ProgramLimits::retained_bytes`](super::ProgramLimits).
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let base = self.base.as_ref().map_or(0, |base| base.len());
        let sizes = self.definitions().map(|(name, value)| name.len().saturating_add(value.len()));
        sizes.fold(base, usize::saturating_add) as u64
    }
}

/// A definition that lasts, as the report on a program shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Name of the definition, or its beginning.
    pub name: String,
    /// Beginning of its value, with its size; or the parameters of a function.
    pub preview: String,
}

impl Definition {
    /// Most characters of a name.
    const NAME_CHARS: usize = 64;
    /// Most characters of a value's beginning.
    pub const PREVIEW_CHARS: usize = 60;

    /// Returns the definition with the beginnings of its name and of the text of its value. `size` is asked
    /// for the number of the value's parts, with their name, if the text is cut.
    #[must_use]
    pub fn new(
        name: &str,
        text: &str,
        size: impl FnOnce() -> Option<(usize, &'static str)>,
    ) -> Self {
        let preview = match beginning(text, Self::PREVIEW_CHARS) {
            None => String::from(text),
            Some(shown) => match size() {
                Some((count, parts)) => format!("{shown}.. ({count} {parts})"),
                None => format!("{shown}.."),
            },
        };
        Self { name: Self::short_name(name), preview }
    }

    /// Returns a name as definitions have it.
    pub(super) fn short_name(name: &str) -> String {
        match beginning(name, Self::NAME_CHARS) {
            None => String::from(name),
            Some(shown) => format!("{shown}.."),
        }
    }
}

/// Returns the first characters of a text that has more.
fn beginning(text: &str, chars: usize) -> Option<&str> {
    let (end, _) = text.char_indices().nth(chars)?;
    text.get(..end)
}

impl ProgramOutcome {
    /// Returns the bytes of memory that it recorded.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let whole = self.memory.as_ref().map_or(0, |memory| memory.len() as u64);
        self.retained.iter().map(RetainedChange::bytes).fold(whole, u64::saturating_add)
    }

    /// Returns true if it changes the memory of later programs.
    pub(crate) fn changes_memory(&self) -> bool {
        self.memory.is_some() || !self.retained.is_empty()
    }

    /// Drops its definitions.
    pub(crate) fn forget_definitions(&mut self) {
        self.memory = None;
        self.retained.clear();
        self.defined.clear();
    }
}

/// Returns the values that some definitions have now, to undo changes of them.
pub(crate) fn before(memory: &RetainedMemory, changes: &[RetainedChange]) -> Vec<EarlierValue> {
    let value = |change: &RetainedChange| EarlierValue {
        name: change.name.clone(),
        value: memory.entries.get(&change.name).cloned(),
    };
    changes.iter().map(value).collect()
}

/// Value that a definition had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(Arc<str>, u8, Option<Arc<str>>)", into = "(Arc<str>, u8, Option<Arc<str>>)")]
pub(crate) struct EarlierValue {
    name: Arc<str>,
    /// Entry of the memory; `None` if it had none.
    value: Option<Option<Arc<str>>>,
}

impl EarlierValue {
    /// Restores the value.
    pub(crate) fn restore(self, memory: &mut RetainedMemory) {
        match self.value {
            Some(value) => memory.entries.insert(self.name, value),
            None => memory.entries.remove(&self.name),
        };
    }

    /// Returns the bytes of the value.
    pub(crate) fn bytes(&self) -> usize {
        let value = self.value.as_ref().and_then(Option::as_ref);
        value.map_or(0, |value| value.len())
    }
}

impl From<(Arc<str>, u8, Option<Arc<str>>)> for EarlierValue {
    fn from((name, known, value): (Arc<str>, u8, Option<Arc<str>>)) -> Self {
        Self { name, value: (known != 0).then_some(value) }
    }
}

impl From<EarlierValue> for (Arc<str>, u8, Option<Arc<str>>) {
    fn from(earlier: EarlierValue) -> Self {
        (earlier.name, u8::from(earlier.value.is_some()), earlier.value.flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_of_a_base_counts_until_it_is_replaced() {
        let set = RetainedChange::set;
        let mut memory = RetainedMemory { base: Some("whole".into()), ..RetainedMemory::default() };
        let base = || [set("a", "12345"), set("b", "1")];
        let before = memory.without_base(base());
        assert_eq!(before.bytes(), 8);
        memory.apply(&[set("a", "1"), RetainedChange { name: "b".into(), value: None }]);
        let after = memory.without_base(base());
        assert_eq!((after.bytes(), after.base.is_none()), (2, true));
        // Beyond the limit it may become smaller, and not larger.
        assert!(after.is_within(1, &before) && before.is_within(1, &before));
        assert!(!before.is_within(7, &after) && before.is_within(8, &after));
    }
}
