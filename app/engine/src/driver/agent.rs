//! Agents: calls that a session of their own runs.

use windlass_core::{
    AgentSpec, CallId, CallStarted, EffectKey, Fact, Lineage, ObservationStatus, OpenSession,
    Recorded, WhenParentEnds, child,
};

use super::Driver;
use crate::agents::{agent_session, halt};
use crate::effect::AgentEffect;

impl Driver {
    /// The agent that a call of the turn runs.
    pub(super) fn agent_of(&self, id: CallId) -> Option<AgentSpec> {
        let turn = self.session.turn()?;
        let call = turn.calls().iter().find(|call| call.id == id)?;
        turn.agent(call).cloned()
    }

    /// `None` when the state does not hold what the effect needs.
    pub(super) fn start_agent(
        &mut self,
        key: EffectKey,
        fact: CallStarted,
        agent: AgentSpec,
    ) -> Option<()> {
        let turn = self.session.turn()?;
        let call = turn.calls().iter().find(|call| call.id == fact.call)?;
        let engine = self.slot.engine()?;
        let mut settings = (*turn.settings).clone();
        if let Some(lent) = &fact.lent {
            settings = agent.settings(turn, lent);
        }
        let opening = OpenSession {
            owner: (*turn.scope).clone(),
            workspace: self.session.workspace.as_deref().map(str::to_owned),
            settings,
            lineage: Lineage::Root,
        };
        let effect = AgentEffect {
            key,
            name: self.history.call(fact.call)?.name.clone(),
            arguments: String::from(&*self.history.arguments(fact.call)?),
            agent,
            lent: fact.lent,
            child: agent_session(&fact.idempotency_key)?,
            opening: child(&self.session, fact.call, opening),
            attempt: fact.attempt,
            dry_run: turn.dry_run,
            read_only: call.is_read_only(),
            timeout_ms: fact.timeout_ms,
            grace_ms: turn.limits.grace_ms,
            engine,
            reports: self.reports(fact.call)?,
            size: self.size,
            idempotency_key: fact.idempotency_key,
        };
        self.effects
            .start(key, |voice, signals| effect.run(voice, signals));
        Some(())
    }

    /// Has an agent stop that may still run though its call is over, as happens when nobody waited
    /// for it to say how far it came: its process ended, or it did not stop in time.
    pub(super) fn leave_no_agent(&self, recorded: &Recorded) {
        let Fact::CallObserved(fact) = &recorded.fact else {
            return;
        };
        if fact.took.is_none() || fact.observation.status == ObservationStatus::Done {
            return;
        }
        let stops = |agent: AgentSpec| agent.when_parent_ends == WhenParentEnds::Stop;
        let key = format!("{}.{}", self.session.writer(), fact.call);
        if self.agent_of(fact.call).is_some_and(stops)
            && let (Some(engine), Some(child)) = (self.slot.engine(), agent_session(&key))
        {
            tokio::spawn(async move { halt(&engine, &child, &key).await });
        }
    }
}
