//! Programs: the effect of a program's next step.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass_core::{
    CallId, CallValidity, EffectKey, ProgramFault, ProgramMode, SampleKind, Scope, Session, Turn,
    program_seed,
};
use windlass_ports::{BlobReader, CancelSignal, ProgramEnvironment};

use super::Driver;
use crate::effect::{ProgramEffect, ProgramOrigin};
use crate::program::{ComputeLimits, EngineFault};

/// Returns the time limit of one step, if the running call is a program.
pub(super) fn step_ms(session: &Session, id: CallId) -> Option<u64> {
    let mut calls = session.turn()?.calls().iter();
    match calls.find(|call| call.id == id)?.validity {
        CallValidity::Program { timeout_ms, .. } => Some(timeout_ms),
        CallValidity::Valid { .. }
        | CallValidity::Goal
        | CallValidity::Surplus
        | CallValidity::Invalid { .. } => None,
    }
}

impl Driver {
    /// Starts a program effect. `None` when the state lacks what the effect needs.
    pub(super) fn start_program(
        &mut self,
        key: EffectKey,
        id: CallId,
        timeout_ms: u64,
    ) -> Option<()> {
        let checker = self.checker()?;
        let turn = self.machine.session().turn()?;
        let program = turn.settings.options.program.as_ref()?;
        let kind = turn.executing_kind();
        let live = self.program.take(id);
        let effect = ProgramEffect {
            key,
            origin: self.program_origin(turn, id, program, kind),
            run: live,
            slot: self.program.clone(),
            record: self.machine.history().program_calls(id),
            settings: turn.settings.clone(),
            dry_run: turn.dry_run,
            limits: program.limits.within(&self.config.programs),
            must_return: turn.must_return(kind),
            programs_left: turn.programs_left(),
            checker,
            blobs: BlobReader::new(self.ports.blobs.clone(), self.machine.session().id.clone()),
            bounds: self.compute_limits(turn, timeout_ms),
            computed: Duration::ZERO,
            size: self.capacity,
        };
        self.effects.start(key, |voice, signals| effect.run(voice, signals));
        Some(())
    }

    /// Returns the slot and time limits for programs of this turn.
    pub(super) fn compute_limits(&self, turn: &Turn, timeout_ms: u64) -> ComputeLimits {
        let program = turn.settings.options.program.as_ref();
        let limits = program.map_or(self.config.programs, |program| program.limits);
        let most_ms = limits.within(&self.config.programs).step_ms(timeout_ms);
        ComputeLimits {
            slots: self.compute_slots.clone(),
            session: self.machine.session().id.clone(),
            tenant: match &*turn.scope {
                Scope::Principal { tenant, .. } => tenant.as_str().into(),
                Scope::System { .. } => "".into(),
            },
            within: Duration::from_millis(most_ms),
            grace: Duration::from_millis(turn.limits.grace_ms),
        }
    }

    /// Returns the origin of a program's run.
    fn program_origin(
        &self,
        turn: &Turn,
        id: CallId,
        program: &ProgramMode,
        kind: SampleKind,
    ) -> Result<ProgramOrigin, ProgramFault> {
        let Some(runtime) = self.ports.programs.get(&program.runtime) else {
            let words = format!("the program runtime {} is not here", program.runtime);
            return Err(EngineFault::Missing.with_message(words, "Answer without a program."));
        };
        let arguments = self.machine.history().arguments(id);
        let source = arguments.and_then(|text| source(&text));
        let Some(source) = source else {
            let words = "the call has no source";
            return Err(
                EngineFault::Source.with_message(words, "Pass the program as the text source.")
            );
        };
        let tools = turn.settings.offered_tools();
        let tools = tools.filter(|_| turn.programs_call(kind));
        Ok(ProgramOrigin {
            runtime: runtime.clone(),
            source,
            environment: ProgramEnvironment {
                tools: tools.map(|tool| Arc::from(tool.name.as_str())).collect(),
                data: program.data.clone(),
                failure: self.machine.history().program_failure().cloned(),
                memory: self.machine.history().memory().clone(),
                must_return: turn.must_return(kind),
                now_ms: self.machine.history().answered().map_or(0, |answered| answered.0),
                seed: program_seed(&self.machine.session().id, id),
                limits: program.limits.within(&self.config.programs),
                cancel: CancelSignal::default(),
            },
        })
    }
}

fn source(arguments: &str) -> Option<String> {
    let mut value: Value = serde_json::from_str(arguments).ok()?;
    match value.get_mut("source")?.take() {
        Value::String(source) => Some(source),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}
