//! A list with at least one element, by its type.

use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, de};

/// A list with at least one element. Serialised as a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct NonEmpty<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NonEmpty<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let empty = || de::Error::custom("a list that is never empty has no elements");
        Self::from_vec(Vec::deserialize(from)?).ok_or_else(empty)
    }
}

impl<T> NonEmpty<T> {
    /// Builds a list of one element.
    #[must_use]
    pub fn new(first: T) -> Self {
        Self(alloc::vec![first])
    }

    /// Builds a non-empty list; `None` if `list` is empty.
    #[must_use]
    pub fn from_vec(list: Vec<T>) -> Option<Self> {
        (!list.is_empty()).then_some(Self(list))
    }

    /// Returns the elements in order.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// Returns the elements in order, mutably.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.0
    }

    /// Returns the elements in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// Returns the elements in order, mutably.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }

    /// Adds an element at the end.
    pub fn push(&mut self, element: T) {
        self.0.push(element);
    }

    /// Retains the elements for which `keep` returns true. If there are none, retains all.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        if self.0.iter().any(&keep) {
            self.0.retain(keep);
        }
    }

    /// Returns the number of elements, at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
