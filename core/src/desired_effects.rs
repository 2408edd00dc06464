//! Desired effects: the effects that a state requires. A function, not a queue: no effect can be
//! lost, and an effect stops once it is no longer desired.

use alloc::vec::Vec;

use crate::effect::{Demand, DesiredEffect, EffectKey};
use crate::hook::HookOccurrence;
use crate::hook_rounds::HookRounds;
use crate::id::Seq;
use crate::session::{CallProgress, CallState, CallValidity, Session, Turn};
use crate::settings::EffectClass;

/// Returns the effects to run or to cancel, in the order of their causes.
///
/// Once the turn is to stop, hooks and questions to a person are no longer desired. Effects that
/// run in the world are cancelled and report their progress.
#[must_use]
pub fn desired_effects(session: &Session) -> Vec<DesiredEffect> {
    let mut owed = Vec::new();
    hooks(&session.hook_rounds, &mut owed);
    let Some(turn) = session.turn() else {
        return owed;
    };
    let interrupted = |gates: &HookRounds| {
        let open = gates.open.as_ref();
        open.is_some_and(|gate| gate.at == HookOccurrence::Interrupt)
    };
    if turn.stop.is_none() || interrupted(&turn.hook_rounds) {
        hooks(&turn.hook_rounds, &mut owed);
    }
    owed.extend(turn.stage.rules().desired_effect(session, turn));
    for one in turn.calls() {
        call(turn, one, &mut owed);
    }
    owed
}

fn hooks(gates: &HookRounds, owed: &mut Vec<DesiredEffect>) {
    owed.extend(gates.pending().iter().map(|out| DesiredEffect {
        key: EffectKey::Hook { hook: out.hook, asked: out.asked },
        demand: Demand::Run,
        requires_durable: out.asked,
    }));
}

fn call(turn: &Turn, call: &CallState, owed: &mut Vec<DesiredEffect>) {
    if turn.stop.is_none() {
        hooks(&call.hook_rounds, owed);
    }
    let demand = match turn.stop {
        None => Demand::Run,
        Some(_) => Demand::Cancel,
    };
    match &call.progress {
        CallProgress::AwaitingApproval { question: Some(question) } if turn.stop.is_none() => owed
            .push(DesiredEffect {
                key: EffectKey::Approval { call: call.id, asked: question.asked },
                demand: Demand::Run,
                requires_durable: question.asked,
            }),
        // The program waits for its calls, or is abandoned.
        CallProgress::Running { .. } if call.is_program() && !takes_next_step(turn, call) => {}
        CallProgress::Running { started, plan, .. } => owed.push(DesiredEffect {
            key: EffectKey::Call { call: call.id, started: *started },
            demand,
            // A child session of a call is durable whatever its tools do.
            requires_durable: if *plan || (call.is_read_only() && call.grant.is_none()) {
                Seq::ZERO
            } else {
                *started
            },
        }),
        CallProgress::Reconciling { started, .. } => owed.push(DesiredEffect {
            key: EffectKey::Reconcile { call: call.id, started: *started },
            demand,
            requires_durable: *started,
        }),
        CallProgress::Proposed
        | CallProgress::AwaitingApproval { .. }
        | CallProgress::Allowed
        | CallProgress::AwaitingResult { .. }
        | CallProgress::Denied { .. }
        | CallProgress::Done { .. } => {}
    }
}

/// Returns true if a program should take its next step.
fn takes_next_step(turn: &Turn, call: &CallState) -> bool {
    turn.stop.is_none() && turn.program_can_resume(call.id)
}

impl CallState {
    /// Returns true if running the effect changes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        match &self.validity {
            CallValidity::Valid { effect, .. } => *effect == EffectClass::ReadOnly,
            CallValidity::Goal
            | CallValidity::Program { .. }
            | CallValidity::Surplus
            | CallValidity::Invalid { .. } => true,
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
    use crate::outcome::{InterruptSource, TurnOutcome};
    use crate::program::ProgramEffects;
    use crate::scope::Scope;
    use crate::session::{ApprovalQuestion, StopRequest, TurnUsage};
    use crate::stage::{Stage, TurnOpening};
    use crate::time::Timestamp;

    fn turn(stop: Option<StopRequest>) -> Turn {
        Turn {
            id: TurnId(2),
            goal: None,
            scope: Arc::new(Scope::local("somebody")),
            settings: Arc::new(kit::settings()),
            limits: Limits::default(),
            dry_run: false,
            opened_at: Timestamp(0),
            spent: TurnUsage::default(),
            stop,
            pause: None,
            hook_rounds: HookRounds::default(),
            pending: VecDeque::new(),
            base_bytes: 0,
            context_bytes: 0,
            compaction: None,
            command: false,
            compacted: None,
            compacting: 0,
            announced_last: false,
            re_asks: 0,
            empty_answers: 0,
            program_effects: ProgramEffects::default(),
            rules_changed: None,
            stage: Stage::Opening(TurnOpening::Input(InputId(1))),
        }
    }

    fn asked_about() -> CallState {
        CallState {
            sha256: None,
            id: CallId(7),
            tool: "write".into(),
            provider_id: Digest::EMPTY,
            validity: CallValidity::Goal,
            arguments: Digest::EMPTY,
            edited: None,
            rule_verdict: None,
            possibly_denied: false,
            hook_rounds: HookRounds::default(),
            contexts: Vec::new(),
            grant: None,
            progress: CallProgress::AwaitingApproval {
                question: Some(ApprovalQuestion { asked: Seq(9), attempt: 1, deadline: None }),
            },
            parent: None,
            inline: false,
            ended: false,
            label: None,
            barred: false,
            suspended: None,
            command: None,
            held: false,
            outside_sandbox: None,
            matched: None,
        }
    }

    #[test]
    fn a_person_is_asked_until_the_turn_is_to_stop() {
        let mut running = Vec::new();
        call(&turn(None), &asked_about(), &mut running);
        let question = DesiredEffect {
            key: EffectKey::Approval { call: CallId(7), asked: Seq(9) },
            demand: Demand::Run,
            requires_durable: Seq(9),
        };
        assert_eq!(running, [question]);

        let stop = StopRequest {
            outcome: TurnOutcome::Interrupted {
                by: InterruptSource::Person,
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
