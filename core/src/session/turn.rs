//! Turns: an open one, what it has taken, and what it waits for.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::BudgetUsage;
use crate::call::CallState;
use crate::compaction::ItemFingerprint;
use crate::fact::{ContextLifetime, Reservation};
use crate::failure::{FailureKind, SampleFailure};
use crate::hook::CompactionTrigger;
use crate::hook_rounds::HookRounds;
use crate::id::{Seq, TurnId};
use crate::limits::Limits;
use crate::outcome::{LimitKind, TurnOutcome};
use crate::scope::Scope;
use crate::settings::Settings;
use crate::stage::{Stage, TurnOpening};
use crate::time::Timestamp;
use crate::usage::Usage;

/// State of an open turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Id of the turn.
    pub id: TurnId,
    /// The `GoalSet` of the goal that it was opened for, if it was.
    pub goal: Option<Seq>,
    /// On whose behalf it runs.
    pub scope: Arc<Scope>,
    /// Settings of the turn, frozen.
    pub settings: Arc<Settings>,
    /// Limits of the turn, frozen.
    pub limits: Limits,
    /// True if tools that change something are only planned.
    pub dry_run: bool,
    /// Time at which it opened.
    pub opened_at: Timestamp,
    /// Usage so far.
    pub spent: TurnUsage,
    /// True if it is to stop now.
    pub stop: Option<StopRequest>,
    /// True if it is to stop before the model is asked again.
    pub pause: Option<StopRequest>,
    /// Hooks that are asked about the turn as a whole.
    pub hook_rounds: HookRounds,
    /// Context that is to be injected before the next sample, in order.
    pub pending: VecDeque<PendingContext>,
    /// Bytes of the instructions and the tools.
    pub base_bytes: u64,
    /// Bytes of context that hooks have given in this turn.
    pub context_bytes: u64,
    /// The compaction that hooks are to hear of.
    pub compacted: Option<(Seq, CompactionTrigger)>,
    /// The runs of the compaction that is under way, or was cut short.
    pub compacting: u32,
    /// True if the model was told that the next sample is the last one for work.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub announced_last: bool,
    /// Samples that were retries of a rejected return.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub re_asks: u32,
    /// Current stage of the turn.
    pub stage: Stage,
}

impl Turn {
    /// The limit on calls that the answer went over, if it did. None of its calls begins any more.
    #[must_use]
    pub fn exceeded_call_limit(&self) -> Option<LimitKind> {
        let counted = self.stage.rules().counted()?;
        let own = self.calls().iter().filter(|call| call.parent.is_none());
        let count = u32::try_from(own.count()).unwrap_or(u32::MAX);
        let before = self.spent.calls.saturating_sub(counted);
        if count > self.limits.calls_per_sample {
            return Some(LimitKind::CallsPerSample);
        }
        (before.saturating_add(count) > self.limits.calls).then_some(LimitKind::Calls)
    }

    /// Returns the subject of the turn, until it is admitted.
    #[must_use]
    pub fn opening(&self) -> Option<TurnOpening> {
        self.stage.rules().opening()
    }

    /// The calls that are out: those of an answer that streams, too.
    #[must_use]
    pub fn calls(&self) -> &[CallState] {
        self.stage.rules().calls()
    }

    /// The calls that are out, to change.
    pub(crate) fn calls_mut(&mut self) -> &mut [CallState] {
        self.stage.rules_mut().calls_mut()
    }

    /// Returns true if a person or a shutdown has asked it to stop, now or after its step.
    pub(crate) fn is_interrupted(&self) -> bool {
        let stop = self.stop.as_ref().map(|stop| &stop.outcome);
        self.pause.is_some() || matches!(stop, Some(TurnOutcome::Interrupted { .. }))
    }

    /// Adds what an answer cost.
    pub(crate) fn spend(&mut self, usage: &Usage) {
        self.spent.usage.add(usage);
        let cost = self.settings.price.map_or(0, |price| price.of(usage));
        self.spent.cost_micros = self.spent.cost_micros.saturating_add(cost);
    }

    /// Adds what was set aside for an answer of which the provider does not say what it cost.
    pub(crate) fn spend_reserved(&mut self, reserved: &Reservation) {
        self.spent = self.spent.plus_reserved(reserved);
    }

    /// Returns the usage of a turn that ends here, with the reservation of a summary that is then
    /// cut off, whose usage is unknown.
    pub(crate) fn spent_at_last(&self) -> TurnUsage {
        match self.stage.compacting() {
            Some(compacting) => self.spent.plus_reserved(&compacting.reserved),
            None => self.spent,
        }
    }

    /// Samples that count against the limit: with those of agents.
    #[must_use]
    pub fn samples(&self) -> u32 {
        self.spent.with_agents().samples
    }

    /// Tokens that count against the limit: with those of agents.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.spent.with_agents().tokens
    }

    /// Money that counts against the limit: with that of agents.
    #[must_use]
    pub fn cost_micros(&self) -> u64 {
        self.spent.with_agents().cost_micros
    }

    /// Counts the calls of an answer.
    pub(crate) fn count(&mut self, calls: &[CallState]) {
        let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        self.spent.calls = self.spent.calls.saturating_add(count);
    }

    /// Returns the most re-asks for an answer that does not fit the output schema.
    #[must_use]
    pub fn max_re_asks(&self) -> u32 {
        let shape = self.settings.options.output_schema.as_ref();
        shape.map_or(0, |shape| shape.max_re_asks)
    }

    /// Returns true if the conversation is compacted after this failure: the provider says that it
    /// is too large, and nothing that has been begun stands in the way.
    pub(crate) fn overflows(&self, failure: &SampleFailure) -> bool {
        failure.kind == FailureKind::ContextOverflow
            && self.stop.is_none()
            && self.spent.compactions < self.limits.compactions
    }
}

/// Context that is to be injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingContext {
    /// The `HookDecided` that gave it.
    pub decided: Seq,
    /// Its text in its frame, in numbers.
    pub text: ItemFingerprint,
    /// Lifetime of the context.
    pub lifetime: ContextLifetime,
}

/// Usage of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnUsage {
    /// Samples; retried attempts of one sample count once.
    pub samples: u32,
    /// Number of attempts at samples.
    pub attempts: u32,
    /// Calls that the model asked for.
    pub calls: u32,
    /// Tokens, as far as the provider reported them.
    pub usage: Usage,
    /// Tokens of samples of which the provider said nothing, as they were set aside.
    #[serde(default)]
    pub estimated_tokens: u64,
    /// Money, in millionths of the currency that the prices are in.
    #[serde(default)]
    pub cost_micros: u64,
    /// Number of continuations by hooks so far.
    #[serde(default)]
    pub continuations: u32,
    /// Number of compactions.
    #[serde(default)]
    pub compactions: u32,
    /// Number of re-asks for an answer that fits the output schema.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub re_asks: u32,
    /// Usage of the agents that its calls ran, and of theirs.
    #[serde(default, skip_serializing_if = "BudgetUsage::is_zero")]
    pub agents: BudgetUsage,
}

impl TurnUsage {
    /// Returns the usage of the turn with all agents below it.
    #[must_use]
    pub fn with_agents(&self) -> BudgetUsage {
        let reported = self.usage.tokens();
        let own = BudgetUsage {
            samples: self.samples,
            tokens: reported.saturating_add(self.estimated_tokens),
            cost_micros: self.cost_micros,
        };
        own.plus(self.agents)
    }

    /// With what was set aside for something of which nobody says what it cost.
    fn plus_reserved(mut self, reserved: &Reservation) -> Self {
        self.estimated_tokens = self.estimated_tokens.saturating_add(reserved.tokens);
        self.cost_micros = self.cost_micros.saturating_add(reserved.cost_micros);
        self
    }
}

/// A request to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopRequest {
    /// Outcome with which the turn is to end.
    pub outcome: TurnOutcome,
    /// When it was asked.
    pub at: Timestamp,
    /// The fact that says so.
    pub seq: Seq,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn is_zero(count: &u32) -> bool {
    *count == 0
}
