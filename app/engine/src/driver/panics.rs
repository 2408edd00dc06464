//! Panics: the input for an effect that panicked before its final report.

use windlass_core::{
    CallId, CallProgress, CallValidity, EffectClass, EffectKey, FailureKind, History, Input,
    Observation, ObservationStatus, Retry, SampleEvent, SampleFailure, Session,
};

use super::ask::settings;
use super::programs::step_ms;
use crate::effect::{PANICKED, denied, failed, panicked};

/// Returns the effect class of a running call. A dry run changes nothing.
pub(super) fn effect_class(session: &Session, id: CallId) -> Option<EffectClass> {
    let mut calls = session.turn()?.calls().iter();
    let call = calls.find(|call| call.id == id)?;
    match (&call.progress, &call.validity) {
        (CallProgress::Running { plan: true, .. }, CallValidity::Valid { .. }) => {
            Some(EffectClass::ReadOnly)
        }
        (
            CallProgress::Proposed
            | CallProgress::AwaitingApproval { .. }
            | CallProgress::Allowed
            | CallProgress::Denied { .. }
            | CallProgress::Running { plan: false, .. }
            | CallProgress::AwaitingResult { .. }
            | CallProgress::Reconciling { .. }
            | CallProgress::Done { .. },
            CallValidity::Valid { effect, .. },
        ) => Some(*effect),
        (
            _,
            CallValidity::Goal
            | CallValidity::Program { .. }
            | CallValidity::Surplus
            | CallValidity::Invalid { .. },
        ) => None,
    }
}

/// Returns the input for an effect that panicked.
pub(super) fn panic_input(session: &Session, history: &History, key: EffectKey) -> Input {
    match key {
        EffectKey::Sample { .. } => {
            let message =
                "the provider adapter panicked, or a redactor did: this is a defect of it";
            Input::SampleEvent {
                key,
                event: SampleEvent::Failed {
                    failure: SampleFailure::new(FailureKind::Protocol, Retry::Never, message),
                    partial: String::new(),
                    usage: None,
                    asked: None,
                },
            }
        }
        EffectKey::Call { call, .. } if step_ms(session, call).is_some() => Input::ProgramEvent {
            key,
            event: panicked(settings(session), &history.program_calls(call)),
        },
        EffectKey::Call { call, .. } => {
            let observation = match effect_class(session, call) {
                Some(EffectClass::ReadOnly) | None => Observation::new(
                    ObservationStatus::Failed,
                    "Failed: the tool adapter panicked, which is a defect of the adapter.",
                ),
                Some(EffectClass::Idempotent | EffectClass::Effectful) => Observation::new(
                    ObservationStatus::Unknown,
                    "Unknown: the tool adapter panicked. The call may have taken effect or not; \
                     check before you repeat it.",
                ),
            };
            Input::CallEnded { key, observation }
        }
        EffectKey::Hook { hook, .. } => {
            let place = usize::try_from(hook).unwrap_or(usize::MAX);
            let spec = settings(session).hooks.get(place);
            let name = spec.map_or("", |spec| &spec.name);
            let reply = failed(name, "it panicked, which is a defect of the hook adapter");
            Input::HookReplied { key, reply }
        }
        EffectKey::Approval { .. } => {
            let (scope, answer) = denied(PANICKED);
            Input::ApproverAnswered { key, scope, answer }
        }
        EffectKey::Reconcile { .. } => Input::CallReconciled { key, observation: None },
        EffectKey::Compact { .. } => {
            let why = "an adapter panicked while the conversation was compacted";
            Input::CompactionEnded { key, compaction: Err(why.to_owned()) }
        }
    }
}
