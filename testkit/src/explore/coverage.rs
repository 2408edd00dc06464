//! What was taken: where a session stood, what it was told, and what followed, each with the
//! shortest script that shows it.

use std::collections::BTreeMap;

use crate::world::{Place, Script, Taken, Then, Told};

/// One way from a place on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Where the session stood.
    pub place: Place,
    /// What it was told.
    pub told: Told,
    /// What followed.
    pub ends: Ends,
}

/// How a decision ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ends {
    /// By facts, with the session here.
    At(Place),
    /// With nothing to record.
    Nothing,
    /// In a refusal of this kind.
    Refused(&'static str),
}

/// All ways that were taken. Those of several worlds add up.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    edges: BTreeMap<Edge, Seen>,
}

/// How a way was taken.
#[derive(Debug, Clone)]
pub struct Seen {
    /// A script whose last step takes it; one of the shortest in its world.
    pub script: Script,
    /// The kinds of facts that were seen on it, each with such a script.
    pub facts: BTreeMap<&'static str, Script>,
}

impl Coverage {
    /// The ways that were taken.
    #[must_use]
    pub fn edges(&self) -> &BTreeMap<Edge, Seen> {
        &self.edges
    }

    /// Adds what was taken elsewhere. Of two scripts for the same the first one stays.
    pub fn add(&mut self, other: Self) {
        for (edge, seen) in other.edges {
            let Some(known) = self.edges.get_mut(&edge) else {
                self.edges.insert(edge, seen);
                continue;
            };
            for (kind, script) in seen.facts {
                known.facts.entry(kind).or_insert(script);
            }
        }
    }

    /// Notes what was decided in one step; `script` leads there.
    pub(super) fn note(&mut self, taken: &[Taken], script: impl Fn() -> Script) {
        for one in taken {
            let (ends, facts): (Ends, &[&'static str]) = match &one.then {
                Then::Moved { to, facts } => (Ends::At(*to), facts),
                Then::Nothing => (Ends::Nothing, &[]),
                Then::Refused(kind) => (Ends::Refused(kind), &[]),
            };
            let edge = Edge { place: one.place, told: one.told, ends };
            let seen = self
                .edges
                .entry(edge)
                .or_insert_with(|| Seen { script: script(), facts: BTreeMap::new() });
            for kind in facts {
                seen.facts.entry(kind).or_insert_with(&script);
            }
        }
    }
}
