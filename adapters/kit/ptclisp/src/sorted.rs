//! Maps and sets in the order of their keys, of which small ones take little memory: a node of a tree has room for
//! eleven entries, and most maps of programs have two or three.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The most entries that stand side by side; more are a tree.
const FEW: usize = 8;

/// A map in the order of its keys.
#[derive(Clone)]
pub(crate) enum SortedMap<K, V> {
    Few(Vec<(K, V)>),
    Many(BTreeMap<K, V>),
}

impl<K: Ord, V> SortedMap<K, V> {
    pub(crate) fn len(&self) -> usize {
        match self {
            SortedMap::Few(entries) => entries.len(),
            SortedMap::Many(entries) => entries.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.get_key_value(key).map(|(_, value)| value)
    }

    pub(crate) fn get_key_value(&self, key: &K) -> Option<(&K, &V)> {
        match self {
            SortedMap::Few(entries) => {
                let (key, value) = &entries[place(entries, key).ok()?];
                Some((key, value))
            }
            SortedMap::Many(entries) => entries.get_key_value(key),
        }
    }

    /// Puts an entry in, and returns the value that was there before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let SortedMap::Few(entries) = self {
            match place(entries, &key) {
                Ok(at) => return Some(std::mem::replace(&mut entries[at].1, value)),
                Err(at) if entries.len() < FEW => {
                    entries.insert(at, (key, value));
                    return None;
                }
                Err(_) => *self = SortedMap::Many(std::mem::take(entries).into_iter().collect()),
            }
        }
        match self {
            SortedMap::Few(_) => None,
            SortedMap::Many(entries) => entries.insert(key, value),
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        match self {
            SortedMap::Few(entries) => {
                let at = place(entries, key).ok()?;
                Some(entries.remove(at).1)
            }
            SortedMap::Many(entries) => entries.remove(key),
        }
    }

    /// The entries in the order of their keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let (few, many) = match self {
            SortedMap::Few(entries) => (Some(entries), None),
            SortedMap::Many(entries) => (None, Some(entries)),
        };
        let few = few.into_iter().flatten().map(|(key, value)| (key, value));
        few.chain(many.into_iter().flatten())
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

/// The index of a key, or the one where it would stand.
fn place<K: Ord, V>(entries: &[(K, V)], key: &K) -> Result<usize, usize> {
    entries.binary_search_by(|(known, _)| known.cmp(key))
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> SortedMap<K, V> {
        SortedMap::Few(Vec::new())
    }
}

impl<K, V> From<BTreeMap<K, V>> for SortedMap<K, V> {
    fn from(entries: BTreeMap<K, V>) -> SortedMap<K, V> {
        match entries.len() {
            0..=FEW => SortedMap::Few(entries.into_iter().collect()),
            _ => SortedMap::Many(entries),
        }
    }
}

impl<K: Ord, V: Ord> SortedMap<K, V> {
    /// Compares entry by entry.
    pub(crate) fn cmp(&self, other: &SortedMap<K, V>) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

/// A set in order.
#[derive(Clone)]
pub(crate) struct SortedSet<K>(SortedMap<K, ()>);

impl<K: Ord> SortedSet<K> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, member: &K) -> Option<&K> {
        self.0.get_key_value(member).map(|(member, ())| member)
    }

    pub(crate) fn contains(&self, member: &K) -> bool {
        self.get(member).is_some()
    }

    pub(crate) fn insert(&mut self, member: K) {
        self.0.insert(member, ());
    }

    /// The members in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }

    /// Compares member by member.
    pub(crate) fn cmp(&self, other: &SortedSet<K>) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl<K> Default for SortedSet<K> {
    fn default() -> SortedSet<K> {
        SortedSet(SortedMap::default())
    }
}

impl<K: Ord> From<BTreeSet<K>> for SortedSet<K> {
    fn from(members: BTreeSet<K>) -> SortedSet<K> {
        let few = members.len() <= FEW;
        let members = members.into_iter().map(|member| (member, ()));
        SortedSet(match few {
            true => SortedMap::Few(members.collect()),
            false => SortedMap::Many(members.collect()),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_map_does_what_a_tree_does(changes in prop::collection::vec((0..30_u8, any::<Option<u8>>()), 0..60)) {
            let (mut sorted, mut tree) = (SortedMap::default(), BTreeMap::new());
            for (key, value) in changes {
                match value {
                    Some(value) => prop_assert_eq!(sorted.insert(key, value), tree.insert(key, value)),
                    None => prop_assert_eq!(sorted.remove(&key), tree.remove(&key)),
                }
                prop_assert_eq!(sorted.len(), tree.len());
                prop_assert_eq!(sorted.is_empty(), tree.is_empty());
                prop_assert_eq!(sorted.get(&key), tree.get(&key));
                prop_assert!(sorted.iter().eq(tree.iter()));
                let again = SortedMap::from(tree.clone());
                prop_assert_eq!(sorted.cmp(&again), Ordering::Equal);
            }
        }

        #[test]
        fn a_set_does_what_a_tree_does(members in prop::collection::vec(0..30_u8, 0..40)) {
            let (mut sorted, mut tree) = (SortedSet::default(), BTreeSet::new());
            for member in members {
                sorted.insert(member);
                tree.insert(member);
                prop_assert!(sorted.iter().eq(tree.iter()));
                prop_assert!(sorted.contains(&member) && !sorted.contains(&99));
                prop_assert_eq!(sorted.cmp(&SortedSet::from(tree.clone())), Ordering::Equal);
            }
        }
    }
}
