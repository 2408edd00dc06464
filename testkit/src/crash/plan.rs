//! Plans: which fault, and at which sync.

use std::fmt;
use std::str::FromStr;

/// What happens at a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The process dies before the store is asked.
    KillBefore,
    /// The process dies when the store has done it, before anybody is told.
    KillAfter,
    /// The disk fails once (`EIO`), and nothing is done.
    Io,
    /// The disk fails once (`EIO`), and it is done all the same.
    IoKept,
    /// The disk is full (`ENOSPC`), from there on.
    Full,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 5] =
        [Self::KillBefore, Self::KillAfter, Self::Io, Self::IoKept, Self::Full];

    /// Returns true if the process dies of it.
    #[must_use]
    pub fn kills(self) -> bool {
        match self {
            Self::KillBefore | Self::KillAfter => true,
            Self::Io | Self::IoKept | Self::Full => false,
        }
    }

    /// Its name in the text of a plan.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KillBefore => "kill-before",
            Self::KillAfter => "kill-after",
            Self::Io => "io",
            Self::IoKept => "io-kept",
            Self::Full => "full",
        }
    }
}

/// A fault at a sync. As text it is the fault's name, a colon and the number: `kill-after:7`.
///
/// ```
/// use windlass_testkit::crash::{Fault, Plan};
///
/// let plan: Plan = "kill-after:7".parse()?;
/// assert_eq!(plan, Plan { fault: Fault::KillAfter, sync: 7 });
/// # Ok::<(), windlass_testkit::crash::PlanError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Plan {
    /// What happens.
    pub fault: Fault,
    /// At which sync of the process, from 1.
    pub sync: u64,
}

/// A text that is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no plan: write a fault ({faults}), a colon and the number of a sync from 1, as in \
     kill-after:7",
    faults = Fault::ALL.map(Fault::name).join(", ")
)]
pub struct PlanError(String);

impl Plan {
    /// The fault that strikes a sync, if any.
    pub(super) fn strikes(self, sync: u64) -> Option<Fault> {
        let strikes = match self.fault {
            Fault::KillBefore | Fault::KillAfter | Fault::Io | Fault::IoKept => sync == self.sync,
            Fault::Full => sync >= self.sync,
        };
        strikes.then_some(self.fault)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.fault.name(), self.sync)
    }
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let wrong = || PlanError(text.to_owned());
        let (name, number) = text.split_once(':').ok_or_else(wrong)?;
        let fault = Fault::ALL.into_iter().find(|fault| fault.name() == name);
        let fault = fault.ok_or_else(wrong)?;
        let sync = number.parse().map_err(|_| wrong())?;
        match sync {
            0 => Err(wrong()),
            sync => Ok(Self { fault, sync }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_read_as_they_are_written() {
        for (fault, sync) in Fault::ALL.into_iter().zip([1, 2, 30, 4, u64::MAX]) {
            let plan = Plan { fault, sync };
            assert_eq!(plan.to_string().parse(), Ok(plan));
        }
        for wrong in ["", "io", "io:", "io:0", "io:x", "kill:1", "io:1:2"] {
            let error = wrong.parse::<Plan>().unwrap_err();
            assert!(error.to_string().contains("kill-before, kill-after"));
        }
    }

    #[test]
    fn a_full_disk_stays_full() {
        let full: Plan = "full:3".parse().unwrap();
        let io: Plan = "io:3".parse().unwrap();
        let struck = |plan: Plan| (1..=4).map(move |sync| plan.strikes(sync).is_some());
        assert!(struck(full).eq([false, false, true, true]));
        assert!(struck(io).eq([false, false, true, false]));
    }
}
