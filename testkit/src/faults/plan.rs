//! Plans: which method of the port, at which of its calls, and what happens there.

use std::fmt;
use std::str::FromStr;

/// Method of the log store port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoreCall {
    /// A claim.
    Claim,
    /// An append.
    Append,
    /// A read of facts, or of a checkpoint.
    Read,
    /// A listing of sessions.
    List,
    /// A release.
    Release,
}

/// Fault at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallFault {
    /// It fails once with `EIO`, and nothing is done.
    Io,
    /// It is done, and fails once with `EIO`.
    IoKept,
    /// It fails as on a full disk (`ENOSPC`), and so do the next two of its kind.
    Full,
    /// The server is away for this call and the next five of its kind.
    Away,
    /// The process dies before it is done.
    KillBefore,
    /// The process dies when it is done, before anybody is told.
    KillAfter,
}

impl StoreCall {
    /// All methods that are counted.
    pub const ALL: [Self; 5] = [Self::Claim, Self::Append, Self::Read, Self::List, Self::Release];

    /// Its name in the text of a plan.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Append => "append",
            Self::Read => "read",
            Self::List => "list",
            Self::Release => "release",
        }
    }
}

impl CallFault {
    /// All faults.
    pub const ALL: [Self; 6] =
        [Self::Io, Self::IoKept, Self::Full, Self::Away, Self::KillBefore, Self::KillAfter];

    /// Returns true if the process dies of it.
    #[must_use]
    pub fn kills(self) -> bool {
        match self {
            Self::KillBefore | Self::KillAfter => true,
            Self::Io | Self::IoKept | Self::Full | Self::Away => false,
        }
    }

    /// Number of calls that it strikes.
    #[must_use]
    pub fn calls(self) -> u64 {
        match self {
            Self::Io | Self::IoKept | Self::KillBefore | Self::KillAfter => 1,
            Self::Full => 3,
            Self::Away => 6,
        }
    }

    /// Its name in the text of a plan.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Io => "io",
            Self::IoKept => "io-kept",
            Self::Full => "full",
            Self::Away => "away",
            Self::KillBefore => "kill-before",
            Self::KillAfter => "kill-after",
        }
    }
}

/// A fault at a call. As text: the method, the fault and the number, as in `append:io:7`.
///
/// ```
/// use windlass_testkit::faults::{CallFault, CallPlan, StoreCall};
///
/// let plan: CallPlan = "append:io:7".parse()?;
/// assert_eq!(plan, CallPlan { call: StoreCall::Append, fault: CallFault::Io, number: 7 });
/// # Ok::<(), windlass_testkit::faults::CallPlanError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallPlan {
    /// Method of the port.
    pub call: StoreCall,
    /// Fault.
    pub fault: CallFault,
    /// Number of the call of the method in the process, from 1.
    pub number: u64,
}

/// Faults at random calls, for as long as a process runs. Nobody dies of them. As text: the seed and the
/// mean distance of two faults of a method in calls, as in `7:200`.
///
/// Which calls are struck follows from the seed alone.
///
/// ```
/// use windlass_testkit::faults::{RandomFaults, StoreCall};
///
/// let faults: RandomFaults = "7:200".parse()?;
/// let struck = (1..=10_000).filter(|n| faults.strikes(StoreCall::Append, *n).is_some());
/// assert!(struck.count() > 10);
/// # Ok::<(), windlass_testkit::faults::CallPlanError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RandomFaults {
    /// Seed of the choices.
    pub seed: u64,
    /// Mean number of calls of a method between two faults, at least 1.
    pub every: u64,
}

/// Faults that leave the process alive.
const LASTING: [CallFault; 4] =
    [CallFault::Io, CallFault::IoKept, CallFault::Full, CallFault::Away];

impl RandomFaults {
    /// Returns the fault that strikes this call of a method, counted from 1.
    #[must_use]
    pub fn strikes(self, call: StoreCall, number: u64) -> Option<CallFault> {
        let begun = |back: u64| {
            let first = number.checked_sub(back).filter(|first| *first > 0)?;
            self.begins(call, first).filter(|fault| fault.calls() > back)
        };
        (0..CallFault::Away.calls()).find_map(begun)
    }

    fn begins(self, call: StoreCall, number: u64) -> Option<CallFault> {
        let method = StoreCall::ALL.iter().position(|known| *known == call)?;
        let chance = mixed(mixed(self.seed ^ method as u64) ^ number);
        let fault = LASTING.get((chance >> 32) as usize % LASTING.len()).copied();
        fault.filter(|_| (chance & 0xFFFF_FFFF).is_multiple_of(self.every.max(1)))
    }
}

impl FromStr for RandomFaults {
    type Err = CallPlanError;

    fn from_str(text: &str) -> Result<Self, CallPlanError> {
        let wrong = || CallPlanError(text.to_owned());
        let (seed, every) = text.split_once(':').ok_or_else(wrong)?;
        let number = |text: &str| text.parse().map_err(|_| wrong());
        Ok(Self { seed: number(seed)?, every: number(every)? })
    }
}

impl fmt::Display for RandomFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seed, self.every)
    }
}

/// Spreads the bits of a number (SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// A text that is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no plan: write a method ({calls}), a fault ({faults}) and the number of a call from 1, \
     as in append:io:7",
    calls = StoreCall::ALL.map(StoreCall::name).join(", "),
    faults = CallFault::ALL.map(CallFault::name).join(", ")
)]
pub struct CallPlanError(String);

impl CallPlan {
    /// Returns true if the fault strikes this call of its method.
    pub(super) fn strikes(self, number: u64) -> bool {
        let end = self.number.saturating_add(self.fault.calls());
        (self.number..end).contains(&number)
    }
}

impl fmt::Display for CallPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.call.name(), self.fault.name(), self.number)
    }
}

impl FromStr for CallPlan {
    type Err = CallPlanError;

    fn from_str(text: &str) -> Result<Self, CallPlanError> {
        let wrong = || CallPlanError(text.to_owned());
        let mut parts = text.split(':');
        let (Some(call), Some(fault), Some(number), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong());
        };
        let call = StoreCall::ALL.into_iter().find(|known| known.name() == call);
        let fault = CallFault::ALL.into_iter().find(|known| known.name() == fault);
        let (call, fault) = (call.ok_or_else(wrong)?, fault.ok_or_else(wrong)?);
        match number.parse().map_err(|_| wrong())? {
            0 => Err(wrong()),
            number => Ok(Self { call, fault, number }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_read_as_they_are_written() {
        for call in StoreCall::ALL {
            for (fault, number) in CallFault::ALL.into_iter().zip([1, 2, 30, 4, 5, u64::MAX]) {
                let plan = CallPlan { call, fault, number };
                assert_eq!(plan.to_string().parse(), Ok(plan));
            }
        }
        for wrong in ["", "append", "append:io", "append:io:0", "append:io:x", "io:append:1"] {
            assert!(wrong.parse::<CallPlan>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn random_faults_follow_from_their_seed_and_pass() {
        let faults: RandomFaults = "3:100".parse().unwrap();
        assert_eq!(faults.to_string(), "3:100");
        let struck = |faults: RandomFaults| -> Vec<Option<CallFault>> {
            (1..5_000).map(|number| faults.strikes(StoreCall::Append, number)).collect()
        };
        let all = struck(faults);
        assert_eq!(all, struck(faults));
        assert_ne!(all, struck(RandomFaults { seed: 4, ..faults }));
        let count = all.iter().flatten().count();
        assert!((50..500).contains(&count), "{count}");
        assert!(all.iter().flatten().all(|fault| !fault.kills()));
        let longest = all.split(|fault| fault.is_none()).map(<[_]>::len).max();
        assert!(longest < Some(20), "{longest:?}");
    }

    #[test]
    fn a_fault_passes_after_its_calls() {
        let plan: CallPlan = "append:full:3".parse().unwrap();
        let struck: Vec<u64> = (1..10).filter(|number| plan.strikes(*number)).collect();
        assert_eq!(struck, [3, 4, 5]);
    }
}
