//! Reconciling: what runs is made equal to what is owed (law 3).

use std::sync::Arc;

use windlass_core::{
    CallId, Demand, EffectClass, EffectKey, FailureKind, Fitness, Input, Observation,
    ObservationStatus, Owed, Retry, SampleFailure, SampleNews, Seq, Session, Stage, owed, render,
};
use windlass_ports::{CancelSignal, SampleRequest, ToolCall, ToolContext};

use super::Driver;
use crate::arguments::Checker;
use crate::effect::{CallEffect, News, Reports, SampleEffect};
use crate::error::Ended;
use crate::event::{Live, LiveKind};

impl Driver {
    /// Starts what is owed and does not run, winds down what is to end, ends what is not owed.
    pub(super) fn reconcile(&mut self) -> Result<(), Ended> {
        loop {
            let owed = owed(&self.session);
            self.effects
                .keep_only(|key| owed.iter().any(|owed| owed.key == key));
            let mut never = None;
            for owed in &owed {
                never = never.or(self.attend(owed)?);
            }
            match never {
                // It was to wind down and had not begun.
                Some(key) => self.must_take(Input::NeverBegan { key })?,
                None => return Ok(()),
            }
        }
    }

    /// Attends to one effect. Answers its key if it is to wind down and never began.
    fn attend(&mut self, owed: &Owed) -> Result<Option<EffectKey>, Ended> {
        match (owed.demand, self.effects.runs(owed.key)) {
            (Demand::Run, false) if owed.needs <= self.durable => {
                self.start(owed.key)?;
                Ok(None)
            }
            (Demand::Run, _) => Ok(None),
            (Demand::Wind, true) => {
                self.effects.wind(owed.key);
                Ok(None)
            }
            (Demand::Wind, false) => Ok(Some(owed.key)),
        }
    }

    fn start(&mut self, key: EffectKey) -> Result<(), Ended> {
        let started = match key {
            EffectKey::Sample { started } => self.start_sample(key, started),
            EffectKey::Call { call, started } => self.start_call(key, call, started),
        };
        started.ok_or_else(|| Ended::Defect(format!("{key:?} is owed and cannot be started")))
    }

    /// `None` when the state does not hold what the effect needs, or the settings, which were
    /// checked when they were set, do not compile.
    fn start_sample(&mut self, key: EffectKey, started: Seq) -> Option<()> {
        let turn = self.session.turn()?;
        if !self.checker.is_for(&turn.settings) {
            self.checker = Arc::new(Checker::new(&turn.settings).ok()?);
        }
        let effect = SampleEffect {
            key,
            request: SampleRequest {
                session: self.session.id.clone(),
                turn: turn.id,
                started,
                prompt: render(&self.history, &turn.settings),
                limits: turn.limits,
            },
            provider: self.ports.provider.clone(),
            clock: self.ports.clock.clone(),
            checker: self.checker.clone(),
            bus: self.bus.clone(),
            caps: self.size.caps(self.config.caps),
        };
        self.effects
            .start(key, |voice, cancel| effect.run(voice, cancel));
        Some(())
    }

    /// `None` when the state does not hold what the effect needs.
    fn start_call(&mut self, key: EffectKey, id: CallId, started: Seq) -> Option<()> {
        let turn = self.session.turn()?;
        let call = self.history.call(id)?;
        let effect = class(&self.session, id)?;
        let fact = self.starts.remove(&started)?;
        let clock = self.ports.clock.clone();
        let reports = Arc::new(Reports::new(
            Live {
                session: self.session.id.clone(),
                turn: turn.id,
                ts: clock.now(),
                kind: LiveKind::Progress {
                    call: id,
                    text: String::new(),
                },
            },
            self.bus.clone(),
            clock.clone(),
        ));
        let effect = CallEffect {
            key,
            call: ToolCall {
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            },
            context: ToolContext {
                scope: (*turn.scope).clone(),
                session: self.session.id.clone(),
                turn: turn.id,
                call: id,
                attempt: fact.attempt,
                idempotency_key: fact.idempotency_key,
                cancel: CancelSignal::default(),
                deadline: clock.now().plus_ms(fact.timeout_ms),
                timeout_ms: fact.timeout_ms,
                progress: reports.clone(),
            },
            reports,
            size: self.size,
            effect,
            grace_ms: turn.limits.grace_ms,
            tools: self.ports.tools.clone(),
        };
        self.effects
            .start(key, |voice, cancel| effect.run(voice, cancel));
        Some(())
    }

    pub(super) fn on_news(&mut self, news: News) -> Result<(), Ended> {
        match news {
            News::Said(said) => {
                for input in said.inputs {
                    self.must_take(input)?;
                }
                Ok(())
            }
            News::Lost(key) => {
                tracing::error!(session = %self.session.id, ?key, "an adapter panicked");
                let input = lost(&self.session, key);
                self.must_take(input)
            }
        }
    }
}

/// The effect class of a call that is out.
fn class(session: &Session, id: CallId) -> Option<EffectClass> {
    let Stage::Executing(executing) = &session.turn()?.stage else {
        return None;
    };
    let call = executing.calls.iter().find(|call| call.id == id)?;
    match &call.fitness {
        Fitness::Fit { effect, .. } => Some(*effect),
        Fitness::Unfit { .. } => None,
    }
}

/// What is said for an effect that panicked.
fn lost(session: &Session, key: EffectKey) -> Input {
    match key {
        EffectKey::Sample { .. } => {
            let message = "the provider adapter panicked: this is a defect of the adapter";
            Input::Sampled {
                key,
                news: SampleNews::Failed {
                    failure: SampleFailure::new(FailureKind::Protocol, Retry::Never, message),
                    partial: String::new(),
                },
            }
        }
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
    }
}
