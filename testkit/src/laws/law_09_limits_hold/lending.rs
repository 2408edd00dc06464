//! What a turn lends to agents, counted from its facts alone.

use std::collections::BTreeMap;

use windlass_core::{
    CallId, CallObserved, CallStarted, Lent, Limits, ObservationStatus, Recorded, Timestamp, Took,
};

use crate::laws::{Broken, Held, hold};

/// What calls that run are lent.
#[derive(Default)]
pub(super) struct Lending(BTreeMap<CallId, Lent>);

/// What there is to lend of.
pub(super) struct Bounds<'a> {
    /// The turn's limits.
    pub(super) limits: &'a Limits,
    /// Samples that are for retries alone.
    pub(super) kept: u32,
    /// When the turn's time is over, if it is limited.
    pub(super) until: Option<Timestamp>,
}

impl Lending {
    /// What is spent of a turn's budget and what is lent of it, together.
    fn with(&self, spent: Took) -> Took {
        let out = |sum: Took, lent: &Lent| sum.and(lent.all());
        self.0.values().fold(spent, out)
    }

    /// After each fact: as long as something is lent, it and what is spent are no more samples than
    /// the turn has, with the one that is to conclude it.
    pub(super) fn holds(&self, recorded: &Recorded, limits: &Limits, spent: Took) -> Held {
        let out = u64::from(self.with(spent).samples);
        let fits = self.0.is_empty() || out < u64::from(limits.samples);
        hold(9, fits, || {
            let (seq, limit) = (recorded.seq, limits.samples);
            format!("after {seq} {out} samples of {limit} are taken or lent")
        })
    }

    /// A turn that settles has lent nothing that has not come back.
    pub(super) fn settled(&self, recorded: &Recorded) -> Held {
        hold(9, self.0.is_empty(), || {
            format!("{} settles a turn that has lent {:?}", recorded.seq, self.0)
        })
    }

    /// An agent is lent what is there, beside what others are lent, a sample for the turn, and those
    /// that are kept for retries; no more time than the turn has; and is lent the same when it is taken up again. Nothing else is
    /// lent anything. `agent` says of one whether this is its first run.
    pub(super) fn starts(
        &mut self,
        recorded: &Recorded,
        fact: &CallStarted,
        bounds: &Bounds<'_>,
        spent: Took,
        agent: Option<bool>,
    ) -> Held {
        let (seq, limits, kept) = (recorded.seq, bounds.limits, bounds.kept);
        hold(9, agent.is_some() == fact.lent.is_some(), || {
            format!("{seq} lends {:?}, and agents alone are lent to", fact.lent)
        })?;
        let Some(lent) = fact.lent else {
            return Ok(());
        };
        if agent == Some(false) {
            return hold(9, self.0.get(&fact.call) == Some(&lent), || {
                format!("{seq} lends {lent:?}, and it was something else before")
            });
        }
        let out = self.with(spent);
        let samples = u64::from(lent.samples);
        let sums = [
            ("tokens", limits.tokens, out.tokens, lent.tokens),
            (
                "money",
                limits.cost_micros,
                out.cost_micros,
                lent.cost_micros,
            ),
        ];
        for (what, limit, taken, lent) in sums {
            // Of these, 0 is no limit.
            let fits = limit == 0 || (lent > 0 && taken.saturating_add(lent) <= limit);
            hold(9, fits, || {
                format!("{seq} lends {lent} {what}, and {taken} of {limit} are taken or lent")
            })?;
        }
        let time = bounds.until.map(|until| until.since_ms(recorded.ts));
        let fits = time.is_none_or(|left| (1..=left).contains(&lent.turn_ms));
        hold(9, fits, || {
            format!("{seq} lends {} ms, and {time:?} are left", lent.turn_ms)
        })?;
        let all = u64::from(out.samples) + samples + u64::from(kept) + 1;
        hold(9, samples > 0 && all <= u64::from(limits.samples), || {
            let (taken, limit) = (out.samples, limits.samples);
            format!(
                "{seq} lends {samples} samples, and {taken} of {limit} are taken or lent, and {kept} \
                 kept for retries"
            )
        })?;
        self.0.insert(fact.call, lent);
        Ok(())
    }

    /// What was taken of what was lent: all of it where nobody knows.
    ///
    /// # Errors
    /// [`Broken`] when it is more, or less than that.
    pub(super) fn observed(
        &mut self,
        recorded: &Recorded,
        fact: &CallObserved,
    ) -> Result<Took, Broken> {
        let lent = self.0.remove(&fact.call);
        let so = match (lent, fact.took) {
            (Some(lent), Some(took)) => {
                let unknown = fact.observation.status == ObservationStatus::Unknown;
                took.samples <= lent.samples && (!unknown || took == lent.all())
            }
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        hold(9, so, || {
            format!("{} took {:?} of {lent:?}", recorded.seq, fact.took)
        })?;
        Ok(fact.took.unwrap_or_default())
    }
}
