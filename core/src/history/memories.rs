//! Memory that programs leave for later ones. Earlier values stay for rewinds, up to a size.

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::Seq;
use crate::program::{EarlierValue, ProgramOutcome, RetainedMemory, earlier_values};
use crate::rewind::MAX_MEMORY_BYTES;

/// Memory of programs, and how to undo the changes of each program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memories {
    /// Memory that the next program finds.
    latest: Arc<RetainedMemory>,
    /// Changes since the first point of a rewind.
    changes: Vec<MemoryChange>,
}

/// Change of the memory by one program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryChange {
    at: Seq,
    /// Bytes recorded since the first point of a rewind, with this change.
    bytes: u64,
    /// Memory before, if the program replaced it whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<Arc<RetainedMemory>>,
    /// Earlier values of the changed definitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<EarlierValue>,
}

impl Memories {
    pub(super) fn is_empty(&self) -> bool {
        self.latest.is_empty() && self.changes.is_empty()
    }

    /// Returns the memory that the next program finds.
    pub(super) fn latest(&self) -> &Arc<RetainedMemory> {
        &self.latest
    }

    /// Returns the bytes of the memory and of the earlier values.
    pub(super) fn bytes(&self) -> usize {
        let changes = self.changes.iter().map(|change| {
            let replaced = change.replaced.as_ref().map_or(0, |memory| memory.bytes());
            let earlier = change.earlier.iter().map(EarlierValue::bytes);
            earlier.fold(usize::try_from(replaced).unwrap_or(usize::MAX), usize::saturating_add)
        });
        let latest = usize::try_from(self.latest.bytes()).unwrap_or(usize::MAX);
        changes.fold(latest, usize::saturating_add)
    }

    /// Applies what a program left. Too many bytes since the first point of a rewind end its reach.
    pub(super) fn apply(&mut self, at: Seq, outcome: &ProgramOutcome) {
        if !outcome.changes_memory() {
            return;
        }
        let before = self.changes.last().map_or(0, |change| change.bytes);
        let bytes = before.saturating_add(outcome.memory_bytes());
        let mut change = MemoryChange { at, bytes, replaced: None, earlier: Vec::new() };
        if let Some(whole) = &outcome.memory {
            let base = Some(whole.clone());
            let memory = RetainedMemory { base, ..RetainedMemory::default() };
            change.replaced = Some(core::mem::replace(&mut self.latest, Arc::new(memory)));
        }
        let latest = Arc::make_mut(&mut self.latest);
        change.earlier = earlier_values(latest, &outcome.retained);
        latest.apply(&outcome.retained);
        self.changes.push(change);
        if bytes > MAX_MEMORY_BYTES {
            self.forget_earlier();
        }
    }

    /// Drops the earlier values: no rewind returns to them.
    pub(super) fn forget_earlier(&mut self) {
        self.changes.clear();
    }

    /// Undoes the changes after a position, the latest first.
    pub(super) fn rewind(&mut self, to: Seq) {
        while let Some(change) = self.changes.pop_if(|change| change.at > to) {
            if let Some(replaced) = change.replaced {
                self.latest = replaced;
                continue;
            }
            let latest = Arc::make_mut(&mut self.latest);
            change.earlier.into_iter().rev().for_each(|earlier| earlier.restore(latest));
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec;

    use super::*;
    use crate::program::{ProgramEnd, RetainedChange};

    fn outcome(memory: Option<&str>, retained: Vec<RetainedChange>) -> ProgramOutcome {
        ProgramOutcome {
            end: ProgramEnd::Value { value: "1".into() },
            prints: Vec::new(),
            memory: memory.map(Arc::from),
            retained,
            defined: Vec::new(),
            repairs: Vec::new(),
            steps: 1,
        }
    }

    fn removed(name: &str) -> RetainedChange {
        RetainedChange { name: name.into(), value: None }
    }

    /// Each program's changes, in order: whole memories of earlier versions stand between deltas.
    fn outcomes() -> Vec<ProgramOutcome> {
        let set = RetainedChange::set;
        vec![
            outcome(None, vec![set("a", "1"), set("b", "1")]),
            outcome(None, vec![set("a", "2"), set("a", "3"), removed("b"), removed("c")]),
            outcome(Some("whole"), Vec::new()),
            outcome(None, vec![removed("d"), set("a", "4")]),
            outcome(None, vec![set("d", "5"), removed("a"), set("e", "")]),
            outcome(Some("again"), vec![set("f", "6")]),
        ]
    }

    #[test]
    fn a_rewind_restores_the_memory_of_its_point() {
        let mut memories = Memories::default();
        let mut states = vec![memories.latest().clone()];
        for (at, outcome) in (1..).zip(outcomes()) {
            memories.apply(Seq(at), &outcome);
            states.push(memories.latest().clone());
        }
        for (to, state) in (0..).zip(&states) {
            let mut rewound = memories.clone();
            rewound.rewind(Seq(to));
            assert_eq!(rewound.latest(), state, "{to}");
            // What follows is the same as if the later programs had never run.
            let rest = usize::try_from(to).unwrap();
            for (at, outcome) in (10..).zip(outcomes().into_iter().skip(rest)) {
                rewound.apply(Seq(at), &outcome);
            }
            assert_eq!(Some(rewound.latest()), states.last(), "{to}");
        }
        assert_eq!(states[2].entries.len(), 1);
        assert_eq!(states[4].entries.get("d"), Some(&None));
    }

    #[test]
    fn too_many_bytes_end_the_reach_of_a_rewind() {
        let mut memories = Memories::default();
        let large = String::from("x").repeat(3 << 20);
        for at in 1..=2 {
            memories.apply(Seq(at), &outcome(None, vec![RetainedChange::set("a", &large)]));
        }
        assert!(memories.changes.is_empty());
        assert_eq!(memories.bytes(), (3 << 20) + 1);
    }
}
