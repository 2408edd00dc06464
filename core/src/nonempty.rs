//! A list that holds at least one thing, by its type.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// A list with at least one element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    try_from = "Vec<T>",
    into = "Vec<T>",
    bound(serialize = "T: Clone + Serialize")
)]
pub struct NonEmpty<T> {
    head: T,
    tail: Vec<T>,
}

impl<T> NonEmpty<T> {
    /// Builds one from a list, unless it is empty.
    #[must_use]
    pub fn from_vec(list: Vec<T>) -> Option<Self> {
        let mut list = list.into_iter();
        let head = list.next()?;
        Some(Self {
            head,
            tail: list.collect(),
        })
    }

    /// The elements in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        core::iter::once(&self.head).chain(self.tail.iter())
    }

    /// The elements in order, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        core::iter::once(&mut self.head).chain(self.tail.iter_mut())
    }

    /// How many there are; at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.tail.len().saturating_add(1)
    }
}

impl<T> From<NonEmpty<T>> for Vec<T> {
    fn from(list: NonEmpty<T>) -> Self {
        core::iter::once(list.head).chain(list.tail).collect()
    }
}

impl<T> TryFrom<Vec<T>> for NonEmpty<T> {
    type Error = &'static str;

    fn try_from(list: Vec<T>) -> Result<Self, Self::Error> {
        Self::from_vec(list).ok_or("the list is empty")
    }
}
