//! What a turn lends to agents, counted from its facts alone.

use std::collections::BTreeMap;

use windlass_core::{
    AgentSpec, BudgetGrant, BudgetUsage, CallId, CallObserved, CallStarted, Limits,
    ObservationStatus, RecordedFact, Reservation, Timestamp,
};

use crate::laws::{Broken, Held, hold};

/// What calls that run are lent.
#[derive(Default)]
pub(super) struct Lending(BTreeMap<CallId, BudgetGrant>);

/// What there is to lend of.
pub(super) struct Bounds<'a> {
    /// The turn's limits.
    pub(super) limits: &'a Limits,
    /// Samples that are for retries alone.
    pub(super) kept: u32,
    /// When the turn's time is over, if it is limited.
    pub(super) until: Option<Timestamp>,
    /// What the answer that streams is expected to take.
    pub(super) streams: Reservation,
    /// What each further sample takes at least, as far as the log tells.
    pub(super) each: Reservation,
    /// What an agent's result takes at most, if answers are limited.
    pub(super) result: Option<Reservation>,
    /// The further agents of the answer that are yet to start.
    pub(super) waiting: Vec<&'a AgentSpec>,
}

/// An agent's result takes so manieth of what it was lent, where nobody says how long an answer is.
const RESULT: u64 = 8;

impl Bounds<'_> {
    /// The samples that the turn keeps to conclude with: one, and those for retries.
    fn last(&self) -> u64 {
        u64::from(self.kept) + 1
    }

    /// What is kept so that each of the last samples can show the result of an agent that is lent so
    /// much.
    fn for_result(&self, lent: u64, most: Option<u64>) -> u64 {
        let result = most.map_or(lent / RESULT, |most| most.min(lent));
        self.last().saturating_mul(result)
    }
}

/// One of the sums that a turn is limited to.
struct Sum {
    what: &'static str,
    limit: u64,
    taken: u64,
    each: u64,
    result: Option<u64>,
}

impl Lending {
    /// What is spent of a turn's budget and what is lent of it, together.
    fn with(&self, spent: BudgetUsage) -> BudgetUsage {
        let out = |sum: BudgetUsage, lent: &BudgetGrant| sum.plus(lent.as_usage());
        self.0.values().fold(spent, out)
    }

    /// After each fact: as long as something is lent, it and what is spent are no more samples than
    /// the turn has, with the one that is to conclude it.
    pub(super) fn holds(
        &self,
        recorded: &RecordedFact,
        limits: &Limits,
        spent: BudgetUsage,
    ) -> Held {
        let out = u64::from(self.with(spent).samples);
        let fits = self.0.is_empty() || out < u64::from(limits.samples);
        hold(9, fits, || {
            let (seq, limit) = (recorded.seq, limits.samples);
            format!("after {seq} {out} samples of {limit} are taken or lent")
        })
    }

    /// A turn that settles has lent nothing that has not come back.
    pub(super) fn settled(&self, recorded: &RecordedFact) -> Held {
        hold(9, self.0.is_empty(), || {
            format!("{} settles a turn that has lent {:?}", recorded.seq, self.0)
        })
    }

    /// An agent is lent what is there, beside what others are lent, a sample for the turn, and those
    /// that are kept for retries, with the tokens and the money that these take; no more time than the
    /// turn has; and is lent the same when it is taken up again. Nothing else is lent anything. `agent`
    /// says of one whether this is its first run.
    pub(super) fn starts(
        &mut self,
        recorded: &RecordedFact,
        fact: &CallStarted,
        bounds: &Bounds<'_>,
        spent: BudgetUsage,
        agent: Option<bool>,
    ) -> Held {
        let (seq, limits, kept) = (recorded.seq, bounds.limits, bounds.kept);
        hold(9, agent.is_some() == fact.grant.is_some(), || {
            format!("{seq} lends {:?}, and agents alone are lent to", fact.grant)
        })?;
        let Some(lent) = fact.grant else {
            return Ok(());
        };
        if agent == Some(false) {
            return hold(9, self.0.get(&fact.call) == Some(&lent), || {
                format!("{seq} lends {lent:?}, and it was something else before")
            });
        }
        let out = self.with(spent);
        let samples = u64::from(lent.samples);
        let tokens = Sum {
            what: "tokens",
            limit: limits.tokens,
            taken: spent.tokens.saturating_add(bounds.streams.tokens),
            each: bounds.each.tokens,
            result: bounds.result.map(|most| most.tokens),
        };
        let declared = |agent: &AgentSpec| agent.tokens;
        self.leaves(recorded, bounds, &tokens, lent.tokens, |lent| lent.tokens, declared)?;
        let money = Sum {
            what: "money",
            limit: limits.cost_micros,
            taken: spent.cost_micros.saturating_add(bounds.streams.cost_micros),
            each: bounds.each.cost_micros,
            result: bounds.result.map(|most| most.cost_micros),
        };
        let of = |lent: &BudgetGrant| lent.cost_micros;
        let declared = |agent: &AgentSpec| agent.cost_micros;
        self.leaves(recorded, bounds, &money, lent.cost_micros, of, declared)?;
        let time = bounds.until.map(|until| until.since_ms(recorded.ts));
        let fits = time.is_none_or(|left| (1..=left).contains(&lent.turn_ms));
        hold(9, fits, || format!("{seq} lends {} ms, and {time:?} are left", lent.turn_ms))?;
        let all = u64::from(out.samples) + samples + u64::from(kept) + 1;
        hold(9, samples > 0 && all <= u64::from(limits.samples), || {
            let (taken, limit) = (out.samples, limits.samples);
            format!(
                "{seq} lends {samples} samples, and {taken} of {limit} are taken or lent, and {kept} \
                 kept for retries"
            )
        })?;
        // What cannot be divided goes to the first ones.
        let share = |agent: &&AgentSpec| u64::from(agent.samples.min(lent.samples - 1));
        let waiting: u64 = bounds.waiting.iter().map(share).sum();
        hold(9, all + waiting <= u64::from(limits.samples), || {
            format!("{seq} lends {samples} samples, and leaves less to those that wait")
        })?;
        self.0.insert(fact.call, lent);
        Ok(())
    }

    /// A loan of tokens or money leaves the turn what its last samples take, each with the results
    /// of the agents, and leaves as much as it is to each agent that waits, unless that one declares
    /// less.
    fn leaves(
        &self,
        recorded: &RecordedFact,
        bounds: &Bounds<'_>,
        sum: &Sum,
        lent: u64,
        of: fn(&BudgetGrant) -> u64,
        declared: fn(&AgentSpec) -> u64,
    ) -> Held {
        let others = self.0.values().map(of);
        let kept = bounds.last().saturating_mul(sum.each);
        let all = others.chain([lent]).fold(kept, |all, lent| {
            let result = bounds.for_result(lent, sum.result);
            all.saturating_add(lent).saturating_add(result)
        });
        let (taken, limit) = (sum.taken, sum.limit);
        // Of these, 0 is no limit.
        let fits = limit == 0 || (lent > 0 && taken.saturating_add(all) <= limit);
        hold(9, fits, || {
            let (seq, what) = (recorded.seq, sum.what);
            format!(
                "{seq} lends {lent} {what}: of {limit} {taken} are taken, and all that is lent comes to \
                 {all} with what the turn needs to conclude"
            )
        })?;
        let whole = |lent: u64| lent.saturating_add(bounds.for_result(lent, sum.result));
        // Of what cannot be divided the first ones have one more.
        let most = whole(lent).saturating_sub(1);
        let share = |agent: &&AgentSpec| match declared(agent) {
            0 => most,
            declared => whole(declared).min(most),
        };
        let waiting: u64 = bounds.waiting.iter().map(share).sum();
        let fits = limit == 0 || taken.saturating_add(all).saturating_add(waiting) <= limit;
        hold(9, fits, || {
            let (seq, what) = (recorded.seq, sum.what);
            format!("{seq} lends {lent} {what}, and leaves less to those that wait")
        })
    }

    /// What was taken of what was lent: all of it where nobody knows.
    ///
    /// # Errors
    /// [`Broken`] when it is more, or less than that.
    pub(super) fn observed(
        &mut self,
        recorded: &RecordedFact,
        fact: &CallObserved,
    ) -> Result<BudgetUsage, Broken> {
        let lent = self.0.remove(&fact.call);
        let so = match (lent, fact.usage) {
            (Some(lent), Some(took)) => {
                let unknown = fact.observation.status == ObservationStatus::Unknown;
                took.samples <= lent.samples && (!unknown || took == lent.as_usage())
            }
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        hold(9, so, || format!("{} took {:?} of {lent:?}", recorded.seq, fact.usage))?;
        Ok(fact.usage.unwrap_or_default())
    }
}
