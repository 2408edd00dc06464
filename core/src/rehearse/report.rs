//! Report of a rehearsal.

use alloc::vec::Vec;
use core::fmt;

use crate::digest::Digest;
use crate::error::Reject;
use crate::id::Seq;

/// Most positions of a kind that are named; all are counted.
const NAMED: usize = 100;

/// Result of replaying a log's decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rehearsed {
    /// Facts that were folded.
    pub facts: u64,
    /// Number of settled turns.
    pub turns: u64,
    /// Requests to the model that were rendered again.
    pub requests: u64,
    /// Those that come out otherwise.
    pub other_requests: u64,
    /// The first of these.
    pub requested: Vec<OtherRequest>,
    /// Decisions that would be made as they were.
    pub same: u64,
    /// Of these, the decisions of which the rest was lost with its process.
    pub cut_short: u64,
    /// Decisions that would be made otherwise.
    pub different: u64,
    /// The first of these.
    pub divergences: Vec<Divergence>,
    /// Decisions of which the log does not say enough.
    pub unjudged: u64,
    /// The first of these.
    pub unclear: Vec<Unjudged>,
}

/// A decision that today's engine would make otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The first position that would be another.
    pub seq: Seq,
    /// The kind of the fact there.
    pub recorded: &'static str,
    /// Facts that this engine would write instead.
    pub instead: Instead,
}

/// Facts that this engine would write in place of recorded ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instead {
    /// Nothing: it would wait.
    Nothing,
    /// A fact of another kind.
    Kind(&'static str),
    /// A fact of the same kind that says something else.
    Other,
    /// Nothing: it would refuse what the fact comes from.
    Refused(Reject),
}

impl fmt::Display for Instead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Kind(kind) => f.write_str(kind),
            Self::Other => f.write_str("the same kind of fact with another content"),
            Self::Refused(reject) => write!(f, "nothing, and refuse the input: {reject}"),
        }
    }
}

/// A request that today's engine renders otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherRequest {
    /// Position of its `SampleStarted`.
    pub seq: Seq,
    /// The digest that was recorded.
    pub recorded: Digest,
    /// The digest that it renders to.
    pub rendered: Digest,
}

/// A decision that could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unjudged {
    /// The position from which on it is unclear.
    pub seq: Seq,
    /// Reason for leaving it unjudged.
    pub why: Unclear,
}

/// Reason why a decision could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unclear {
    /// The log ends where today's engine would have gone on with a fact of this kind: the process
    /// may have ended there.
    Ends(&'static str),
    /// Today's engine would have written a fact of this kind earlier: its process may have ended
    /// and a later one gone on, or the engine that wrote the log waited.
    Late(&'static str),
    /// A hook said too much, and what it said is not in the log.
    Overrun,
}

impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ends(kind) => write!(
                f,
                "the log ends where today's engine would go on with {kind}; its process may have \
                 ended there"
            ),
            Self::Late(kind) => write!(
                f,
                "today's engine would have written {kind} earlier; a process may have ended there"
            ),
            Self::Overrun => f.write_str("a hook said too much, and its words are not in the log"),
        }
    }
}

impl Rehearsed {
    /// Returns true if nothing would be decided or shown otherwise, as far as could be judged.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.different == 0 && self.other_requests == 0
    }

    pub(super) fn differ(&mut self, divergence: Divergence) {
        self.different += 1;
        if self.divergences.len() < NAMED {
            self.divergences.push(divergence);
        }
    }

    pub(super) fn doubt(&mut self, unjudged: Unjudged) {
        self.unjudged += 1;
        if self.unclear.len() < NAMED {
            self.unclear.push(unjudged);
        }
    }

    pub(super) fn request(&mut self, seq: Seq, recorded: Digest, rendered: Digest) {
        self.requests += 1;
        if recorded == rendered {
            return;
        }
        self.other_requests += 1;
        if self.requested.len() < NAMED {
            self.requested.push(OtherRequest {
                seq,
                recorded,
                rendered,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn all_are_counted_and_the_first_are_named() {
        let mut told = Rehearsed::default();
        let many = NAMED as u64 + 2;
        let one = Digest::EMPTY.part(b"one");
        for nth in 1..=many {
            let seq = Seq(nth);
            told.differ(Divergence {
                seq,
                recorded: "TurnOpened",
                instead: Instead::Nothing,
            });
            told.doubt(Unjudged {
                seq,
                why: Unclear::Overrun,
            });
            told.request(seq, one, Digest::EMPTY);
        }
        told.request(Seq(many), one, one);
        assert_eq!(
            (told.different, told.unjudged, told.other_requests),
            (many, many, many)
        );
        assert_eq!(told.requests, many + 1);
        let named: Vec<Seq> = (1..=NAMED as u64).map(Seq).collect();
        let first = told.divergences.iter().map(|one| one.seq);
        assert_eq!(first.collect::<Vec<_>>(), named);
        let first = told.unclear.iter().map(|one| one.seq);
        assert_eq!(first.collect::<Vec<_>>(), named);
        let first = told.requested.iter().map(|one| one.seq);
        assert_eq!(first.collect::<Vec<_>>(), named);
    }

    #[test]
    fn what_would_be_instead_reads_as_words() {
        let refused = Instead::Refused(Reject::Stopping);
        assert_eq!(Instead::Nothing.to_string(), "nothing");
        assert_eq!(Instead::Kind("TurnOpened").to_string(), "TurnOpened");
        assert!(Instead::Other.to_string().contains("another content"));
        let words = Reject::Stopping.to_string();
        assert!(refused.to_string().ends_with(&words), "{refused}");
    }
}
