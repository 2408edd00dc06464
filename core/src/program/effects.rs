//! Program effects: effects of the programs of a turn, so that no later program repeats one
//! unawares.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::CallId;

/// Most effects of a turn; beyond that the oldest ones are dropped.
const MAX_EFFECTS: usize = 1_000;

/// Effects that programs of a turn have caused or may have caused, without those of programs that
/// ended as planned.
///
/// A program that failed is usually written again, with its earlier calls in it. An effectful call
/// that repeats one of the failed program is not started: its result tells the model that the
/// effects of that program stand. The next program may make the calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProgramEffects(Vec<ProgramEffect>);

/// An effect of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramEffect {
    /// Latest call with the effect.
    id: CallId,
    /// Program that made the call.
    program: CallId,
    /// Digest of the tool and the arguments.
    call: Digest,
    /// Program that was told about the effect, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    told: Option<CallId>,
}

impl ProgramEffects {
    /// Returns true if there are no effects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the effect of a call of this program. The result does not depend on the order of the
    /// ends.
    pub(crate) fn add(&mut self, program: CallId, id: CallId, call: Digest) {
        if self.0.iter().any(|known| known.call == call && known.id > id) {
            return;
        }
        self.0.retain(|known| known.call != call);
        let at = self.0.partition_point(|known| known.id < id);
        self.0.insert(at, ProgramEffect { id, program, call, told: None });
        if self.0.len() > MAX_EFFECTS {
            self.0.remove(0);
        }
    }

    /// Removes the effects of a program that ended as planned.
    pub(crate) fn remove(&mut self, program: CallId) {
        self.0.retain(|known| known.program != program);
    }

    /// Returns true if a call of this program repeats an effect of a failed one that its model was
    /// not told about before.
    #[must_use]
    pub(crate) fn repeats(&self, program: CallId, call: Digest) -> bool {
        self.0.iter().any(|known| {
            let told = known.told.is_some_and(|told| told != program);
            known.program != program && known.call == call && !told
        })
    }

    /// Records that the result of a call of this program tells about the effects of earlier ones.
    /// One such result speaks of all of them, so that a model repeats a program once at most.
    pub(crate) fn tell(&mut self, program: CallId, call: Digest) {
        if !self.repeats(program, call) {
            return;
        }
        for known in self.0.iter_mut().filter(|known| known.program != program) {
            known.told.get_or_insert(program);
        }
    }
}
