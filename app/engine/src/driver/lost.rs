//! Lost: what is said for an effect that panicked before its last word.

use windlass_core::{
    CallId, EffectClass, EffectKey, FailureKind, Fitness, History, Input, Observation,
    ObservationStatus, Progress, Retry, SampleFailure, SampleNews, Session,
};

use super::ask::settings;
use super::programs::step_ms;
use crate::effect::{PANICKED, denied, failed, panicked};

/// The effect class of a call that is out. Saying what it would do changes nothing.
pub(super) fn class(session: &Session, id: CallId) -> Option<EffectClass> {
    let mut calls = session.turn()?.calls().iter();
    let call = calls.find(|call| call.id == id)?;
    match (&call.progress, &call.fitness) {
        (Progress::Running { plan: true, .. }, Fitness::Fit { .. }) => Some(EffectClass::ReadOnly),
        (
            Progress::Proposed
            | Progress::Asking { .. }
            | Progress::Allowed
            | Progress::Denied { .. }
            | Progress::Running { plan: false, .. }
            | Progress::Reconciling { .. }
            | Progress::Done { .. },
            Fitness::Fit { effect, .. },
        ) => Some(*effect),
        (_, Fitness::Goal | Fitness::Program { .. } | Fitness::Unfit { .. }) => None,
    }
}

/// Returns the input for an effect that panicked.
pub(super) fn lost(session: &Session, history: &History, key: EffectKey) -> Input {
    match key {
        EffectKey::Sample { .. } => {
            let message =
                "the provider adapter panicked, or a redactor did: this is a defect of it";
            Input::Sampled {
                key,
                news: SampleNews::Failed {
                    failure: SampleFailure::new(FailureKind::Protocol, Retry::Never, message),
                    partial: String::new(),
                    usage: None,
                    asked: None,
                },
            }
        }
        EffectKey::Call { call, .. } if step_ms(session, call).is_some() => Input::Programmed {
            key,
            news: panicked(settings(session), &history.made(call, 0)),
        },
        EffectKey::Call { call, .. } => {
            let observation = match class(session, call) {
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
            Input::Ran { key, observation }
        }
        EffectKey::Hook { hook, .. } => {
            let place = usize::try_from(hook).unwrap_or(usize::MAX);
            let spec = settings(session).hooks.get(place);
            let name = spec.map_or("", |spec| &spec.name);
            let reply = failed(name, "it panicked, which is a defect of the hook adapter");
            Input::Hooked { key, reply }
        }
        EffectKey::Approval { .. } => {
            let (scope, answer) = denied(PANICKED);
            Input::Asked { key, scope, answer }
        }
        EffectKey::Reconcile { .. } => Input::Reconciled {
            key,
            observation: None,
        },
        EffectKey::Compact { .. } => {
            let why = "an adapter panicked while the conversation was compacted";
            Input::Compacted {
                key,
                compaction: Err(why.to_owned()),
            }
        }
    }
}
