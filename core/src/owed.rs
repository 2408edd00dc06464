//! Owed: what the world owes a state. A function, not a queue: an effect cannot be lost, and it
//! stops when it is no longer owed.

use alloc::vec::Vec;

use crate::effect::{Demand, EffectKey, Owed};
use crate::gate::Gates;
use crate::hook::HookAt;
use crate::id::Seq;
use crate::session::{CallState, Fitness, Progress, Session, Turn};
use crate::settings::EffectClass;

/// The effects that are to run, or to wind down, in the order of their causes.
///
/// Hooks and questions to a person are simply no longer owed once the turn is to stop; what runs
/// in the world is to wind down and to say how far it came.
#[must_use]
pub fn owed(session: &Session) -> Vec<Owed> {
    let mut owed = Vec::new();
    hooks(&session.gates, &mut owed);
    let Some(turn) = session.turn() else {
        return owed;
    };
    let interrupted = |gates: &Gates| {
        let open = gates.open.as_ref();
        open.is_some_and(|gate| gate.at == HookAt::Interrupt)
    };
    if turn.stop.is_none() || interrupted(&turn.gates) {
        hooks(&turn.gates, &mut owed);
    }
    owed.extend(turn.stage.rules().owed(session, turn));
    for one in turn.calls() {
        call(turn, one, &mut owed);
    }
    owed
}

fn hooks(gates: &Gates, owed: &mut Vec<Owed>) {
    owed.extend(gates.out().iter().map(|out| Owed {
        key: EffectKey::Hook {
            hook: out.hook,
            asked: out.asked,
        },
        demand: Demand::Run,
        needs: out.asked,
    }));
}

fn call(turn: &Turn, call: &CallState, owed: &mut Vec<Owed>) {
    if turn.stop.is_none() {
        hooks(&call.gates, owed);
    }
    let demand = match turn.stop {
        None => Demand::Run,
        Some(_) => Demand::Wind,
    };
    match &call.progress {
        Progress::Asking {
            question: Some(question),
        } if turn.stop.is_none() => owed.push(Owed {
            key: EffectKey::Approval {
                call: call.id,
                asked: question.asked,
            },
            demand: Demand::Run,
            needs: question.asked,
        }),
        // It waits for its calls, or is not waited for.
        Progress::Running { .. } if call.is_program() && !goes_on(turn, call) => {}
        Progress::Running { started, plan, .. } => owed.push(Owed {
            key: EffectKey::Call {
                call: call.id,
                started: *started,
            },
            demand,
            // A session that is opened for a call lasts, whatever its tools do.
            needs: if *plan || (call.is_read_only() && call.lent.is_none()) {
                Seq::ZERO
            } else {
                *started
            },
        }),
        Progress::Reconciling { started, .. } => owed.push(Owed {
            key: EffectKey::Reconcile {
                call: call.id,
                started: *started,
            },
            demand,
            needs: *started,
        }),
        Progress::Proposed
        | Progress::Asking { .. }
        | Progress::Allowed
        | Progress::Denied { .. }
        | Progress::Done { .. } => {}
    }
}

/// Returns true if a program is to take its next step.
fn goes_on(turn: &Turn, call: &CallState) -> bool {
    turn.stop.is_none() && turn.program_goes_on(call.id)
}

impl CallState {
    /// Returns true if running it changes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        match &self.fitness {
            Fitness::Fit { effect, .. } => *effect == EffectClass::ReadOnly,
            Fitness::Goal | Fitness::Program { .. } | Fitness::Unfit { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;
    use alloc::string::String;
    use alloc::sync::Arc;

    use super::*;
    use crate::compact::kit;
    use crate::digest::Digest;
    use crate::id::{CallId, InputId, TurnId};
    use crate::limits::Limits;
    use crate::outcome::{Interrupter, Outcome};
    use crate::scope::Scope;
    use crate::session::{Question, Spent, Stop};
    use crate::stage::{Opening, Stage};
    use crate::time::Timestamp;

    fn turn(stop: Option<Stop>) -> Turn {
        Turn {
            id: TurnId(2),
            goal: None,
            scope: Arc::new(Scope::local("somebody")),
            settings: Arc::new(kit::settings()),
            limits: Limits::default(),
            dry_run: false,
            opened_at: Timestamp(0),
            spent: Spent::default(),
            stop,
            pause: None,
            gates: Gates::default(),
            pending: VecDeque::new(),
            base_bytes: 0,
            context_bytes: 0,
            compacted: None,
            compacting: 0,
            told_last: false,
            retried: 0,
            stage: Stage::Opening(Opening::Input(InputId(1))),
        }
    }

    fn asked_about() -> CallState {
        CallState {
            id: CallId(7),
            tool: "write".into(),
            provider_id: Digest::EMPTY,
            fitness: Fitness::Goal,
            arguments: Digest::EMPTY,
            edited: None,
            ruled: None,
            gates: Gates::default(),
            contexts: Vec::new(),
            lent: None,
            progress: Progress::Asking {
                question: Some(Question {
                    asked: Seq(9),
                    attempt: 1,
                    deadline: None,
                }),
            },
            parent: None,
            spoken: false,
            ended: false,
            line: None,
        }
    }

    #[test]
    fn a_person_is_asked_until_the_turn_is_to_stop() {
        let mut running = Vec::new();
        call(&turn(None), &asked_about(), &mut running);
        let question = Owed {
            key: EffectKey::Approval {
                call: CallId(7),
                asked: Seq(9),
            },
            demand: Demand::Run,
            needs: Seq(9),
        };
        assert_eq!(running, [question]);

        let stop = Stop {
            outcome: Outcome::Interrupted {
                by: Interrupter::Person,
                reason: String::from("enough"),
            },
            at: Timestamp(1),
            seq: Seq(10),
        };
        let mut stopping = Vec::new();
        call(&turn(Some(stop)), &asked_about(), &mut stopping);
        assert_eq!(stopping, []);
    }
}
