//! Results that clients return for the calls of their tools.

use windlass_core::{CallId, CallProgress, Fact, Input, Observation, ObservationStatus, Session};

use super::driver::World;
use super::happen::somebody;
use crate::laws::Held;

impl World {
    /// A client returns a result, for a call that awaits one or for another.
    pub(super) fn submit(&mut self, nth: usize, status: ObservationStatus, output: &str) -> Held {
        let awaited = awaited(self.machine.session());
        let call = match nth.checked_rem(awaited.len()) {
            Some(nth) => awaited.get(nth).copied(),
            None => self.log.iter().rev().find_map(|recorded| {
                let Fact::CallStarted(fact) = &recorded.fact else {
                    return None;
                };
                Some(fact.call)
            }),
        };
        let observation = Observation::new(status, output);
        match call {
            Some(call) => self.take(Input::SubmitResult { call, scope: somebody(), observation }),
            None => Ok(()),
        }
    }
}

/// Calls whose clients are to return results.
pub(crate) fn awaited(session: &Session) -> Vec<CallId> {
    let calls = session.turn().map_or(&[][..], |turn| turn.calls()).iter();
    let awaited = calls.filter(|call| matches!(call.progress, CallProgress::AwaitingResult { .. }));
    awaited.map(|call| call.id).collect()
}
