//! Tally: how often the laws of users applied.

use std::collections::BTreeMap;

use super::{Law, LawId};

/// Counts of the occasions that users' laws applied to. The kit's laws are not counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    laws: BTreeMap<&'static str, Applied>,
}

/// Count of one law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Applied {
    worlds: u64,
    times: u64,
}

/// A law that never applied, so that nothing is known of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "law {law} never applied in {worlds} worlds, so nothing is known of it; it says: {says}. Give the \
     worlds the tools, weights or settings in which it applies"
)]
pub struct NeverApplied {
    /// Name of the law.
    pub law: &'static str,
    /// Promise of the law.
    pub says: &'static str,
    /// Number of worlds that were run.
    pub worlds: u64,
}

impl Tally {
    /// Returns the number of occasions, over all worlds.
    #[must_use]
    pub fn times(&self, law: &str) -> u64 {
        self.laws.get(law).map_or(0, |applied| applied.times)
    }

    /// Returns the number of worlds in which a law applied. In a search each transition counts as one.
    #[must_use]
    pub fn worlds(&self, law: &str) -> u64 {
        self.laws.get(law).map_or(0, |applied| applied.worlds)
    }

    /// Adds the counts of another world.
    pub fn add(&mut self, other: &Self) {
        for (law, applied) in &other.laws {
            let sum = self.laws.entry(law).or_default();
            sum.worlds += applied.worlds;
            sum.times += applied.times;
        }
    }

    /// Checks that each law of a user applied at least once.
    ///
    /// # Errors
    /// [`NeverApplied`] with the first law that did not.
    pub fn require(&self, laws: &[Law], worlds: u64) -> Result<(), NeverApplied> {
        for law in laws {
            if let LawId::Own(name) = law.id()
                && self.times(name) == 0
            {
                return Err(NeverApplied { law: name, says: law.says(), worlds });
            }
        }
        Ok(())
    }

    /// Notes the occasions in one world so far. A log that lost its tail may have fewer than before.
    pub(super) fn note(&mut self, law: &'static str, times: u64) {
        if times > 0 {
            let applied = self.laws.entry(law).or_default();
            *applied = Applied { worlds: 1, times: applied.times.max(times) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_counts_the_most_that_it_had_and_worlds_add_up() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        for times in [1, 3, 2, 0] {
            one.note("mine", times);
        }
        other.note("mine", 4);
        one.add(&other);
        assert_eq!((one.worlds("mine"), one.times("mine")), (2, 7));
        assert_eq!((one.worlds("other"), one.times("other")), (0, 0));
    }

    #[test]
    fn a_law_that_never_applied_is_named() {
        let law = Law::new("mine", "all is well", |_| Ok(0));
        let mut tally = Tally::default();
        let missed = tally.require(&[law], 8_000).unwrap_err().to_string();
        assert!(missed.contains("law mine never applied in 8000 worlds"), "{missed}");
        tally.note("mine", 1);
        assert_eq!(tally.require(&[law], 8_000), Ok(()));
    }
}
