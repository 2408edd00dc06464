//! Starting: effects that ask the model and run tools, built from the state and the history.

use std::sync::Arc;

use windlass_core::machine::RunCause;
use windlass_core::{
    CallId, EffectClass, EffectKey, EffectStart, Prompt, Seq, Turn, render, tool_choice,
};
use windlass_ports::{
    BlobReader, CancelSignal, OutputStore, SampleRequest, ToolCall, ToolContext, ToolExecutor,
    arguments_sha256,
};

use super::Driver;
use super::ask::settings;
use super::panics::effect_class;
use super::programs::step_ms;
use super::turn_calls::failed_before;
use crate::arguments::Checker;
use crate::background::{self, BackgroundAgents};
use crate::client_tools::{self, ClientToolPlan};
use crate::effect::{
    CallEffect, CompactEffect, DIVERTED, InlineProgramExtractor, ProgressReporter, ReconcileEffect,
    SampleEffect, missing,
};
use crate::event::{LiveEvent, LiveKind};
use crate::output::{self, OutputReader, OutputSession};
use crate::outside;
use crate::tool_search::{self, ToolSearch};

/// Identity of a tool's run.
struct ToolRun {
    call: CallId,
    attempt: u32,
    idempotency_key: String,
    timeout_ms: u64,
}

impl Driver {
    /// Returns the checker of the settings in force. `None` when they do not compile, although they
    /// were checked when they were set.
    pub(super) fn checker(&mut self) -> Option<Arc<Checker>> {
        let settings = settings(self.machine.session());
        if !self.checker.is_for(settings) {
            let checker = Checker::new(settings).ok()?;
            let workspace = self.machine.session().workspace.as_ref();
            self.checker = Arc::new(checker.in_workspace(workspace, &self.ports.tools));
        }
        Some(self.checker.clone())
    }

    /// Returns the request for the model.
    fn prompt(&self, turn: &Turn) -> Prompt {
        let session = self.machine.session();
        render(self.machine.history(), &turn.settings, &session.found_tools)
    }

    /// Starts a sample effect. `None` when the state lacks what the effect needs.
    pub(super) fn start_sample(&mut self, key: EffectKey, started: Seq) -> Option<()> {
        let checker = self.checker()?;
        let turn = self.machine.session().turn()?;
        let prompt = self.prompt(turn);
        self.prefix.check(&self.machine.session().id, &prompt);
        let effect = SampleEffect {
            key,
            request: self.request(turn, started, prompt),
            provider: self.ports.provider.clone(),
            hooks: self.ports.hooks.clone(),
            clock: self.ports.clock.clone(),
            checker,
            bus: self.bus.clone(),
            caps: self.capacity.limit_caps(self.config.caps),
            inline_programs: self.inline_programs(turn),
        };
        self.effects.start(key, |voice, signals| effect.run(voice, signals));
        Some(())
    }

    /// Starts a compaction effect. `None` when the state lacks what the effect needs.
    pub(super) fn start_compact(
        &mut self,
        key: EffectKey,
        started: Seq,
        cause: RunCause,
    ) -> Option<()> {
        let Some(EffectStart::Compact(fact)) = cause.start() else {
            return None;
        };
        let turn = self.machine.session().turn()?;
        let prompt = self.prompt(turn);
        let effect = CompactEffect {
            key,
            started: fact.clone(),
            history: self.machine.history().clone(),
            settings: turn.settings.clone(),
            reader: turn.summary_reader().cloned(),
            focus: turn.compaction.as_ref().and_then(|request| request.focus.clone()),
            attempts: turn.summary_attempts(),
            request: self.request(turn, started, prompt),
            provider: self.ports.provider.clone(),
            hooks: self.ports.hooks.clone(),
            clock: self.ports.clock.clone(),
            caps: self.capacity.limit_caps(self.config.caps),
            size: self.capacity,
        };
        self.effects.start(key, |voice, signals| effect.run(voice, signals));
        Some(())
    }

    /// Returns the extraction of programs from the text of an answer, if the session has programs.
    fn inline_programs(&self, turn: &Turn) -> Option<InlineProgramExtractor> {
        let program = turn.settings.options.program.as_ref()?;
        let runtime = self.ports.programs.get(&program.runtime).cloned();
        Some(InlineProgramExtractor {
            transport: program.transport,
            runtime: runtime.ok_or_else(|| missing(&program.runtime)),
            bounds: self.compute_limits(turn, turn.limits.call_ms),
            size: self.capacity,
        })
    }

    fn request(&self, turn: &Turn, started: Seq, prompt: Prompt) -> SampleRequest {
        let session = self.machine.session().id.clone();
        SampleRequest {
            limits: turn.limits,
            output_bound: turn.stage.sampling().and_then(|sampling| sampling.output_bound),
            choice: tool_choice(turn),
            failed: self.machine.history().failed().to_vec(),
            blobs: BlobReader::new(self.ports.blobs.clone(), session.clone()),
            ..SampleRequest::new(session, turn.id, started, prompt)
        }
    }

    /// Starts a call effect. `None` when the state lacks what the effect needs.
    pub(super) fn start_call(&mut self, key: EffectKey, id: CallId, cause: RunCause) -> Option<()> {
        if let Some(timeout_ms) = step_ms(self.machine.session(), id) {
            return self.start_program(key, id, timeout_ms);
        }
        let Some(EffectStart::Call(fact)) = cause.start() else {
            return None;
        };
        if let Some(agent) = self.agent_of(id) {
            return self.start_agent(key, fact.clone(), agent);
        }
        let effect = if fact.plan {
            EffectClass::ReadOnly
        } else {
            effect_class(self.machine.session(), id)?
        };
        let (call, context, reports) = self.tool_run(ToolRun {
            call: id,
            attempt: fact.attempt,
            idempotency_key: fact.idempotency_key.clone(),
            timeout_ms: fact.timeout_ms,
        })?;
        let refusal = match self.is_diverted(id, &call) {
            true => Some(DIVERTED),
            false => self.outside_refusal(id, &call, fact.plan),
        };
        let turn = self.machine.session().turn()?;
        let names_rest = turn.settings.offers_read_output();
        let effect = CallEffect {
            key,
            tools: self.executor(turn, &call),
            call,
            context,
            reports,
            size: self.capacity,
            effect,
            plan: fact.plan,
            refusal,
            grace_ms: turn.limits.grace_ms,
            names_rest,
        };
        self.effects.start(key, |voice, signals| effect.run(voice, signals));
        Some(())
    }

    /// Returns true if the paths of a call lead elsewhere than when it was decided, to where the
    /// rules permit less.
    fn is_diverted(&mut self, id: CallId, call: &ToolCall) -> bool {
        let Some(checker) = self.checker().filter(|checker| checker.compares_paths(&call.name))
        else {
            return false;
        };
        let rules = checker.rules(&call.name, &call.arguments);
        let turn = self.machine.session().turn();
        let decided = turn.and_then(|turn| {
            let state = turn.calls().iter().find(|state| state.id == id)?;
            Some(state.covers(&turn.settings, &rules.certain, &rules.possible))
        });
        decided == Some(false)
    }

    /// Returns the reason why a call may not run as it asks to: outside of the sandbox, and nobody
    /// approved that in this process. A log may say what it likes.
    fn outside_refusal(&mut self, id: CallId, call: &ToolCall, plan: bool) -> Option<&'static str> {
        let asks = self.checker()?.asks_outside(&call.name, &call.arguments);
        let refused = asks && !plan && !self.is_approved_outside(id, &call.arguments);
        refused.then_some(outside::NOT_APPROVED)
    }

    /// Returns true if a person approved in this process that exactly these arguments run outside of the
    /// sandbox.
    fn is_approved_outside(&self, id: CallId, arguments: &str) -> bool {
        let calls = self.machine.session().turn().map_or(&[][..], |turn| turn.calls());
        let call = calls.iter().find(|call| call.id == id);
        call.is_some_and(|call| {
            let approved = call.outside_sandbox.and_then(|outside| outside.approved);
            approved.is_some_and(|at| at >= self.entered)
                && call.sha256 == Some(arguments_sha256(arguments))
        })
    }

    /// Returns the executor of a call. A client's tools are only planned here. The engine
    /// itself searches tools, reads outputs and reaches agents in the background, unless an executor has a tool of that name.
    fn executor(&self, turn: &Turn, call: &ToolCall) -> Arc<dyn ToolExecutor> {
        if client_tools::is_clients(&turn.settings, &call.name) {
            return Arc::new(ClientToolPlan);
        }
        if background::is_own(&call.name, &*self.ports.tools)
            && let Some(engine) = self.slot.engine()
        {
            let session = self.machine.session();
            return Arc::new(BackgroundAgents {
                engine,
                session: session.id.clone(),
                author: session.author().clone(),
                detached: session.detached.clone(),
                ended: session.queue.iter().filter_map(|input| input.result.clone()).collect(),
                durable: self.machine.durable(),
            });
        }
        if tool_search::is_own(&call.name, &*self.ports.tools) {
            return Arc::new(ToolSearch::new(turn.settings.clone()));
        }
        if !output::is_own(&call.name, &*self.ports.tools) {
            return self.ports.tools.clone();
        }
        let session = OutputSession {
            id: &self.machine.session().id,
            history: self.machine.history(),
            durable: self.machine.durable(),
            pending: self.machine.pending_facts().cloned().collect(),
            page_bytes: turn.settings.output_page_bytes(),
        };
        Arc::new(OutputReader::new(&self.ports, session, &call.arguments))
    }

    /// Starts a reconcile effect. `None` when the state lacks what the effect needs.
    pub(super) fn start_reconcile(
        &mut self,
        key: EffectKey,
        id: CallId,
        cause: RunCause,
    ) -> Option<()> {
        let Some(EffectStart::Reconcile(fact)) = cause.start() else {
            return None;
        };
        let (call, context, reports) = self.tool_run(ToolRun {
            call: id,
            attempt: fact.attempt,
            idempotency_key: fact.idempotency_key.clone(),
            timeout_ms: fact.timeout_ms,
        })?;
        let effect = ReconcileEffect {
            key,
            call,
            context,
            reports,
            size: self.capacity,
            tools: self.ports.tools.clone(),
        };
        self.effects.start(key, |voice, signals| effect.run(voice, signals));
        Some(())
    }

    fn tool_run(&self, run: ToolRun) -> Option<(ToolCall, ToolContext, Arc<ProgressReporter>)> {
        let turn = self.machine.session().turn()?;
        let clock = &self.ports.clock;
        let call = ToolCall {
            name: self.machine.history().call(run.call)?.name.clone(),
            arguments: String::from(&*self.machine.history().arguments(run.call)?),
        };
        let reports = self.reports(run.call)?;
        let state = turn.calls().iter().find(|call| call.id == run.call)?;
        let context = ToolContext {
            scope: (*turn.scope).clone(),
            session: self.machine.session().id.clone(),
            turn: turn.id,
            call: run.call,
            outside_sandbox: self
                .is_approved_outside(run.call, &self.machine.history().arguments(run.call)?),
            program: state.parent,
            attempt: run.attempt,
            suspended: state.suspended.clone(),
            failed_before: failed_before(turn, self.machine.history(), run.call),
            idempotency_key: run.idempotency_key,
            cancel: CancelSignal::default(),
            deadline: clock.now().plus_ms(run.timeout_ms),
            timeout_ms: run.timeout_ms,
            progress: reports.clone(),
            outputs: OutputStore::new(self.ports.blobs.clone(), self.machine.session().id.clone()),
        };
        Some((call, context, reports))
    }

    /// Returns the receiver of a call's reports.
    pub(super) fn reports(&self, call: CallId) -> Option<Arc<ProgressReporter>> {
        let clock = &self.ports.clock;
        let blank = LiveEvent {
            session: self.machine.session().id.clone(),
            turn: self.machine.session().turn()?.id,
            ts: clock.now(),
            kind: LiveKind::Progress { call, text: String::new() },
        };
        let reports = ProgressReporter::new(blank, self.bus.clone(), clock.clone());
        Some(Arc::new(reports))
    }
}
