//! Hook rounds: the state of the hooks at one occurrence of a hook point.
//!
//! The hooks of a point are asked in the order of the settings: the sequential ones one after the
//! other, then the parallel ones together. The first denial or halt ends the round; at the end of a
//! turn only a halt does. Facts open the
//! round, ask its hooks and record their replies, so a round is folded like all other state.

pub(crate) mod facts;
pub(crate) mod hooks;

pub(crate) use facts::subject_name;

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::hook::{HookFailurePolicy, HookOccurrence, HookOrder, HookSpec, HookVerdict};
use crate::id::Seq;
use crate::session::PendingContext;
use crate::time::Timestamp;

/// The hook rounds of a turn, of a call, or of an idle session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookRounds {
    /// Round whose hooks are being asked.
    pub open: Option<HookRound>,
    /// Rounds whose hooks have all replied.
    pub finished: Vec<FinishedRound>,
}

/// An occurrence whose hooks are being asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookRound {
    /// Occurrence of the hook point.
    pub at: HookOccurrence,
    /// Hooks that were asked and have not replied.
    pub pending: Vec<PendingHook>,
    /// Hooks that have replied.
    pub answered: Vec<u32>,
    /// Combined verdict so far.
    pub verdict: CombinedVerdict,
    /// Context from the hooks, by hook.
    pub contexts: Vec<(u32, PendingContext)>,
    /// True if a denial does not end the round.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub all: bool,
}

/// A hook that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingHook {
    /// Index of the hook in the settings.
    pub hook: u32,
    /// Position of the `HooksAsked`.
    pub asked: Seq,
    /// Number of the run, from 1.
    pub attempt: u32,
    /// Time at which it was asked.
    pub since: Timestamp,
}

/// An occurrence whose hooks have all replied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinishedRound {
    /// Occurrence of the hook point.
    pub at: HookOccurrence,
    /// Combined verdict of the hooks.
    pub verdict: CombinedVerdict,
    /// Positions of the `HookDecided` whose context an input is to bring along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<Seq>,
}

/// Combined verdict of hooks: deny beats ask, ask beats allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CombinedVerdict {
    /// No hook objects.
    Pass,
    /// The call needs no approval.
    Allow,
    /// The call needs a person's approval.
    Ask,
    /// A hook denies the occurrence.
    Deny {
        /// Position of the `HookDecided` with the denial.
        decided: Seq,
        /// Name of the hook, and its reason.
        reason: String,
    },
}

/// Next step at an occurrence of a hook point.
pub(crate) enum RoundStep<'a> {
    /// These hooks should be asked.
    Ask(Vec<u32>),
    /// Hooks are being asked.
    Wait,
    /// All hooks have replied.
    Finished(&'a CombinedVerdict),
}

const NO_OBJECTION: CombinedVerdict = CombinedVerdict::Pass;

impl HookRounds {
    /// Returns the next step at this occurrence. Without a matching hook it passes.
    pub(crate) fn step(
        &self,
        hooks: &[HookSpec],
        at: HookOccurrence,
        subject: &str,
    ) -> RoundStep<'_> {
        if let Some(passed) = self.finished.iter().find(|passed| passed.at == at) {
            return RoundStep::Finished(&passed.verdict);
        }
        match &self.open {
            Some(gate) if gate.at == at => match gate.next(hooks, subject) {
                Some(next) => RoundStep::Ask(next),
                None => RoundStep::Wait,
            },
            Some(_) | None => match first_hooks(hooks, at, subject) {
                Some(_) if self.open.is_some() => RoundStep::Wait,
                Some(next) => RoundStep::Ask(next),
                None => RoundStep::Finished(&NO_OBJECTION),
            },
        }
    }

    /// Returns the hooks that are being asked.
    pub(crate) fn pending(&self) -> &[PendingHook] {
        self.open.as_ref().map_or(&[], |gate| &gate.pending)
    }
}

impl HookRound {
    /// Creates a round without replies.
    pub(crate) fn new(at: HookOccurrence) -> Self {
        Self {
            at,
            pending: Vec::new(),
            answered: Vec::new(),
            verdict: CombinedVerdict::Pass,
            contexts: Vec::new(),
            all: false,
        }
    }

    /// Returns true if all hooks have replied, or a reply has ended the round.
    pub(crate) fn is_complete(&self, hooks: &[HookSpec], subject: &str) -> bool {
        self.pending.is_empty() && self.next(hooks, subject).is_none()
    }

    /// Returns the hooks to ask next, unless some are being asked.
    fn next(&self, hooks: &[HookSpec], subject: &str) -> Option<Vec<u32>> {
        let denied = matches!(self.verdict, CombinedVerdict::Deny { .. });
        if !self.pending.is_empty() || (denied && !self.all) {
            return None;
        }
        next_hooks(hooks, self.at, subject, &self.answered)
    }

    /// Returns true if the next round is this one.
    pub(crate) fn is_next_round(&self, hooks: &[HookSpec], subject: &str, round: &[u32]) -> bool {
        self.next(hooks, subject).as_deref() == Some(round)
    }
}

fn first_hooks(hooks: &[HookSpec], at: HookOccurrence, subject: &str) -> Option<Vec<u32>> {
    if hooks.is_empty() {
        return None;
    }
    next_hooks(hooks, at, subject, &[])
}

/// Returns the next sequential hook, or else all parallel ones.
fn next_hooks(
    hooks: &[HookSpec],
    at: HookOccurrence,
    subject: &str,
    heard: &[u32],
) -> Option<Vec<u32>> {
    let mut together = Vec::new();
    for (index, hook) in (0_u32..).zip(hooks) {
        if !hook.matches(at.point(), subject) || heard.contains(&index) {
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
        (HookVerdict::Failed, HookFailurePolicy::Closed) => HookVerdict::Deny,
        (HookVerdict::Failed, HookFailurePolicy::Open) => HookVerdict::Pass,
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

impl CombinedVerdict {
    /// Combines the verdict with another hook's: the stronger one counts. Of two denials the first
    /// one counts.
    pub(crate) fn with(&mut self, verdict: HookVerdict, decided: Seq, reason: &str) {
        let denied = matches!(self, Self::Deny { .. });
        match verdict {
            HookVerdict::Deny | HookVerdict::Halt | HookVerdict::Overrun if !denied => {
                *self = Self::Deny { decided, reason: reason.into() };
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
                let mut word = CombinedVerdict::Pass;
                word.with(first, Seq(3), "first");
                word.with(second, Seq(4), "second");
                let denied = CombinedVerdict::Deny { decided: Seq(3), reason: "first".into() };
                assert_eq!(word, denied, "{first:?}, then {second:?}");
            }
        }
    }
}
