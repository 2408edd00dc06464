//! Report of a replay.

use alloc::vec::Vec;
use core::fmt;

use crate::digest::Digest;
use crate::error::Reject;
use crate::id::Seq;

/// Most positions of a kind that are named; all are counted.
const NAMED: usize = 100;

/// Result of replaying a log's decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayReport {
    /// Facts that were folded.
    pub facts: u64,
    /// Number of settled turns.
    pub turns: u64,
    /// Number of requests to the model that were rendered again.
    pub requests: u64,
    /// Number of requests that render differently.
    pub different_requests: u64,
    /// The first of these.
    pub request_divergences: Vec<RequestDivergence>,
    /// Number of decisions that this engine makes as recorded.
    pub same: u64,
    /// Number of these whose last facts were lost with their process.
    pub cut_short: u64,
    /// Number of decisions that this engine makes differently.
    pub different: u64,
    /// The first of these.
    pub divergences: Vec<Divergence>,
    /// Number of decisions that the log does not hold enough to verify.
    pub unverifiable: u64,
    /// The first of these.
    pub unverifiable_decisions: Vec<UnverifiableDecision>,
}

/// A decision that this engine makes differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The first position that differs.
    pub seq: Seq,
    /// Kind of the recorded fact; `None` if the recorded decision ends before this position.
    pub recorded: Option<&'static str>,
    /// Fact that this engine writes there.
    pub replacement: Replacement,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recorded = self.recorded.unwrap_or("nothing more of this decision");
        let Self { seq, replacement, .. } = self;
        write!(f, "at {seq}: the log has {recorded}, this engine writes {replacement}")
    }
}

/// Fact that this engine writes in place of a recorded one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replacement {
    /// None.
    Nothing,
    /// A fact of another kind.
    Kind(&'static str),
    /// A fact of the same kind with another content.
    Content,
    /// None: it rejects the input.
    Rejected(Reject),
}

impl fmt::Display for Replacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Kind(kind) => f.write_str(kind),
            Self::Content => f.write_str("the same kind of fact with another content"),
            Self::Rejected(reject) => write!(f, "nothing, and rejects the input: {reject}"),
        }
    }
}

/// A request that this engine renders differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestDivergence {
    /// Position of its `SampleStarted`.
    pub seq: Seq,
    /// The recorded digest.
    pub recorded: Digest,
    /// The digest of this engine's request.
    pub rendered: Digest,
}

/// A decision that cannot be verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnverifiableDecision {
    /// Position of its first fact.
    pub seq: Seq,
    /// Reason why it cannot be verified.
    pub reason: UnverifiableReason,
}

/// Reason why a decision cannot be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnverifiableReason {
    /// The fact belongs to no decision with a recorded cause.
    NoCause,
    /// A hook's context was over the limit, so the log does not hold it.
    Overrun,
}

impl fmt::Display for UnverifiableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCause => "the log records no cause for this fact",
            Self::Overrun => "a hook's context was over the limit, so it is not in the log",
        })
    }
}

impl ReplayReport {
    /// Returns true if no decision and no request differs, as far as they can be verified.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.different == 0 && self.different_requests == 0
    }

    pub(super) fn differ(&mut self, divergence: Divergence) {
        self.different += 1;
        if self.divergences.len() < NAMED {
            self.divergences.push(divergence);
        }
    }

    pub(super) fn doubt(&mut self, seq: Seq, reason: UnverifiableReason) {
        self.unverifiable += 1;
        if self.unverifiable_decisions.len() < NAMED {
            let decision = UnverifiableDecision { seq, reason };
            self.unverifiable_decisions.push(decision);
        }
    }

    pub(super) fn request(&mut self, seq: Seq, recorded: Digest, rendered: Digest) {
        self.requests += 1;
        if recorded == rendered {
            return;
        }
        self.different_requests += 1;
        if self.request_divergences.len() < NAMED {
            self.request_divergences.push(RequestDivergence { seq, recorded, rendered });
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn all_are_counted_and_the_first_are_named() {
        let mut told = ReplayReport::default();
        let many = NAMED as u64 + 2;
        let one = Digest::EMPTY.part(b"one");
        for nth in 1..=many {
            let seq = Seq(nth);
            told.differ(Divergence {
                seq,
                recorded: Some("TurnOpened"),
                replacement: Replacement::Nothing,
            });
            told.doubt(seq, UnverifiableReason::Overrun);
            told.request(seq, one, Digest::EMPTY);
        }
        told.request(Seq(many), one, one);
        assert_eq!(
            (told.different, told.unverifiable, told.different_requests),
            (many, many, many)
        );
        assert_eq!(told.requests, many + 1);
        let named: Vec<Seq> = (1..=NAMED as u64).map(Seq).collect();
        let first = told.divergences.iter().map(|one| one.seq);
        assert_eq!(first.collect::<Vec<_>>(), named);
        let first = told.unverifiable_decisions.iter().map(|one| one.seq);
        assert_eq!(first.collect::<Vec<_>>(), named);
        let first = told.request_divergences.iter().map(|one| one.seq);
        assert_eq!(first.collect::<Vec<_>>(), named);
    }

    #[test]
    fn replacements_read_as_words() {
        let refused = Replacement::Rejected(Reject::Stopping);
        assert_eq!(Replacement::Nothing.to_string(), "nothing");
        assert_eq!(Replacement::Kind("TurnOpened").to_string(), "TurnOpened");
        assert!(Replacement::Content.to_string().contains("another content"));
        let words = Reject::Stopping.to_string();
        assert!(refused.to_string().ends_with(&words), "{refused}");
    }
}
