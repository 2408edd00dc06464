//! Results that clients return for the calls of their tools, and runs that are suspended.

use windlass_core::{
    CallId, CallProgress, EffectKey, Fact, Input, Observation, ObservationStatus, Session,
    Suspension, UserQuestion,
};

use super::driver::World;
use super::happen::{pick, somebody};
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

    /// A run of a tool is suspended; without one, nothing happens.
    pub(super) fn suspend(&mut self, nth: usize, asks: bool, repeatable: bool) -> Held {
        let question = UserQuestion { question: String::from("which?"), choices: Vec::new() };
        let question = asks.then_some(question);
        let suspension = Suspension { state: "here".into(), question, repeatable };
        match self.plain_run(nth) {
            Some(key) => self.take(Input::CallSuspended { key, suspension }),
            None => Ok(()),
        }
    }

    /// A run of a tool: no plan, no program and no agent.
    fn plain_run(&self, nth: usize) -> Option<EffectKey> {
        let calls = self.machine.session().turn().map_or(&[][..], |turn| turn.calls());
        let plain = calls.iter().filter_map(|call| match call.progress {
            CallProgress::Running { started, plan: false, .. }
                if !call.is_program() && call.grant.is_none() =>
            {
                Some(EffectKey::Call { call: call.id, started })
            }
            CallProgress::Proposed
            | CallProgress::AwaitingApproval { .. }
            | CallProgress::Allowed
            | CallProgress::Denied { .. }
            | CallProgress::Running { .. }
            | CallProgress::AwaitingResult { .. }
            | CallProgress::Reconciling { .. }
            | CallProgress::Done { .. } => None,
        });
        let runs: Vec<EffectKey> =
            plain.filter(|key| self.machine.running().contains_key(key)).collect();
        pick(&runs, nth)
    }
}

/// Calls whose clients are to return results.
pub(crate) fn awaited(session: &Session) -> Vec<CallId> {
    let calls = session.turn().map_or(&[][..], |turn| turn.calls()).iter();
    let awaited = calls.filter(|call| matches!(call.progress, CallProgress::AwaitingResult { .. }));
    awaited.map(|call| call.id).collect()
}
