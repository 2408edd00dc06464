//! The tokens and the money of a turn: kept before they are spent.

use windlass_core::{RecordedFact, Reservation, SampleStarted, TurnOutcome, TurnSettled, Usage};

use super::Tally;
use crate::laws::{Held, hold};

/// One of the sums that a turn is limited to; 0 is no limit.
struct Sum {
    what: &'static str,
    limit: u64,
    spent: u64,
    reserved: u64,
    /// What the longest answer takes alone.
    answer: u64,
}

impl Tally {
    /// Pays what the provider reports, and an estimate of what it does not; where there is neither
    /// and it may have charged, what was set aside.
    pub(super) fn pay(
        &mut self,
        usage: Option<Usage>,
        estimate: Option<Reservation>,
        billed: bool,
    ) {
        if let Some(usage) = usage {
            self.spent.usage.add(&usage);
            self.spent.cost_micros += self.price.map_or(0, |price| price.of(&usage));
        }
        let reserved = Some(self.reserved).filter(|_| billed && usage.is_none());
        let estimate = estimate.or(reserved).unwrap_or_default();
        self.spent.estimated_tokens += estimate.tokens;
        self.spent.cost_micros += estimate.cost_micros;
    }

    /// Pays for a run whose process ended: all that was set aside for it.
    pub(super) fn lose(&mut self, recorded: &RecordedFact, lost: Reservation, ended: bool) -> Held {
        let owed = if ended { self.reserved } else { Reservation::default() };
        hold(9, lost == owed, || format!("{} gives up {lost:?} of {owed:?}", recorded.seq))?;
        self.pay(None, None, ended);
        Ok(())
    }

    fn sums(&self, answer: u64) -> [Sum; 2] {
        let (spent, answer) = (self.spent.with_agents(), self.next.answers(answer));
        [
            Sum {
                what: "tokens",
                limit: self.limits.tokens,
                spent: spent.tokens,
                reserved: self.reserved.tokens,
                answer: answer.tokens,
            },
            Sum {
                what: "money",
                limit: self.limits.cost_micros,
                spent: spent.cost_micros,
                reserved: self.reserved.cost_micros,
                answer: answer.cost_micros,
            },
        ]
    }

    /// What is set aside for a sample is there, and an answer as long as it may become is in it.
    pub(super) fn reserve(&self, recorded: &RecordedFact, fact: &SampleStarted) -> Held {
        let seq = recorded.seq;
        let longest = fact.output_bound.or(self.next.longest());
        for Sum { what, limit, spent, reserved, answer } in self.sums(longest.unwrap_or(0)) {
            // What a request is estimated at may come to nothing, but never goes over.
            let fits = limit == 0 || (spent < limit && spent.saturating_add(reserved) <= limit);
            hold(9, fits, || {
                format!("{seq} asks though {spent} of {limit} {what} are used, for {reserved}")
            })?;
            hold(9, limit == 0 || answer <= reserved, || {
                format!("{seq} sets {reserved} {what} aside, and the answer may take {answer}")
            })?;
        }
        let estimated = self.limits.tokens == 0 || self.reserved.tokens > longest.unwrap_or(0);
        hold(9, estimated, || format!("{seq} sets nothing aside for the request"))?;
        let bounds = fact.output_bound.is_none_or(|bound| {
            let limited = self.limits.tokens > 0 || self.limits.cost_micros > 0;
            limited && self.next.longest().is_none_or(|longest| bound < longest)
        });
        hold(9, bounds, || format!("{seq} bounds an answer that is no longer"))
    }

    /// A call starts only while something is left: beside what the answer that streams may take, and
    /// of what it took once it is there.
    pub(super) fn leaves_budget(&self, recorded: &RecordedFact) -> Held {
        for Sum { what, limit, spent, reserved, .. } in self.sums(0) {
            let taken = if self.streams { spent.saturating_add(reserved) } else { spent };
            hold(9, limit == 0 || taken < limit, || {
                format!("{} starts though {taken} of {limit} {what} are taken", recorded.seq)
            })?;
        }
        Ok(())
    }

    /// A turn that its model ended has not exceeded what it may spend.
    pub(super) fn keeps_budget(&self, recorded: &RecordedFact, fact: &TurnSettled) -> Held {
        let ended = match &fact.outcome {
            TurnOutcome::Completed
            | TurnOutcome::NoAnswer
            | TurnOutcome::Refused
            | TurnOutcome::InvalidOutput { .. } => true,
            TurnOutcome::Interrupted { .. }
            | TurnOutcome::Blocked { .. }
            | TurnOutcome::Exhausted { .. }
            | TurnOutcome::Failed { .. } => false,
        };
        for Sum { what, limit, spent, .. } in self.sums(0) {
            hold(9, !ended || limit == 0 || spent <= limit, || {
                format!("{} ends with {spent} {what} of {limit} as if it kept them", recorded.seq)
            })?;
        }
        Ok(())
    }
}
