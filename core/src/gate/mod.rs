//! Gates: how far the hooks of one occurrence of a point are.
//!
//! The hooks of a point are asked in the order of the settings: the sequential ones one after the
//! other, then the parallel ones together. The first denial or halt ends it. Whatever opens a gate,
//! asks and answers is a fact, so a gate is folded like everything else.

pub(crate) mod facts;
pub(crate) mod hooks;

pub(crate) use facts::word;

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::hook::{HookAt, HookOrder, HookSpec, HookVerdict, OnFailure};
use crate::id::Seq;
use crate::session::Pending;
use crate::time::Timestamp;

/// The gates of a turn, of a call, or of a session at rest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gates {
    /// The one whose hooks are being asked.
    pub open: Option<Gate>,
    /// Those whose hooks have all spoken.
    pub passed: Vec<Passed>,
}

/// An occurrence whose hooks are being asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Occurrence of the hook point.
    pub at: HookAt,
    /// The hooks that are asked now, and have not answered.
    pub out: Vec<Asking>,
    /// The hooks that have answered.
    pub heard: Vec<u32>,
    /// Combined verdict so far.
    pub word: Word,
    /// The context that they gave, by hook.
    pub contexts: Vec<(u32, Pending)>,
}

/// A hook that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asking {
    /// Index of the hook in the settings.
    pub hook: u32,
    /// Position of the `HooksAsked`.
    pub asked: Seq,
    /// Number of the run, from 1.
    pub attempt: u32,
    /// Time at which it was asked.
    pub since: Timestamp,
}

/// An occurrence whose hooks have all spoken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passed {
    /// Occurrence of the hook point.
    pub at: HookAt,
    /// Combined verdict of the hooks.
    pub word: Word,
}

/// Combined verdict of hooks: deny beats ask, ask beats allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// No hook objects.
    Pass,
    /// It need not be asked about.
    Allow,
    /// A person is to be asked.
    Ask,
    /// A hook denies it.
    Deny {
        /// The `HookDecided` that says so.
        decided: Seq,
        /// Name of the hook, and its reason.
        reason: String,
    },
}

/// Next step at an occurrence of a hook point.
pub(crate) enum Step<'a> {
    /// These hooks are to be asked.
    Ask(Vec<u32>),
    /// Hooks are being asked.
    Wait,
    /// All hooks have answered.
    Passed(&'a Word),
}

const NOTHING_AGAINST_IT: Word = Word::Pass;

impl Gates {
    /// Returns the next step at this occurrence. It is passed if no hook listens.
    pub(crate) fn step(&self, hooks: &[HookSpec], at: HookAt, subject: &str) -> Step<'_> {
        if let Some(passed) = self.passed.iter().find(|passed| passed.at == at) {
            return Step::Passed(&passed.word);
        }
        match &self.open {
            Some(gate) if gate.at == at => match gate.next(hooks, subject) {
                Some(next) => Step::Ask(next),
                None => Step::Wait,
            },
            Some(_) | None => match first(hooks, at, subject) {
                Some(_) if self.open.is_some() => Step::Wait,
                Some(next) => Step::Ask(next),
                None => Step::Passed(&NOTHING_AGAINST_IT),
            },
        }
    }

    /// The hooks that are asked now.
    pub(crate) fn out(&self) -> &[Asking] {
        self.open.as_ref().map_or(&[], |gate| &gate.out)
    }
}

impl Gate {
    /// A gate that nobody has been asked at.
    pub(crate) fn new(at: HookAt) -> Self {
        Self {
            at,
            out: Vec::new(),
            heard: Vec::new(),
            word: Word::Pass,
            contexts: Vec::new(),
        }
    }

    /// Returns true if all hooks have spoken, or one has said the last word.
    pub(crate) fn is_complete(&self, hooks: &[HookSpec], subject: &str) -> bool {
        self.out.is_empty() && self.next(hooks, subject).is_none()
    }

    /// The hooks that are to be asked next, unless some are being asked.
    fn next(&self, hooks: &[HookSpec], subject: &str) -> Option<Vec<u32>> {
        if !self.out.is_empty() || matches!(self.word, Word::Deny { .. }) {
            return None;
        }
        round(hooks, self.at, subject, &self.heard)
    }

    /// Returns true if the next round is this one.
    pub(crate) fn asks(&self, hooks: &[HookSpec], subject: &str, round: &[u32]) -> bool {
        self.next(hooks, subject).as_deref() == Some(round)
    }
}

fn first(hooks: &[HookSpec], at: HookAt, subject: &str) -> Option<Vec<u32>> {
    if hooks.is_empty() {
        return None;
    }
    round(hooks, at, subject, &[])
}

/// The next sequential hook, or else all parallel ones.
fn round(hooks: &[HookSpec], at: HookAt, subject: &str, heard: &[u32]) -> Option<Vec<u32>> {
    let mut together = Vec::new();
    for (index, hook) in (0_u32..).zip(hooks) {
        if !hook.listens(at.point(), subject) || heard.contains(&index) {
            continue;
        }
        match hook.order {
            HookOrder::Sequential => return Some(alloc::vec![index]),
            HookOrder::Parallel => together.push(index),
        }
    }
    (!together.is_empty()).then_some(together)
}

/// Returns the verdict that a hook's verdict counts as.
pub(crate) fn counts_as(hook: &HookSpec, verdict: HookVerdict) -> HookVerdict {
    match (verdict, hook.on_failure) {
        (HookVerdict::Failed, OnFailure::Closed) => HookVerdict::Deny,
        (HookVerdict::Failed, OnFailure::Open) => HookVerdict::Pass,
        (
            HookVerdict::Pass
            | HookVerdict::Allow
            | HookVerdict::Ask
            | HookVerdict::Deny
            | HookVerdict::Halt
            | HookVerdict::Overrun,
            _,
        ) => verdict,
    }
}

impl Word {
    /// With another hook's word: the stronger one. Of two denials the first one counts.
    pub(crate) fn with(&mut self, verdict: HookVerdict, decided: Seq, reason: &str) {
        let denied = matches!(self, Self::Deny { .. });
        match verdict {
            HookVerdict::Deny | HookVerdict::Halt | HookVerdict::Overrun if !denied => {
                *self = Self::Deny {
                    decided,
                    reason: reason.into(),
                };
            }
            HookVerdict::Ask if !denied => *self = Self::Ask,
            HookVerdict::Allow if *self == Self::Pass => *self = Self::Allow,
            HookVerdict::Pass
            | HookVerdict::Allow
            | HookVerdict::Ask
            | HookVerdict::Deny
            | HookVerdict::Halt
            | HookVerdict::Failed
            | HookVerdict::Overrun => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_denials_the_first_one_counts() {
        for first in [HookVerdict::Deny, HookVerdict::Halt, HookVerdict::Overrun] {
            for second in [
                HookVerdict::Deny,
                HookVerdict::Halt,
                HookVerdict::Overrun,
                HookVerdict::Ask,
                HookVerdict::Allow,
                HookVerdict::Pass,
            ] {
                let mut word = Word::Pass;
                word.with(first, Seq(3), "first");
                word.with(second, Seq(4), "second");
                let denied = Word::Deny {
                    decided: Seq(3),
                    reason: "first".into(),
                };
                assert_eq!(word, denied, "{first:?}, then {second:?}");
            }
        }
    }
}
