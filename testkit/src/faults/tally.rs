//! The tally of a class of faults, and its line.

use std::fmt;

/// End of one life of a program under one fault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LifeEnd {
    /// True if the fault struck.
    pub injected: bool,
    /// True if the fault struck again and again, so that it did not pass.
    pub repeated: bool,
    /// Acknowledged inputs whose turns settled.
    pub settled: u64,
    /// Starts of the program after the first.
    pub restarts: u64,
    /// Acknowledged inputs and published facts that the log lacks, in words.
    pub lost: Vec<String>,
    /// Effects that were done twice, in words.
    pub twice: Vec<String>,
    /// Acknowledged inputs whose turns did not settle in time, in words.
    pub stuck: Vec<String>,
    /// Other violations, in words.
    pub wrong: Vec<String>,
}

/// Counts of a class of faults. It displays as one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FaultTally {
    /// Name of the class.
    pub class: String,
    /// Lives in which the fault struck.
    pub injected: u64,
    /// Acknowledged inputs whose turns settled.
    pub settled: u64,
    /// Starts after the first.
    pub restarted: u64,
    /// Number of lost inputs and facts.
    pub lost: u64,
    /// Number of effects that were done twice.
    pub twice: u64,
    /// Number of turns that did not settle.
    pub stuck: u64,
    /// Descriptions of all that is wrong.
    pub wrong: Vec<String>,
}

impl FaultTally {
    /// Creates the tally of a class.
    #[must_use]
    pub fn new(class: impl Into<String>) -> Self {
        Self { class: class.into(), ..Self::default() }
    }

    /// Adds a life. `transient` is true if the fault passes without a restart: then a restart by the
    /// program's end is wrong.
    pub fn add(&mut self, fault: &str, transient: bool, life: LifeEnd) {
        let count = |all: &[String]| u64::try_from(all.len()).unwrap_or(u64::MAX);
        self.injected += u64::from(life.injected);
        self.settled += life.settled;
        self.restarted += life.restarts;
        self.lost += count(&life.lost);
        self.twice += count(&life.twice);
        self.stuck += count(&life.stuck);
        let named = |what: &str, all: Vec<String>| {
            let words = all.into_iter().map(move |words| format!("{fault}: {what}: {words}"));
            words.collect::<Vec<_>>()
        };
        self.wrong.extend(named("lost", life.lost));
        self.wrong.extend(named("twice", life.twice));
        self.wrong.extend(named("stuck", life.stuck));
        self.wrong.extend(named("wrong", life.wrong));
        if transient && !life.repeated && life.restarts > 0 {
            self.wrong.push(format!("{fault}: the program ended, and the fault was transient"));
        }
        if life.restarts > 1 {
            self.wrong.push(format!("{fault}: one restart was not enough: {}", life.restarts));
        }
    }
}

impl fmt::Display for FaultTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: injected {}, settled {}, restarted {}, lost {}, twice {}, stuck {}",
            self.class,
            self.injected,
            self.settled,
            self.restarted,
            self.lost,
            self.twice,
            self.stuck
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_counts_and_names_what_is_wrong() {
        let mut tally = FaultTally::new("file append io");
        tally.add(
            "append:io:1",
            true,
            LifeEnd { injected: true, settled: 2, ..LifeEnd::default() },
        );
        assert_eq!(tally.wrong, Vec::<String>::new());
        let lost = vec!["fact 3 of s".to_owned()];
        let life = LifeEnd { injected: true, restarts: 1, lost, ..LifeEnd::default() };
        tally.add("append:io:2", true, life);
        assert_eq!(
            tally.to_string(),
            "file append io: injected 2, settled 2, restarted 1, lost 1, twice 0, stuck 0"
        );
        assert_eq!(
            tally.wrong,
            [
                "append:io:2: lost: fact 3 of s",
                "append:io:2: the program ended, and the fault was transient"
            ]
        );
    }
}
