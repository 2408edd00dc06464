//! Asking: effects that ask hooks and people, built from the state and the history.

use std::sync::Arc;

use windlass_core::{
    CallId, CallState, EffectKey, HookOccurrence, HookRounds, HookTopic, PromptItem, Seq, Session,
    Settings, Turn, TurnOutcome,
};
use windlass_ports::{ApprovalRequest, CancelSignal, HookCall, HookContext, HookSubject};

use super::Driver;
use super::turn_calls::turn_calls;
use crate::approvals::{self, PendingApproval};
use crate::effect::{ApprovalEffect, HookEffect};

/// Most recent items of a conversation that are searched first for a call.
const LOOK_BACK: usize = 64;

/// Returns the settings in force: those of the open turn, else those of the session.
pub(super) fn settings(session: &Session) -> &Arc<Settings> {
    session.turn().map_or(&session.settings, |turn| &turn.settings)
}

impl Driver {
    /// Starts a hook effect. `None` when the state lacks what the effect needs.
    pub(super) fn start_hook(&mut self, key: EffectKey, hook: u32, asked: Seq) -> Option<()> {
        let checker = self.checker()?;
        let session = self.machine.session();
        let at = hook_occurrence(session, hook, asked)?;
        let settings = settings(session);
        let spec = settings.hooks.get(usize::try_from(hook).ok()?)?;
        let turn = session.turn();
        let grace_ms = turn.map_or(u64::MAX, |turn| turn.limits.grace_ms);
        let timeout_ms = if at == HookOccurrence::Interrupt {
            spec.timeout_ms.min(grace_ms)
        } else {
            spec.timeout_ms
        };
        let context = HookContext {
            scope: turn.map_or(&session.owner, |turn| &turn.scope).clone(),
            session: session.id.clone(),
            turn: turn.map(|turn| turn.id),
            workspace: session.workspace.clone(),
            mode: settings.mode,
            permissions: settings.permissions,
            model: settings.model.clone(),
            goal: session.goal.as_ref().map(|goal| goal.goal.clone()),
            calls: turn_calls(session, self.machine.history(), at),
            cancel: CancelSignal::default(),
            deadline: self.ports.clock.now().plus_ms(timeout_ms),
            timeout_ms,
            max_bytes: self.capacity.max_text() as u64,
        };
        let effect = HookEffect {
            key,
            call: HookCall { hook: spec.name.clone(), at, subject: self.subject(at)? },
            context,
            hooks: self.ports.hooks.clone(),
            checker,
            size: self.capacity,
        };
        self.effects.start(key, |voice, signals| effect.run(voice, signals));
        Some(())
    }

    /// Returns the subject of a question to a hook.
    fn subject(&self, at: HookOccurrence) -> Option<HookSubject> {
        match at.point().properties().topic {
            HookTopic::Nothing => Some(HookSubject::Nothing),
            HookTopic::Prompt => {
                let text = self.machine.history().waiting(at.input()?)?.clone();
                Some(HookSubject::Prompt { text })
            }
            HookTopic::Answer => {
                let (text, calls) = self.machine.history().latest_answer();
                Some(HookSubject::Answer { text, calls })
            }
            HookTopic::Call => Some(HookSubject::Call {
                tool: self.machine.history().call(at.call()?)?.name.clone(),
                arguments: self.machine.history().arguments(at.call()?)?,
                observation: None,
            }),
            HookTopic::Result => self.ran(at.call()?),
            HookTopic::Compaction => Some(HookSubject::Compaction { trigger: at.trigger()? }),
            HookTopic::Ending => {
                let outcome = stop_outcome(self.machine.session().turn()?)?;
                Some(HookSubject::Ending { outcome })
            }
        }
    }

    /// Returns a call that has run, with its result. After the last call of an answer, the
    /// conversation contains all of them in order, except a program in the answer's text.
    fn ran(&self, id: CallId) -> Option<HookSubject> {
        if let Some(call) = self.machine.history().call(id) {
            return Some(HookSubject::Call {
                tool: call.name.clone(),
                arguments: self.machine.history().arguments(id)?,
                observation: self.machine.history().observation(id).cloned(),
            });
        }
        if let Some(program) = self.machine.history().inline_program(id) {
            let written = || Arc::from(program.call.arguments.as_str());
            return Some(HookSubject::Call {
                tool: program.call.name.clone(),
                arguments: program.edited.unwrap_or_else(written),
                observation: program.observation,
            });
        }
        let calls = self.machine.session().turn()?.calls();
        let place = calls.iter().position(|call| call.id == id)?;
        let items = self.machine.history().items();
        let mut back = LOOK_BACK;
        loop {
            let from = items.len().saturating_sub(back);
            let found = items.iter_from(from).filter_map(PromptItem::as_call);
            let found: Vec<_> = found.collect();
            let latest = found.last().map(|(sample, _, _)| *sample);
            let of_latest = found.iter().filter(|(sample, _, _)| Some(*sample) == latest);
            let of_latest: Vec<_> = of_latest.collect();
            if of_latest.len() < calls.len() && from > 0 {
                back = back.saturating_mul(2);
                continue;
            }
            let (_, name, call) = of_latest.get(place)?;
            let result = items.iter_from(from).find_map(|item| match item {
                PromptItem::Result { id, observation, edited } if id == *name => {
                    Some((observation.clone(), edited.clone()))
                }
                PromptItem::User { .. }
                | PromptItem::Image { .. }
                | PromptItem::Context { .. }
                | PromptItem::Text { .. }
                | PromptItem::Refusal { .. }
                | PromptItem::Reasoning { .. }
                | PromptItem::Call { .. }
                | PromptItem::Result { .. }
                | PromptItem::CallReport { .. }
                | PromptItem::ProgramReport { .. } => None,
            });
            let (observation, edited) = result?;
            return Some(HookSubject::Call {
                tool: call.name.clone(),
                arguments: edited.unwrap_or_else(|| Arc::from(call.arguments.as_str())),
                observation: Some(observation),
            });
        }
    }

    /// Starts an approval effect. `None` when the state lacks what the effect needs.
    pub(super) fn start_approval(&mut self, key: EffectKey, id: CallId, asked: Seq) -> Option<()> {
        let checker = self.checker()?;
        let turn = self.machine.session().turn()?;
        let call = turn.calls().iter().find(|call| call.id == id)?;
        let pending = self.pending(call)?;
        if pending.asked != asked {
            return None;
        }
        let covers = pending.covers.clone().ok();
        let effect = ApprovalEffect {
            key,
            covers: covers.filter(|_| pending.reason.permits_grants()),
            workspace: self.machine.session().workspace.clone(),
            // An earlier process may be somebody else's log: what it says of hooks proves nothing.
            grants_answer: id.0 >= self.entered.0,
            grants: self.grants.clone(),
            clock: self.ports.clock.clone(),
            request: ApprovalRequest {
                scope: turn.scope.clone(),
                session: self.machine.session().id.clone(),
                turn: turn.id,
                call: id,
                name: pending.tool,
                arguments: pending.arguments,
                change: None,
                digest: pending.digest,
                reason: pending.reason,
                earlier: pending.earlier,
                offer: self.grants.offer(pending.reason, &pending.covers),
                attempt: pending.attempt,
                deadline: pending.deadline,
                cancel: CancelSignal::default(),
            },
            recorded: call.arguments_digest(),
            approver: self.ports.approver.clone(),
            tools: self.ports.tools.clone(),
            checker,
            size: self.capacity,
        };
        self.effects.start(key, |voice, signals| effect.run(voice, signals));
        Some(())
    }

    /// Returns the open approval of a call, if there is one.
    pub(super) fn pending(&self, call: &CallState) -> Option<PendingApproval> {
        approvals::of_call(self.machine.session(), self.machine.history(), call)
    }
}

/// Returns the occurrence at which a hook is asked, by its run.
fn hook_occurrence(session: &Session, hook: u32, asked: Seq) -> Option<HookOccurrence> {
    let asks = |gates: &HookRounds| {
        let gate = gates.open.as_ref()?;
        let mut out = gate.pending.iter();
        out.any(|asking| asking.hook == hook && asking.asked == asked).then_some(gate.at)
    };
    let of_turn = |turn: &Turn| {
        let mut calls = turn.calls().iter();
        asks(&turn.hook_rounds).or_else(|| calls.find_map(|call| asks(&call.hook_rounds)))
    };
    asks(&session.hook_rounds).or_else(|| of_turn(session.turn()?))
}

/// Returns the outcome of a turn that was asked to stop.
fn stop_outcome(turn: &Turn) -> Option<TurnOutcome> {
    let stop = turn.stop.as_ref().or(turn.pause.as_ref())?;
    Some(stop.outcome.clone())
}
