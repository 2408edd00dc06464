//! Spans: what a session does, for logs and traces. The span of a turn contains those of its
//! samples, calls, hooks, approvals, compactions and appends.

use tracing::{Span, info_span};
use windlass_core::{EffectKey, RecordedFact, Seq, TurnId};

use super::Driver;

/// Span of the turn that is under way.
pub(super) struct TurnSpan {
    turn: Option<TurnId>,
    span: Span,
}

impl Default for TurnSpan {
    fn default() -> Self {
        Self { turn: None, span: Span::none() }
    }
}

impl Driver {
    /// Returns the span of a turn, in the span of the session.
    fn turn_span(&mut self, turn: Option<TurnId>) -> Span {
        let Some(id) = turn else {
            return Span::current();
        };
        if self.turn_span.turn != turn {
            let session = &self.machine.session().id;
            let span = info_span!("turn", %session, turn = id.0);
            self.turn_span = TurnSpan { turn, span };
        }
        self.turn_span.span.clone()
    }

    /// Closes the span of a turn that has settled, once all of its facts are durable.
    pub(super) fn close_turn_span(&mut self) {
        let turn = self.turn_span.turn;
        let open = self.machine.session().turn().map(|turn| turn.id) == turn;
        if !open && !self.machine.pending_facts().any(|fact| fact.turn == turn) {
            self.turn_span = TurnSpan::default();
        }
    }

    /// Opens the span of an append.
    pub(super) fn append_span(&mut self, after: Seq, facts: &[impl AsRef<RecordedFact>]) -> Span {
        let turn = facts.iter().rev().find_map(|fact| fact.as_ref().turn);
        let (parent, session) = (self.turn_span(turn), &self.machine.session().id);
        let turn = turn.map(|turn| turn.0);
        info_span!(parent: &parent, "append", %session, turn, after = after.0, facts = facts.len())
    }

    /// Opens the span of an effect. The task of the effect inherits it.
    pub(super) fn effect_span(&mut self, key: EffectKey) -> Span {
        let turn = self.machine.session().turn().map(|turn| turn.id);
        let parent = self.turn_span(turn);
        let (session, turn) = (&self.machine.session().id, turn.map(|turn| turn.0));
        match key {
            EffectKey::Sample { started } => {
                info_span!(parent: &parent, "sample", %session, turn, sample = started.0)
            }
            EffectKey::Call { call, started } => {
                let tool = self.machine.history().call(call).map(|call| call.name.as_str());
                info_span!(
                    parent: &parent, "call",
                    %session, turn, call = call.0, run = started.0, tool
                )
            }
            EffectKey::Hook { hook, asked } => {
                info_span!(parent: &parent, "hook", %session, turn, hook, asked = asked.0)
            }
            EffectKey::Approval { call, .. } => {
                info_span!(parent: &parent, "approval", %session, turn, call = call.0)
            }
            EffectKey::Reconcile { call, .. } => {
                info_span!(parent: &parent, "reconcile", %session, turn, call = call.0)
            }
            EffectKey::Compact { started } => {
                info_span!(parent: &parent, "compaction", %session, turn, sample = started.0)
            }
        }
    }
}
