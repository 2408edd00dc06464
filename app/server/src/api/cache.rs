//! Cache of recent results, to avoid repeated reads. Bounded and local to the process; losing it
//! loses no data.

use std::collections::HashMap;

use windlass_engine::core::SessionId;
use windlass_engine::ports::sync::Mutex;

/// Size of each half of the cache; the older half is dropped when the newer one is full.
const HALF_SIZE: usize = 2_048;

/// Session of a tenant.
type TenantSession = (String, SessionId);

/// Cache of recent results, by session.
pub(crate) struct RecentCache<V> {
    halves: Mutex<CacheHalves<V>>,
}

struct CacheHalves<V> {
    new: HashMap<TenantSession, V>,
    old: HashMap<TenantSession, V>,
}

impl<V> Default for RecentCache<V> {
    fn default() -> Self {
        let halves = CacheHalves { new: HashMap::new(), old: HashMap::new() };
        Self { halves: Mutex::new(halves) }
    }
}

impl<V: Clone> RecentCache<V> {
    /// Returns the cached result of a session.
    pub(crate) fn get(&self, tenant: &str, id: &SessionId) -> Option<V> {
        let whose = (tenant.to_owned(), id.clone());
        let mut halves = self.halves.lock();
        if let Some(value) = halves.new.get(&whose) {
            return Some(value.clone());
        }
        let value = halves.old.remove(&whose)?;
        halves.put(whose, value.clone());
        Some(value)
    }

    /// Caches a result of a session.
    pub(crate) fn insert(&self, tenant: &str, id: &SessionId, value: V) {
        let whose = (tenant.to_owned(), id.clone());
        let mut halves = self.halves.lock();
        halves.old.remove(&whose);
        halves.put(whose, value);
    }
}

impl<V> CacheHalves<V> {
    fn put(&mut self, whose: TenantSession, value: V) {
        if self.new.len() >= HALF_SIZE && !self.new.contains_key(&whose) {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(whose, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_number_is_bounded() {
        let recent = RecentCache::default();
        let id = |n: usize| SessionId::new(&format!("s{n}")).unwrap();
        recent.insert("acme", &id(0), 0);
        for n in 1..5 * HALF_SIZE {
            recent.insert("acme", &id(n), n);
            assert_eq!(recent.get("acme", &id(0)), Some(0), "at {n}");
            assert_eq!(recent.get("other", &id(0)), None);
        }
        let halves = recent.halves.lock();
        assert!(halves.new.len() + halves.old.len() <= 2 * HALF_SIZE);
        drop(halves);
        assert_eq!(recent.get("acme", &id(1)), None);
    }
}
