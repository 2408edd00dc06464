//! A list that only grows, with cheap clones.
//!
//! A prompt is rendered for every sample. If each one copied the whole history, a step would cost
//! more the longer the session is. Here a clone copies O(log n) pointers. The list is a binary
//! counter: chunks of 8, 16, 32, ... elements, equal neighbours merged, and up to 7 elements behind
//! them.

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Elements of the smallest full chunk.
const CHUNK: usize = 8;

/// A list that only grows. A clone copies O(log n) pointers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendList<T> {
    chunks: Vec<Arc<Vec<T>>>,
    len: usize,
}

impl<T> Default for AppendList<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<T: Clone> AppendList<T> {
    /// Appends an element: O(log n) copies on average.
    pub fn push(&mut self, element: T) {
        self.len = self.len.saturating_add(1);
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => match Arc::get_mut(last) {
                Some(owned) => owned.push(element),
                None => *last = Arc::new(begin(last, element)),
            },
            Some(_) | None => self.chunks.push(Arc::new(begin(&[], element))),
        }
        while let [.., before, last] = &mut *self.chunks
            && before.len() == last.len()
            && last.len() >= CHUNK
        {
            let mut merged = Vec::with_capacity(last.len().saturating_mul(2));
            for chunk in [before, last] {
                match Arc::get_mut(chunk) {
                    Some(owned) => merged.append(owned),
                    None => merged.extend(chunk.iter().cloned()),
                }
            }
            let rest = self.chunks.len().saturating_sub(2);
            self.chunks.truncate(rest);
            self.chunks.push(Arc::new(merged));
        }
    }
}

/// Returns a chunk of these elements and one more, with room for the others.
fn begin<T: Clone>(elements: &[T], last: T) -> Vec<T> {
    let mut chunk = Vec::with_capacity(CHUNK);
    chunk.extend_from_slice(elements);
    chunk.push(last);
    chunk
}

impl<T: Clone> AppendList<T> {
    /// Returns a list of the first elements, the same as one that never had more.
    #[must_use]
    pub fn truncated(&self, len: usize) -> Self {
        match len < self.len {
            true => self.iter().take(len).cloned().collect(),
            false => self.clone(),
        }
    }
}

impl<T> AppendList<T> {
    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the elements in order.
    #[must_use]
    pub fn iter(&self) -> AppendListIter<'_, T> {
        self.iter_from(0)
    }

    /// Returns the elements in order from position `start`, which it finds in O(log n).
    #[must_use]
    pub fn iter_from(&self, start: usize) -> AppendListIter<'_, T> {
        let mut skip = start;
        let mut chunk = 0;
        for candidate in &self.chunks {
            if skip < candidate.len() {
                break;
            }
            skip = skip.saturating_sub(candidate.len());
            chunk += 1;
        }
        AppendListIter { chunks: self.chunks.get(chunk..).unwrap_or_default(), at: skip }
    }

    /// Returns the elements in reverse order.
    pub fn iter_reverse(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().rev().flat_map(|chunk| chunk.iter().rev())
    }

    /// Returns the last element.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.chunks.last().and_then(|chunk| chunk.last())
    }
}

impl<T: PartialEq> AppendList<T> {
    /// Returns true if this list begins with all elements of `older`. Skips chunks that both lists
    /// share: if this list grew from `older`, it reads O(log n) elements per new one on average.
    #[must_use]
    pub fn extends(&self, older: &Self) -> bool {
        if older.len > self.len {
            return false;
        }
        let both = self.chunks.iter().zip(&older.chunks);
        let shared = both.take_while(|(new, old)| Arc::ptr_eq(new, old));
        let same: usize = shared.map(|(chunk, _)| chunk.len()).sum();
        let mut rest = self.iter_from(same);
        older.iter_from(same).all(|old| rest.next() == Some(old))
    }
}

impl<T> From<Vec<T>> for AppendList<T> {
    /// Builds the same list as pushing each element. The chunk lengths are the powers of two that
    /// sum to the length, the largest first; the powers below [`CHUNK`] are one chunk.
    fn from(mut elements: Vec<T>) -> Self {
        let len = elements.len();
        let mut chunks = Vec::new();
        let mut last = len % CHUNK;
        while !elements.is_empty() {
            if last == 0 {
                last = 1_usize.checked_shl(elements.len().trailing_zeros()).unwrap_or(len);
            }
            chunks.push(Arc::new(elements.split_off(elements.len().saturating_sub(last))));
            last = 0;
        }
        chunks.reverse();
        Self { chunks, len }
    }
}

/// Serialised as a list.
impl<T: Serialize> Serialize for AppendList<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for AppendList<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Vec::deserialize(from).map(Self::from)
    }
}

/// Iterator over the elements of an [`AppendList`] in order.
#[derive(Debug, Clone)]
pub struct AppendListIter<'a, T> {
    chunks: &'a [Arc<Vec<T>>],
    at: usize,
}

impl<'a, T> Iterator for AppendListIter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            let (first, rest) = self.chunks.split_first()?;
            if let Some(element) = first.get(self.at) {
                self.at += 1;
                return Some(element);
            }
            self.chunks = rest;
            self.at = 0;
        }
    }
}

impl<'a, T> IntoIterator for &'a AppendList<T> {
    type Item = &'a T;
    type IntoIter = AppendListIter<'a, T>;

    fn into_iter(self) -> AppendListIter<'a, T> {
        self.iter()
    }
}

impl<T> FromIterator<T> for AppendList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        elements.into_iter().collect::<Vec<T>>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_list_at_every_length_and_from_every_start() {
        for len in 0..70_usize {
            let chain: AppendList<usize> = (0..len).collect();
            assert_eq!(chain.len(), len);
            assert_eq!(chain.last().copied(), len.checked_sub(1));
            for start in 0..=len {
                let seen: Vec<usize> = chain.iter_from(start).copied().collect();
                assert_eq!(seen, (start..len).collect::<Vec<_>>());
            }
            assert!(chain.iter_reverse().copied().eq((0..len).rev()));
        }
    }

    #[test]
    fn tells_whether_it_extends_another() {
        for len in 0..40_usize {
            let older: AppendList<usize> = (0..len).collect();
            let mut newer = older.clone();
            for more in 0..40_usize {
                assert!(newer.extends(&older), "{len} and {more} more");
                assert_eq!(older.extends(&newer), more == 0);
                newer.push(len + more);
            }
            for wrong in 0..len {
                let other: AppendList<usize> =
                    (0..len + 5).map(|n| if n == wrong { 1_000 } else { n }).collect();
                assert!(!other.extends(&older), "{len}, wrong at {wrong}");
            }
        }
    }

    #[test]
    fn a_snapshot_does_not_see_what_comes_later() {
        let mut chain: AppendList<u32> = (0..5).collect();
        let snapshot = chain.clone();
        chain.push(5);
        chain.push(6);
        assert_eq!(snapshot.iter().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(chain.len(), 7);
        assert!(chain.chunks.len() <= 3);
    }

    #[test]
    fn one_made_of_a_list_is_the_same_as_one_that_grew() {
        for len in 0..130_usize {
            let grown: AppendList<usize> = (0..len).collect();
            let made = AppendList::from((0..len).collect::<Vec<_>>());
            // The chunks are equal, so both lists grow in the same way.
            assert_eq!(made, grown);
        }
    }

    #[test]
    fn only_a_chain_without_elements_is_empty() {
        let mut chain = AppendList::default();
        assert!(chain.is_empty());
        chain.push(0);
        assert!(!chain.is_empty());
        chain.push(1);
        assert!(!chain.is_empty());
    }
}
