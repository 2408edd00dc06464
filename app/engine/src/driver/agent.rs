//! Agents: calls that a child session executes.

use windlass_core::{AgentSpec, CallId, CallStarted, EffectKey, Lineage, OpenSession, open_child};

use super::Driver;
use crate::agents::{agent_session, stop_agent_turn};
use crate::child_results::{self, ChildResult};
use crate::effect::AgentEffect;

impl Driver {
    /// Returns the agent that executes a call of the turn.
    pub(super) fn agent_of(&self, id: CallId) -> Option<AgentSpec> {
        let turn = self.machine.session().turn()?;
        let call = turn.calls().iter().find(|call| call.id == id)?;
        turn.agent(call).cloned()
    }

    /// Starts an agent effect. `None` when the state lacks what the effect needs.
    pub(super) fn start_agent(
        &mut self,
        key: EffectKey,
        fact: CallStarted,
        agent: AgentSpec,
    ) -> Option<()> {
        let turn = self.machine.session().turn()?;
        let call = turn.calls().iter().find(|call| call.id == fact.call)?;
        let engine = self.slot.engine()?;
        let mut settings = (*turn.settings).clone();
        if let Some(grant) = &fact.grant {
            settings = agent.settings(turn, grant);
        }
        let opening = OpenSession {
            owner: (*turn.scope).clone(),
            workspace: self.machine.session().workspace.as_deref().map(str::to_owned),
            settings,
            lineage: Lineage::Root,
        };
        let effect = AgentEffect {
            key,
            name: self.machine.history().call(fact.call)?.name.clone(),
            arguments: String::from(&*self.machine.history().arguments(fact.call)?),
            agent,
            grant: fact.grant,
            child: agent_session(&fact.idempotency_key)?,
            opening: open_child(self.machine.session(), fact.call, opening),
            attempt: fact.attempt,
            dry_run: turn.dry_run,
            read_only: call.is_read_only(),
            timeout_ms: fact.timeout_ms,
            grace_ms: turn.limits.grace_ms,
            names_tools: turn.settings.offers_background_agent_tools(),
            call: fact.call,
            engine,
            reports: self.reports(fact.call)?,
            size: self.capacity,
            idempotency_key: fact.idempotency_key,
        };
        self.effects.start(key, |reporter, signals| effect.run(reporter, signals));
        Some(())
    }

    /// Delivers the results of the session's detached children, as far as no task does yet.
    pub(super) fn deliver_results(&self) {
        let session = self.machine.session();
        let Some(engine) = self.slot.engine().filter(|_| !session.detached.is_empty()) else {
            return;
        };
        for child in &session.detached {
            let result = ChildResult {
                parent: session.id.clone(),
                key: format!("{}.{}", session.author(), child.call),
                child: child.clone(),
                max_answer: session.settings.output_page_bytes(),
            };
            child_results::deliver(&engine, result);
        }
    }

    /// Stops the agent of a call that is over.
    pub(super) fn stop_agent(&self, call: CallId) {
        let key = format!("{}.{call}", self.machine.session().author());
        if let (Some(engine), Some(child)) = (self.slot.engine(), agent_session(&key)) {
            tokio::spawn(async move { stop_agent_turn(&engine, &child, &key).await });
        }
    }
}
