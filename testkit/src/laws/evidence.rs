//! What a moment of a session shows, and the laws it is held to.

use std::collections::BTreeMap;

use windlass_core::{Ceiling, Demand, EffectKey, History, Limits, RecordedFact, Seq, Session};

use super::call_record::{CallRecord, calls};
use super::{Begun, Broken, Held, Law, LawMoment, Loss, Tally};
use crate::world::Transitions;

/// A session at one moment, with what its driver has done so far.
///
/// Whatever drives sessions (a script, a search, a simulation, the engine) is held to the same
/// laws by handing this over after each step. Laws 6 and 12 speak of streams and of texts, laws 13
/// and 14 of single decisions: they have no moment, and are checked where those are.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The core that is driven.
    pub transitions: &'a Transitions,
    /// What the process allows at most.
    pub ceiling: &'a Limits,
    /// Calls that the process permits at most, each from after a position on.
    pub ceilings: &'a [(Seq, Ceiling)],
    /// The log, as it comes back from its text form.
    pub log: &'a [RecordedFact],
    /// How far it is durable.
    pub durable: Seq,
    /// The live state.
    pub session: &'a Session,
    /// The live history.
    pub history: &'a History,
    /// What runs, and what was last demanded of it.
    pub running: &'a BTreeMap<EffectKey, Demand>,
    /// What was ever begun, in all processes.
    pub begun: &'a [Begun],
    /// The deaths of processes so far.
    pub losses: &'a [Loss],
    /// Facts of the log whose prefixes were checked before; 0 to check them all.
    pub checked: usize,
}

impl<'a> Evidence<'a> {
    /// Returns the calls of the log, in their order.
    pub fn calls(&self) -> impl Iterator<Item = CallRecord<'a>> {
        calls(self.log).into_values()
    }

    /// Checks those of the laws that belong to a moment, and counts how often users' laws applied.
    ///
    /// # Errors
    /// [`Broken`] with the first law that does not hold.
    pub fn check(&self, laws: &[Law], moment: LawMoment, tally: &mut Tally) -> Held {
        let mut of_it = laws.iter().filter(|law| law.moment() == moment);
        of_it.try_for_each(|law| law.check(self, tally))
    }

    /// Returns all laws of a moment that do not hold, not only the first.
    #[must_use]
    pub fn broken(&self, laws: &[Law], moment: LawMoment) -> Vec<Broken> {
        let mut tally = Tally::default();
        let of_it = laws.iter().filter(|law| law.moment() == moment);
        of_it.filter_map(|law| law.check(self, &mut tally).err()).collect()
    }
}
