//! What a turn says of itself when it settles, and its samples for work, against what was counted.

use windlass_core::{
    LimitKind, ProgramEnd, ProgramRun, Reason, RecordedFact, SampleKind, SampleStarted,
    TurnOutcome, TurnSettled,
};

use super::super::over;

use super::Tally;
use crate::laws::{Held, hold};

impl Tally {
    /// Samples for work take nothing from those that are set aside for retries, and the last of them
    /// says so.
    pub(super) fn work(&mut self, recorded: &RecordedFact, fact: &SampleStarted) -> Held {
        let retries = matches!(fact.reason, Reason::InvalidOutput { .. });
        self.own_work += u32::from(!retries);
        let most = self.work_limit();
        let kind = match (retries, self.worked() < most) {
            (true, _) => SampleKind::ReAsk,
            (false, true) => SampleKind::Normal,
            (false, false) => SampleKind::MustReturn,
        };
        self.kind = kind;
        hold(9, fact.kind == kind, || {
            format!("{} is {:?}, and not {kind:?}", recorded.seq, fact.kind)
        })?;
        let worked = u64::from(self.worked());
        over(recorded, "samples for work", worked, u64::from(most))
    }

    /// A program is rejected only over a contract. The turn's last one has a result, gives up, or is
    /// rejected.
    pub(super) fn ran(&mut self, recorded: &RecordedFact, fact: &ProgramRun) -> Held {
        self.fault.clone_from(&fact.fault);
        self.rejected = fact.fault.is_some();
        self.returned = !self.rejected && fact.outcome.end.returned().is_some();
        hold(9, self.fault.is_none() || self.returns.is_some(), || {
            format!("{} finds fault where no contract is set", recorded.seq)
        })?;
        let last = match self.kind {
            SampleKind::Normal => false,
            SampleKind::MustReturn => true,
            SampleKind::ReAsk => self.worked() >= self.work_limit(),
        };
        let ended = match &fact.outcome.end {
            ProgramEnd::Return { .. } | ProgramEnd::Fail { .. } => true,
            ProgramEnd::Value { .. } | ProgramEnd::Fault(_) => fact.fault.is_some(),
        };
        hold(9, ended || !last, || {
            format!("{} is the end of the last program, without a result", recorded.seq)
        })
    }

    /// Samples for work, with those of agents.
    fn worked(&self) -> u32 {
        self.own_work + self.spent.agents.samples
    }

    fn work_limit(&self) -> u32 {
        let retries = self.returns.unwrap_or(0);
        self.limits.samples.saturating_sub(retries).max(1)
    }

    /// Samples that only retries of a rejected return may still take.
    pub(super) fn kept_for_retries(&self) -> u32 {
        let most = self.program.and(self.returns).unwrap_or(0);
        most.saturating_sub(self.spent.samples - self.own_work)
    }

    /// A turn completes with an answer that has its shape, and gives up on one only when it may not
    /// be asked for again.
    fn shaped(&self, recorded: &RecordedFact, fact: &TurnSettled) -> Held {
        let so = match &fact.outcome {
            TurnOutcome::Completed => self.fault.is_none(),
            TurnOutcome::InvalidOutput { fault } => {
                self.fault.as_ref() == Some(fault) && Some(self.spent.re_asks) >= self.returns
            }
            TurnOutcome::NoAnswer
            | TurnOutcome::Refused
            | TurnOutcome::Interrupted { .. }
            | TurnOutcome::Blocked { .. }
            | TurnOutcome::Exhausted { .. }
            | TurnOutcome::Failed { .. } => true,
        };
        hold(9, so, || {
            let (fault, times) = (&self.fault, self.spent.re_asks);
            format!("{} ends over the fault {fault:?} after {times} returns", recorded.seq)
        })
    }

    pub(in crate::laws) fn settled(&self, recorded: &RecordedFact, fact: &TurnSettled) -> Held {
        self.lending.settled(recorded)?;
        let mut spent = self.spent;
        if self.compacts {
            spent.estimated_tokens += self.reserved.tokens;
            spent.cost_micros += self.reserved.cost_micros;
        }
        hold(9, fact.spent == spent, || {
            let (said, spent) = (&fact.spent, &spent);
            format!("{} says {said:?}, and it was {spent:?}", recorded.seq)
        })?;
        self.shaped(recorded, fact)?;
        self.keeps_budget(recorded, fact)?;
        let TurnOutcome::Exhausted { limit } = &fact.outcome else {
            return Ok(());
        };
        let (spent, limits) = (&self.spent, &self.limits);
        let reached = match limit {
            LimitKind::Samples => {
                let worked = self.program.is_some() && self.worked() >= self.work_limit();
                spent.with_agents().samples >= limits.samples || worked
            }
            // The rest of an answer's calls is surplus, and the turn goes on.
            LimitKind::CallsPerSample => false,
            LimitKind::Calls => spent.calls > limits.calls,
            // A sample is not begun when its estimate would go over, so less may have been used.
            LimitKind::Tokens => limits.tokens > 0,
            LimitKind::Cost => {
                let priced = self.price.is_some() || spent.agents.cost_micros > 0;
                limits.cost_micros > 0 && priced
            }
            LimitKind::OutputTokens => self.length,
            LimitKind::WallClock => limits.turn_ms > 0 && self.stopped,
            LimitKind::Continuations => spent.continuations >= limits.continuations,
            LimitKind::Compactions => spent.compactions >= limits.compactions,
            LimitKind::Context => self.overflow || self.window,
            LimitKind::SessionBytes => self.is_full(),
        };
        hold(9, reached, || {
            format!("{} says that {limit:?} is exhausted, and it is not", recorded.seq)
        })
    }
}
