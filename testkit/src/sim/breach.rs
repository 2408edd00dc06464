//! Breach: what a run of the simulation may find, and the failure that tells of it.

use std::fmt;

use crate::laws::{Broken, NeverApplied};

/// What does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Breach {
    /// A law of a session.
    Law(Broken),
    /// A promise about the whole: what the store kept, what the world saw, who wrote.
    Promise {
        /// Which.
        promise: Promise,
        /// How.
        what: String,
    },
    /// A law of a user never applied.
    NeverApplied(NeverApplied),
    /// Nothing of what is tested: the simulation itself could not go on.
    Simulation(String),
}

/// What holds of a world as a whole, seen from outside of every process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// What was acknowledged or published stays in the log, byte for byte, and no read of the log
    /// is ever shorter.
    Kept,
    /// An append is in the log whole or not at all.
    Whole,
    /// Only the latest claim of a session appends, and whoever learns that it is not the latest
    /// touches nothing any more.
    OneWriter,
    /// What was published is what the log says.
    Published,
    /// An effectful call runs at most once, and only what is durable changes anything.
    Once,
    /// What a user said and was acknowledged is heard exactly once; what was not, at most once.
    Heard,
    /// Once the faults are over, every session comes to rest within bounded steps.
    Settles,
}

impl Promise {
    /// The promise in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Kept => "what was acknowledged is kept",
            Self::Whole => "an append is kept whole or not at all",
            Self::OneWriter => "a session has one writer",
            Self::Published => "what is published is what the log says",
            Self::Once => "an effectful call runs once, and only when it is durable",
            Self::Heard => "what a user said is heard exactly once",
            Self::Settles => "without faults every session comes to rest",
        }
    }
}

impl From<Broken> for Breach {
    fn from(broken: Broken) -> Self {
        Self::Law(broken)
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Law(broken) => write!(f, "{broken}"),
            Self::Promise { promise, what } => {
                let words = promise.words();
                write!(f, "a promise is broken ({words}): {what}")
            }
            Self::NeverApplied(never) => never.fmt(f),
            Self::Simulation(what) => write!(f, "the simulation cannot go on: {what}"),
        }
    }
}

/// Builds the answer of a promise that does not hold.
pub(super) fn breach(promise: Promise, what: impl Into<String>) -> Breach {
    Breach::Promise { promise, what: what.into() }
}

/// Checks that a promise holds.
pub(super) fn keep(
    promise: Promise,
    holds: bool,
    what: impl FnOnce() -> String,
) -> Result<(), Breach> {
    match holds {
        true => Ok(()),
        false => Err(breach(promise, what())),
    }
}

/// A run that found something.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The seed of the run.
    pub seed: u64,
    /// What it found.
    pub breach: Breach,
    /// The session in which it was found.
    pub session: String,
    /// The end of what happened to this session.
    pub tail: Vec<String>,
}

impl Failure {
    /// Builds the failure of no session.
    pub(super) fn before_the_start(seed: u64, breach: Breach) -> Box<Self> {
        Box::new(Self { seed, breach, session: String::new(), tail: Vec::new() })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, breach, session, tail } = self;
        if let Breach::NeverApplied(never) = breach {
            return never.fmt(f);
        }
        writeln!(f, "seed {seed}: {breach}")?;
        writeln!(f, "the end of session {session}:")?;
        for line in tail {
            writeln!(f, "{line}")?;
        }
        write!(f, "repeat it: cargo xtask sim --from {seed} --seeds 1")
    }
}
